"""Sheet 1: three words from their products to their output, and the shapes and sizes of longer texts."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import torch

from kernels.bench.cost import mib, square_bytes
from kernels.reference import attention, weights
from scripts.chapters.demo import DEVICE, percents, table, vector_text
from scripts.chapters.three_matmuls.board import BYTES, DEMO_SHAPE, DIM, WORDS
from scripts.chapters.three_matmuls.worked import K, Q, V, number_text

SNIPPET = "three_matmuls"


def lines() -> Iterator[str]:
    score_mib, table_mib = mib(square_bytes(WORDS, BYTES)), mib(WORDS * DIM * BYTES)
    yield f"Thin, square, thin: {WORDS} words make {score_mib:.0f} MiB of scores between tables of {table_mib:.0f} MiB."
    yield ""
    q, k, v = (torch.tensor(rows, dtype=torch.float64, device=DEVICE) for rows in (Q, K, V))
    products, shares = q @ k.T, weights(q, k)
    scores = products / sqrt(q.shape[-1])
    rows = []
    for word in range(len(Q)):
        powers = scores[word].exp()
        rounded = shares[word].round(decimals=2)  # in whole per cents, as at the board
        cells = [row_text(products[word]), row_text(scores[word]), row_text(powers), number_text(powers.sum().item())]
        rows.append([word + 1, *cells, percents(rounded), vector_text(rounded @ v)])
    yield from table(["word", "q · k", "÷ √2", "exponentials", "sum", "shares", "output"], *rows)
    exact_output = ", ".join(f"{value:.3f}" for value in attention(q, k, v)[0].tolist())
    yield f"word 1, shares not rounded: {'  '.join(f'{share:.3f}' for share in shares[0].tolist())} → [{exact_output}]"
    yield ""
    q = torch.zeros(DEMO_SHAPE, device="meta")
    grid, output = q @ q.T, attention(q, q, q)
    yield f"{DEMO_SHAPE[0]} words: Q {shape_text(q)}, scores {shape_text(grid)}, output {shape_text(output)}"


def row_text(row: torch.Tensor) -> str:
    return " ".join(number_text(value) for value in row.tolist())


def shape_text(x: torch.Tensor) -> str:
    return "×".join(map(str, x.shape))  # noqa: RUF001  (as at the board)
