"""Shares as a hand makes them: in whole per cent, from exponentials that were rounded to two digits."""

from __future__ import annotations

import math
from collections.abc import Sequence

POWERS = {0: 1.0, 1: 2.03, 2: 4.11}  # e to the power of a dot product ÷ √2
POWERS_TEXT = "e to the power of 0, 1/√2 and 2/√2 is 1, 2.03 and 4.11"  # as a worksheet gives them

Row = Sequence[float]


def percent(terms: Row) -> list[int]:
    return [round(100 * term / sum(terms)) for term in terms]


def weighted_sum(shares: Sequence[int], values: Sequence[Row]) -> list[float]:
    """Of the values, by shares in per cent; values that have no share are left out."""
    seen_values = values[: len(shares)]
    return [sum(share * value[i] for share, value in zip(shares, seen_values, strict=True)) / 100 for i in (0, 1)]


def output(terms: Row, exactly: Row, values: Sequence[Row]) -> list[float] | None:
    """The blend by shares of these rounded exponentials; None unless it is as good as that by the exact ones."""
    shares = percent(terms)
    found, wanted = weighted_sum(shares, values), weighted_sum([100 * term / sum(exactly) for term in exactly], values)
    if sum(shares) != 100 or any(abs(a - b) > 0.05 for a, b in zip(found, wanted, strict=True)):
        return None
    return found


def output_of_dots(dots: Sequence[int], values: Sequence[Row]) -> list[float] | None:
    """The output for these dot products of two numbers each, which are divided by √2; None if it is not even."""
    return output([POWERS[dot] for dot in dots], [math.exp(dot / math.sqrt(2)) for dot in dots], values)
