# ruff: noqa: RUF001  (signs as a board has them)
"""Sheet 7: six scores, two at a time, and what is kept of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext

from kernels.bench.hardware import H100
from scripts.chapters.board import Board
from scripts.chapters.online_softmax import worked
from scripts.chapters.online_softmax.worked import BLOCK, DIM, ROWS, SCORES, VALUES, WORDS, State

COLUMNS = [43, 44, 54, 53, 89, 101]  # of the table, from the middle of one to the middle of the next
BARS, SHRUNK = 264, 402  # where the bars of the first block begin, and the shrunken ones
LEFT, FIRST, LINE = 26, 94, 24  # its left column, its first row and the height of a row
WORK, NEXT = 166, 23  # the first line below it, and from one to the next


def pair(numbers: Sequence[float]) -> str:
    """[15.03, 3.68], and [10, 0] without decimals."""
    shown = (f"{round(number, 2):.2f}" if round(number, 2) % 1 else f"{number:.0f}" for number in numbers)
    return f"[{', '.join(shown)}]"


def board() -> Board:
    board = Board()
    parts = worked.block_states()
    after = worked.running_states(parts)
    overflow(board)
    safe(board)
    totals(board, parts, after)
    proof(board)
    blends(board, parts, after)
    bug(board, parts)
    readers(board, parts)
    machine(board, after)
    left(board, after[-1])
    return board


def overflow(board: Board) -> None:
    eleven, ten, twelve = (round(math.exp(power)) for power in (11, 10, 12))
    half = (2 - 2**-10) * 2**15
    board.step(
        f"A line on which e to the 11, {eleven:,.0f}, lies before the end of FP16, {half:,.0f}, and e to the 12 "
        f"behind. e to the 11 plus e to the 10 is {eleven + ten:,.0f}, a cross past the end, so inf, and both shares "
        "are 0."
    )
    board.arrow(30, 92, 450, 92)
    unit = 340 / twelve
    for number, name, aside in ((eleven, "e^{11}", -28), (twelve, "e^{12}", 0)):
        x = 30 + unit * number
        board.line((x, 86), (x, 98))
        board.words(x + aside, 70, name)
        board.words(x + aside, 114, f"{number:,.0f}", 0.9)
    end = 30 + unit * half
    board.line((end, 52), (end, 110), width=3.2)
    board.words(end - 8, 38, f"FP16 ends: {half:,.0f}", 0.9, at="left")
    with board.answer():
        cross = 30 + unit * (eleven + ten)
        board.words(cross, 92, "×", 1.1)
        board.words(cross + 12, 114, f"{eleven + ten:,.0f}", 0.9)
        words(board, 168, f"[11, 10]:  {eleven:,.0f} + {ten:,.0f} = {eleven + ten:,.0f} → inf")
    with board.answer():
        words(board, 208, f"shares:  {eleven:,.0f} ÷ inf = 0,  {ten:,.0f} ÷ inf = 0")


def words(board: Board, y: float, text: str, size: float = 0.85) -> None:
    board.words(LEFT - 14, y, text, size, at="left")


def safe(board: Board) -> None:
    one_below = math.exp(-1)
    total = 1 + one_below
    board.step(
        "Softmax with M, the largest score, taken from every exponent: 11 and 10 become 0 and minus 1, with shares of "
        f"{1 / total:.2f} and {one_below / total:.2f}. Below it a strip of 64 rows by 8192 scores, 2 MiB, and only 8 "
        "of its rows shaded, 256 KiB, because more does not fit."
    )
    board.rub()
    fraction(board, 120, 50, "e^{S - M}", "Σ  e^{S - M}")
    with board.answer():
        board.words(330, 50, "e^{S - M} = e^{S} / e^{M}", 0.9)
    with board.answer():
        words(board, 104, f"[11, 10] → [0, -1]:  1 + {one_below:.3f} = {total:.3f}")
        words(board, 128, f"shares:  {1 / total:.2f},  {one_below / total:.2f}")
    strip, registers = ROWS * WORDS * 4, int(H100["registers per SM"].value)
    with board.answer():  # said after it
        board.box(60, 148, 360, 52)
        board.words(240, 180, f"{ROWS} × {WORDS} · 4 bytes = {strip // 2**20} MiB", 0.9)
    with board.answer():
        board.hatch(60, 148, 360, 7, gap=10)
        board.words(60, 216, f"registers: {registers // 2**10} KiB, {registers // (WORDS * 4)} rows", 0.85, at="left")
    with board.answer():
        board.words(240, 246, "How do I add up before I know M?")


def fraction(board: Board, x: float, y: float, above: str, below: str) -> None:
    board.words(x, y - 22, above, 1.2)
    board.line((x - 70, y), (x + 70, y))
    board.words(x, y + 26, below, 1.2)


def totals(board: Board, parts: list[State], after: list[State]) -> None:
    said = [f"maximum {state.running_max:g}, sum {state.running_sum:.3f}" for state in after]
    board.step(
        f"Six boxes and the head of a table. The first two scores, struck out, have left {said[0]}: on the right "
        "their terms as bars. In the corner, e to the minus 1 and minus 2."
    )
    board.rub()
    for i in range(len(after)):
        board.row(LEFT + 20 + 136 * i, 8, [""] * BLOCK, w=60, h=27)
    row(board, -1, ["block", "max", "factor", "new", "sum"])
    with board.group("powers"):
        powers = ",  ".join(f"e^{{-{power}}} = {math.exp(-power):.3f}" for power in (1, 2))
        board.words(366, 256, powers, 0.75)
    scores(board, 0)
    first, factor = [math.exp(score - after[0].running_max) for score in SCORES[:BLOCK]], after[1].factor
    with board.answer():
        terms(board, BARS, first)
        block(board, 0, parts, after)
    board.step(
        f"The next two scores move the maximum: {said[1]}, worked out below. The sheet of paper that lay over the two "
        "bars is gone, and beside them are both again, shrunk."
    )
    board.rub("terms")
    paper(board)
    scores(board, 1)
    with board.answer(), board.group("work"):
        words(board, WORK, "e^{S - 1} → e^{S - 2}")
    with board.answer():
        block(board, 1, parts, after)
    with board.answer():
        board.lift("paper")
        terms(board, BARS, first, again=True)
        terms(board, SHRUNK, [term * factor for term in first])
        with board.group("bars"):
            board.arrow(352, 110, 390, 110)
            board.words(372, 90, "× e^{-1}", 0.8)
    board.step(
        f"The last two scores in their boxes. Their line: {said[2]}. On the right all six as bars, a pair for each "
        "block; below, all six at once give the same sum."
    )
    board.rub("bars", "terms")
    scores(board, 2)
    different = [f"{math.exp(score - after[-1].running_max):.3g}" for score in sorted(set(SCORES), reverse=True)]
    with board.answer():
        block(board, 2, parts, after)
    with board.answer(), board.group("bars"):
        pairs(board, after[-1].running_max)
    with board.answer(), board.group("work"):
        words(board, WORK + NEXT * 3, f"all six:  2 · ({' + '.join(different)}) = {after[-1].running_sum:.3f}")


def terms(board: Board, x: float, bars: Sequence[float], again: bool = False) -> None:
    """The terms of a block as bars, and their sum, which stays where it is while they're under the paper."""
    with board.group("terms"):
        for i, term in enumerate(bars):
            board.box(x + 40 * i, 144 - 66 * term, 22, 66 * term)
            board.words(x + 40 * i + 11, 132 - 66 * term, f"{term:.3g}", 0.75)
    if not again:
        with board.group("bars"):
            board.words(x + 31, 163, f"{sum(bars):.3f}", 0.75)


def paper(board: Board) -> None:
    """A sheet of paper over the first bars, taped at its upper corners."""
    left, right, top = BARS - 12, BARS + 80, 54
    with board.group("paper"):
        board.box(left, top, right - left, 98)
        for x, lean in ((left, -1), (right, 1)):
            board.line((x - 8, top + 8 * lean), (x + 8, top - 8 * lean), width=4.4)
        board.words(right - 32, top + 14, "paper", 0.75)


def pairs(board: Board, top: float) -> None:
    """All exponentials as bars, measured against one maximum, and what each block is worth."""
    for i in range(len(SCORES) // BLOCK):
        x, terms = 262 + 72 * i, [math.exp(score - top) for score in SCORES[BLOCK * i : BLOCK * (i + 1)]]
        for at, term in enumerate(terms):
            board.box(x + 26 * at, 144 - 66 * term, 22, 66 * term)
        board.words(x + 24, 162, f"{sum(terms):.3f}", 0.75)
        if i:
            board.words(x - 12, 162, "+", 0.75)


def scores(board: Board, i: int) -> None:
    for at, score in enumerate(SCORES[BLOCK * i : BLOCK * (i + 1)]):
        board.words(LEFT + 50 + 136 * i + 60 * at, 21.5, f"{score:g}")


def block(board: Board, i: int, parts: list[State], after: list[State]) -> None:
    """The block's line in the table and its working; then its scores are struck out."""
    state, kept = after[i], f"{after[i].factor:.3g}" if i else "-"
    board.strike(LEFT + 12 + 136 * i, 32, LEFT + 142 + 136 * i, 11)
    row(board, i, [i + 1, f"{state.running_max:g}", kept, f"{parts[i].running_sum:.3f}", f"{state.running_sum:.3f}"])
    if i:
        with board.group("work"):
            words(board, WORK + NEXT * i, sums(i, parts, after))


def sums(i: int, parts: list[State], after: list[State]) -> str:
    """The line of this block, worked out: the old ones by the factor, then the new ones."""
    here = SCORES[BLOCK * i : BLOCK * (i + 1)]
    fresh = " + ".join(f"{math.exp(score - after[i].running_max):.3g}" for score in here)
    old, new = after[i - 1].running_sum, parts[i].running_sum * math.exp(parts[i].running_max - after[i].running_max)
    kept, total = after[i].factor * old, after[i].running_sum
    if after[i].factor == 1:
        return f"{fresh} = {new:.3f},   {old:.3f} + {new:.3f} = {total:.3f}"
    return f"{after[i].factor:.3f} · {old:.3f} = {kept:.3f},   {kept:.3f} + {new:.3f} = {total:.3f}"


def row(board: Board, line: int, cells: list[object], skip: int = 0) -> None:
    board.table(LEFT + sum(COLUMNS[:skip]), FIRST + LINE * line, [cells], COLUMNS[skip:], size=0.75)


def proof(board: Board) -> None:
    board.step(
        "The working gives way to three lines: each old term, times e to the old minus the new maximum, has the new; "
        "so has the old sum, and the block's sum is added; it began with minus infinity and a sum of 0."
    )
    board.rub("work", "bars")
    lines = (
        "m = max,  ℓ = sum,  ′ = after the block",
        "so far:  ℓ = Σ e^{S - m}",
        "1.  e^{m - m′} · e^{S - m}  =  e^{S - m′}  in each term",
        "2.  e^{m - m′} · ℓ  +  Σ e^{S - m′} of the block  =  ℓ′",
        "3.  it began with  (-∞, 0)",
    )
    for i, line in enumerate(lines):
        with board.answer() if i > 1 else nullcontext(), board.group("proof"):
            words(board, WORK - 4 + 21 * i, line)


def blends(board: Board, parts: list[State], after: list[State]) -> None:
    said = "; ".join(f"{pair(state.accumulator)}, so far {pair(state.output)}" for state in after)
    board.step(
        f"Under each score its value: {pair(VALUES[0])} under the first three, {pair(VALUES[-1])} under the others. "
        f"The table has two more columns, accumulator and so far, by blocks: {said}. Below, the second and the third "
        "worked out, and the check: each accumulator adds up to ten times its sum."
    )
    board.rub("proof")
    for i, value in enumerate(VALUES):
        board.words(LEFT + 47 + 136 * (i // BLOCK) + 60 * (i % BLOCK), 48, pair(value), 0.75)
    board.line((LEFT + 214, 36), (LEFT + 214, 56))
    row(board, -1, ["accumulator", "so far"], skip=5)
    first, second, last = after
    shrunk = [second.factor * part for part in first.accumulator]
    x, y = last.accumulator
    lines = (
        f"{second.factor:.3f} · {pair(first.accumulator)} = {pair(shrunk)}",
        f"{pair(shrunk)} + {pair(parts[1].accumulator)} = {pair(second.accumulator)}",
        f"{pair(second.accumulator)} + {pair(parts[2].accumulator)} = {pair(last.accumulator)}",
        f"check:  {x:.2f} + {y:.2f} = 10 · {last.running_sum:.3f}",
    )
    for i, own in enumerate(((), (0, 1), (2,), (3,))):  # the lines that are worked out with each line of the table
        with board.answer():
            if i < len(after):
                row(board, i, [pair(after[i].accumulator), pair(after[i].output)], skip=5)
            with board.group("work"):
                for line in own:
                    words(board, WORK + 23 * line, lines[line], 0.8)


def bug(board: Board, parts: list[State]) -> None:
    wrong = worked.running_states(parts, forget=True)[-1]
    board.step(
        f"Below the table, without rescaling: the new ones add up to {wrong.running_sum:.3f}, the accumulators to "
        f"{pair(wrong.accumulator)}, and divided that is {pair(wrong.output)}, beside the true [5, 5]. On the right "
        "the two weights of the first block as bars; a line says where they should end."
    )
    board.rub("work")
    sides = zip(*(part.accumulator for part in parts), strict=True)
    left, right = (" + ".join(pair([each])[1:-1] for each in side if each) for side in sides)
    x, y = wrong.accumulator
    lines = (
        f"sum:  {' + '.join(f'{part.running_sum:.3f}' for part in parts)} = {wrong.running_sum:.3f}",
        f"left:  {left} = {x:.2f}",
        f"right:  {right} = {y:.2f}",
        f"÷ {wrong.running_sum:.3f} = {pair(wrong.output)}",
        f"{x:.2f} + {y:.2f} = 10 · {wrong.running_sum:.3f}",
    )
    for own in ((0, 1, 2), (), (3,), (4,)):  # the bars come second
        with board.answer(), board.group("bug"):
            for line in own:
                words(board, WORK - 5 + 22 * line, lines[line], 0.8)
            if not own:
                weights(board)


def weights(board: Board) -> None:
    """The two weights of the first block as they are if nobody rescales, a line where each should end."""
    floor, tall = 240, 48
    for i, score in enumerate(SCORES[:BLOCK]):
        used, right = (math.exp(score - top) for top in (max(SCORES[:BLOCK]), max(SCORES)))
        x, end = 310 + 82 * i, floor - tall * right
        board.box(x, floor - tall * used, 40, tall * used)
        board.hatch(x, floor - tall * used, 40, tall * (used - right))
        board.line((x - 5, end), (x + 45, end), width=3.2)
        board.words(x + 20, floor - tall * used - 12, f"{used:.3g} → {right:.3f}", 0.8)


def readers(board: Board, parts: list[State]) -> None:
    rest = worked.merge(parts[1], parts[2])
    whole = worked.merge(parts[0], rest)
    say = [f"({part.running_max:g}, {part.running_sum:.3f})" for part in (parts[0], rest, whole)]
    board.step(
        f"Below the table: two readers, one with {say[0]}, the other with {say[1]}, and an arrow from each to "
        f"{say[2]}, worked out below. Beside them the empty state, minus infinity and 0."
    )
    board.rub("bug")
    terms = " + ".join(f"{math.exp(score - rest.running_max):.3g}" for score in SCORES[BLOCK:])
    old = f"{whole.factor:.3f} · {parts[0].running_sum:.3f}"
    with board.answer(), board.group("readers"):
        board.words(90, 195, say[1], 0.95)
        words(board, 218, f"{terms} = {rest.running_sum:.3f}", 0.75)
    with board.answer(), board.group("readers"):
        board.words(90, 168, say[0], 0.95)
        board.arrow(150, 169, 206, 178)
        board.arrow(150, 195, 206, 186)
    with board.answer(), board.group("readers"):
        board.words(268, 182, say[2], 0.95)
        words(board, 238, f"{old} + {rest.running_sum:.3f} = {whole.running_sum:.3f}")
    with board.answer(), board.group("readers"):
        board.words(400, 172, "nothing read:", 0.75)
        board.words(400, 194, "(-∞, 0)", 0.95)


def machine(board: Board, after: list[State]) -> None:
    board.step(
        "A tick behind each line of the table: the demo has printed the same numbers. Below, the maximum plus the "
        f"logarithm of the sum, {after[-1].lse:.3f}."
    )
    last = after[-1]
    with board.group("ticks"):
        with board.answer():
            for i in range(len(after)):
                board.words(467, FIRST + LINE * i, "✓", 0.85)
        with board.answer():
            words(board, 258, f"{last.running_max:g} + ln {last.running_sum:.3f} = {last.lse:.3f}")


def left(board: Board, last: State) -> None:
    kept = ROWS * (DIM + 2) * 4
    board.step(
        "The values are struck out, too. In the last line of the table three things are ringed, and they are all that "
        f"is left: maximum {last.running_max:g}, sum {last.running_sum:.3f} and the accumulator. Below, the strip of "
        f"{ROWS} rows is struck out, and beside it stands what is kept of them, {kept / 2**10:g} KiB."
    )
    board.rub("readers", "ticks", "work", "bug", "powers")
    with board.answer():
        board.strike(LEFT + 14, 48, LEFT + 416, 48)
        for x, wide in ((LEFT + COLUMNS[0], 30), (LEFT + sum(COLUMNS[:4]), 50), (LEFT + sum(COLUMNS[:5]), 118)):
            board.ring(x, FIRST + 2 * LINE, wide, 23)
    with board.answer():
        board.box(LEFT - 10, 176, 170, 30, f"{ROWS} × {WORDS}", 0.85)
        board.strike(LEFT - 14, 210, LEFT + 164, 172)
        board.arrow(LEFT + 170, 191, LEFT + 204, 191)
        board.words(LEFT + 213, 191, f"{ROWS} · (1 + 1 + d) numbers", 0.85, at="left")
    registers = int(H100["registers per SM"].value) // 2**10
    with board.answer():
        words(board, 236, f"d = {DIM}:  {ROWS} · {DIM + 2} · 4 bytes = {kept / 2**10:g} KiB of {registers} KiB")
