# ruff: noqa: RUF001  (signs as a board has them)
"""The handwriting: a single-stroke font, so that a picture needs no font and looks written by a marker.

``handwriting.json`` has a line a sign: where it begins, where it ends, its strokes.  The letters are those that A. V.
Hershey drew for the National Bureau of Standards (1976, in the public domain), by way of the package Hershey-Fonts;
from the raised point on the signs are our own.  Stop,
comma and colon stand lower than his, on the line: on paper his stop was a sign for times, his comma a stop.
"""

from __future__ import annotations

import json
import random
import re
from functools import cache
from pathlib import Path

FONT = Path(__file__).with_name("handwriting.json")
UNIT = 0.62  # pixels a unit of the font, whose capitals are 21 units high
SMALL = 0.66  # of what is raised or lowered
PEN = 1.9  # pixels
SAME = str.maketrans({"−": "-", "–": "-", "’": "'", "“": '"', "”": '"', "ᵀ": "^{T}", "∑": "Σ", "\u00a0": " "})
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
PART = re.compile(r"([\^_])\{([^}]*)\}|([⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+)|([^\^_⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+|[\^_])")

Stroke = list[list[int]]


class Unwritable(ValueError):
    """A sign that the marker cannot write; the message names it."""


@cache
def glyphs() -> dict[str, tuple[int, int, list[Stroke]]]:
    """Each sign's left and right end and its strokes: 0 is its middle, capitals go from -12 to 9, downwards."""
    return json.loads(FONT.read_text(encoding="utf-8"))


def line_svg(text: str, size: float, hand: random.Random) -> tuple[str, float]:
    """The strokes of a line of writing that begins at 0, 0, its middle, and how wide it is in pixels."""
    x, paths = 0.0, []
    for shift, raised, sup, level in PART.findall(text.translate(SAME)):
        part = raised or sup.translate(RAISED) or level
        scale = UNIT * size * (SMALL if shift or sup else 1)
        y = {"^": -6.5, "_": 5.5}.get(shift or ("^" if sup else ""), 0.0) * size
        path, units = strokes(part, hand)
        if path:
            place = f'transform="translate({x:.1f} {y:.1f}) scale({scale:.3g})"'
            paths.append(f'<path {place} stroke-width="{PEN * max(size, 0.8) / scale:.2g}" d="{path}"/>')
        x += units * scale
    return "".join(paths), x


def strokes(text: str, hand: random.Random) -> tuple[str, int]:
    """The path of these signs in the font's units, each a little off its place, and how many units it is wide."""
    at, path, last = 0, [], (0, 0)
    for sign in text:
        if sign not in glyphs():
            raise Unwritable(
                f"{text}: the marker cannot write {sign}; scripts/chapters/handwriting.json has the signs that it can"
            )
        left, right, drawn = glyphs()[sign]
        up = hand.choice((-1, 0, 0, 1))
        for stroke in drawn:
            for i, (px, py) in enumerate(stroke):
                here = (at - left + px, py + 1 + up)
                path.append(f"{'m' if not i else 'l' if i == 1 else ' '}{here[0] - last[0]} {here[1] - last[1]}")
                last = here
        at += right - left
    return "".join(path), at
