"""Sheet 5's numbers, once: three jars, the rows of three programs, a mask, what a warp asks for, and a unit's clocks.

The board, the demo and the tests have these numbers. It's plain Python, because the site is built without torch;
tests/chapters/first_kernel compares them with the library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

QUERIES = ((1, 0), (1, 1), (0, 1))  # program 1 is worked at the board, the room does 0 and 2
KEYS = ((1, 0), (0, 1), (1, 1))
VALUES = ((10, 0), (0, 10), (5, 5))
ROW = 4  # places: the first power of two with room for three keys
LENGTH, BLOCK = 2500, 1024  # two vectors to add, and the row of a program
TEXTS, HEADS, WORDS = 2, 2, 3  # for those who ask about more than one head
PROGRAM = 7
WARPS, LANES = 4, 32
SECTOR, NUMBER = 32, 2  # bytes
SUM = (5, 2, 2, 2)  # a warp's instructions: shuffles, shared memory, shuffles of four sums, shared memory
FOR_THE_UNIT = 2 * sum(SUM) + 2  # in a meeting: two sums, and a load of the key and of the value
CLOCKS = FOR_THE_UNIT * WARPS  # it starts at best one in a clock
GRID = (32, 16, 512, 512)  # texts, heads, queries, keys
MEETINGS = math.prod(GRID)
PROGRAMS = math.prod(GRID[:3])
SMS, GIGAHERTZ = 132, 1.98
NUMBERS, FLOP = 128, 256  # of a key or a value; in a clock and SM, of the FP32 units


class Line(NamedTuple):
    """One program's row: its scores, their exponentials with three digits, as a hand adds them, and what follows."""

    scores: list[float]
    terms: list[float]
    total: float
    shares: list[int]  # in whole per cent
    output: list[float]


def line(query: Sequence[int], padding: float = -math.inf) -> Line:
    """Returns all that the board has of a program with this query, its empty places filled with ``padding``."""
    scores = [float(sum(a * b for a, b in zip(query, key, strict=True))) for key in KEYS]
    scores += [padding] * (ROW - len(scores))
    terms = [round(math.exp(score - max(scores)), 3) for score in scores]
    total = sum(terms)
    output = [sum(t * v[i] for t, v in zip(terms, VALUES, strict=False)) / total for i in (0, 1)]
    return Line(scores, terms, total, [round(100 * term / total) for term in terms], output)


def real(program: int) -> int:
    """Returns for how many places of an adding program's row the mask is True."""
    return max(0, min(BLOCK, LENGTH - program * BLOCK))


def masked(program: int) -> tuple[str, str, str]:
    """Returns where an adding program begins, how many True and how many False, as the room works them out."""
    true = real(program)
    return f"{program * BLOCK}", f"{true} True", f"{BLOCK - true} False"


def place(program: int) -> tuple[int, int, int]:
    """Returns the word, the head and the text of a program."""
    return program % WORDS, program // WORDS % HEADS, program // WORDS // HEADS


def sectors(stride: int) -> int:
    """Returns how many sectors a warp touches that loads a number a thread."""
    return min(LANES * NUMBER * stride // SECTOR, LANES)


def asked() -> float:
    """Returns how many gigabytes all programs ask for: each a K and a V of its head."""
    return PROGRAMS * one_asks() / 1e9


def one_asks() -> int:
    """Returns how many bytes one program asks for."""
    return 2 * GRID[-1] * NUMBERS * NUMBER


def predicted() -> float:
    """Returns how many milliseconds the load-store units need for all meetings, if each starts one in every clock."""
    return MEETINGS * CLOCKS / SMS / GIGAHERTZ / 1e6


def multiplied() -> float:
    """Returns how many milliseconds the FP32 units need for all products and their sums, of scores and of outputs."""
    return MEETINGS * 4 * NUMBERS / FLOP / SMS / GIGAHERTZ / 1e6


def shown(number: float) -> str:
    """-∞, 1 and 0.368."""
    return "-∞" if number == -math.inf else f"{round(number, 3):g}"


def pair(numbers: Sequence[float]) -> str:
    """[6.3, 3.7], and [5, 5] without decimals."""
    return "[" + ", ".join(f"{round(number, 1):g}" for number in numbers) + "]"


def per_cent(shares: Sequence[int]) -> str:
    """21 21 58 0 %."""
    return " ".join(map(str, shares)) + " %"


def load_store_clocks(warps: int) -> int:
    """Returns for how many clocks a meeting takes the load-store unit, if a program has so many warps."""

    def instructions(results: int) -> int:
        across = (SUM[1], results.bit_length() - 1, SUM[3]) if results > 1 else ()
        return sum((SUM[0], *across))

    holders = min(warps, NUMBERS // LANES)  # more warps hold copies of a key's numbers, but not of the row's
    return warps * (instructions(holders) + instructions(warps) + 2)
