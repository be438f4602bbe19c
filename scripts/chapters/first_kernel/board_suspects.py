"""The second half of board 5: that it's right, how slow it is, and one suspect after the other."""

from __future__ import annotations

import math

from kernels.bench.cost import mb
from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.facts import a_pair_in_a_long_row

LEFT, FOOT = 26, 242  # the left edge, and the line above what stays
STAYS = ("vote", "one place", "talk")
X, Y, WIDE, HIGH = 30, 140, 150, 84  # the curve of a pair
LEVEL = 512  # words, up to which a pair costs the same
DOOR = 352  # the wall that it is in
LEVELS, COUNT = (41, 74, 107, 140), 200  # of the tree, and where its tickets are counted
SHELF = 338  # where the suspects begin
SUSPECTS = (96, 122, 148)  # their lines
HEADS = 32  # that are tested
END = 456  # where the board ends, and a bar that would go on


def milliseconds(form: str, head_dim: int) -> float:
    """The measured time at 512 words, 2048 numbers of each cut into heads."""
    wanted = {"form": form, "n": 512, "direction": "forward", "causal": False}
    (row,) = [row for row in records.table("prefill_speed", f"forward_{head_dim}") if wanted.items() <= row.items()]
    return row["median"]


def correct(board: Board) -> None:
    found = {row["form"]: row for row in records.table("first_kernel", "errors")}
    one_key, zeros = found["one_key"], found["one_head_of_zeros"]
    used, over = f"{one_key['of_budget']:.2f}", f"{zeros['of_budget']:,.0f}"
    board.step(
        f"On a strip of paper 32 strokes for 32 heads, one of them crossed out: zeros. The mean error is "
        f"{zeros['mean']:.4f}. The budget: 1.5 times the built-in attention's largest error, in each head. The "
        f"largest here is {zeros['largest']:.2f}, {over} budgets, REJECTED. Ours needs {used} of the budget and passes."
    )
    board.erase(keep=STAYS)
    with board.group("paper"):
        board.box(18, 9, 427, 42)
        for i in range(HEADS):
            board.line((30 + 13 * i, 14), (30 + 13 * i, 46), width=1.2)
    board.strike(30 + 13 * 20 - 9, 42, 30 + 13 * 20 + 9, 18)
    board.write(30 + 13 * 20, 62, "zeros", 0.85)
    board.write(LEFT, 94, f"mean  {zeros['mean']:.4f}", 0.95, at="left")
    with board.withhold():
        board.write(LEFT, 130, "budget = 1.5 · built-in's", 0.95, at="left")
    with board.withhold():
        board.write(LEFT, 168, f"largest  {zeros['largest']:.2f}", 0.95, at="left")
    with board.withhold():
        board.write(190, 168, f"= {over} budgets", 0.95, at="left")
        board.write(466, 168, zeros["verdict"], 0.9, at="right")
    with board.withhold():
        board.write(LEFT, 208, "ours", 0.95, at="left")
        board.write(190, 208, f"{used} budgets", 0.95, at="left")
        board.write(466, 208, one_key["verdict"], 0.9, at="right")


def slow(board: Board) -> None:
    one_key, lines = milliseconds("one_key_attention", 128), milliseconds("attention", 128)
    board.step(
        f"Two times: PyTorch's three lines {lines:.2f} ms, with a dot for a bar, ours {one_key:.0f} ms, "
        f"{one_key / lines:.0f} times as long, whose bar runs to the end of the board and would go on. Below, two "
        "suspects and room for a third."
    )
    board.erase(keep=STAYS)
    board.write(14, 24, f"3 lines  {lines:.2f} ms", 0.95, at="left")
    board.line((206, 24), (209, 24), width=6)
    with board.withhold():
        board.write(14, 56, f"ours  {one_key:.0f} ms", 0.95, at="left")
        board.line((206, 56), (END - 12, 56), width=6)
        board.arrow(END - 12, 56, END + 10, 56)
        board.write(466, 26, f"{one_key / lines:.0f} times", 1.1, at="right")
    with board.withhold(), board.group("suspects"):
        for y, text in zip(SUSPECTS, ("1. how we read", "2. how much", "3."), strict=True):
            board.write(SHELF, y, text, 0.85, at="left")


def pairs(board: Board) -> None:
    """Two suspects are struck out, and the third one is found."""
    one_key = milliseconds("one_key_attention", 128)
    times = [(2048 // d, d, milliseconds("one_key_attention", d)) for d in (64, 128, 256)]
    said = ", ".join(f"{heads} heads of {d}: {time:.0f} ms" for heads, d, time in times)
    (cache,) = [row["speed"] for row in records.table("l2_speed", "sizes") if row["size"] == 16]
    needed, one = worked.requested_gigabytes() / cache, mb(worked.program_bytes())
    board.step(
        f"32 neighbours are {worked.sectors(1)} sectors, all used: the first suspect is struck out. A program asks for "
        f"2 · 512 · {worked.HEAD_DIM} · {worked.BYTES} bytes = {one:.3f} MB, all {worked.PROGRAMS:,} for "
        f"{worked.requested_gigabytes():.1f} GB, which takes L2 {needed:.1f} ms, a short piece of a bar of "
        f"{one_key:.0f}: so is the second. As many multiplications in {said}. The third: pairs."
    )
    board.erase(keep=(*STAYS, "suspects"))
    board.write(14, 20, "32 neighbours", 0.85, at="left")
    with board.withhold():
        board.write(152, 20, f"{worked.sectors(1)} sectors, all used", 0.85, at="left")
        strike(board, 0, 124)
    with board.withhold():
        board.write(14, 50, f"2 · 512 · {worked.HEAD_DIM} · {worked.BYTES} = {one:.3f} MB", 0.85, at="left")
        board.write(14, 78, f"· {worked.PROGRAMS:,} = {worked.requested_gigabytes():.1f} GB", 0.85, at="left")
    with board.withhold():
        board.write(14, 106, f"÷ {cache:.1f} TB/s = {needed:.1f} ms", 0.85, at="left")
        board.line((14, 122), (270, 122), (270, 142), (14, 142), (14, 121))
        board.hatch(14, 122, 256 * needed / one_key, 20, gap=7)
        board.write(276, 132, f"{one_key:.0f}", 0.85, at="left")
        strike(board, 1, 100)
    with board.withhold():
        for i, (heads, d, _) in enumerate(times):
            board.write(14, 168 + 27 * i, f"{heads} heads of {d}", 0.85, at="left")
    with board.withhold():
        for i, (_, _, time) in enumerate(times):
            board.write(224, 168 + 27 * i, f"{time:.0f} ms", 0.85, at="right")
    with board.withhold():
        board.write(SHELF + 26, SUSPECTS[2], "pairs", 0.85, at="left")


def strike(board: Board, suspect: int, wide: float) -> None:
    with board.group("suspects"):
        board.strike(SHELF - 2, SUSPECTS[suspect] + 5, SHELF + wide, SUSPECTS[suspect] - 5)


def door(board: Board) -> None:
    each, clocks, steps = worked.LSU_INSTRUCTIONS, worked.LSU_CLOCKS, worked.SUM_STEPS
    folds = " → ".join(str(worked.LANES >> i) for i in range(steps[0] + 1))
    places, threads = worked.SHAPE[-1], worked.WARPS * worked.LANES
    board.step(
        "On paper, the tree of a sum: four warps of 32, shared memory with 4 in, a box that adds the four, 1 out. "
        f"Above it 32 numbers fold: {folds}. Beside its levels the tickets: {', '.join(tickets())}, together "
        f"{sum(steps)}. Below, one thread with its {places} / {threads} = {places // threads} places. Four queues, one "
        f"for each warp, at a single door in a wall, the load-store unit, with a clock: 1 a clock. A pair is 2 · "
        f"{sum(steps)} + 2 = {each} for each warp, so {clocks} clocks. Behind the wall a room of its own that sleeps: "
        f"multiply, {worked.fp32_milliseconds():.0f} ms."
    )
    board.erase(keep=STAYS)
    with board.group("paper"):
        tree(board)
    board.write(270, 86, "4 warps", 0.8)
    board.write(DOOR, 73, "load-store", 0.75)
    for y in (85, 173):
        board.line((DOOR, y), (DOOR, y + 58), width=3.2)
    for warp in range(worked.WARPS):
        y = 106 + 36 * warp
        for i in range(3):
            board.line((284 + 13 * i, y - 8), (284 + 13 * i, y + 8), width=1.2)
        board.arrow(322, y, DOOR - 8, 148 + 8 * warp)
    board.ring(DOOR + 30, 118, 32, 32)
    board.line((DOOR + 30, 107), (DOOR + 30, 118), (DOOR + 38, 118))
    board.arrow(DOOR + 8, 158, DOOR + 30, 158)
    board.write(DOOR + 36, 158, "1 a clock", 0.85, at="left")
    for i, (y, count) in enumerate(zip(LEVELS, tickets(), strict=True)):
        with board.withhold():
            if not i:
                board.write(14, 15, folds, 0.8, at="left")
            board.write(COUNT, y, count, 0.8)
    with board.withhold():
        board.line((COUNT - 22, 152), (COUNT + 22, 152))
        board.write(COUNT, 166, str(sum(steps)), 0.9)
    with board.withhold():
        board.write(14, 183, "1 thread", 0.8, at="left")
        board.grid(92, 174, 1, places // threads, 18, 18)
        board.write(14, 205, f"{places} / {threads} = {places // threads}", 0.8, at="left")
    with board.withhold():
        board.write(14, 228, f"2 · {sum(steps)} + 2 = {each}", 0.9, at="left")
        for warp in range(worked.WARPS):
            board.write(258, 106 + 36 * warp, str(each), 1)
    with board.withhold():
        board.write(DOOR + 14, 205, f"{clocks} clocks", 1.1, at="left")
    with board.withhold():
        board.box(354, 10, 116, 50)
        board.write(412, 24, "multiply", 0.85)
        board.write(412, 46, f"{worked.fp32_milliseconds():.0f} ms  zzz", 0.85)


def tree(board: Board) -> None:
    """Step 6's picture of a sum, small: what warps add up among themselves, and what they hand to each other."""
    board.box(9, 26, 160, 127)
    for warp in range(worked.WARPS):
        x = 16 + 37 * warp
        board.box(x, LEVELS[0] - 8, 34, 16, str(worked.LANES), 0.75)
        board.arrow(x + 17, LEVELS[0] + 9, x + 17, LEVELS[1] - 10)
    board.box(16, LEVELS[1] - 8, 145, 16, f"shared: {worked.WARPS} in", 0.75)
    board.arrow(33, LEVELS[1] + 9, 33, LEVELS[2] - 10)
    board.box(16, LEVELS[2] - 8, 60, 16, f"adds {worked.WARPS}", 0.75)
    board.arrow(33, LEVELS[2] + 9, 33, LEVELS[3] - 10)
    board.box(16, LEVELS[3] - 8, 145, 16, "shared: 1 out", 0.75)


def tickets() -> list[str]:
    """What each level of the tree costs a warp: shuffles, and where warps hand over, to write and to read."""
    within, handed, across, back = worked.SUM_STEPS
    return [str(within), f"{handed // 2} + {handed // 2}", str(across), f"{back // 2} + {back // 2}"]


def bill(board: Board) -> None:
    one_key = milliseconds("one_key_attention", 128)
    setting = {"n": 512, "head_dim": worked.HEAD_DIM, "warps": worked.WARPS}
    eight_clocks = worked.load_store_clocks(8)
    (eight,) = [
        row["median"] for row in records.table("how_many_warps", "times") if (row["n"], row["warps"]) == (512, 8)
    ]
    (busy,), (waits,) = (
        [row for row in records.table("what_limits", table) if setting.items() <= row.items()]
        for table in ("busy", "waits")
    )
    clocks, found, million = worked.LSU_CLOCKS, worked.milliseconds_of_clocks(worked.LSU_CLOCKS), worked.PAIRS / 1e6
    per_sm = million * clocks / worked.SMS
    board.step(
        f"{' · '.join(map(str, worked.SHAPE))} = {million:.0f} million pairs, times {clocks} clocks, on "
        f"{worked.SMS} SMs {per_sm:.0f} million clocks, that is {found:.0f} ms. A bar for {one_key:.0f} ms, {found:.0f}"
        f" of it shaded. The profiler: the unit starts one in {busy['lsu']:.0f} % of all clocks. And a warp spends "
        f"{waits['other_threads']:.0f} % of its time waiting for a number from a thread, {waits['memory']:.0f} % for "
        f"memory. On the right: eight warps, 8 · {eight_clocks // 8} = {eight_clocks} clocks, {eight:.0f} ms."
    )
    board.erase(keep=STAYS)
    board.line((LEFT, 118), (LEFT + 416, 118), (LEFT + 416, 146), (LEFT, 146), (LEFT, 117))
    board.write(LEFT + 416, 104, f"{one_key:.0f} ms", 0.95, at="right")
    with board.withhold():
        board.write(14, 22, f"{' · '.join(map(str, worked.SHAPE))} = {million:.0f} million", 0.95, at="left")
    with board.withhold():
        board.write(14, 54, f"· {clocks} ÷ {worked.SMS} = {per_sm:.0f} million clocks", 0.95, at="left")
    with board.withhold():
        board.write(14, 86, f"÷ {worked.GIGAHERTZ} million = {found:.0f} ms", 0.95, at="left")
        board.line((LEFT + 416 * found / one_key, 118), (LEFT + 416 * found / one_key, 146))
        board.hatch(LEFT, 118, 416 * found / one_key, 28, gap=24)
    with board.withhold():
        board.write(14, 170, "profiler: door busy", 0.75, at="left")
        left, _, right, _ = board.write(318, 170, f"{busy['lsu']:.0f} %", 0.9, at="right")
        board.ring((left + right) / 2, 170, right - left + 16, 22)
    for y, waits_for, reason in (
        (198, "wait for a number from a thread", "other_threads"),
        (224, "wait for memory", "memory"),
    ):
        with board.withhold():
            board.write(14, y, waits_for, 0.75, at="left")
            board.write(318, y, f"{waits[reason]:.0f} %", 0.9, at="right")
    with board.withhold():
        board.line((332, 162), (332, 234))
        board.write(344, 170, "8 warps:", 0.9, at="left")
        board.write(344, 197, f"8 · {eight_clocks // 8} = {eight_clocks}", 0.9, at="left")
    with board.withhold():
        board.write(344, 224, f"→ {eight:.0f} ms", 0.9, at="left")


def cure(board: Board) -> None:
    one_key, blocks, flash = (milliseconds(f"{form}_attention", 128) for form in ("one_key", "key_blocks", "flash"))
    found = {row["n"]: row["one_pair"] for row in records.table("first_kernel", "growth")}
    n = max(found)
    board.step(
        f"The times: today {one_key:.0f} ms; many keys, chapter 6, {blocks:.0f}; many queries, tensor cores and no row,"
        f" together {flash:.2f}, chapter 8; no row is chapter 7. Beside it: N programs times N pairs times N places "
        f"is N cubed, and what a pair costs: level up to {LEVEL} words, then rising to {a_pair_in_a_long_row()} "
        f"as much at {n}, which is {n // LEVEL} times as many."
    )
    board.erase(keep=STAYS)
    board.write(222, 40, f"today  {one_key:.0f} ms", 0.95, at="left")
    with board.withhold():
        board.write(222, 84, "many keys", 0.85, at="left")
        board.write(352, 84, f"→ 6:  {blocks:.0f} ms", 0.85, at="left")
    with board.withhold():
        for i, text in enumerate(("many queries", "tensor cores", "no row")):
            board.write(222, 124 + 30 * i, text, 0.85, at="left")
        board.line((338, 114), (345, 114), (345, 194), (338, 194))
        board.write(352, 154, f"→ 8:  {flash:.2f} ms", 0.85, at="left")
    with board.withhold():
        board.write(14, 26, "N · N · N  = N^{3}", 0.9, at="left")
        board.axis(X, Y, WIDE + 14, HIGH + 6)
        board.write(X + 8, Y - HIGH, "1 pair", 0.85, at="left")
        for words in (LEVEL, n):
            board.line((across(words), Y), (across(words), Y + 5))
            board.write(across(words), Y + 15, str(words), 0.75)
        board.write((across(LEVEL) + across(n)) / 2, Y + 15, f"· {n // LEVEL} →", 0.75)
        board.line(*((across(words), height(cost / found[LEVEL])) for words, cost in sorted(found.items())))
        board.write(across(n) + 16, Y + 44, a_pair_in_a_long_row(), 0.85, at="right")
    with board.withhold():
        board.write(290, 184, "→ 7", 0.85, at="left")


def across(words: int) -> float:
    """Where a number of words is on the axis: each doubling goes as far, from 256 to 8192."""
    return X + WIDE * math.log2(words / 256) / 5


def height(times: float) -> float:
    """Where a cost is on the axis that ends at 12 times that of 512 words."""
    return Y - HIGH * times / 12
