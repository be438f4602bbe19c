"""Shares as we compute them by hand: in whole per cent, from exponentials rounded to two decimals."""

from __future__ import annotations

import math
from collections.abc import Sequence

POWERS = {0: 1.0, 1: 2.03, 2: 4.11}  # e to the power of a dot product ÷ √2
POWERS_TEXT = "e to the power of 0, 1/√2 and 2/√2 is 1, 2.03 and 4.11"  # as a worksheet gives them

Row = Sequence[float]


def percent(terms: Row) -> list[int]:
    return [round(100 * term / sum(terms)) for term in terms]


def weighted_sum(shares: Sequence[int], values: Sequence[Row]) -> list[float]:
    """The blend of the values, by shares in per cent; values that have no share are left out."""
    seen_values = values[: len(shares)]
    return [sum(share * value[i] for share, value in zip(shares, seen_values, strict=True)) / 100 for i in (0, 1)]


def output_of_terms(terms: Row, exact_terms: Row, values: Sequence[Row]) -> list[float] | None:
    """The blend by shares of rounded exponentials; None if it's off the exact one, or the shares don't make 100."""
    shares = percent(terms)
    rounded_output = weighted_sum(shares, values)
    exact_output = weighted_sum([100 * term / sum(exact_terms) for term in exact_terms], values)
    if sum(shares) != 100 or any(abs(a - b) > 0.05 for a, b in zip(rounded_output, exact_output, strict=True)):
        return None
    return rounded_output


def output_of_dots(dots: Sequence[int], values: Sequence[Row]) -> list[float] | None:
    """The output for these dot products of two numbers each, which are divided by √2; None as above."""
    return output_of_terms([POWERS[dot] for dot in dots], [math.exp(dot / math.sqrt(2)) for dot in dots], values)
