"""The three words that several boards have: their dot products, a weighted sum, and how we write a number."""

from __future__ import annotations

from collections.abc import Sequence

Q = ((1, 0), (1, 1), (0, 1))
K = ((1, 0), (0, 1), (1, 1))
V = ((10, 0), (0, 10), (5, 5))

Row = Sequence[float]


def dot(one: Row, other: Row) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


def dot_products() -> list[list[float]]:
    return [[dot(query, key) for key in K] for query in Q]


def weighted_sum(row: Row) -> list[float]:
    return [dot(row, column) for column in zip(*V, strict=True)]


def number_text(value: float) -> str:
    """0.71, and 1 without decimals."""
    return f"{value:.0f}" if abs(value - round(value)) < 1e-9 else f"{value:.2f}"


def vector_text(row: Row) -> str:
    return "[" + ", ".join(number_text(value) for value in row) + "]"
