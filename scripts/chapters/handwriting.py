# ruff: noqa: RUF001  (signs as a board has them)
"""Text as strokes of a marker: a single-stroke font, so that a board's picture needs no font file.

``handwriting.json`` has a line for each sign: its left end, its right end, its strokes. The letters are those that
A. V. Hershey drew for the National Bureau of Standards (1976, in the public domain), by way of the package
Hershey-Fonts; from the raised point on, the signs are our own. Our full stop, comma and colon are lower than his: on
paper, his stop looked like a multiplication sign, and his comma like a stop.
"""

from __future__ import annotations

import json
import random
import re
from functools import cache
from pathlib import Path

FONT = Path(__file__).with_name("handwriting.json")
UNIT = 0.62  # pixels a unit of the font, whose capitals are 21 units high
SHIFTED_SCALE = 0.66  # of what is raised or lowered
PEN_WIDTH = 1.9  # pixels
REPLACEMENTS = str.maketrans({"−": "-", "–": "-", "’": "'", "“": '"', "”": '"', "ᵀ": "^{T}", "∑": "Σ", "\u00a0": " "})
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
PARTS = re.compile(r"([\^_])\{([^}]*)\}|([⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+)|([^\^_⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+|[\^_])")

Stroke = list[list[int]]


class Unwritable(ValueError):
    """A sign that the marker cannot write; the message names it."""


@cache
def glyphs() -> dict[str, tuple[int, int, list[Stroke]]]:
    """Sign -> its left end, right end and strokes; 0 is its middle, y grows downwards, in capitals from -12 to 9."""
    return json.loads(FONT.read_text(encoding="utf-8"))


def line_svg(text: str, size: float, hand: random.Random) -> tuple[str, float]:
    """The SVG paths of a line of text whose left end, at half its height, is at 0, 0; and its width in pixels."""
    x, paths = 0.0, []
    for shift, raised, sup, level in PARTS.findall(text.translate(REPLACEMENTS)):
        part = raised or sup.translate(RAISED) or level
        scale = UNIT * size * (SHIFTED_SCALE if shift or sup else 1)
        y = {"^": -6.5, "_": 5.5}.get(shift or ("^" if sup else ""), 0.0) * size
        path, units = strokes(part, hand)
        if path:
            transform = f'transform="translate({x:.1f} {y:.1f}) scale({scale:.3g})"'
            paths.append(f'<path {transform} stroke-width="{PEN_WIDTH * max(size, 0.8) / scale:.2g}" d="{path}"/>')
        x += units * scale
    return "".join(paths), x


def strokes(text: str, hand: random.Random) -> tuple[str, int]:
    """The path of these signs in the font's units, each a little out of line, and its width in units."""
    x, path, previous = 0, [], (0, 0)
    for sign in text:
        if sign not in glyphs():
            raise Unwritable(
                f"{text}: the marker cannot write {sign}; scripts/chapters/handwriting.json has the signs that it can"
            )
        left, right, glyph_strokes = glyphs()[sign]
        shift_up = hand.choice((-1, 0, 0, 1))
        for stroke in glyph_strokes:
            for i, (stroke_x, stroke_y) in enumerate(stroke):
                point = (x - left + stroke_x, stroke_y + 1 + shift_up)
                path.append(
                    f"{'m' if not i else 'l' if i == 1 else ' '}{point[0] - previous[0]} {point[1] - previous[1]}"
                )
                previous = point
        x += right - left
    return "".join(path), x
