"""Chapter 4: what four trips of the square move, and what the roof allows."""

from __future__ import annotations

import random

from kernels.bench.cost import qkvo_bytes, square_bytes
from kernels.bench.hardware import H100
from scripts.chapters.worksheets import Blank, Worksheet, bytes_text

PEAK, BANDWIDTH = 989, H100["hbm bandwidth"].value / 1e12  # TFLOP/s and TB/s, as the sheet has them


def worksheet(rng: random.Random) -> Worksheet | None:
    n, d = rng.choice((1, 3, 5)) * 2 ** rng.randint(11, 15), 2 ** rng.randint(5, 8)
    if n // d < 4:
        return None
    score_bytes, least_bytes = square_bytes(n, 2), qkvo_bytes(n, d, 2)
    intensity = round(d / (1 + 2 * d / n))
    bound = "bytes" if intensity < PEAK / BANDWIDTH else "arithmetic"
    return Worksheet(
        title="Four trips of the square",
        given=[
            f"One head, N = {n}, d = {d}, FP16, two bytes a number. The square is written, read, written, read; "
            f"Q, K and V come in, O goes out. An H100: {PEAK} TFLOP/s and {BANDWIDTH:.2f} TB/s.",
        ],
        head=["What", "Bytes"],
        rows=[
            ["the square, once", Blank(bytes_text(score_bytes))],
            ["four trips of it", Blank(bytes_text(4 * score_bytes))],
            ["Q, K, V and O together", Blank(bytes_text(least_bytes))],
        ],
        questions=[
            ("How many times what was wanted do the four trips move?", f"{4 * score_bytes // least_bytes} = N ÷ d"),
            (
                "QKᵀ makes 2N²d operations over 2N² + 4Nd bytes. How many per byte, as a whole number?",
                f"{d} ÷ (1 + {2 * d}/{n}) = {intensity}",
            ),
            ("The ridge lies at 295. What holds QKᵀ back?", bound),
        ],
    )
