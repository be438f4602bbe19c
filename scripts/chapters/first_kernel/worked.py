"""Sheet 5's row, its table of sentences with the program that finds its query there, and what a warp touches."""

from __future__ import annotations

import math

QUERY, KEYS = (1, 1), ((1, 0), (0, 1), (1, 1))
VALUES = ((10, 0), (0, 10), (5, 5))
SENTENCES, HEADS, WORDS, HEAD_DIM = 2, 2, 3, 2
PROGRAM = 7
ROW = 4  # places: the first power of two with room for three keys
WARPS, LANES, REGISTERS = 4, 32, 255
SECTOR, NUMBER = 32, 4  # bytes


def scores() -> list[float]:
    """The row of program 1: a score for each key, minus infinity where there is none."""
    found = [float(sum(a * b for a, b in zip(QUERY, key, strict=True))) for key in KEYS]
    return found + [-math.inf] * (ROW - len(found))


def place(number: int) -> tuple[int, int, int]:
    """The word, head and sentence of a program."""
    return number % WORDS, number // WORDS % HEADS, number // WORDS // HEADS


def strides() -> tuple[int, int, int]:
    """From one word, one head and one sentence to the next, in numbers."""
    return HEAD_DIM, WORDS * HEAD_DIM, HEADS * WORDS * HEAD_DIM


def sectors(stride: int) -> int:
    """How many a warp touches that loads a number of 4 bytes a lane."""
    return min(LANES * NUMBER * stride // SECTOR, LANES)


def shown(number: float) -> str:
    """-∞, 1 and 0.37."""
    if number == -math.inf:
        return "-∞"
    return f"{number:.2f}" if number % 1 else f"{number:g}"
