"""The numbers of the chapters, from the formulas; every constant with its source."""

import subprocess
import sys

import pytest

from kernels import hardware
from kernels.cost import attention_flops, flash_bytes, gb, gib, mb, mib, qkvo_bytes, square_bytes


def test_the_square_of_8192_in_fp16_is_128_mib_and_134_mb():
    square = square_bytes(8192, 2)
    assert mib(square) == 128 and round(mb(square), 1) == 134.2


def test_the_balloon():
    """Batch 32, 32 heads, N=4096, d=64, FP32: Q, K, V, O 1.07 GB each, the square 68.7 GB = 64 GiB."""
    square = square_bytes(4096, 4, heads=32, batch=32)
    assert gib(square) == 64 and round(gb(square), 1) == 68.7
    assert round(gb(qkvo_bytes(4096, 64, 4, heads=32, batch=32)) / 4, 2) == 1.07


def test_four_trips_of_the_square_are_64_times_what_must_move():
    assert 4 * square_bytes(8192, 2) / qkvo_bytes(8192, 128, 2) == 64


def test_keys_and_values_are_asked_for_once_a_block_of_queries():
    once = qkvo_bytes(8192, 128, 2) / 2
    assert flash_bytes(8192, 128, 2, block_q=8192) == 2 * once
    assert round(mb(flash_bytes(8192, 128, 2, block_q=128) - once)) == 268
    assert flash_bytes(100, 16, 2, block_q=64) == (2 + 2 * 2) * 100 * 16 * 2
    assert flash_bytes(100, 16, 2, 64, heads=5, batch=7) == 35 * flash_bytes(100, 16, 2, 64)


def test_flops():
    assert attention_flops(3, 2) == 4 * 9 * 2
    assert attention_flops(16384, 128, heads=16) == 2 * attention_flops(16384, 128, heads=16, causal=True)
    assert attention_flops(3, 2, heads=5, batch=7) == 35 * attention_flops(3, 2)


REGISTRY = [(chip, what) for chip in ("H100", "H200", "V100") for what in getattr(hardware, chip)]


@pytest.mark.parametrize("chip, what", REGISTRY)
def test_a_constant_says_where_it_is_from(chip, what):
    constant = getattr(hardware, chip)[what]
    assert constant.value > 0 and constant.unit and constant.source
    assert constant.trust in ("specified", "measured", "secondary")


def test_what_the_chapters_say_of_an_h100():
    h100 = {what: constant.value for what, constant in hardware.H100.items()}
    assert round(h100["bf16 peak"] / 1e12, 1) == 989.4
    assert h100["bf16 tensor core"] / h100["fp32 lanes"] == 16
    assert h100["shared memory per block"] == 232_448
    assert round(h100["bf16 peak"] / h100["hbm bandwidth"]) == 295
    assert round(h100["exp2 rate"] / 1e12, 1) == 3.9
    assert round(h100["shared memory bandwidth"] / 1e12) == 31
    assert round(hardware.V100["fp16 tensor core peak"].value / hardware.V100["fp32 peak"].value) == 8


@pytest.mark.parametrize(
    "modules, unwanted",
    [
        ("kernels", ["torch", "triton"]),
        ("kernels.cost, kernels.hardware", ["torch", "triton"]),
        ("kernels.reference, kernels.measure", ["triton"]),
    ],
)
def test_what_is_not_needed_is_not_imported(modules, unwanted):
    script = f"import sys, {modules}; assert not set({unwanted}) & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_package_finds_each_name_in_its_module():
    import kernels

    assert kernels.__dir__()[0] == "attention" and "flash_attention" in dir(kernels)
    for name, module in kernels.MODULE_OF.items():
        assert getattr(kernels, name).__module__ == f"kernels.{module}"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kernels.nothing
