"""Every constant of a chip says where it is from, and is what the chapters say of the chip."""

import pytest

from kernels.bench import hardware

REGISTRY = [(chip, what) for chip in ("H100", "H200", "A100", "V100", "NVLINK") for what in getattr(hardware, chip)]


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
    for chip, times in ((hardware.V100, 8), (hardware.A100, 16)):
        assert round(chip["fp16 tensor core peak"].value / chip["fp32 peak"].value) == times
