"""The talk: the first word from its products to its output, and what cooks and hallway need for a long text."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import torch

from kernels.bench.cost import attention_flops, eager_traffic, mib, qkvo_bytes, square_bytes
from kernels.bench.hardware import H100
from kernels.reference import weights
from scripts.chapters.demo import DEVICE, percents, table, vector_text
from scripts.chapters.talk.board import BYTES, DIM, WORDS
from scripts.chapters.three_matmuls.worked import K, Q, V, number_text

SNIPPET = "roofline"
TEXTBOOK = ("QKᵀ", "softmax", "PV")  # the scale folded into the first


def lines() -> Iterator[str]:
    score_bytes, least_bytes = square_bytes(WORDS, BYTES), qkvo_bytes(WORDS, DIM, BYTES)
    trips = [trip for trip in eager_traffic(WORDS, DIM, BYTES) if trip.kernel in TEXTBOOK]
    moved_bytes = sum((trip.read + trip.written) // score_bytes for trip in trips) * score_bytes
    peak, bandwidth = H100["bf16 peak"].value, H100["hbm bandwidth"].value
    matmul_us, trip_us = 1e6 * attention_flops(WORDS, DIM) / peak, 1e6 * moved_bytes / bandwidth
    ratio = moved_bytes // least_bytes
    yield f"The hallway needs {trip_us:.0f} µs for the square, the cooks {matmul_us:.0f} µs: N/d = {ratio}."
    yield ""
    q, k, v = (torch.tensor(rows, dtype=torch.float64, device=DEVICE) for rows in (Q, K, V))
    products, shares = q @ k.T, weights(q, k).round(decimals=2)  # in whole per cents, as at the board
    powers = (products / sqrt(q.shape[-1])).exp()
    rows = [
        [
            i + 1,
            row_text(products[i]),
            row_text(powers[i]),
            number_text(powers[i].sum().item()),
            percents(share),
            vector_text(share @ v),
        ]
        for i, share in enumerate(shares)
    ]
    yield from table(["row", "q · k", "exponentials", "sum", "shares", "output"], *rows)
    yield ""
    table_text = f"{mib(least_bytes / 4):.0f} MiB"
    yield f"{WORDS} words: Q {table_text}, the square {mib(score_bytes):.0f} MiB, the output {table_text}"
    yield f"kitchen {peak / 1e12:.0f} TFLOP/s, hallway {bandwidth / 1e12:.2f} TB/s"
    yield f"four trips {mib(moved_bytes):.0f} MiB, Q, K, V and the output {mib(least_bytes):.0f} MiB"


def row_text(row: torch.Tensor) -> str:
    return " ".join(number_text(value) for value in row.tolist())
