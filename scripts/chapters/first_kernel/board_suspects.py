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
X, Y, WIDE, HIGH = 30, 140, 150, 84  # the curve of a meeting
LEVEL = 512  # words, up to which a meeting costs the same
DOOR = 236  # the wall that it is in
SHELF = 338  # where the suspects begin
SUSPECTS = (96, 122, 148)  # their lines
END = 456  # where the board ends, and a bar that would go on


def milliseconds(form: str, head_dim: int) -> float:
    """The measured time at 512 words, 2048 numbers of each cut into heads."""
    wanted = {"form": form, "n": 512, "direction": "forward", "causal": False}
    (row,) = [row for row in records.table("prefill_speed", f"forward_{head_dim}") if wanted.items() <= row.items()]
    return row["median"]


def slow(board: Board) -> None:
    ours, lines = milliseconds("one_key_attention", 128), milliseconds("attention", 128)
    board.step(
        f"Two times: PyTorch {lines:.2f} ms, with a dot for a bar, ours {ours:.0f} ms, {ours / lines:.0f} times as "
        f"long, whose bar runs to the end of the board and would go on. {suspected()} Two suspects are struck; there's "
        "room for a third."
    )
    board.erase(keep=STAYS)
    board.words(14, 24, f"PyTorch  {lines:.2f} ms", 0.95, at="left")
    board.line((206, 24), (209, 24), width=6)
    with board.answer():
        board.words(14, 56, f"ours  {ours:.0f} ms", 0.95, at="left")
        board.line((206, 56), (END - 12, 56), width=6)
        board.arrow(END - 12, 56, END + 10, 56)
        board.words(466, 26, f"{ours / lines:.0f} times", 1.1, at="right")
    with board.answer(), board.group("suspects"):
        for y, text in zip(SUSPECTS, ("1. how we read", "2. how much", "3."), strict=True):
            board.words(SHELF, y, text, 0.85, at="left")
    suspects(board)


def suspects(board: Board) -> None:
    k, asked, once, moved = megabytes()
    with board.answer():
        for y, text in ((96, "neighbours"), (122, "every 8th")):
            board.words(14, y, text, 0.85, at="left")
    for y, stride in ((96, 1), (122, 8)):
        count = worked.sectors(stride)
        part = count * worked.SECTOR // (worked.LANES * worked.NUMBER)
        with board.answer():
            board.words(134, y, f"{count} sectors" if stride == 1 else f"{count},  1/{part} used", 0.85, at="left")
    with board.answer(), board.group("suspects"):
        board.strike(SHELF - 2, SUSPECTS[0] + 5, SHELF + 124, SUSPECTS[0] - 5)
    with board.answer():
        board.words(14, 160, f"K  {k:.2f} MB", 0.85, at="left")
    with board.answer():
        board.words(14, 186, f"asked for  {asked:.0f} MB", 0.85, at="left")
    with board.answer():
        board.words(14, 214, f"K + V + Q  {once:.2f} MB", 0.85, at="left")
    with board.answer():
        board.words(466, 214, f"HBM gave  {moved:.2f} MB", 0.85, at="right")
        with board.group("suspects"):
            board.strike(SHELF - 2, SUSPECTS[1] + 5, SHELF + 116, SUSPECTS[1] - 5)


def megabytes() -> tuple[float, float, float, float]:
    """Of one head of 1024 words: K, what all programs ask for, K, V and Q once, and what HBM delivered."""
    n, head_dim = 1024, 128
    table = n * head_dim * 2
    (whole,) = [row for row in records.table("hbm_traffic", "whole") if row["form"] == "one_key_attention"]
    return mb(table), mb(2 * n * table), mb(3 * table), whole["flushed"]


def suspected() -> str:
    k, asked, once, moved = megabytes()
    return (
        "The sectors of a warp: for neighbours 4, for every eighth number 32, an eighth of them used. One head of 1024 "
        f"words: K has {k:.2f} MB, {asked:.0f} MB are asked for, K, V and Q have {once:.2f} MB, HBM gave {moved:.2f}."
    )


def meetings(board: Board) -> None:
    times = [(2048 // d, d, milliseconds("one_key_attention", d)) for d in (64, 128, 256)]
    said = ", ".join(f"{heads} heads of {d}: {time:.0f} ms" for heads, d, time in times)
    board.step(
        f"As many multiplications in {said}. The third suspect: the meetings. "
        "Below, what happens in one: two loads; two sums, where they talk; over the row, which makes a new one."
    )
    board.erase(keep=(*STAYS, "suspects"))
    for i, (heads, d, _) in enumerate(times):
        board.words(LEFT - 12, 44 + 40 * i, f"{heads} heads of {d}" if not i else f"{heads}  ·  {d}", 0.95, at="left")
    for those in ((0, 1), (2,)):
        with board.answer():
            for i in those:
                board.words(290, 44 + 40 * i, f"{times[i][2]:.0f} ms", 0.95, at="right")
    with board.answer():
        board.words(SHELF + 26, SUSPECTS[2], "meetings", 0.85, at="left")
    with board.answer():
        for x, w, text in ((14, 124, "2 loads"), (156, 140, "the row"), (314, 148, "2 sums")):
            board.box(x, 178, w, 34, text, 0.9)
        board.arrow(246, FOOT + 4, 236, 216)
        board.arrow(410, FOOT + 4, 396, 216)


def door(board: Board) -> None:
    each, clocks = worked.FOR_THE_UNIT, worked.CLOCKS
    board.step(
        "Four queues, one for each warp, at a single door in a wall, the load-store unit, with a clock: 1 a clock. One "
        f"sum is {' + '.join(map(str, worked.SUM))} = {sum(worked.SUM)} tickets, a meeting 2 · {sum(worked.SUM)} + 2 = "
        f"{each} for each warp, so {clocks} clocks. Behind the wall a room of its own that sleeps: multiply, "
        f"{worked.multiplied():.0f} ms."
    )
    board.erase(keep=STAYS)
    board.words(60, 58, "4 warps", 0.85)
    board.words(DOOR, 58, "load-store", 0.85)
    for y in (70, 168):
        board.line((DOOR, y), (DOOR, y + 62), width=3.2)
    for warp in range(worked.WARPS):
        y = 88 + 40 * warp
        for i in range(5):
            board.line((104 + 16 * i, y - 8), (104 + 16 * i, y + 8), width=1.2)
        board.arrow(180, y, DOOR - 8, 138 + 8 * warp)
    board.ring(DOOR + 36, 106, 32, 32)
    board.line((DOOR + 36, 95), (DOOR + 36, 106), (DOOR + 44, 106))
    board.arrow(DOOR + 10, 150, DOOR + 34, 150)
    board.words(DOOR + 42, 150, "1 a clock", 0.9, at="left")
    board.words(14, 24, "sum:", 0.9, at="left")
    x = 72.0
    for i, count in enumerate(worked.SUM):
        with board.answer():
            *_, x, _ = board.words(x + 6, 24, f"+ {count}" if i else f"{count}", 0.9, at="left")
    with board.answer():
        board.words(x + 8, 24, f"= {sum(worked.SUM)}", 0.9, at="left")
    with board.answer():
        board.words(466, 24, f"2 · {sum(worked.SUM)} + 2 = {each}", 0.9, at="right")
        for warp in range(worked.WARPS):
            board.words(60, 88 + 40 * warp, str(each), 1)
    with board.answer():
        board.words(DOOR + 42, 204, f"{clocks} clocks", 1.15, at="left")
    with board.answer():
        board.box(348, 66, 116, 60)
        board.words(406, 84, "multiply", 0.85)
        board.words(406, 108, f"{worked.multiplied():.0f} ms  zzz", 0.85)


def bill(board: Board) -> None:
    ours = milliseconds("one_key_attention", 128)
    (busy,) = [
        row
        for row in records.table("what_is_busy", "busy")
        if (row["form"], row["n"], row["head_dim"]) == ("one_key", 512, 128)
    ]
    clocks, found, million = worked.CLOCKS, worked.predicted(), worked.MEETINGS / 1e6
    per_sm = million * clocks / worked.SMS
    board.step(
        f"{' · '.join(map(str, worked.GRID))} = {million:.0f} million meetings, times {clocks} clocks, on {worked.SMS} "
        f"SMs {per_sm:.0f} million clocks, that is {found:.0f} ms. A bar for {ours:.0f} ms, {found:.0f} of it shaded. "
        f"The profiler: the unit starts one in {busy['starts']:.0f} % of all clocks."
    )
    board.erase(keep=STAYS)
    board.line((LEFT, 150), (LEFT + 416, 150), (LEFT + 416, 182), (LEFT, 182), (LEFT, 149))
    board.words(LEFT + 416, 136, f"{ours:.0f} ms", 0.95, at="right")
    with board.answer():
        board.words(14, 28, f"{' · '.join(map(str, worked.GRID))} = {million:.0f} million", 0.95, at="left")
    with board.answer():
        board.words(14, 64, f"· {clocks} ÷ {worked.SMS} = {per_sm:.0f} million clocks", 0.95, at="left")
    with board.answer():
        board.words(14, 100, f"÷ {worked.GIGAHERTZ} million = {found:.0f} ms", 0.95, at="left")
        board.line((LEFT + 416 * found / ours, 150), (LEFT + 416 * found / ours, 182))
        board.hatch(LEFT, 150, 416 * found / ours, 32, gap=24)
    with board.answer():
        board.words(LEFT, 214, "profiler:", 0.95, at="left")
        left, _, right, _ = board.words(150, 214, f"{busy['starts']:.0f} %", 0.95, at="left")
        board.ring((left + right) / 2, 214, right - left + 18, 26)


def cure(board: Board) -> None:
    ours, blocks, flash = (milliseconds(f"{form}_attention", 128) for form in ("one_key", "key_blocks", "flash"))
    found = {row["n"]: row["one_meeting"] for row in records.table("first_kernel", "growth")}
    least, n = min(found), max(found)
    board.step(
        f"N programs times N meetings times N places is N cubed. What a meeting costs, from {least} to {n} words: "
        f"level up to {LEVEL}, then rising to {a_meeting_in_a_long_row()} as much. Beside it the times: today "
        f"{ours:.0f} ms; many keys, chapter 6, {blocks:.0f}; no row, 7; many queries, 8, {flash:.2f}."
    )
    board.erase(keep=STAYS)
    board.words(14, 26, "N · N · N", 0.9, at="left")
    with board.answer():
        board.words(108, 26, "= N^{3}", 1, at="left")
    board.axis(X, Y, WIDE + 14, HIGH + 6)
    board.words(X + 8, Y - HIGH, "1 meeting", 0.85, at="left")
    for words in (LEVEL, n):
        board.words(across(words), Y + 14, str(words), 0.75)
    with board.answer():
        board.line(*((across(words), height(cost / found[LEVEL])) for words, cost in sorted(found.items())))
        board.words(across(n) + 16, Y + 40, a_meeting_in_a_long_row(), 0.85, at="right")
    board.words(230, 60, f"today  {ours:.0f} ms", 0.95, at="left")
    chapters = (("many keys", f"→ 6:  {blocks:.0f} ms"), ("no row", "→ 7"), ("many queries", f"→ 8:  {flash:.2f} ms"))
    for i, (text, when) in enumerate(chapters):
        with board.answer():
            board.words(230, 110 + 38 * i, text, 0.85, at="left")
            board.words(346, 110 + 38 * i, when, 0.85, at="left")


def across(words: int) -> float:
    """Where a number of words is on the axis: each doubling goes as far, from 256 to 8192."""
    return X + WIDE * math.log2(words / 256) / 5


def height(times: float) -> float:
    """Where a cost is on the axis that ends at 12 times that of 512 words."""
    return Y - HIGH * times / 12
