"""Every branch of every kernel is entered: each condition goes both ways, each loop round more than once.

A branch that no input can reach is dead code, and one that no test reaches is untested; blocks are made small here, so
that small inputs have many.
"""

import importlib
from itertools import product
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from kernels import flash
from tests.kernels.branches import kernels_of, not_taken

KERNELS = Path(__file__).parents[2] / "kernels"
pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="kernels are observed in the interpreter")


def drive_softmax():
    from kernels.softmax import softmax

    softmax(torch.randn(2, 10), block=4)


def drive_coalescing():
    from kernels.bench.strided_read import strided_read

    strided_read(torch.randn(4096), 2)


def drive_rereading():
    from kernels.bench.repeated_read import repeated_read

    repeated_read(torch.randn(8192), 2)


def drive_attention(attention, length, gradient=False):
    """Causal and not, padded and not, heads grouped; ``length`` is more than a block, and no whole number of blocks."""
    for is_causal, key_lengths in product((False, True), (None, torch.tensor([length - 2, 0]))):
        q = torch.randn(2, 2, length, 40, requires_grad=gradient)
        k, v = (torch.randn(2, 1, length, 40, requires_grad=gradient) for _ in range(2))
        out = attention(q, k, v, is_causal=is_causal, enable_gqa=True, key_lengths=key_lengths)
        if gradient:
            out.sum().backward()


def drive_one_key():
    from kernels.first.one_key import one_key_attention

    drive_attention(one_key_attention, 5)


def drive_key_blocks():
    from kernels.first.key_blocks import key_blocks_attention

    drive_attention(key_blocks_attention, 40)


def drive_three_kernels():
    from kernels import three_kernels

    with pytest.MonkeyPatch.context() as patch:
        for name in ("BLOCK_Q", "BLOCK_K", "BLOCK_D"):
            patch.setattr(three_kernels, name, 32)
        drive_attention(three_kernels.three_kernel_attention, 70)


def drive_flash():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flash, "tiles", lambda *_: flash.Tiles(32, 16, 4, 1))
        drive_attention(flash.flash_attention, 70, gradient=True)
        q, k, v = (torch.randn(1, 1, 40, 16, requires_grad=True) for _ in range(3))
        _, lse = flash.flash_attention(q, k, v, return_lse=True)
        lse.sum().backward()


def drive_formats():
    from tests.kernels.test_formats import FORMATS, codes_of, decoder_of, encoder_of, on

    for format in FORMATS:
        on(torch.device("cpu"), encoder_of(format), torch.randn(5))
        on(torch.device("cpu"), decoder_of(format), codes_of(format))


def drive_block_scaling():
    from kernels.formats.block import FP8, FP8_BLOCKS, MXFP4, MXFP8, NVFP4
    from kernels.formats.block_triton import dequantize_blocks, quantize_blocks
    from kernels.serving.cache import KVCache

    for scheme in (NVFP4, MXFP4, MXFP8, FP8, FP8_BLOCKS):
        dequantize_blocks(quantize_blocks(torch.randn(2, 33), scheme))
    cache = KVCache(torch.tensor([[0]]), kv_heads=1, head_dim=16, page_size=16, format="nvfp4")
    cache.append(*torch.randn(2, 1, 1, 3, 16))  # loads by load_blocks


def drive_kv_cache():
    from kernels.serving.cache import KVCache

    for format in ("bf16", "fp16", "fp8", "nvfp4"):
        for dtype in (torch.float16, torch.bfloat16):
            cache = KVCache(torch.arange(2)[:, None], kv_heads=1, head_dim=16, format=format)
            cache.append(*torch.randn(2, 2, 1, 3, 16).to(dtype))


def drive_decode():
    from kernels.serving.cache import KVCache
    from kernels.serving.decode import decode_attention

    pages = torch.tensor([[0, 1, 2, 3], [4, -1, -1, -1], [5, 6, 7, -1]])
    for format in ("fp16", "fp8", "nvfp4"):
        cache = KVCache(pages, kv_heads=2, head_dim=16, format=format)
        cache.append(*torch.randn(2, 1, 2, 200, 16), [0])
        cache.append(*torch.randn(2, 1, 2, 130, 16), [2])  # a share goes from 0 over 1 to 2
        decode_attention(torch.randn(3, 4, 5, 16).half(), cache)
    cache = KVCache(torch.tensor([[0]]), kv_heads=1, head_dim=16, format="fp16")
    cache.append(*torch.randn(2, 1, 1, 3, 16))
    decode_attention(torch.randn(1, 1, 1, 16).half(), cache)  # one program has it all
    with pytest.MonkeyPatch.context() as patch:  # more parts than are merged at a time
        patch.setattr("kernels.serving.decode.programs_of", lambda q: 40)
        cache = KVCache(torch.arange(50)[None], kv_heads=1, head_dim=16, format="fp16")
        cache.append(*torch.randn(2, 1, 1, 3200, 16))
        decode_attention(torch.randn(1, 1, 1, 16).half(), cache)


DRIVERS = {
    "block_scaling": drive_block_scaling,
    "coalescing": drive_coalescing,
    "decode": drive_decode,
    "flash": drive_flash,
    "formats": drive_formats,
    "key_blocks": drive_key_blocks,
    "kv_cache": drive_kv_cache,
    "one_key": drive_one_key,
    "rereading": drive_rereading,
    "softmax": drive_softmax,
    "three_kernels": drive_three_kernels,
}


def test_every_file_of_kernels_is_driven():
    with_kernels = {path.stem for path in KERNELS.glob("*.py") if kernels_of(path)}
    assert with_kernels == DRIVERS.keys()


@pytest.mark.parametrize("module", DRIVERS)
def test_every_branch_is_entered(module):
    path = KERNELS / f"{module}.py"
    importlib.import_module(f"kernels.{module}")
    lines = enumerate(path.read_text().splitlines(), 1)
    only_on_a_gpu = tuple(f"{path.name}:{number} is True" for number, line in lines if "if EARLY:" in line)
    reports = not_taken(path, DRIVERS[module])
    assert [report for report in reports if not report.endswith(only_on_a_gpu)] == []


# That a branch never taken is reported.


@triton.jit
def helper(value, DOUBLE: tl.constexpr):
    if DOUBLE:
        value = value * 2
    return value


@triton.jit
def toy_kernel(out, rounds, limit, DOUBLE: tl.constexpr):
    total = 0
    for number in range(0, rounds):
        total += number if number < limit else 0
    left = rounds
    while left > 0:
        left -= 1
    for _ in tl.static_range(1):
        total = helper(total, DOUBLE)
    tl.store(out, total)


@triton.jit
def never_called(out):
    tl.store(out, 1)


HERE = Path(__file__)
OUTCOMES = ("False", "True", "called")


def toy(*arguments):
    out = torch.zeros(1, dtype=torch.int64)
    for rounds, limit, double in arguments:
        toy_kernel[(1,)](out, rounds, limit, DOUBLE=double)
    return out.item()


@pytest.mark.parametrize(
    "arguments, missing",
    [
        ([(3, 1, True), (1, 1, False)], []),
        ([(3, 1, True)], ["helper is False"]),
        ([(3, 1, False)], ["helper is True"]),
        ([(3, 9, True), (3, 9, False)], ["toy_kernel is False"]),
        ([(3, 0, True), (3, 0, False)], ["toy_kernel is True"]),
        ([(1, 9, True), (1, 0, False)], ["toy_kernel runs again"] * 2),
        ([(0, 1, True), (0, 1, False)], ["toy_kernel is False", "toy_kernel is True", *["toy_kernel runs again"] * 2]),
        ([], [*(f"{x} is {y}" for x in ("helper", "toy_kernel") for y in OUTCOMES), *["toy_kernel runs again"] * 2]),
    ],
)
def test_a_branch_that_is_not_taken_is_reported(arguments, missing):
    reports = not_taken(HERE, lambda: toy(*arguments))
    lines = HERE.read_text().splitlines()
    for report in reports:
        name, where = report.split(", ")
        number = int(where.split(" ")[0].split(":")[1])
        words = ["def "] if "called" in where else ["for ", "while "] if "again" in where else ["if "]
        assert any(word in lines[number - 1] for word in words), report
        assert where.startswith(f"{HERE.name}:") and name in ("helper", "toy_kernel", "never_called")
    found = sorted(f"{report.split(', ')[0]} {report.split(' ', 2)[2]}" for report in reports)
    assert found == sorted([*missing, "never_called is called"])


def test_what_is_observed_computes_the_same_and_nothing_stays():
    results = []
    not_taken(HERE, lambda: results.append(toy((4, 9, True))))
    assert results == [12] and toy((4, 9, True)) == 12
    assert not_taken(HERE, lambda: None) and "helper is called" not in not_taken(HERE, lambda: toy((3, 1, True)))
