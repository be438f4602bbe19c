"""The primer: what tiles save, and how many FLOP a chip of other numbers must do for a byte."""

from __future__ import annotations

import random

from kernels.bench.hardware import H100
from scripts.chapters.worksheets import Blank, Worksheet, bytes_text, list_text, with_commas


def worksheet(rng: random.Random) -> Worksheet | None:
    n = rng.choice((8, 10, 12, 15, 16, 20))
    edges = [edge for edge in range(1, n + 1) if n % edge == 0]
    chip = chip_questions(rng)
    if not chip:
        return None
    return Worksheet(
        title="Tiles, and a chip that must not wait",
        given=[
            f"Two tables of {n} by {n} numbers are multiplied. Whoever works on a tile of the product fetches its rows "
            "of the first table and its columns of the second once. A tile with an edge of 1 is a single cell.",
        ],
        head=["Edge of a tile", "Tiles", "Numbers a tile fetches", "Numbers in all", "FLOP for each number"],
        rows=[
            [
                str(edge),
                Blank(str((n // edge) ** 2)),
                Blank(str(2 * n * edge)),
                Blank(with_commas(2 * n**3 // edge)),
                Blank(str(edge)),
            ]
            for edge in edges
        ],
        questions=[*dot_product_question(rng), *chip],
    )


def dot_product_question(rng: random.Random) -> list[tuple[str, str]]:
    d = rng.choice((3, 4))
    one, other = ([rng.randint(-3, 4) for _ in range(d)] for _ in range(2))
    return [
        (
            f"What is the dot product {list_text(one)} · {list_text(other)}?",
            str(sum(a * b for a, b in zip(one, other, strict=True))),
        )
    ]


def chip_questions(rng: random.Random) -> list[tuple[str, str]]:
    """A chip's ridge and the edges of its tiles; nothing unless they come out as whole numbers."""
    flop, hbm, shared = rng.choice((1024, 2048, 4096, 8192)), rng.choice((8, 10, 16, 20, 32)), rng.choice((64, 128))
    sms, tenths = rng.choice((80, 100, 120, 150, 200)), rng.randint(10, 20)
    if flop % hbm or sms * tenths * hbm % 100:
        return []
    ridge, edge, registers = flop // hbm, 2 * flop // hbm, int(H100["registers per SM"].value)
    sums = 4 * edge**2
    return [
        (
            f"In one clock the tensor cores of an SM do {flop} FLOP on numbers of 16 bits, HBM brings it {hbm} "
            f"bytes, and its shared memory {shared} bytes. How many FLOP must be done for each byte from "
            "HBM, and how many for each byte from shared memory?",
            f"{ridge}; {flop // shared}",
        ),
        ("Which edges of a tile reach these, if each tile is fetched anew?", f"{edge}; {2 * flop // shared}"),
        (
            f"An SM has {bytes_text(registers)} of registers. How much do the sums of a tile with the larger edge take "
            "in FP32, and do they fit?",
            f"{bytes_text(sums)}: {'yes' if sums <= registers else 'no'}",
        ),
        (
            f"The chip has {sms} SMs, at {tenths / 10:g} GHz. How many TB/s does HBM bring in all?",
            f"{sms} · {hbm} · {tenths / 10:g} GHz = {sms * hbm * tenths / 1e4:g} TB/s",
        ),
    ]
