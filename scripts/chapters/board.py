"""Draws a whiteboard as it looks after each step: what is new is in one colour.

A sheet's board is a script, ``scripts/chapters/online_softmax/board.py``, whose function ``board()`` takes a
``Board`` from step to step.  Places are in pixels of a picture of 480 by 270, from its upper left corner.  Whatever
would run off the board is an error, and so is a sign that the marker cannot write.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape

from scripts.chapters.handwriting import line_svg

WIDTH, HEIGHT = 480, 270
OLD_INK_COLOUR = "#2b2b33"
NEW_INK_COLOUR = "#c0392b"
BORDER_COLOUR = "#b9b4a8"
BOARD_COLOUR = "#fffefb"
MIN_SIZE = 0.75  # of what is written, so that a sheet of paper can be read
MARGIN = 5  # pixels that stay free at each side

Point = tuple[float, float]
Area = tuple[float, float, float, float]  # left, top, right, bottom


class OffTheBoard(ValueError):
    """Something was drawn where there is no board; the message says what, and where."""


@dataclass(eq=False)
class Ink:
    """One thing that was drawn.

    step: which drew it, from 1   erased_at_step: which erased it, infinite if none did
    answer_number: which of the board's answers it belongs to, from 1; 0 if the room isn't asked for it
    removed_by_answer: the number of the answer that takes it away again; 0 if none does
    text: what is written, if it is writing   area: where
    """

    svg: str
    step: int
    area: Area
    text: str = ""
    answer_number: int = 0
    group: str = ""
    removed_by_answer: int = 0
    erased_at_step: float = math.inf

    def is_visible(self, step: int) -> bool:
        return self.step <= step < self.erased_at_step


class Board:
    def __init__(self, seed: int = 7):
        self.ink: list[Ink] = []
        self.step_descriptions: list[str] = []  # what each step's picture shows, in words
        self.hand = random.Random(seed)  # a hand is never quite straight, and always the same one
        self.answer_count = 0
        self.current_answer_number = 0  # 0 outside of ``withhold``
        self.current_group = ""

    # What happens

    def step(self, description: str) -> None:
        """The next step begins: what was new is ink like all other.  ``description`` tells the picture in words."""
        self.step_descriptions.append(description)

    @contextmanager
    def withhold(self) -> Iterator[None]:
        """What is drawn inside is one answer of the room's: the presenter shows it at a key press."""
        self.answer_count += 1
        self.current_answer_number = self.answer_count
        yield
        self.current_answer_number = 0

    def erase_with_answer(self, group: str) -> None:
        """Erases this group once the answer that is being drawn is shown."""
        for ink in self.ink:
            if ink.group == group and ink.is_visible(self.steps):
                ink.removed_by_answer, ink.erased_at_step = self.current_answer_number, self.steps + 1

    @contextmanager
    def group(self, name: str) -> Iterator[None]:
        """What is drawn inside can be erased together."""
        self.current_group = name
        yield
        self.current_group = ""

    def erase(self, *groups: str, keep: Sequence[str] = ()) -> None:
        """Erases these groups in this step; without a name, all that the earlier steps have drawn.

        keep: the groups that stay
        """
        for ink in self.ink:
            is_meant = ink.group in groups if groups else ink.group not in keep
            if ink.erased_at_step == math.inf and ink.step < self.steps and is_meant:
                ink.erased_at_step = self.steps

    # What is drawn

    def write(self, x: float, y: float, text: str, size: float = 1.0, at: str = "middle") -> Area:
        """Writes with the middle, the left or the right end at x, and the middle at height y; returns where it is.

        ``e^{11}`` and ``x_{1}`` are raised and lowered; size 1 has capitals 13 pixels high.
        """
        if size < MIN_SIZE:
            raise ValueError(f"step {self.steps}: {text}: size {size} is too small on paper; from {MIN_SIZE} on")
        svg, width = line_svg(text, size, self.hand)
        left = {"middle": x - width / 2, "left": x, "right": x - width}[at]
        area = (left, y - 8 * size, left + width, y + 8 * size)
        self.add(f'<g transform="translate({left:.1f} {y:.1f})">{svg}</g>', area, text)
        return area

    def line(self, *points: Point, width: float = 2.2, dashed: bool = False) -> None:
        path = " L".join(f"{x + self.wobble():.1f} {y + self.wobble():.1f}" for x, y in points)
        style = f' stroke-width="{width}"' if width != 2.2 else ""
        style += ' stroke-dasharray="6 6"' if dashed else ""
        self.add(f'<path d="M{path}"{style}/>', bounding_box(points))

    def curve(self, function: Callable[[float], float], begin: float, end: float, parts: int = 24) -> None:
        """The curve of a function of x in pixels."""
        xs = [begin + (end - begin) * i / parts for i in range(parts + 1)]
        points = [(x, function(x)) for x in xs]
        path = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self.add(f'<path d="M{path}"/>', bounding_box(points))

    def box(self, x: float, y: float, w: float, h: float, text: str = "", size: float = 1.0) -> None:
        self.line((x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y - 1))
        if text:
            self.write(x + w / 2, y + h / 2, text, size)

    def row(self, x: float, y: float, cells: Sequence[object], w: float = 44, h: float = 32, size: float = 1.0) -> None:
        """Boxes side by side, each with its words."""
        for i, cell in enumerate(cells):
            self.box(x + i * w, y, w - 6, h, str(cell), size)

    def grid(self, x: float, y: float, rows: int, columns: int, w: float = 24, h: float = 24) -> None:
        """An empty grid; ``middle`` says where the words of a cell go."""
        for i in range(rows + 1):
            self.line((x, y + i * h), (x + columns * w, y + i * h))
        for j in range(columns + 1):
            self.line((x + j * w, y), (x + j * w, y + rows * h))

    def matrix(
        self, x: float, y: float, rows: Sequence[Sequence[object]], w: float = 32, h: float = 22, size: float = 0.9
    ) -> None:
        """Numbers between two brackets; x, y is the upper left corner."""
        right, bottom = x + 8 + w * len(rows[0]), y + h * len(rows)
        self.line((x + 6, y), (x, y), (x, bottom), (x + 6, bottom))
        self.line((right - 6, y), (right, y), (right, bottom), (right - 6, bottom))
        self.table(x + 4 + w / 2, y + h / 2, rows, [w] * len(rows[0]), h, size)

    def table(
        self,
        x: float,
        y: float,
        rows: Sequence[Sequence[object]],
        widths: Sequence[float],
        h: float = 24,
        size: float = 0.85,
    ) -> None:
        """Words in rows and columns without lines; x, y is the middle of the first cell, a width leads to the next."""
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                if str(cell):
                    self.write(x + sum(widths[:j]), y + i * h, str(cell), size)

    def arrow(self, x0: float, y0: float, x1: float, y1: float, width: float = 2.2) -> None:
        self.line((x0, y0), (x1, y1), width=width)
        back = math.atan2(y0 - y1, x0 - x1)
        tips = [(x1 + 9 * math.cos(back + turn), y1 + 9 * math.sin(back + turn)) for turn in (-0.45, 0.45)]
        self.line(tips[0], (x1, y1), tips[1], width=width)

    def axis(self, x: float, y: float, w: float, h: float, across: str = "", up: str = "") -> None:
        """Two axes from their corner at x, y, to the right and upwards, with what they count."""
        self.arrow(x, y, x + w, y)
        self.arrow(x, y, x, y - h)
        if across:
            self.write(x + w, y + 14, across, 0.8, at="right")
        if up:
            self.write(x + 8, y - h + 4, up, 0.8, at="left")

    def ring(self, x: float, y: float, w: float, h: float) -> None:
        """A ring around the place whose middle is at x, y: *circle it*."""
        turn = [2 * math.pi * i / 20 - 1.2 for i in range(22)]
        points = [(x + w / 2 * math.cos(a) * (1 + i / 400), y + h / 2 * math.sin(a)) for i, a in enumerate(turn)]
        self.line(*points)

    def strike(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """A thick line across what no longer counts."""
        self.line((x0, y0), (x1, y1), width=3.2)

    def hatch(self, x: float, y: float, w: float, h: float, gap: float = 8) -> None:
        """Lines aslant all over a place: what is shaded."""
        for offset in range(int(gap), int(w + h), int(gap)):
            a, b = max(0.0, offset - h), min(w, float(offset))
            self.line((x + a, y + offset - a), (x + b, y + offset - b), width=1.2)

    # What comes of it

    @property
    def steps(self) -> int:
        return len(self.step_descriptions)

    def answer_numbers(self, step: int) -> list[int]:
        """The answers that the room is asked for in this step, in the order in which they're drawn."""
        return sorted({ink.answer_number for ink in self.ink if ink.answer_number and ink.step == step})

    def read(self, step: int) -> list[str]:
        """All that is written on the board after this step."""
        return [ink.text for ink in self.ink if ink.text and ink.is_visible(step) and not ink.removed_by_answer]

    def svg(self, step: int, answers_shown: int | None = None) -> str:
        """The board after this step, with its colours inside, so that it can be dropped into slides.

        answers_shown: how many of the step's answers are there; without it, all
        """
        unanswered = set() if answers_shown is None else set(self.answer_numbers(step)[answers_shown:])
        visible = [ink for ink in self.ink if ink.is_visible(step) and ink.answer_number not in unanswered]
        visible = [ink for ink in visible if not ink.removed_by_answer or ink.removed_by_answer in unanswered]
        old = "".join(ink.svg for ink in visible if ink.step < step)
        new = "".join(ink.svg for ink in visible if ink.step == step)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="960" height="540">'
            f"<title>{escape(self.step_descriptions[step - 1])}</title>"
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{BOARD_COLOUR}" stroke="{BORDER_COLOUR}"/>'
            '<g fill="none" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round">'
            f'<g stroke="{OLD_INK_COLOUR}">{old}</g><g stroke="{NEW_INK_COLOUR}">{new}</g></g></svg>'
        )

    def paper_steps(self) -> list[int]:
        """The steps that have something on paper, to print before the lesson: the group ``printed``."""
        return sorted({ink.step for ink in self.ink if ink.group == "printed"})

    def paper_svg(self, step: int) -> str:
        """What a step has on paper, as a picture that fills a printed page."""
        paper = [ink for ink in self.ink if ink.group == "printed" and ink.step == step]
        left, top, right, bottom = bounding_box([point for ink in paper for point in (ink.area[:2], ink.area[2:])])
        box = f"{left - 4:.0f} {top - 4:.0f} {right - left + 8:.0f} {bottom - top + 8:.0f}"
        strokes = "".join(ink.svg for ink in paper)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}"><style>@page {{ size: landscape }}</style>'
            f'<g fill="none" stroke="{OLD_INK_COLOUR}" stroke-width="2.2" stroke-linecap="round" '
            f'stroke-linejoin="round">{strokes}</g></svg>'
        )

    def wobble(self) -> float:
        return self.hand.uniform(-0.6, 0.6)

    def add(self, svg: str, area: Area, text: str = "") -> None:
        left, top, right, bottom = area
        if not self.steps:
            raise ValueError("a board begins with a step: board.step(...) before anything is drawn")
        if left < MARGIN or top < MARGIN or right > WIDTH - MARGIN or bottom > HEIGHT - MARGIN:
            where = f"{left:.0f}, {top:.0f} to {right:.0f}, {bottom:.0f}"
            raise OffTheBoard(f"step {self.steps}: {text or 'a line'} runs off the board, from {where}")
        self.ink.append(Ink(svg, self.steps, area, text, self.current_answer_number, self.current_group))


def bounding_box(points: Sequence[Point]) -> Area:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)
