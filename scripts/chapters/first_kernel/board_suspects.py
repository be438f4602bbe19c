"""The second half of board 5: how slow it is, and one suspect after the other."""

from __future__ import annotations

import math

from kernels.bench.cost import mb
from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.facts import a_meeting_in_a_long_row

LEFT, FOOT = 26, 242  # the left edge, and the line above what stays
STAYS = ("vote", "new row", "talk")
X, Y, WIDE, HIGH = 30, 116, 214, 68  # the curve of a meeting
LEVEL = 512  # words, up to which a meeting costs the same
SHELF = 338  # where the suspects begin
END = 456  # where the board ends, and a bar that would go on


def milliseconds(form: str, head_dim: int) -> float:
    """The measured time at 512 words, 2048 numbers of each cut into heads."""
    wanted = {"form": form, "n": 512, "direction": "forward", "causal": False}
    (row,) = [row for row in records.table("prefill_speed", f"forward_{head_dim}") if wanted.items() <= row.items()]
    return row["median"]


def slow(board: Board) -> None:
    ours, lines = milliseconds("one_key_attention", 128), milliseconds("attention", 128)
    board.step(
        f"Two times, for 32 texts of 512 words: three lines {lines:.2f} ms, with a dot for a bar, our kernel "
        f"{ours:.0f} ms, {ours / lines:.0f} times as long, whose bar runs to the end of the board and would go on. To "
        "stay, three suspects: how we read, how much, a third."
    )
    board.erase(keep=STAYS)
    board.words(LEFT, 28, "32 texts of 512 words,", 0.85, at="left")
    board.words(LEFT, 54, "16 heads of 128", 0.85, at="left")
    board.words(LEFT, 98, f"three lines    {lines:.2f} ms", 0.95, at="left")
    board.line((LEFT, 114), (LEFT + 3, 114), width=6)
    board.words(LEFT, 142, "our kernel", 0.95, at="left")
    with board.answer():
        board.line((LEFT, 160), (END - 12, 160), width=6)
        board.arrow(END - 12, 160, END + 10, 160)
        board.words(LEFT + 126, 142, f"{ours:.0f} ms", 0.95, at="left")
        board.words(LEFT, 196, f"{ours / lines:.0f} times as long", 1.2, at="left")
        with board.group("suspects"):
            for i, text in enumerate(("suspects", "1. how we read", "2. how much", "3. ?")):
                board.words(SHELF, 28 + 30 * i, text, 0.85, at="left")


def suspects(board: Board) -> None:
    n, head_dim = 1024, 128
    table = n * head_dim * 2
    (whole,) = [row for row in records.table("hbm_traffic", "whole") if row["form"] == "one_key_attention"]
    board.step(
        "For strides 1, 2 and 8: the sectors, 4, 8, 32, and the part of them that is used, 1 to an eighth. One "
        f"head of {n} words: K has {table:,} bytes, {mb(2 * n * table):.0f} MB are asked for, K, V and Q have "
        f"{mb(3 * table):.2f} MB, HBM gave {whole['flushed']:.2f}. Two suspects are struck."
    )
    board.erase(keep=(*STAYS, "suspects"))
    for i, name in enumerate(("stride", "sectors", "used")):
        board.words(14, 28 + 28 * i, name, 0.85, at="left")
    for j, stride in enumerate((1, 2, 8)):
        x, count = 126 + 70 * j, worked.sectors(stride)
        part = count * worked.SECTOR // (worked.LANES * worked.NUMBER)
        board.words(x, 28, str(stride), 0.9)
        with board.answer():
            board.words(x, 56, str(count), 0.9)
            board.words(x, 84, f"1/{part}" if part > 1 else "1", 0.9)
    board.line((14, 106), (SHELF - 14, 106), dashed=True)
    board.words(14, 130, f"one head: N = {n}, d = {head_dim}, FP16", 0.85, at="left")
    with board.answer(), board.group("suspects"):
        board.strike(SHELF - 2, 63, SHELF + 124, 53)
    with board.answer():
        board.words(14, 157, f"K:  {n} · {head_dim} · 2 = {table:,} bytes", 0.85, at="left")
    with board.answer():
        asked = f"asked for:  2 · {n} · {table:,} = {mb(2 * n * table):.0f} MB"
        board.words(14, 184, asked, 0.85, at="left")
    with board.answer():
        board.words(14, 213, f"K, V, Q once:  {mb(3 * table):.2f} MB", 0.85, at="left")
    with board.answer():
        board.words(466, 213, f"HBM gave {whole['flushed']:.2f} MB", 0.95, at="right")
        with board.group("suspects"):
            board.strike(SHELF - 2, 93, SHELF + 116, 83)


def meetings(board: Board) -> None:
    times = [(2048 // d, d, milliseconds("one_key_attention", d)) for d in (64, 128, 256)]
    said = ", ".join(f"{heads} heads of {d}: {time:.0f} ms" for heads, d, time in times)
    board.step(
        f"As many multiplications in {said}. From the third suspect an arrow: the meetings. "
        "Below, what happens in one: two loads; two sums, where they talk; over the row, which makes a new one."
    )
    board.erase(keep=(*STAYS, "suspects"))
    board.words(LEFT - 12, 28, "2048 numbers a word", 0.85, at="left")
    for i, (heads, d, _) in enumerate(times):
        board.words(LEFT - 12, 62 + 30 * i, f"{heads} heads of {d}", 0.95, at="left")
    for those in ((0, 1), (2,)):
        with board.answer():
            for i in those:
                board.words(290, 62 + 30 * i, f"{times[i][2]:.0f} ms", 0.95, at="right")
    with board.answer():
        board.words(SHELF + 22, 148, "the meetings", 0.85, at="left")
        board.arrow(SHELF + 20, 128, SHELF + 40, 138)
    with board.answer():
        board.words(LEFT - 12, 162, "in each:", 0.85, at="left")
        for x, w, text in ((14, 124, "two loads"), (156, 140, "over the row"), (314, 148, "two sums")):
            board.box(x, 178, w, 32, text, 0.8)
        board.arrow(246, FOOT + 4, 236, 214)
        board.arrow(410, FOOT + 4, 396, 214)


def unit(board: Board) -> None:
    ours = milliseconds("one_key_attention", 128)
    (busy,) = [
        row
        for row in records.table("what_is_busy", "busy")
        if (row["form"], row["n"], row["head_dim"]) == ("one_key", 512, 128)
    ]
    each, clocks, found = worked.FOR_THE_UNIT, worked.CLOCKS, worked.predicted()
    million, per_sm = worked.MEETINGS / 1e6, worked.MEETINGS * clocks / worked.SMS / 1e6
    warp, write, warps, writes = worked.SUM
    board.step(
        f"One sum: 32 numbers of a warp become 1 in {warp} shuffles, 4 warps' sums in {warps}, each time shared memory "
        f"takes {write}, together {sum(worked.SUM)}. Two sums and two loads are {each}, for {worked.WARPS} warps "
        f"{clocks} clocks. 32 · 16 · 512 · 512 = {million:.1f} million meetings on {worked.SMS} SMs take "
        f"{found:.1f} of {ours:.0f} ms. The profiler: the unit starts one in {busy['starts']:.0f} % of all clocks."
    )
    board.erase(keep=STAYS)
    board.words(14, 20, "32 numbers:", 0.85, at="left")
    with board.answer():
        board.words(129, 20, "16, 8, 4, 2, 1", 0.85, at="left")
        board.words(341, 20, f"{warp} shuffles", 0.85, at="right")
    with board.answer():
        board.words(466, 20, f"write, read: {write}", 0.85, at="right")
        board.words(14, 43, "4 numbers:", 0.85, at="left")
    with board.answer():
        board.words(129, 43, "2, 1", 0.85, at="left")
        board.words(341, 43, f"{warps} shuffles", 0.85, at="right")
        board.words(466, 43, f"write, read: {writes}", 0.85, at="right")
        board.words(14, 67, f"one sum:  {' + '.join(map(str, worked.SUM))} = {sum(worked.SUM)}", 0.9, at="left")
    with board.answer():
        board.words(14, 91, f"2 sums, 2 loads:  2 · {sum(worked.SUM)} + 2 = {each}", 0.9, at="left")
    with board.answer():
        board.words(14, 115, f"{worked.WARPS} warps:  {worked.WARPS} · {each} = {clocks} clocks", 0.9, at="left")
    with board.answer():
        board.words(14, 139, f"meetings:  {' · '.join(map(str, worked.GRID))} = {million:.1f} million", 0.9, at="left")
    with board.answer():
        *_, right, _ = board.words(14, 164, f"{million:.1f} million · {clocks} ÷ {worked.SMS}", 0.85, at="left")
    with board.answer():
        board.words(right + 9, 164, f"= {per_sm:.1f} million clocks", 0.85, at="left")
        board.words(14, 190, f"{per_sm:.1f} ÷ {worked.GIGAHERTZ} = {found:.1f} of {ours:.0f} ms", 0.95, at="left")
        ringed(board, 322, 190, f"{100 * found / ours:.0f} %")
    with board.answer():
        board.words(14, 220, "profiler: starts one in", 0.95, at="left")
        ringed(board, 240, 220, f"{busy['starts']:.0f} %")
        board.words(304, 220, "of all clocks", 0.95, at="left")


def ringed(board: Board, x: float, y: float, text: str) -> None:
    left, _, right, _ = board.words(x, y, text, 0.95, at="left")
    board.ring((left + right) / 2, y, right - left + 18, 26)


def cube(board: Board) -> None:
    ours, blocks, flash = (milliseconds(f"{form}_attention", 128) for form in ("one_key", "key_blocks", "flash"))
    found = {row["n"]: row["one_meeting"] for row in records.table("first_kernel", "growth")}
    least, n = min(found), max(found)
    longer = n // LEVEL
    board.step(
        "N programs times N meetings times N places is N cubed, for N squared scores. What a meeting costs, from "
        f"{least} to {n} words: dashed, if only the row counted, {longer} times as much at {n} as at {LEVEL}; a curve, "
        f"as measured, level up to {LEVEL}, then rising to {a_meeting_in_a_long_row()} as much. Below, what is left of "
        f"today's {ours:.0f} ms: one key at a time, chapter 6, {blocks:.0f}; a whole row, 7, and each query for "
        f"itself, 8, {flash:.2f}."
    )
    board.erase(keep=STAYS)
    board.words(14, 24, "N programs · N meetings · N places", 0.9, at="left")
    with board.answer():
        board.words(356, 24, "= N^{3}", 1, at="left")
        board.words(466, 48, "for N² scores", 0.85, at="right")
    board.axis(X, Y, WIDE + 14, HIGH + 10)
    board.words(X - 8, height(1), "1", 0.75, at="right")
    for words in (LEVEL, n):
        board.words(across(words), Y + 13, str(words), 0.75)
    with board.answer():
        ends = [across(LEVEL * 2**i) for i in range(longer.bit_length() - 1)] + [across(n)]
        board.line(*((x, height(2**i)) for i, x in enumerate(ends)), dashed=True)
        board.words(ends[-1] + 8, height(longer), f"{longer}", 0.85, at="left")
    with board.answer():
        board.line(*((across(words), height(cost / found[LEVEL])) for words, cost in sorted(found.items())))
        board.words(across(n) + 8, height(found[n] / found[LEVEL]) + 4, a_meeting_in_a_long_row(), 0.85, at="left")
    board.words(466, 136, f"today:  {ours:.0f} ms", 0.9, at="right")
    with board.answer():
        for i, fault in enumerate(("one key at a time", "a whole row", "each query for itself")):
            board.words(14, 163 + 26 * i, fault, 0.9, at="left")
            board.words(230, 163 + 26 * i, f"→  chapter {6 + i}", 0.9, at="left")
    with board.answer():
        for i, text in ((0, f"{blocks:.0f} ms"), (2, f"{flash:.2f} ms")):
            board.words(466, 163 + 26 * i, text, 0.9, at="right")


def across(words: int) -> float:
    """Where a number of words is on the axis: each doubling goes as far, from 256 to 8192."""
    return X + WIDE * math.log2(words / 256) / 5


def height(times: float) -> float:
    """Where a cost is on the axis that ends at 16 times that of 512 words."""
    return Y - HIGH * times / 16
