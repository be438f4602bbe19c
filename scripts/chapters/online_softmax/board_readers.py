# ruff: noqa: RUF001  (signs as a board has them)
"""The second half of board 7: the bug, two readers, the demo, and what is left."""

from __future__ import annotations

import math

from kernels.bench.hardware import H100
from scripts.chapters.board import Board
from scripts.chapters.online_softmax import worked
from scripts.chapters.online_softmax.worked import BLOCK, DIM, ROWS, SCORES, WORDS, State, vector_text

COLUMN_WIDTHS = [43, 44, 54, 53, 89, 101]  # of the table, from the middle of one to the middle of the next
TABLE_X, FIRST_ROW_Y, ROW_HEIGHT = 26, 94, 24  # its left column, its first row and the height of a row
WORK_Y, LINE_HEIGHT = 166, 23  # the first line below it, and from one to the next


def write_line(board: Board, y: float, text: str, size: float = 0.85) -> None:
    board.write(TABLE_X - 14, y, text, size, at="left")


def draw_table_row(board: Board, line: int, cells: list[object], skip: int = 0) -> None:
    board.table(
        TABLE_X + sum(COLUMN_WIDTHS[:skip]), FIRST_ROW_Y + ROW_HEIGHT * line, [cells], COLUMN_WIDTHS[skip:], size=0.75
    )


def draw_bug(board: Board, parts: list[State]) -> None:
    wrong = worked.running_states(parts, forget=True)[-1]
    board.step(
        f"Below the table, without rescaling: the new ones add up to {wrong.running_sum:.3f}, the accumulators to "
        f"{vector_text(wrong.accumulator)}, and divided that is {vector_text(wrong.output)}, beside the true [5, 5]. "
        "On the right the two weights of the first block as bars; a line says where they should end."
    )
    board.erase("work")
    sides = zip(*(part.accumulator for part in parts), strict=True)
    left, right = (" + ".join(vector_text([each])[1:-1] for each in side if each) for side in sides)
    x, y = wrong.accumulator
    lines = (
        f"sum:  {' + '.join(f'{part.running_sum:.3f}' for part in parts)} = {wrong.running_sum:.3f}",
        f"left:  {left} = {x:.2f}",
        f"right:  {right} = {y:.2f}",
        f"÷ {wrong.running_sum:.3f} = {vector_text(wrong.output)}",
        f"{x:.2f} + {y:.2f} = 10 · {wrong.running_sum:.3f}",
    )
    for indices in ((0, 1, 2), (), (3,), (4,)):  # the bars come second
        with board.withhold(), board.group("bug"):
            for line in indices:
                write_line(board, WORK_Y - 5 + 22 * line, lines[line], 0.8)
            if not indices:
                draw_weights(board)


def draw_weights(board: Board) -> None:
    """The two weights of the first block as they are if nobody rescales, a line where each should end."""
    floor, full_height = 240, 48
    for i, score in enumerate(SCORES[:BLOCK]):
        unscaled, rescaled = (math.exp(score - top) for top in (max(SCORES[:BLOCK]), max(SCORES)))
        x, end = 310 + 82 * i, floor - full_height * rescaled
        board.box(x, floor - full_height * unscaled, 40, full_height * unscaled)
        board.hatch(x, floor - full_height * unscaled, 40, full_height * (unscaled - rescaled))
        board.line((x - 5, end), (x + 45, end), width=3.2)
        board.write(x + 20, floor - full_height * unscaled - 12, f"{unscaled:.3g} → {rescaled:.3f}", 0.8)


def draw_readers(board: Board, parts: list[State]) -> None:
    second_reader = worked.merge(parts[1], parts[2])
    merged = worked.merge(parts[0], second_reader)
    states = [f"({part.running_max:g}, {part.running_sum:.3f})" for part in (parts[0], second_reader, merged)]
    board.step(
        f"Below the table: two readers, one with {states[0]}, the other with {states[1]}, and an arrow from each to "
        f"{states[2]}, worked out below. Beside them the empty state, minus infinity and 0."
    )
    board.erase("bug")
    terms = " + ".join(f"{math.exp(score - second_reader.running_max):.3g}" for score in SCORES[BLOCK:])
    rescaled_sum_text = f"{merged.factor:.3f} · {parts[0].running_sum:.3f}"
    with board.withhold(), board.group("readers"):
        board.write(90, 195, states[1], 0.95)
        write_line(board, 218, f"{terms} = {second_reader.running_sum:.3f}", 0.75)
    with board.withhold(), board.group("readers"):
        board.write(90, 168, states[0], 0.95)
        board.arrow(150, 169, 206, 178)
        board.arrow(150, 195, 206, 186)
    with board.withhold(), board.group("readers"):
        board.write(268, 182, states[2], 0.95)
        write_line(board, 238, f"{rescaled_sum_text} + {second_reader.running_sum:.3f} = {merged.running_sum:.3f}")
    with board.withhold(), board.group("readers"):
        board.write(400, 172, "nothing read:", 0.75)
        board.write(400, 194, "(-∞, 0)", 0.95)


def draw_demo_ticks(board: Board, states: list[State]) -> None:
    board.step(
        "A tick behind each line of the table: the demo has printed the same numbers. Below, the maximum plus the "
        f"logarithm of the sum, {states[-1].lse:.3f}."
    )
    last = states[-1]
    with board.group("ticks"):
        with board.withhold():
            for i in range(len(states)):
                board.write(467, FIRST_ROW_Y + ROW_HEIGHT * i, "✓", 0.85)
        with board.withhold():
            write_line(board, 258, f"{last.running_max:g} + ln {last.running_sum:.3f} = {last.lse:.3f}")


def draw_what_is_left(board: Board, last: State) -> None:
    kept_kib = ROWS * (DIM + 2) * 4 / 2**10
    board.step(
        "The values are struck out, too. In the last line of the table three things are ringed, and they are all that "
        f"is left: maximum {last.running_max:g}, sum {last.running_sum:.3f} and the accumulator. Below, the strip of "
        f"{ROWS} rows is struck out, and beside it stands what is kept of them, {kept_kib:g} KiB."
    )
    board.erase("readers", "ticks", "work", "bug", "powers")
    with board.withhold():
        board.strike(TABLE_X + 14, 48, TABLE_X + 416, 48)
        for x, wide in (
            (TABLE_X + COLUMN_WIDTHS[0], 30),
            (TABLE_X + sum(COLUMN_WIDTHS[:4]), 50),
            (TABLE_X + sum(COLUMN_WIDTHS[:5]), 118),
        ):
            board.ring(x, FIRST_ROW_Y + 2 * ROW_HEIGHT, wide, 23)
    with board.withhold():
        board.box(TABLE_X - 10, 176, 170, 30, f"{ROWS} × {WORDS}", 0.85)
        board.strike(TABLE_X - 14, 210, TABLE_X + 164, 172)
        board.arrow(TABLE_X + 170, 191, TABLE_X + 204, 191)
        board.write(TABLE_X + 213, 191, f"{ROWS} · (1 + 1 + d) numbers", 0.85, at="left")
    registers = int(H100["registers per SM"].value) // 2**10
    with board.withhold():
        write_line(board, 236, f"d = {DIM}:  {ROWS} · {DIM + 2} · 4 bytes = {kept_kib:g} KiB of {registers} KiB")
