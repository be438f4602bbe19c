"""Chapter 3: what a square of scores takes, in powers of 2."""

from __future__ import annotations

import random

from kernels.bench.cost import qkvo_bytes, square_bytes
from scripts.chapters.worksheets import Blank, Worksheet, bytes_text

TYPES = {"FP32": 4, "FP16": 2}


def worksheet(rng: random.Random) -> Worksheet | None:
    n, d, heads = (2 ** rng.randint(*powers) for powers in ((10, 16), (5, 8), (2, 8)))
    kind = rng.choice(list(TYPES))
    size = TYPES[kind]
    if square_bytes(n, size) < 2**20 or qkvo_bytes(n, d, size) // 4 < 2**18:
        return None
    each = [(qkvo_bytes(n, d, size) // 4, "Q, K, V, O, each"), (square_bytes(n, size), "one square of scores")]
    return Worksheet(
        title="The balloon, in powers of 2",
        given=[
            f"N = {n} words, d = {d}, {kind} ({size} bytes), {heads} heads. Write N, d and the bytes as powers of 2 "
            "and add the exponents: 2^{20} bytes are 1 MiB, 2^{30} are 1 GiB.",
        ],
        head=["What", "One head, a power of 2", "One head", f"All {heads} heads"],
        rows=[
            [what, Blank(f"2^{{{size.bit_length() - 1}}}"), Blank(bytes_text(size)), Blank(bytes_text(size * heads))]
            for size, what in each
        ],
        questions=[
            ("How many times as large as Q is the square?", f"{n // d} = N ÷ d"),
            ("Softmax reads one square and writes another. What do both take, one head?", bytes_text(2 * each[1][0])),
            ("Twice as many words: how many times the square?", "4"),
        ],
    )
