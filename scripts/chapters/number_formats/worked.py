"""Sheet 10's numbers: their codes in E2M1 and E4M3, and one block of NVFP4 with its scale and its bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

BLOCK = (4.5, -2.25, 0, 0.9375, 1.3125, 3.75, 0.1875, -0.5625, 1, -0.1, 2, 0.3, -4.4, 3, -1.5, 0.75)
TENSOR_SCALE = 0.5
BIAS, STEPS = 7, 8  # of E4M3, whose mantissa has 3 bits
E2M1 = (0, 0.5, 1, 1.5, 2, 3, 4, 6)  # its values, by their codes
TIES = [(low + high) / 2 for low, high in pairwise(E2M1)]


def encode_e4m3(number: float) -> tuple[str, float]:
    """The eight bits of a positive number that is not subnormal, and what they stand for."""
    exponent = math.floor(math.log2(number))
    mantissa = round((number / 2**exponent - 1) * STEPS)  # below 8 for the numbers of this board
    return f"0 {exponent + BIAS:04b} {mantissa:03b}", 2**exponent * (1 + mantissa / STEPS)


def encode_e2m1(number: float) -> int:
    """The code of the nearest value, of the even code at a tie; with the sign in front."""
    code = min(range(len(E2M1)), key=lambda code: (abs(E2M1[code] - abs(number)), code % 2))
    return code + 8 * (math.copysign(1, number) < 0)


def e2m1_text(code: int) -> str:
    return ("-" if code >= 8 else "") + short(E2M1[code % 8])


def short(number: float) -> str:
    """1.25, .25 and -.75: without the 0 in front, two digits behind the point."""
    return no_leading_zero(round(number, 2))


def no_leading_zero(number: float) -> str:
    return f"{number:g}".replace("0.", ".") if number else "0"


def block_maximum(block: Sequence[float] = BLOCK) -> float:
    return max(map(abs, block))


def block_scale(block: Sequence[float] = BLOCK) -> tuple[str, float]:
    """The scale of the block in E4M3: its bits, its value."""
    return encode_e4m3(block_maximum(block) / E2M1[-1] / TENSOR_SCALE)


def combined_scale(block: Sequence[float] = BLOCK) -> float:
    """What is stored as 1 is worth this."""
    return block_scale(block)[1] * TENSOR_SCALE


def block_codes() -> list[int]:
    return [encode_e2m1(number / combined_scale()) for number in BLOCK]


def packed_bytes() -> list[str]:
    """The bytes, the first number in the low half."""
    found = block_codes()
    return [f"{high:X}{low:X}" for low, high in zip(found[::2], found[1::2], strict=True)]
