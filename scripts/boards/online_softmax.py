# ruff: noqa: RUF001  (signs as a board has them)
"""Sheet 7: six scores, two at a time, and what is kept of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernels.bench.hardware import H100
from scripts.boards.board import Board

SCORES = (1, 0, 2, 1, 0, 2)
VALUES = ((10, 0),) * 3 + ((0, 10),) * 3
BLOCK = 2
COLUMNS = [42, 48, 60, 97, 107, 70]  # of the table, from the middle of one to the middle of the next
LEFT, FIRST, LINE = 36, 86, 25  # its left column, its first row and the height of a row


@dataclass(frozen=True)
class State:
    """What is kept of the scores so far; ``factor`` is what the last block did to what was there."""

    maximum: float = -math.inf
    total: float = 0.0
    blend: tuple[float, float] = (0.0, 0.0)
    factor: float = 0.0

    @property
    def output(self) -> list[float]:
        return [part / self.total for part in self.blend]


def of(scores: Sequence[float], values: Sequence[Sequence[float]]) -> State:
    """The state of these scores alone."""
    top = max(scores)
    terms = [math.exp(score - top) for score in scores]
    return State(top, sum(terms), tuple(sum(t * v[i] for t, v in zip(terms, values, strict=True)) for i in (0, 1)))


def merged(one: State, other: State, rescaled: bool = True) -> State:
    """Both as one; not rescaled, as the bug of the sheet has it."""
    top = max(one.maximum, other.maximum)
    a, b = (math.exp(part.maximum - top) if rescaled else 1.0 for part in (one, other))
    blend = tuple(a * x + b * y for x, y in zip(one.blend, other.blend, strict=True))
    return State(top, a * one.total + b * other.total, blend, a)


def blocks(
    scores: Sequence[float] = SCORES, values: Sequence[Sequence[float]] = VALUES, size: int = BLOCK
) -> list[State]:
    return [of(scores[i : i + size], values[i : i + size]) for i in range(0, len(scores), size)]


def states(parts: list[State]) -> list[State]:
    """The state after each block."""
    found = parts[:1]
    for part in parts[1:]:
        found.append(merged(found[-1], part))
    return found


def pair(numbers: Sequence[float]) -> str:
    """[15.03, 3.68], and [10, 0] without decimals."""
    return (
        "["
        + ", ".join(f"{round(number, 2):.2f}" if round(number, 2) % 1 else f"{number:.0f}" for number in numbers)
        + "]"
    )


def board() -> Board:
    board = Board()
    parts = blocks()
    after = states(parts)
    overflow(board)
    safe(board)
    totals(board, after)
    proof(board)
    blends(board, after)
    bug(board, parts)
    readers(board, parts, after)
    machine(board, after)
    left(board, after[-1])
    return board


def overflow(board: Board) -> None:
    eleven, ten, twelve = (round(math.exp(power)) for power in (11, 10, 12))
    half, single, power = (2 - 2**-10) * 2**15, (2 - 2**-23) * 2.0**127, math.exp(89)
    board.step(
        f"A line on which e to the 11, {eleven:,.0f}, lies before the end of FP16, {half:.0f}, and e to the 12 behind. "
        f"Below, e to the 11 plus e to the 10 is {eleven + ten:,.0f}, so inf. Last, e to the 89 and the end of FP32."
    )
    board.arrow(30, 92, 450, 92)
    for x, name, number in ((110, "e^{11}", f"{eleven:,.0f}"), (370, "e^{12}", f"{twelve:,.0f}")):
        board.line((x, 86), (x, 98))
        board.words(x, 70, name)
        board.words(x, 114, number, 0.9)
    board.line((240, 60), (240, 110), width=3.2)
    board.words(240, 44, f"FP16 ends: {half:.0f}", 0.9)
    board.words(410, 44, "inf", 1.1)
    board.words(LEFT, 156, f"[11, 10]:  {eleven:,.0f} + {ten:,.0f} = {eleven + ten:,.0f} → inf", 0.9, at="left")
    board.words(LEFT, 186, "shares 0, 0", 1, at="left")
    board.words(
        LEFT,
        232,
        f"e^{{89}} = {power / 1e38:.1f} · 10^{{38}},  FP32 ends at {single / 1e38:.1f} · 10^{{38}}",
        0.9,
        at="left",
    )


def safe(board: Board) -> None:
    board.step(
        "Softmax with M, the largest score, taken from every exponent; below it a strip of 64 rows by 8192 scores, "
        "2 MiB, and only 8 of its rows shaded, 256 KiB, because more does not fit."
    )
    board.rub()
    fraction(board, 240, 62, "e^{S - M}", "Σ  e^{S - M}")
    board.box(60, 146, 360, 64)
    board.hatch(60, 146, 360, 8, gap=10)
    rows, columns = 64, 8192
    strip, registers = rows * columns * 4, int(H100["registers per SM"].value)
    board.words(240, 180, f"{rows} × {columns} · 4 bytes = {strip // 2**20} MiB", 0.9)
    board.words(60, 232, f"registers: {registers // 2**10} KiB, {registers // (columns * 4)} rows", 0.9, at="left")


def fraction(board: Board, x: float, y: float, above: str, below: str) -> None:
    board.words(x, y - 22, above, 1.2)
    board.line((x - 70, y), (x + 70, y))
    board.words(x, y + 26, below, 1.2)


def totals(board: Board, after: list[State]) -> None:
    said = "; ".join(
        f"after block {i}: maximum {state.maximum:g}, sum {state.total:.3f}" for i, state in enumerate(after, 1)
    )
    board.step(
        f"Six scores in boxes, two at a time, and a table with a line for each block: {said}. The first two blocks "
        "are struck out."
    )
    board.rub()
    for block in range(len(after)):
        board.row(LEFT + 20 + 130 * block, 14, SCORES[BLOCK * block : BLOCK * (block + 1)], w=52, h=30)
        if block + 1 < len(after):
            board.strike(LEFT + 12 + 130 * block, 40, LEFT + 126 + 130 * block, 18)
    row(board, -1, ["block", "max", "factor", "sum"])
    for i, state in enumerate(after):
        kept = f"{state.factor:.3g}" if i else "-"
        cells = [i + 1, f"{state.maximum:g}", kept, f"{state.total:.3f}"]
        if i + 1 < len(after):
            row(board, i, cells)
        else:
            with board.answer():
                row(board, i, cells)


def row(board: Board, line: int, cells: list[object], skip: int = 0) -> None:
    board.table(LEFT + sum(COLUMNS[:skip]), FIRST + LINE * line, [cells], COLUMNS[skip:], size=0.75)


def proof(board: Board) -> None:
    board.step(
        "The proof in three lines: the old sum times e to the old minus the new maximum, plus the new block's sum, "
        "is the new sum; it began with a maximum of minus infinity and a sum of 0."
    )
    with board.group("proof"):
        for i, line in enumerate(
            (
                "1.  e^{m - m′} · ℓ  =  old ones, measured by m′",
                "2.  + Σ e^{S - m′} of the block  =  ℓ′",
                "3.  it began with  (-∞, 0)",
            )
        ):
            board.words(LEFT - 14, 178 + 32 * i, line, 0.9, at="left")


def blends(board: Board, after: list[State]) -> None:
    said = "; ".join(f"{pair(state.blend)}, so far {pair(state.output)}" for state in after)
    board.step(
        f"The table has two more columns, accumulator and so far, by blocks: {said}. Below: divide once, at the "
        "end; each accumulator adds up to ten times its sum."
    )
    board.rub("proof")
    row(board, -1, ["accumulator", "so far"], skip=4)
    for i, state in enumerate(after[:-1]):
        row(board, i, [pair(state.blend), pair(state.output)], skip=4)
    with board.answer():
        row(board, len(after) - 1, [pair(after[-1].blend), pair(after[-1].output)], skip=4)
    check = after[1]
    board.words(
        LEFT - 14, 176, f"{check.blend[0]:.2f} + {check.blend[1]:.2f} = 10 · {check.total:.3f}", 0.85, at="left"
    )


def bug(board: Board, parts: list[State]) -> None:
    wrong = parts[0]
    for part in parts[1:]:
        wrong = merged(wrong, part, rescaled=False)
    board.step(
        f"Below the table, without rescaling: {pair(wrong.blend)} divided by {wrong.total:.3f} is "
        f"{pair(wrong.output)}, beside the true [5, 5]."
    )
    with board.group("bug"):
        board.words(LEFT - 14, 212, f"not rescaled:  {pair(wrong.blend)} ÷ {wrong.total:.3f}", 0.85, at="left")
        with board.answer():
            board.words(LEFT - 14, 242, f"= {pair(wrong.output)}", 0.85, at="left")
            board.words(LEFT + 120, 242, "adds up to 10, too", 0.85, at="left")


def readers(board: Board, parts: list[State], after: list[State]) -> None:
    rest = merged(parts[1], parts[2])
    whole = merged(parts[0], rest)
    say = [f"({part.maximum:g}, {part.total:.3f})" for part in (parts[0], rest, whole)]
    board.step(
        f"Below the table: two readers, one with {say[0]}, the other with {say[1]}, and an arrow from each to "
        f"{say[2]}. Beside them the empty state, minus infinity and 0."
    )
    board.rub("bug")
    board.words(90, 216, say[0], 0.95)
    board.words(90, 250, say[1], 0.95)
    board.arrow(150, 217, 206, 229)
    board.arrow(150, 249, 206, 237)
    with board.answer():
        board.words(268, 233, say[2], 0.95)
    board.words(400, 218, "nothing read:", 0.75)
    board.words(400, 242, "(-∞, 0)", 0.95)


def machine(board: Board, after: list[State]) -> None:
    board.step("A tick behind each line of the table: the demo has printed the same numbers.")
    for i in range(len(after)):
        board.words(460, FIRST + LINE * i, "✓", 0.9)


def left(board: Board, last: State) -> None:
    board.step(
        f"The six scores are struck out together. The last line of the table is ringed: maximum {last.maximum:g}, "
        f"sum {last.total:.3f} and the accumulator are all that is left."
    )
    board.strike(LEFT + 6, 44, LEFT + 384, 12)
    board.ring(232, FIRST + 2 * LINE, 428, 25)
