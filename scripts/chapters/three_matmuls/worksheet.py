"""Chapter 1: three words, two numbers each."""

from __future__ import annotations

import random

from scripts.chapters.rounded_shares import POWERS, POWERS_TEXT, output_of_dots, percent
from scripts.chapters.worksheets import Blank, Worksheet, rows_text

ROWS = ((1, 0), (0, 1), (1, 1))
VALUES = ((10, 0), (0, 10), (5, 5))


def worksheet(rng: random.Random) -> Worksheet | None:
    q, k, v = ([rng.choice(rows) for _ in range(3)] for rows in (ROWS, ROWS, VALUES))
    dots = [[a * c + b * d for c, d in k] for a, b in q]
    if len(set(k)) < 2 or len(set(v)) < 2 or any(len(set(row)) < 2 for row in dots) or len(set(q)) < 3:
        return None
    rows = []
    for word, row in enumerate(dots, 1):
        if not (output := output_of_dots(row, v)):
            return None
        terms = [POWERS[dot] for dot in row]
        cells = [" ".join(map(str, row)), f"{sum(terms):.2f}", f"{' '.join(map(str, percent(terms)))} %"]
        rows.append([f"word {word}", *map(Blank, cells), Blank(f"[{output[0]:g}, {output[1]:g}]")])
    return Worksheet(
        title="Attention by hand, three words",
        given=[
            f"Q = {rows_text(q)} · K = {rows_text(k)} · V = {rows_text(v)}.",
            f"To hand: √2 = 1.41, and {POWERS_TEXT}. Shares in whole per cent.",
        ],
        head=["Word", "q · k", "Sum of the exponentials", "Shares", "Output"],
        rows=rows,
        questions=[("Value rows add up to 10. What must each output row add up to?", "10")],
    )
