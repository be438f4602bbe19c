"""Chapter 8: three queries over three keys, a block of two and the last."""

from __future__ import annotations

import random
from fractions import Fraction

from scripts.chapters.worksheets import Blank, Worksheet, rows_text

ROWS = ((1, 0), (0, 1), (1, 1))
VALUES = ((10, 0), (0, 10), (5, 5))


def worksheet(rng: random.Random) -> Worksheet | None:
    q, k, v = ([rng.choice(rows) for _ in range(3)] for rows in (ROWS, ROWS, VALUES))
    rows, moved = [], False
    for query, (a, b) in enumerate(q, 1):
        dots = [a * c + b * d for c, d in k]
        two_keys, all_keys = softmax_state(dots[:2], v[:2]), softmax_state(dots, v)
        output = [part / all_keys[1] for part in all_keys[2]]
        if any(10 * number % 1 for number in (*two_keys[2], *all_keys[2], *output)):
            return None
        moved |= two_keys[0] < all_keys[0]
        states = [f"{top}, {number_text(total)}, {vector_text(blend)}" for top, total, blend in (two_keys, all_keys)]
        rows.append(
            [f"query {query}", Blank(" ".join(map(str, dots))), *map(Blank, states), Blank(vector_text(output))]
        )
    if not moved or len(set(q)) < 3 or len(set(v)) < 2:
        return None
    return Worksheet(
        title="FlashAttention by hand, in powers of 2",
        given=[
            f"Q = {rows_text(q)} · K = {rows_text(k)} · V = {rows_text(v)}. Blocks of two keys. Take 2 to the power of "
            "the dot product for the exponential.",
            "After each block: the maximum, the sum and the blend of the values, both measured by that maximum.",
        ],
        head=["Query", "Dot products", "After keys 1, 2", "After key 3", "Output"],
        rows=rows,
        questions=[("Check each line: a blend adds up to how many times its sum?", "10")],
    )


def softmax_state(dots: list[int], values: list[tuple[int, int]]) -> tuple[int, Fraction, list[Fraction]]:
    """The maximum of these keys, their sum, and the blend of their values, both measured from the maximum."""
    top = max(dots)
    terms = [Fraction(2) ** (dot - top) for dot in dots]
    return top, sum(terms), [sum(t * v[i] for t, v in zip(terms, values, strict=True)) for i in (0, 1)]


def number_text(number: Fraction) -> str:
    return f"{float(number):g}"


def vector_text(numbers: list[Fraction]) -> str:
    return f"[{', '.join(map(number_text, numbers))}]"
