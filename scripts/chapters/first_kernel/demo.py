"""Sheet 5: who a program is, three rows of scores, the same padded with 0, and two verdicts."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton

from kernels.first.one_head import one_head_attention
from kernels.first.one_key import LONGEST_ROW, one_key_attention
from kernels.reference import oracle
from kernels.softmax import exp_below, safe_softmax
from scripts.chapters.demo import DEVICE, number_text, percents, vector_text
from scripts.chapters.first_kernel.worked import (
    BLOCK,
    GRID_HEADS,
    GRID_TEXTS,
    GRID_WORDS,
    KEYS,
    LENGTH,
    PROGRAM_ID,
    QUERIES,
    VALUES,
)

SNIPPET = "first_kernel"
THREADS = 128  # of a program


def lines() -> Iterator[str]:
    q, k, v = (torch.tensor(rows, dtype=torch.float32, device=DEVICE) for rows in (QUERIES, KEYS, VALUES))
    outputs = one_head_attention(q, k, v, scale=1.0).cpu()
    rows = torch.full((len(q), triton.next_power_of_2(len(k))), -torch.inf)
    rows[:, : len(k)] = (q @ k.T).cpu()
    one, padded = rows[1], rows[1].clamp(min=0)
    yield f"No loop over queries: program 1 has shares {percents(safe_softmax(one))} and writes {tenths(outputs[1])}."
    yield ""
    real = torch.arange(LENGTH).split(BLOCK)
    last = f"program {len(real) - 1} has {len(real[-1])} True, {BLOCK - len(real[-1])} False"
    yield f"adding {LENGTH} numbers, {BLOCK} a program: {last}"
    for program, (row, output) in enumerate(zip(rows, outputs, strict=True)):
        yield f"program {program}: {row_text(row)}: {tenths(output)}"
    short = tenths(safe_softmax(padded)[: len(v)] @ v.cpu())
    yield f"padded with 0: {row_text(padded)}: {short}"
    place = torch.unravel_index(torch.tensor(PROGRAM_ID), (GRID_TEXTS, GRID_HEADS, GRID_WORDS))
    text, head, word = (each.item() for each in place)
    yield f"program {PROGRAM_ID} of {GRID_TEXTS * GRID_HEADS * GRID_WORDS}: word {word}, head {head}, text {text}"
    yield f"the longest row: {LONGEST_ROW:,} / {THREADS} = {LONGEST_ROW // THREADS} registers a thread"
    right, wrong = verdicts()
    yield f"against FP64: ours {right}, with a head of zeros it is {wrong}"


def row_text(row: torch.Tensor) -> str:
    """A row of scores, its exponentials' sum and its shares."""
    scores = ", ".join(number_text(score) if score > -torch.inf else "-∞" for score in row.tolist())
    return f"[{scores}], sum {exp_below(row, row.max()).sum():.3f}, {percents(safe_softmax(row))}"


def tenths(numbers: torch.Tensor) -> str:
    return vector_text([round(number, 1) for number in numbers.tolist()])


def verdicts() -> list[str]:
    """Of the kernel, and of the same with a head of zeros: errors against FP64, a head's budget from PyTorch's."""
    torch.manual_seed(0)
    shape = (1, 2, 30, 12) if DEVICE.type == "cpu" else (2, 16, 500, 80)
    q, k, v = torch.randn(3, *shape, device=DEVICE).half()
    truth, one_key = oracle(q, k, v), one_key_attention(q, k, v)
    budget = 1.5 * worst(torch.nn.functional.scaled_dot_product_attention(q, k, v) - truth)
    zeros = one_key.clone()
    zeros[0, 0] = 0
    return ["passes" if (worst(out - truth) <= budget).all() else "REJECTED" for out in (one_key, zeros)]


def worst(error: torch.Tensor) -> torch.Tensor:
    return error.abs().amax((-2, -1))
