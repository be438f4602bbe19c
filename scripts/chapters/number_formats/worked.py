"""Sheet 10's numbers: their codes in E2M1 and E4M3, and one block of NVFP4 with its scale and its bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

BLOCK = (4.5, -2.25, 0, 0.9375, 1.3125, 3.75, 0.1875, -0.5625, 1, -0.1, 2, 0.3, -4.4, 3, -1.5, 0.75)
TENSOR = 0.5  # its scale
BIAS, STEPS = 7, 8  # of E4M3, whose mantissa has 3 bits
MARKS = (0, 0.5, 1, 1.5, 2, 3, 4, 6)  # of E2M1, by their codes
TIES = [(low + high) / 2 for low, high in pairwise(MARKS)]


def e4m3(number: float) -> tuple[str, float]:
    """The eight bits of a positive number that is not subnormal, and what they stand for."""
    exponent = math.floor(math.log2(number))
    mantissa = round((number / 2**exponent - 1) * STEPS)  # below 8 for the numbers of this board
    return f"0 {exponent + BIAS:04b} {mantissa:03b}", 2**exponent * (1 + mantissa / STEPS)


def e2m1(number: float) -> int:
    """The code of the nearest mark, of the even code at a tie; with the sign in front."""
    code = min(range(len(MARKS)), key=lambda code: (abs(MARKS[code] - abs(number)), code % 2))
    return code + 8 * (math.copysign(1, number) < 0)


def taken(code: int) -> str:
    return ("-" if code >= 8 else "") + short(MARKS[code % 8])


def short(number: float) -> str:
    """1.25, .25 and -.75: without the 0 in front, two digits behind the point."""
    return typed(round(number, 2))


def typed(number: float) -> str:
    return f"{number:g}".replace("0.", ".") if number else "0"


def largest(block: Sequence[float] = BLOCK) -> float:
    return max(map(abs, block))


def scale(block: Sequence[float] = BLOCK) -> tuple[str, float]:
    """The scale of the block in E4M3: its bits, its value."""
    return e4m3(largest(block) / MARKS[-1] / TENSOR)


def unit(block: Sequence[float] = BLOCK) -> float:
    """What is stored as 1 is worth this."""
    return scale(block)[1] * TENSOR


def codes() -> list[int]:
    return [e2m1(number / unit()) for number in BLOCK]


def packed() -> list[str]:
    """The bytes, the first number in the low half."""
    found = codes()
    return [f"{high:X}{low:X}" for low, high in zip(found[::2], found[1::2], strict=True)]
