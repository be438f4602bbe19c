"""Chapter 1: three words, two numbers each."""

from __future__ import annotations

import math
import random

from scripts.boards.worksheets import Blank, Worksheet, rows_of

ROWS = ((1, 0), (0, 1), (1, 1))
VALUES = ((10, 0), (0, 10), (5, 5))
POWERS = {0: 1.0, 1: 2.03, 2: 4.11}  # e to the power of a dot product ÷ √2, in the digits of the sheet


def worksheet(draw: random.Random) -> Worksheet | None:
    q, k, v = ([draw.choice(rows) for _ in range(3)] for rows in (ROWS, ROWS, VALUES))
    dots = [[a * c + b * d for c, d in k] for a, b in q]
    if len(set(k)) < 2 or len(set(v)) < 2 or any(len(set(row)) < 2 for row in dots) or len(set(q)) < 3:
        return None
    rows = []
    for word, row in enumerate(dots, 1):
        terms = [math.exp(dot / math.sqrt(2)) for dot in row]
        shares = [round(100 * POWERS[dot] / sum(POWERS[each] for each in row)) for dot in row]
        exactly = [sum(t * each[i] for t, each in zip(terms, v, strict=True)) / sum(terms) for i in (0, 1)]
        output = [sum(s * each[i] for s, each in zip(shares, v, strict=True)) / 100 for i in (0, 1)]
        if sum(shares) != 100 or any(abs(a - b) > 0.05 for a, b in zip(output, exactly, strict=True)):
            return None
        said = [" ".join(map(str, row)), f"{sum(POWERS[dot] for dot in row):.2f}", f"{' '.join(map(str, shares))} %"]
        rows.append([f"word {word}", *map(Blank, said), Blank(f"[{output[0]:g}, {output[1]:g}]")])
    return Worksheet(
        title="Attention by hand, three words",
        given=[
            f"Q = {rows_of(q)} · K = {rows_of(k)} · V = {rows_of(v)}.",
            "To hand: √2 = 1.41, and e to the power of 0, 1/√2 and 2/√2 is 1, 2.03 and 4.11. Shares in whole per cent.",
        ],
        head=["Word", "q · k", "Sum of the exponentials", "Shares", "Output"],
        rows=rows,
        questions=[("Value rows add up to 10. What must each output row add up to?", "10")],
    )
