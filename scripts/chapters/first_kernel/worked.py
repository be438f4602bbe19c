"""Sheet 5's numbers, once: three jars, the rows of three programs, a mask, and the clocks of units.

The board and the demo have these numbers, and tests hold the chapter's counts of clocks against them. It's plain
Python, because the site is built without torch; tests/chapters/first_kernel compares them with the library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from scripts.chapters import prefill_speed

QUERIES = ((1, 0), (1, 1), (0, 1))  # program 1 is worked at the board, the room does 0 and 2
KEYS = ((1, 0), (0, 1), (1, 1))
VALUES = ((10, 0), (0, 10), (5, 5))
PADDED_KEYS = 4  # places: the first power of two with room for three keys
LENGTH, BLOCK = 2500, 1024  # two vectors to add, and the row of a program
GRID_TEXTS, GRID_HEADS, GRID_WORDS = 2, 2, 3  # a grid of programs for those who ask about more than one head
PROGRAM_ID = 7  # of this grid
WARPS, LANES = 4, 32
PROGRAMS_AT_ONCE = 2048 // (WARPS * LANES)  # in an SM, which has room for so many threads
BYTES = 2  # of a number
SUM_STEPS = (5, 2, 2, 2)  # a warp's instructions: shuffles, shared memory, shuffles of four sums, shared memory
PLACE_INSTRUCTIONS, LOOP_INSTRUCTIONS = 3, 10  # for the ALU: for each place of the row; of a warp's loops and addresses
ALU_PER_CLOCK = 2  # instructions that it starts
SCHEDULERS = 4  # of an SM, each starts one instruction in a clock
HEAD_DIM, FP32_FLOP_PER_CLOCK = 128, 256  # of a key or a value; in a clock and SM, of the FP32 units
PAIR_FLOP = 4 * HEAD_DIM  # each number of key and value is multiplied and added
PAIR_BYTES = 2 * HEAD_DIM * BYTES  # of a key and a value
FP32_CLOCKS = PAIR_FLOP // FP32_FLOP_PER_CLOCK  # of a pair
SHAPE = (  # of what is timed: texts, heads, queries, keys
    prefill_speed.TOKENS // prefill_speed.N,
    prefill_speed.WIDTH // HEAD_DIM,
    prefill_speed.N,
    prefill_speed.N,
)
PAIRS = math.prod(SHAPE)
LONGEST = 4096  # words: beyond, the compiler packs and unpacks what a pass compares, too
SMS, GIGAHERTZ = 132, 1.98
TERAFLOPS = SMS * GIGAHERTZ * FP32_FLOP_PER_CLOCK / 1e3  # of all FP32 units


class ProgramRow(NamedTuple):
    """One program's row: its scores, their exponentials with three digits, as a hand adds them, and what follows."""

    scores: list[float]
    terms: list[float]
    total: float
    shares: list[int]  # in whole per cent
    output: list[float]


def program_row(query: Sequence[int], padding: float = -math.inf) -> ProgramRow:
    """Returns all that the board has of a program with this query, its empty places filled with ``padding``."""
    scores = [float(sum(a * b for a, b in zip(query, key, strict=True))) for key in KEYS]
    scores += [padding] * (PADDED_KEYS - len(scores))
    terms = [round(math.exp(score - max(scores)), 3) for score in scores]
    total = sum(terms)
    output = [sum(t * v[i] for t, v in zip(terms[: len(VALUES)], VALUES, strict=True)) / total for i in (0, 1)]
    return ProgramRow(scores, terms, total, [round(100 * term / total) for term in terms], output)


def mask_true_count(program: int) -> int:
    """Returns for how many places of an adding program's row the mask is True."""
    return max(0, min(BLOCK, LENGTH - program * BLOCK))


def mask_text(program: int) -> tuple[str, str, str]:
    """Returns where an adding program begins, how many True and how many False, as the room works them out."""
    true = mask_true_count(program)
    return f"{program * BLOCK}", f"{true} True", f"{BLOCK - true} False"


def requested_gigabytes() -> float:
    """Returns how many gigabytes all programs ask for: each a K and a V of its head."""
    return PAIRS * PAIR_BYTES / 1e9


def milliseconds_of_clocks(clocks: float) -> float:
    """Returns how many milliseconds all pairs need, if each keeps a unit of an SM busy for so many clocks."""
    return PAIRS * clocks / SMS / GIGAHERTZ / 1e6


def bytes_in_a_clock(bytes_a_second: float) -> float:
    """Returns the bytes that an SM gets in a clock, its part of a speed that all SMs share."""
    return bytes_a_second / SMS / GIGAHERTZ / 1e9


def number_text(number: float) -> str:
    """-∞, 1 and 0.368."""
    return "-∞" if number == -math.inf else f"{round(number, 3):g}"


def vector_text(numbers: Sequence[float]) -> str:
    """[6.3, 3.7], and [5, 5] without decimals."""
    return "[" + ", ".join(f"{round(number, 1):g}" for number in numbers) + "]"


def percents(shares: Sequence[int]) -> str:
    """21 21 58 0 %."""
    return " ".join(map(str, shares)) + " %"


def load_store_clocks(warps: int) -> int:
    """Returns for how many clocks a pair takes the load-store unit, if a program has so many warps."""

    def instructions(results: int) -> int:
        across = (SUM_STEPS[1], results.bit_length() - 1, SUM_STEPS[3]) if results > 1 else ()
        return sum((SUM_STEPS[0], *across))

    holders = min(warps, HEAD_DIM // LANES)  # more warps hold copies of a key's numbers, but not of the row's
    return warps * (instructions(holders) + instructions(warps) + 2)


def alu_clocks(warps: int, places: int = SHAPE[-1]) -> float:
    """Returns for how many clocks a pair takes the ALU: two passes over the row, each warp's loops and addresses."""
    return (2 * places * PLACE_INSTRUCTIONS / LANES + warps * LOOP_INSTRUCTIONS) / ALU_PER_CLOCK
