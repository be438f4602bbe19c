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
    from kernels.coalescing import strided_read

    strided_read(torch.randn(4096), 2)


def drive_attention(attention, length, gradient=False):
    """Causal and not, padded and not, heads grouped; ``length`` is more than a block, and no whole number of blocks."""
    for is_causal, key_lengths in product((False, True), (None, torch.tensor([length - 2, 0]))):
        q = torch.randn(2, 2, length, 40, requires_grad=gradient)
        k, v = (torch.randn(2, 1, length, 40, requires_grad=gradient) for _ in range(2))
        out = attention(q, k, v, is_causal=is_causal, enable_gqa=True, key_lengths=key_lengths)
        if gradient:
            out.sum().backward()


def drive_one_key():
    from kernels.one_key import one_key_attention

    drive_attention(one_key_attention, 5)


def drive_key_blocks():
    from kernels.key_blocks import key_blocks_attention

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


DRIVERS = {
    "coalescing": drive_coalescing,
    "flash": drive_flash,
    "key_blocks": drive_key_blocks,
    "one_key": drive_one_key,
    "softmax": drive_softmax,
    "three_kernels": drive_three_kernels,
}


def test_every_file_of_kernels_is_driven():
    with_kernels = {path.stem for path in KERNELS.glob("*.py") if kernels_of(path)}
    assert with_kernels == DRIVERS.keys()


@pytest.mark.parametrize("module", DRIVERS)
def test_every_branch_is_entered(module):
    importlib.import_module(f"kernels.{module}")
    assert not_taken(KERNELS / f"{module}.py", DRIVERS[module]) == []


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
        ([(1, 9, True), (1, 0, False)], ["toy_kernel runs again"]),
        ([(0, 1, True), (0, 1, False)], ["toy_kernel is False", "toy_kernel is True", "toy_kernel runs again"]),
        ([], [*(f"{x} is {y}" for x in ("helper", "toy_kernel") for y in OUTCOMES), "toy_kernel runs again"]),
    ],
)
def test_a_branch_that_is_not_taken_is_reported(arguments, missing):
    reports = not_taken(HERE, lambda: toy(*arguments))
    lines = HERE.read_text().splitlines()
    for report in reports:
        name, where = report.split(", ")
        number = int(where.split(" ")[0].split(":")[1])
        word = "def " if "called" in where else "for " if "again" in where else "if "
        assert word in lines[number - 1], report
        assert where.startswith(f"{HERE.name}:") and name in ("helper", "toy_kernel", "never_called")
    found = sorted(f"{report.split(', ')[0]} {report.split(' ', 2)[2]}" for report in reports)
    assert found == sorted([*missing, "never_called is called"])


def test_what_is_observed_computes_the_same_and_nothing_stays():
    results = []
    not_taken(HERE, lambda: results.append(toy((4, 9, True))))
    assert results == [12] and toy((4, 9, True)) == 12
    assert not_taken(HERE, lambda: None) and "helper is called" not in not_taken(HERE, lambda: toy((3, 1, True)))
