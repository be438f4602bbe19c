# ruff: noqa: RUF001  (signs as a board has them)
"""Sheet 7: six scores, two at a time, and what is kept of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext

from kernels.bench.hardware import H100
from scripts.chapters.board import Board
from scripts.chapters.online_softmax import worked
from scripts.chapters.online_softmax.board_readers import (
    LINE_HEIGHT,
    TABLE_X,
    WORK_Y,
    draw_bug,
    draw_demo_ticks,
    draw_readers,
    draw_table_row,
    draw_what_is_left,
    write_line,
)
from scripts.chapters.online_softmax.worked import BLOCK, ROWS, SCORES, VALUES, WORDS, State, vector_text

BARS_X, SHRUNK_BARS_X = 264, 402  # where the bars of the first block begin, and the shrunken ones


def board() -> Board:
    board = Board()
    parts = worked.block_states()
    states = worked.running_states(parts)
    draw_overflow(board)
    draw_safe_softmax(board)
    draw_running_sums(board, parts, states)
    draw_proof(board)
    draw_accumulators(board, parts, states)
    draw_bug(board, parts)
    draw_readers(board, parts)
    draw_demo_ticks(board, states)
    draw_what_is_left(board, states[-1])
    return board


def draw_overflow(board: Board) -> None:
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
        board.write(x + aside, 70, name)
        board.write(x + aside, 114, f"{number:,.0f}", 0.9)
    end = 30 + unit * half
    board.line((end, 52), (end, 110), width=3.2)
    board.write(end - 8, 38, f"FP16 ends: {half:,.0f}", 0.9, at="left")
    with board.withhold():
        cross = 30 + unit * (eleven + ten)
        board.write(cross, 92, "×", 1.1)
        board.write(cross + 12, 114, f"{eleven + ten:,.0f}", 0.9)
        write_line(board, 168, f"[11, 10]:  {eleven:,.0f} + {ten:,.0f} = {eleven + ten:,.0f} → inf")
    with board.withhold():
        write_line(board, 208, f"shares:  {eleven:,.0f} ÷ inf = 0,  {ten:,.0f} ÷ inf = 0")


def draw_safe_softmax(board: Board) -> None:
    one_below = math.exp(-1)
    total = 1 + one_below
    board.step(
        "Softmax with M, the largest score, taken from every exponent: 11 and 10 become 0 and minus 1, with shares of "
        f"{1 / total:.2f} and {one_below / total:.2f}. Below it a strip of 64 rows by 8192 scores, 2 MiB, and only 8 "
        "of its rows shaded, 256 KiB, because more does not fit."
    )
    board.erase()
    draw_fraction(board, 120, 50, "e^{S - M}", "Σ  e^{S - M}")
    with board.withhold():
        board.write(330, 50, "e^{S - M} = e^{S} / e^{M}", 0.9)
    with board.withhold():
        write_line(board, 104, f"[11, 10] → [0, -1]:  1 + {one_below:.3f} = {total:.3f}")
        write_line(board, 128, f"shares:  {1 / total:.2f},  {one_below / total:.2f}")
    strip, registers = ROWS * WORDS * 4, int(H100["registers per SM"].value)
    with board.withhold():  # said after it
        board.box(60, 148, 360, 52)
        board.write(240, 180, f"{ROWS} × {WORDS} · 4 bytes = {strip // 2**20} MiB", 0.9)
    with board.withhold():
        board.hatch(60, 148, 360, 7, gap=10)
        board.write(60, 216, f"registers: {registers // 2**10} KiB, {registers // (WORDS * 4)} rows", 0.85, at="left")
    with board.withhold():
        board.write(240, 246, "How do I add up before I know M?")


def draw_fraction(board: Board, x: float, y: float, above: str, below: str) -> None:
    board.write(x, y - 22, above, 1.2)
    board.line((x - 70, y), (x + 70, y))
    board.write(x, y + 26, below, 1.2)


def draw_running_sums(board: Board, parts: list[State], states: list[State]) -> None:
    states_text = [f"maximum {state.running_max:g}, sum {state.running_sum:.3f}" for state in states]
    board.step(
        f"Six boxes and the head of a table. The first two scores, struck out, have left {states_text[0]}: on the "
        "right their terms as bars. In the corner, e to the minus 1 and minus 2."
    )
    board.erase()
    for i in range(len(states)):
        board.row(TABLE_X + 20 + 136 * i, 8, [""] * BLOCK, w=60, h=27)
    draw_table_row(board, -1, ["block", "max", "factor", "new", "sum"])
    with board.group("powers"):
        powers = ",  ".join(f"e^{{-{power}}} = {math.exp(-power):.3f}" for power in (1, 2))
        board.write(366, 256, powers, 0.75)
    draw_scores(board, 0)
    first, factor = [math.exp(score - states[0].running_max) for score in SCORES[:BLOCK]], states[1].factor
    with board.withhold():
        draw_terms(board, BARS_X, first)
        draw_block(board, 0, parts, states)
    board.step(
        f"The next two scores move the maximum: {states_text[1]}, worked out below. The sheet of paper that lay over "
        "the two bars is gone, and beside them are both again, shrunk."
    )
    board.erase("terms")
    draw_paper(board)
    draw_scores(board, 1)
    with board.withhold(), board.group("work"):
        write_line(board, WORK_Y, "e^{S - 1} → e^{S - 2}")
    with board.withhold():
        draw_block(board, 1, parts, states)
    with board.withhold():
        board.erase_with_answer("paper")
        draw_terms(board, BARS_X, first, without_sum=True)
        draw_terms(board, SHRUNK_BARS_X, [term * factor for term in first])
        with board.group("bars"):
            board.arrow(352, 110, 390, 110)
            board.write(372, 90, "× e^{-1}", 0.8)
    board.step(
        f"The last two scores in their boxes. Their line: {states_text[2]}. On the right all six as bars, a pair for "
        "each block; below, all six at once give the same sum."
    )
    board.erase("bars", "terms")
    draw_scores(board, 2)
    distinct_terms = [f"{math.exp(score - states[-1].running_max):.3g}" for score in sorted(set(SCORES), reverse=True)]
    with board.withhold():
        draw_block(board, 2, parts, states)
    with board.withhold(), board.group("bars"):
        draw_pairs(board, states[-1].running_max)
    with board.withhold(), board.group("work"):
        total = f"{states[-1].running_sum:.3f}"
        write_line(board, WORK_Y + LINE_HEIGHT * 3, f"all six:  2 · ({' + '.join(distinct_terms)}) = {total}")


def draw_terms(board: Board, x: float, bars: Sequence[float], without_sum: bool = False) -> None:
    """The terms of a block as bars, and their sum, which stays where it is while they're under the paper."""
    with board.group("terms"):
        for i, term in enumerate(bars):
            board.box(x + 40 * i, 144 - 66 * term, 22, 66 * term)
            board.write(x + 40 * i + 11, 132 - 66 * term, f"{term:.3g}", 0.75)
    if not without_sum:
        with board.group("bars"):
            board.write(x + 31, 163, f"{sum(bars):.3f}", 0.75)


def draw_paper(board: Board) -> None:
    """A sheet of paper over the first bars, taped at its upper corners."""
    left, right, top = BARS_X - 12, BARS_X + 80, 54
    with board.group("paper"):
        board.box(left, top, right - left, 98)
        for x, lean in ((left, -1), (right, 1)):
            board.line((x - 8, top + 8 * lean), (x + 8, top - 8 * lean), width=4.4)
        board.write(right - 32, top + 14, "paper", 0.75)


def draw_pairs(board: Board, top: float) -> None:
    """All exponentials as bars, measured against one maximum, and what each block is worth."""
    for i in range(len(SCORES) // BLOCK):
        x, terms = 262 + 72 * i, [math.exp(score - top) for score in SCORES[BLOCK * i : BLOCK * (i + 1)]]
        for at, term in enumerate(terms):
            board.box(x + 26 * at, 144 - 66 * term, 22, 66 * term)
        board.write(x + 24, 162, f"{sum(terms):.3f}", 0.75)
        if i:
            board.write(x - 12, 162, "+", 0.75)


def draw_scores(board: Board, i: int) -> None:
    for at, score in enumerate(SCORES[BLOCK * i : BLOCK * (i + 1)]):
        board.write(TABLE_X + 50 + 136 * i + 60 * at, 21.5, f"{score:g}")


def draw_block(board: Board, i: int, parts: list[State], states: list[State]) -> None:
    """The block's line in the table and its working; then its scores are struck out."""
    state, factor_text = states[i], f"{states[i].factor:.3g}" if i else "-"
    board.strike(TABLE_X + 12 + 136 * i, 32, TABLE_X + 142 + 136 * i, 11)
    cells = [i + 1, f"{state.running_max:g}", factor_text, f"{parts[i].running_sum:.3f}", f"{state.running_sum:.3f}"]
    draw_table_row(board, i, cells)
    if i:
        with board.group("work"):
            write_line(board, WORK_Y + LINE_HEIGHT * i, sum_text(i, parts, states))


def sum_text(i: int, parts: list[State], states: list[State]) -> str:
    """The line of this block, worked out: the old ones by the factor, then the new ones."""
    scores = SCORES[BLOCK * i : BLOCK * (i + 1)]
    terms_text = " + ".join(f"{math.exp(score - states[i].running_max):.3g}" for score in scores)
    old, new = states[i - 1].running_sum, parts[i].running_sum * math.exp(parts[i].running_max - states[i].running_max)
    rescaled_sum, total = states[i].factor * old, states[i].running_sum
    if states[i].factor == 1:
        return f"{terms_text} = {new:.3f},   {old:.3f} + {new:.3f} = {total:.3f}"
    return f"{states[i].factor:.3f} · {old:.3f} = {rescaled_sum:.3f},   {rescaled_sum:.3f} + {new:.3f} = {total:.3f}"


def draw_proof(board: Board) -> None:
    board.step(
        "The working gives way to three lines: each old term, times e to the old minus the new maximum, has the new; "
        "so has the old sum, and the block's sum is added; it began with minus infinity and a sum of 0."
    )
    board.erase("work", "bars")
    lines = (
        "m = max,  ℓ = sum,  ′ = after the block",
        "so far:  ℓ = Σ e^{S - m}",
        "1.  e^{m - m′} · e^{S - m}  =  e^{S - m′}  in each term",
        "2.  e^{m - m′} · ℓ  +  Σ e^{S - m′} of the block  =  ℓ′",
        "3.  it began with  (-∞, 0)",
    )
    for i, line in enumerate(lines):
        with board.withhold() if i > 1 else nullcontext(), board.group("proof"):
            write_line(board, WORK_Y - 4 + 21 * i, line)


def draw_accumulators(board: Board, parts: list[State], states: list[State]) -> None:
    states_text = "; ".join(f"{vector_text(state.accumulator)}, so far {vector_text(state.output)}" for state in states)
    board.step(
        f"Under each score its value: {vector_text(VALUES[0])} under the first three, {vector_text(VALUES[-1])} under "
        f"the others. The table has two more columns, accumulator and so far, by blocks: {states_text}. Below, the "
        "second and the third worked out, and the check: each accumulator adds up to ten times its sum."
    )
    board.erase("proof")
    for i, value in enumerate(VALUES):
        board.write(TABLE_X + 47 + 136 * (i // BLOCK) + 60 * (i % BLOCK), 48, vector_text(value), 0.75)
    board.line((TABLE_X + 214, 36), (TABLE_X + 214, 56))
    draw_table_row(board, -1, ["accumulator", "so far"], skip=5)
    first, second, last = states
    shrunk = [second.factor * part for part in first.accumulator]
    x, y = last.accumulator
    lines = (
        f"{second.factor:.3f} · {vector_text(first.accumulator)} = {vector_text(shrunk)}",
        f"{vector_text(shrunk)} + {vector_text(parts[1].accumulator)} = {vector_text(second.accumulator)}",
        f"{vector_text(second.accumulator)} + {vector_text(parts[2].accumulator)} = {vector_text(last.accumulator)}",
        f"check:  {x:.2f} + {y:.2f} = 10 · {last.running_sum:.3f}",
    )
    for i, indices in enumerate(((), (0, 1), (2,), (3,))):  # the lines worked out with each line of the table
        with board.withhold():
            if i < len(states):
                draw_table_row(board, i, [vector_text(states[i].accumulator), vector_text(states[i].output)], skip=5)
            with board.group("work"):
                for line in indices:
                    write_line(board, WORK_Y + 23 * line, lines[line], 0.8)
