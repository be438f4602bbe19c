"""Sheet 5: a program for each query, the row of one of them, and what it asks for."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton

from kernels.bench.cost import mb, requested_bytes
from kernels.first.one_key import LONGEST_ROW, one_key_attention
from kernels.reference import oracle
from kernels.softmax import exp_below, safe_softmax
from scripts.chapters.demo import DEVICE, per_cent, plain, table, vector
from scripts.chapters.first_kernel.worked import HEAD_DIM, HEADS, KEYS, PROGRAM, QUERY, SENTENCES, VALUES, WORDS

SNIPPET = "first_kernel"
THREADS = 128  # of a program


def lines() -> Iterator[str]:
    query, keys, values = (torch.tensor(rows, dtype=torch.float32) for rows in (QUERY, KEYS, VALUES))
    q, k, v = (x.view(1, 1, -1, x.shape[-1]).to(DEVICE) for x in (query, keys, values))
    output = one_key_attention(q, k, v, scale=1.0)[0, 0, 0]
    scores = " ".join(map(plain, keys @ query))
    yield f"A program for each query in place of a loop: the scores {scores} lead to {vector(output)}."
    yield ""
    shape = SENTENCES, HEADS, WORDS, HEAD_DIM
    memory = torch.arange(SENTENCES * HEADS * WORDS * HEAD_DIM).view(shape)
    sentence, head, word = (each.item() for each in torch.unravel_index(torch.tensor(PROGRAM), shape[:3]))
    first, last = memory[sentence, head, word].tolist()
    yield f"program {PROGRAM}: word {word}, head {head}, sentence {sentence}; it reads {first} and {last}"
    row = torch.full((triton.next_power_of_2(len(KEYS)),), -torch.inf)
    row[: len(KEYS)] = keys @ query
    terms = exp_below(row, row.max())
    yield from table(
        ["row", *map(place, row.tolist()), f"max {row.max():g}"],
        ["e to S - max", *map(short, terms.tolist()), f"sum {terms.sum():.2f}"],
        ["shares", *map(share, safe_softmax(row).tolist()), ""],
    )
    padded = safe_softmax(row.clamp(min=0))
    yield f"with 0 in place of -∞: {per_cent(padded)}, the last to nobody"
    yield f"the longest row: {LONGEST_ROW:,} ÷ {THREADS} = {LONGEST_ROW // THREADS} a thread"
    asked = mb(requested_bytes(1024, 128, 2, block_q=1))
    yield f"one head of 1024 words: asked for {asked:.1f} MB"
    right, wrong = verdicts()
    yield f"against FP64: ours {right}, with a head of zeros it {wrong}"


def place(score: float) -> str:
    return plain(score) if score > -torch.inf else "-∞"


def short(term: float) -> str:
    return plain(term, ".2g")


def share(part: float) -> str:
    return f"{100 * part:.0f} %"


def verdicts() -> list[str]:
    """Of the kernel, and of the same with a head of zeros: errors against FP64, a head's budget from PyTorch's."""
    torch.manual_seed(0)
    shape = (1, 2, 30, 12) if DEVICE.type == "cpu" else (2, 16, 500, 80)
    q, k, v = torch.randn(3, *shape, device=DEVICE).half()
    truth, ours = oracle(q, k, v), one_key_attention(q, k, v)
    budget = 1.5 * worst(torch.nn.functional.scaled_dot_product_attention(q, k, v) - truth)
    zeros = ours.clone()
    zeros[0, 0] = 0
    return ["passes" if (worst(out - truth) <= budget).all() else "is REJECTED" for out in (ours, zeros)]


def worst(error: torch.Tensor) -> torch.Tensor:
    return error.abs().amax((-2, -1))
