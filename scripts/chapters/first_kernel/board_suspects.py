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
TESTED_HEADS, TESTED_HEAD_OF_ZEROS = 32, 20
STROKES_X, STROKE_GAP = 30, 13  # one stroke for each of them
BAR_X, BAR_END, BAR_Y = 206, 456, 56  # the bar that would go on where the board ends
AT_LEAST = 100  # times as long as the three lines
SUSPECTS_X, SUSPECT_YS = 338, (96, 122, 148)
TREE_YS, COUNTS_X = (41, 74, 107, 140), 200  # the levels of a sum, and where their instructions are counted
WALL_X = 352  # the load-store unit is a gap in it
PAIR_X, BILL_Y = 238, (20, 44, 68)  # what all pairs cost, line by line
BILL_BAR_Y, BILL_BAR_WIDTH = 84, 228
CURVE_X, CURVE_Y, CURVE_WIDTH, CURVE_HEIGHT = 30, 140, 150, 84  # the clocks of a pair
LONG, SHORT = a_pair_in_a_long_row.keys  # words
FEWEST, HIGHEST = 256, 12  # words where the curve begins; times the clocks at SHORT where its axis ends


def measured_milliseconds(form: str, head_dim: int) -> float:
    """The measured time at 512 words, 2048 numbers of each cut into heads."""
    wanted = {"form": form, "n": 512, "direction": "forward", "causal": False}
    (row,) = [row for row in records.table("prefill_speed", f"forward_{head_dim}") if wanted.items() <= row.items()]
    return row["median"]


def draw_correctness(board: Board) -> None:
    errors = {row["form"]: row for row in records.table("first_kernel", "errors")}
    one_key, zeros = errors["one_key"], errors["one_head_of_zeros"]
    used, over = f"{one_key['of_budget']:.2f}", f"{zeros['of_budget']:,.0f}"
    board.step(
        f"On a strip of paper {TESTED_HEADS} strokes for {TESTED_HEADS} heads, one of them crossed out: zeros. The "
        f"mean error is {zeros['mean']:.4f}. The budget: 1.5 times the built-in attention's largest error, in each "
        f"head. The largest here is {zeros['largest']:.2f}, {over} budgets, REJECTED. Ours needs {used} of the budget "
        "and passes."
    )
    board.erase(keep=STAYS)
    with board.group("paper"):
        board.box(18, 9, 427, 42)
        for i in range(TESTED_HEADS):
            x = STROKES_X + STROKE_GAP * i
            board.line((x, 14), (x, 46), width=1.2)
    x = STROKES_X + STROKE_GAP * TESTED_HEAD_OF_ZEROS
    board.strike(x - 9, 42, x + 9, 18)
    board.write(x, 62, "zeros", 0.85)
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


def draw_slow(board: Board) -> None:
    one_key, lines = measured_milliseconds("one_key_attention", 128), measured_milliseconds("attention", 128)
    assert one_key > AT_LEAST * lines  # as the speech says
    board.step(
        f"Two times: PyTorch's three lines {lines:.2f} ms, with a dot for a bar, ours {one_key:.0f} ms, more than "
        f"{AT_LEAST} times as long, whose bar runs to the end of the board and would go on. Below, two "
        "suspects and room for a third."
    )
    board.erase(keep=STAYS)
    board.write(14, 24, f"3 lines  {lines:.2f} ms", 0.95, at="left")
    board.line((BAR_X, 24), (BAR_X + 3, 24), width=6)
    with board.withhold():
        board.write(14, BAR_Y, f"ours  {one_key:.0f} ms", 0.95, at="left")
        board.line((BAR_X, BAR_Y), (BAR_END - 12, BAR_Y), width=6)
        board.arrow(BAR_END - 12, BAR_Y, BAR_END + 10, BAR_Y)
        board.write(466, 26, f"> {AT_LEAST} times", 1.1, at="right")
    with board.withhold(), board.group("suspects"):
        for y, text in zip(SUSPECT_YS, ("1. how we read", "2. how much", "3."), strict=True):
            board.write(SUSPECTS_X, y, text, 0.85, at="left")


def draw_pairs(board: Board) -> None:
    """Two suspects are struck out, and the third one is found."""
    one_key = measured_milliseconds("one_key_attention", 128)
    times = [(2048 // d, d, measured_milliseconds("one_key_attention", d)) for d in (64, 128, 256)]
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
    with board.withhold():
        strike_suspect(board, 0, 124)
    with board.withhold():
        board.write(14, 50, f"2 · 512 · {worked.HEAD_DIM} · {worked.BYTES} = {one:.3f} MB", 0.85, at="left")
        board.write(14, 78, f"· {worked.PROGRAMS:,} = {worked.requested_gigabytes():.1f} GB", 0.85, at="left")
    with board.withhold():
        board.write(14, 106, f"÷ {cache:.1f} TB/s = {needed:.1f} ms", 0.85, at="left")
        board.line((14, 122), (270, 122), (270, 142), (14, 142), (14, 121))
        board.hatch(14, 122, 256 * needed / one_key, 20, gap=7)
        board.write(276, 132, f"{one_key:.0f}", 0.85, at="left")
    with board.withhold():
        strike_suspect(board, 1, 100)
    with board.withhold():
        for i, (heads, d, _) in enumerate(times):
            board.write(14, 168 + 27 * i, f"{heads} heads of {d}", 0.85, at="left")
    with board.withhold():
        for i, (_, _, time) in enumerate(times):
            board.write(224, 168 + 27 * i, f"{time:.0f} ms", 0.85, at="right")
    with board.withhold():
        board.write(SUSPECTS_X + 26, SUSPECT_YS[2], "pairs", 0.85, at="left")


def strike_suspect(board: Board, suspect: int, wide: float) -> None:
    with board.group("suspects"):
        board.strike(SUSPECTS_X - 2, SUSPECT_YS[suspect] + 5, SUSPECTS_X + wide, SUSPECT_YS[suspect] - 5)


def draw_load_store_unit(board: Board) -> None:
    each, clocks, steps = worked.LSU_INSTRUCTIONS, worked.LSU_CLOCKS, worked.SUM_STEPS
    folds = " → ".join(str(worked.LANES >> i) for i in range(steps[0] + 1))
    places, threads = worked.SHAPE[-1], worked.WARPS * worked.LANES
    board.step(
        "On paper, the tree of a sum: four warps of 32, shared memory with 4 in, a box that adds the four, 1 out. "
        f"Above it 32 numbers fold: {folds}. Beside its levels the tickets: {', '.join(instructions())}, together "
        f"{sum(steps)}. Below, one thread with its {places} / {threads} = {places // threads} places. Four queues, one "
        f"for each warp, at a single door in a wall, the load-store unit, with a clock: 1 a clock. A pair is 2 · "
        f"{sum(steps)} + 2 = {each} for each warp, so {clocks} clocks. Behind the wall a room of its own that sleeps: "
        f"multiply, {worked.milliseconds_of_clocks(worked.FP32_CLOCKS):.0f} ms."
    )
    board.erase(keep=STAYS)
    with board.group("tree"):
        draw_tree(board)
    board.write(270, 86, "4 warps", 0.8)
    board.write(WALL_X, 73, "load-store", 0.75)
    for y in (85, 173):
        board.line((WALL_X, y), (WALL_X, y + 58), width=3.2)
    for warp in range(worked.WARPS):
        y = queue_y(warp)
        for i in range(3):
            board.line((284 + 13 * i, y - 8), (284 + 13 * i, y + 8), width=1.2)
        board.arrow(322, y, WALL_X - 8, 148 + 8 * warp)
    board.ring(WALL_X + 30, 118, 32, 32)
    board.line((WALL_X + 30, 107), (WALL_X + 30, 118), (WALL_X + 38, 118))
    board.arrow(WALL_X + 8, 158, WALL_X + 30, 158)
    board.write(WALL_X + 36, 158, "1 a clock", 0.85, at="left")
    for i, (y, count) in enumerate(zip(TREE_YS, instructions(), strict=True)):
        with board.withhold():
            if not i:
                board.write(14, 15, folds, 0.8, at="left")
            with board.group("tree"):
                board.write(COUNTS_X, y, count, 0.8)
                if y == TREE_YS[-1]:
                    board.line((COUNTS_X - 22, 152), (COUNTS_X + 22, 152))
                    board.write(COUNTS_X, 166, str(sum(steps)), 0.9)
    with board.withhold():
        board.write(14, 183, "1 thread", 0.8, at="left")
        board.grid(92, 174, 1, places // threads, 18, 18)
        board.write(14, 205, f"{places} / {threads} = {places // threads}", 0.8, at="left")
    with board.withhold():
        board.write(14, 228, f"2 · {sum(steps)} + 2 = {each}", 0.9, at="left")
        for warp in range(worked.WARPS):
            board.write(258, queue_y(warp), str(each), 1)
    with board.withhold():
        board.write(WALL_X + 14, 205, f"{clocks} clocks", 1.1, at="left")
    with board.withhold():
        board.box(354, 10, 116, 50)
        board.write(412, 24, "multiply", 0.85)
        board.write(412, 46, f"{worked.milliseconds_of_clocks(worked.FP32_CLOCKS):.0f} ms  zzz", 0.85)


def queue_y(warp: int) -> float:
    return 106 + 36 * warp


def draw_tree(board: Board) -> None:
    """Step 6's picture of a sum, small: what warps add up among themselves, and what they hand to each other."""
    shuffled, handed, added, back = TREE_YS
    board.box(9, 26, 160, 127)
    for warp in range(worked.WARPS):
        x = 16 + 37 * warp
        board.box(x, shuffled - 8, 34, 16, str(worked.LANES), 0.75)
        board.arrow(x + 17, shuffled + 9, x + 17, handed - 10)
    board.box(16, handed - 8, 145, 16, f"shared: {worked.WARPS} in", 0.75)
    board.arrow(33, handed + 9, 33, added - 10)
    board.box(16, added - 8, 60, 16, f"adds {worked.WARPS}", 0.75)
    board.arrow(33, added + 9, 33, back - 10)
    board.box(16, back - 8, 145, 16, "shared: 1 out", 0.75)


def instructions() -> list[str]:
    """What each level of the tree costs a warp: shuffles, and where warps hand over, to write and to read."""
    within, handed, across, back = worked.SUM_STEPS
    return [str(within), f"{handed // 2} + {handed // 2}", str(across), f"{back // 2} + {back // 2}"]


def draw_bill(board: Board) -> None:
    one_key = measured_milliseconds("one_key_attention", 128)
    times = {row["warps"]: row["median"] for row in records.table("how_many_warps", "times") if row["n"] == 512}
    busy = {warps: busy_units(warps) for warps in (1, worked.WARPS)}
    door = busy[worked.WARPS]["lsu"]
    clocks, lsu_ms, million = worked.LSU_CLOCKS, worked.milliseconds_of_clocks(worked.LSU_CLOCKS), worked.PAIRS / 1e6
    per_sm = million * clocks / worked.SMS
    within, key_sum = worked.SUM_STEPS[0], sum(worked.SUM_STEPS)
    row_sum, eight_clocks = key_sum + 1, worked.load_store_clocks(8)
    one_clocks = worked.load_store_clocks(1)
    eight = f"{key_sum} + {row_sum} + 2 = {eight_clocks // 8}"
    one = f"{within} + {within} + 2 = {one_clocks}"
    places, each = worked.SHAPE[-1], worked.PLACE_INSTRUCTIONS
    passes = f"{places} · 2 · {each} / {worked.LANES} / {worked.ALU_PER_CLOCK} = {worked.alu_clocks(0):.0f}"
    board.step(
        f"The tree stays, with its {key_sum} tickets. Beside it {million:.0f} million pairs, times {clocks} clocks, on "
        f"{worked.SMS} SMs {per_sm:.0f} million clocks, that is {lsu_ms:.0f} ms. A bar for {one_key:.0f} ms, "
        f"{lsu_ms:.0f} of it shaded. The profiler: the unit is busy in {door:.0f} % of all clocks. Below, eight warps, "
        f"{eight} tickets each, so {eight_clocks} clocks, {times[8]:.0f} ms; and one warp, {one}, {times[1]:.0f} ms, "
        f"where another unit, the ALU, is busy in {busy[1]['alu']:.0f} %: {passes} clocks for the row."
    )
    board.erase(keep=(*STAYS, "tree"))
    left, right, bottom = PAIR_X, PAIR_X + BILL_BAR_WIDTH, BILL_BAR_Y + 24
    board.line((left, BILL_BAR_Y), (right, BILL_BAR_Y), (right, bottom), (left, bottom), (left, BILL_BAR_Y - 1))
    board.write(right, bottom + 15, f"{one_key:.0f} ms", 0.85, at="right")
    board.line((14, 178), (466, 178), dashed=True)
    with board.withhold():
        board.write(left, BILL_Y[0], f"{million:.0f} million pairs", 0.8, at="left")
    with board.withhold():
        board.write(left, BILL_Y[1], f"· {clocks} ÷ {worked.SMS} = {per_sm:.0f} million", 0.8, at="left")
    with board.withhold():
        board.write(left, BILL_Y[2], f"÷ {worked.GIGAHERTZ} million = {lsu_ms:.0f} ms", 0.8, at="left")
        shaded = BILL_BAR_WIDTH * lsu_ms / one_key
        board.line((left + shaded, BILL_BAR_Y), (left + shaded, bottom))
        board.hatch(left, BILL_BAR_Y, shaded, bottom - BILL_BAR_Y, gap=18)
    with board.withhold():
        board.write(left, 152, "profiler: busy", 0.8, at="left")
        begin, _, end, _ = board.write(right - 8, 152, f"{door:.0f} %", 0.9, at="right")
        board.ring((begin + end) / 2, 152, end - begin + 16, 24)
    for y, warps, tickets, more in ((193, "8 warps", eight, f"· 8 = {eight_clocks}"), (210, "1 warp", one, "")):
        with board.withhold():
            board.write(14, y, warps, 0.8, at="left")
            board.write(90, y, tickets, 0.8, at="left")
            if more:
                board.write(266, y, more, 0.8, at="left")
        with board.withhold():
            board.write(466, y, f"→ {times[int(warps[0])]:.0f} ms", 0.85, at="right")
    with board.withhold():
        board.write(14, 227, f"ALU busy {busy[1]['alu']:.0f} %", 0.8, at="left")
    with board.withhold():
        board.write(466, 227, passes, 0.8, at="right")


def busy_units(warps: int) -> dict:
    """In how many per cent of all clocks each unit is busy, with so many warps, at 512 words."""
    wanted = {"n": 512, "head_dim": worked.HEAD_DIM, "warps": warps}
    (row,) = [row for row in records.table("what_limits", "busy") if wanted.items() <= row.items()]
    return row


def draw_cure(board: Board) -> None:
    one_key, blocks, flash = (
        measured_milliseconds(f"{form}_attention", 128) for form in ("one_key", "key_blocks", "flash")
    )
    clocks = {row["n"]: row["all"] for row in records.table("what_limits", "clocks") if row["head_dim"] == 64}
    board.step(
        f"The times: today {one_key:.0f} ms; many keys, chapter 6, {blocks:.0f}; many queries and tensor cores, "
        f"chapter 8, {flash:.2f}. For a lesson that is early, beside it: N programs times N pairs times N places is N "
        f"cubed, and the clocks of a pair: level up to {SHORT} words, then rising to {a_pair_in_a_long_row()} as much "
        f"at {LONG}, which is {LONG // SHORT} times as many. No row is chapter 7."
    )
    board.erase(keep=STAYS)
    board.write(222, 40, f"today  {one_key:.0f} ms", 0.95, at="left")
    with board.withhold():
        board.write(222, 84, "many keys", 0.85, at="left")
        board.write(352, 84, f"→ 6:  {blocks:.0f} ms", 0.85, at="left")
    with board.withhold():
        for y, text in ((124, "many queries"), (154, "tensor cores")):
            board.write(222, y, text, 0.85, at="left")
        board.line((338, 114), (345, 114), (345, 164), (338, 164))
        board.write(352, 139, f"→ 8:  {flash:.2f} ms", 0.85, at="left")
    with board.withhold():
        board.write(14, 26, "N · N · N  = N^{3}", 0.9, at="left")
        board.axis(CURVE_X, CURVE_Y, CURVE_WIDTH + 14, CURVE_HEIGHT + 6)
        board.write(CURVE_X + 8, CURVE_Y - CURVE_HEIGHT, "clocks a pair", 0.85, at="left")
        for words in (SHORT, LONG):
            board.line((across(words), CURVE_Y), (across(words), CURVE_Y + 5))
            board.write(across(words), CURVE_Y + 15, str(words), 0.75)
        board.write((across(SHORT) + across(LONG)) / 2, CURVE_Y + 15, f"· {LONG // SHORT} →", 0.75)
        board.line(*((across(words), height(cost / clocks[SHORT])) for words, cost in sorted(clocks.items())))
        board.write(across(LONG) + 16, CURVE_Y + 44, a_pair_in_a_long_row(), 0.85, at="right")
    with board.withhold():
        board.write(222, 194, "no row", 0.85, at="left")
        board.write(352, 194, "→ 7", 0.85, at="left")


def across(words: int) -> float:
    """Where a number of words is on the axis: each doubling goes as far."""
    return CURVE_X + CURVE_WIDTH * math.log2(words / FEWEST) / math.log2(LONG / FEWEST)


def height(times: float) -> float:
    """Where so many times the clocks at ``SHORT`` words are."""
    return CURVE_Y - CURVE_HEIGHT * times / HIGHEST
