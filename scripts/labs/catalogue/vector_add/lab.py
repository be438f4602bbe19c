"""Vector add: lengths around the block, so that a mask that is missing or off by one shows."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.lab import SEEDS, Case, Mistake, Task, normal

BLOCK = 256  # as the start file has it


def cases():
    for seed in SEEDS:
        for length in (BLOCK, 3, BLOCK + 1, 1000):
            yield case(seed, length)
    yield case(1, 500, torch.float16)
    big = case(2, BLOCK + 7)
    yield Case("numbers up to 10³⁰", {name: x * 1e30 for name, x in big.inputs.items()}, big.outputs)


def case(seed: int, length: int, dtype: torch.dtype = torch.float32) -> Case:
    x, y = normal(seed, 2, length, dtype=dtype)
    return Case(f"{length} numbers, seed {seed}", {"x": x, "y": y}, {"out": torch.empty_like(x)})


def gpu_case() -> Case:
    return case(1, 1 << 24)


def error_scale(x: Tensor, y: Tensor) -> Tensor:
    """One number may be far smaller than another of its vector, so each has a budget of its own."""
    return x.abs() + 2 * y.abs()


def blocks(x: Tensor) -> Tensor:
    """Of each place in which block it lies."""
    return torch.arange(len(x)) // BLOCK


def with_nan(x: Tensor, where: Tensor) -> Tensor:
    return x.masked_fill(where, torch.nan)


MISTAKES = (
    Mistake(
        "first-block-only",
        "Every program works on the first block: ask tl.program_id(0) which block is its own.",
        headings.FIRST_KERNEL,
        lambda x, y: with_nan(x + 2 * y, blocks(x) > 0),
    ),
    Mistake(
        "last-block-missing",
        "The last block, which is not full, is never written: round the number of programs up, and mask the rest.",
        headings.FIRST_KERNEL,
        lambda x, y: with_nan(x + 2 * y, blocks(x) >= len(x) // BLOCK),
        writes=False,
    ),
    Mistake(
        "last-number-missing",
        "The last number is never written: the mask is one too short.",
        headings.FIRST_KERNEL,
        lambda x, y: with_nan(x + 2 * y, torch.arange(len(x)) == len(x) - 1),
    ),
    Mistake(
        "as-in-the-chapter",
        "The output is x + y, the chapter's sum: here y counts twice.",
        headings.FIRST_KERNEL,
        lambda x, y: x + y,
    ),
    Mistake(
        "x-doubled", "The output is 2·x + y: it is y that counts twice.", headings.FIRST_KERNEL, lambda x, y: 2 * x + y
    ),
    Mistake("copies-x", "The output is x alone: y is never added.", headings.FIRST_KERNEL, lambda x, y: x),
    Mistake(
        "same-block-of-y",
        "The places of y do not begin at the program's own block: every program reads the first block of y.",
        headings.FIRST_KERNEL,
        lambda x, y: x + 2 * y[torch.arange(len(x)) % BLOCK],
    ),
    Mistake(
        "in-fp16",
        "The sum is rounded to FP16: keep the type of what you load.",
        headings.FIRST_KERNEL,
        lambda x, y: (x + 2 * y).half().double(),
    ),
)

TASKS = (
    Task(
        "add",
        lambda x, y: x + 2 * y,
        cases,
        MISTAKES,
        error_scale=error_scale,
        roundings=0,
        gpu_case=gpu_case,
        timed_against="kernels.first.add:add",
    ),
)
