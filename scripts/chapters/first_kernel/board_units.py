"""Board 5's units: how threads talk, what a pair takes the LSU and the ALU, and what happens if that changes."""

from __future__ import annotations

from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.board_suspects import FOOT, STAYS

TREE_YS, COUNTS_X = (32, 66, 100, 134), 196  # the levels of a sum, and where their instructions are counted
WALL_X = 352  # the load-store unit is a gap in it
NAME_GAP, CLOCK_WIDTH = 8, 1.0  # between the name of a bar and the bar; pixels of a clock
COLUMN_XS = {"as_taught": 58, "cheaper": 296}  # where its bars begin
TITLE_YS = {4: 16, 1: 156}  # by the warps of a program
MORE_Y = 94  # the title of one more load
BAR_GAP, FIRST_GAP = 18, 20  # from one to the next; from a title to the first
PASSES_Y = 166  # how their clocks are worked out


def draw_program(board: Board) -> None:
    warps, lanes = worked.WARPS, worked.LANES
    board.step(
        f"One program: {warps} boxes, the warps, of {lanes} threads each, {warps * lanes} threads. Each multiplies one "
        "number of the key. Shuffles fold a warp's products to one sum, drawn as four lines to two to one; an "
        "arrow leads from each warp into shared memory, 4 in; below it a dashed line, the barrier, and across it an "
        "arrow to a box that adds the four. From it an arrow leads into shared memory, 1 out, and from there one for "
        "each warp, across a second barrier. At the foot: they talk."
    )
    board.erase(keep=STAYS)
    middles = [68 + 114 * warp for warp in range(warps)]
    for x in middles:
        board.box(x - 50, 28, 100, 24, str(lanes), 0.95)
    with board.withhold():
        board.write(240, 15, f"{warps} · {lanes} = {warps * lanes} threads", 0.9)
    with board.withhold():
        for x in middles:
            draw_fold(board, x, 57)
        board.write((middles[0] + middles[1]) / 2, 80, "shuffle", 0.8)
    with board.withhold():
        for x in middles:
            board.arrow(x, 90, x, 104)
        board.box(18, 106, 442, 22, f"shared memory: {warps} in", 0.9)
    with board.withhold():
        board.line((18, 142), (230, 142), dashed=True)
        board.write(240, 142, "barrier", 0.85, at="left")
        board.arrow(middles[0], 129, middles[0], 154)
        board.box(18, 156, 100, 22, f"adds {warps}", 0.9)
    with board.withhold():
        board.arrow(middles[0], 179, middles[0], 190)
        board.box(18, 192, 442, 22, "shared memory: 1 out", 0.9)
    with board.withhold():
        board.line((18, 226), (318, 226), dashed=True)
        board.write(353, 226, "barrier", 0.75)
        board.line((388, 226), (460, 226), dashed=True)
        for x in middles:
            board.arrow(x, 215, x, 238)
        with board.group("talk"):
            board.write(468, FOOT + 15, "they talk", 0.75, at="right")


def draw_fold(board: Board, x: float, y: float) -> None:
    """Four lines meet in two points, and these in one."""
    for side in (-22, 22):
        board.line((x + side - 12, y), (x + side, y + 14), (x + side + 12, y))
        board.line((x + side, y + 14), (x, y + 30))


def draw_load_store_unit(board: Board) -> None:
    each, clocks, steps = worked.LSU_INSTRUCTIONS, worked.LSU_CLOCKS, worked.SUM_STEPS
    folds = " → ".join(str(worked.LANES >> i) for i in range(steps[0] + 1))
    places, threads = worked.SHAPE[-1], worked.WARPS * worked.LANES
    within, handed, across, back = map(str, steps)
    board.step(
        f"The tree of a sum: four warps of 32, which fold {folds}; shared memory with 4 in, a barrier, a box that "
        "adds the four, 1 out, and below it a second barrier. Beside its levels the tickets: "
        f"{', '.join(map(str, steps))}, together {sum(steps)}. Below, one thread with its {places} / {threads} = "
        f"{places // threads} places. On the right four queues, one for each warp, at a single door in a wall, the "
        f"load-store unit: 1 a clock. A warp's pair, for key, row and loads: {sum(steps)} + {sum(steps)} + 2 = "
        f"{each}, so {clocks} clocks."
    )
    board.erase(keep=STAYS)
    shuffled, in_memory, added, out = TREE_YS
    for warp in range(worked.WARPS):
        board.box(16 + 37 * warp, shuffled - 9, 34, 18, str(worked.LANES), 0.75)
    board.write(WALL_X, 28, "load-store unit", 0.85)
    for y in (42, 136):
        board.line((WALL_X, y), (WALL_X, y + 64), width=3.2)
    board.arrow(WALL_X + 8, 121, WALL_X + 30, 121)
    board.write(WALL_X + 36, 121, "1 a clock", 0.85, at="left")
    with board.withhold():
        board.write(14, 13, folds, 0.75, at="left")
        board.write(COUNTS_X, shuffled, within, 0.85)
    with board.withhold():
        for warp in range(worked.WARPS):
            board.arrow(33 + 37 * warp, shuffled + 10, 33 + 37 * warp, in_memory - 11)
        board.box(16, in_memory - 9, 145, 18, f"shared: {worked.WARPS} in", 0.75)
        board.write(COUNTS_X, in_memory, handed, 0.85)
    with board.withhold():
        board.line((16, 83), (104, 83), dashed=True)
        board.write(108, 83, "barrier", 0.75, at="left")
        board.arrow(33, in_memory + 10, 33, added - 11)
        board.box(16, added - 9, 66, 18, f"adds {worked.WARPS}", 0.75)
        board.write(COUNTS_X, added, across, 0.85)
    with board.withhold():
        board.arrow(33, added + 10, 33, out - 11)
        board.box(16, out - 9, 145, 18, "shared: 1 out", 0.75)
        board.line((16, 153), (161, 153), dashed=True)
        for warp in range(worked.WARPS):
            board.arrow(33 + 37 * warp, out + 10, 33 + 37 * warp, 166)
        board.write(COUNTS_X, out, back, 0.85)
    with board.withhold():
        board.line((COUNTS_X - 18, 148), (COUNTS_X + 18, 148))
        board.write(COUNTS_X, 162, str(sum(steps)), 0.95)
    with board.withhold():
        board.write(14, 184, f"{places} / {threads} = {places // threads}", 0.85, at="left")
        board.grid(156, 175, 1, places // threads, 18, 18)
    with board.withhold():
        draw_tickets(board, 26, 226, sum(steps), sum(steps))
        for warp in range(worked.WARPS):
            board.write(258, queue_y(warp), str(each), 1)
            for i in range(3):
                board.line((284 + 13 * i, queue_y(warp) - 8), (284 + 13 * i, queue_y(warp) + 8), width=1.2)
            board.arrow(322, queue_y(warp), WALL_X - 8, 109 + 8 * warp)
    with board.withhold():
        board.write(466, 226, f"4 · {each} = {clocks} clocks", 1.1, at="right")


def draw_tickets(board: Board, x: float, y: float, key: int, row: int, loads: int = 2) -> None:
    """A warp's tickets for a pair, each number below what it's for."""
    for right, number, name in ((0, f"{key}", "key"), (52, f"+ {row}", "row"), (108, f"+ {loads}", "loads")):
        board.write(x + right, y, number, 0.95)
        board.write(x + right, y - 18, name, 0.75)
    board.write(x + 130, y, f"= {key + row + loads}", 0.95, at="left")


def queue_y(warp: int) -> float:
    return 67 + 36 * warp


def measured_clocks() -> dict[tuple[int, str], float]:
    """For how many clocks of an SM a pair takes, by the warps of a program and its pass, at 512 words."""
    rows = [row for row in records.table("cheaper_passes", "clocks") if row["n"] == worked.SHAPE[-1]]
    return {(row["warps"], row["form"]): row["all"] for row in rows}


def clocks_with_one_more_load() -> float:
    """The same with the cheaper pass, four warps and one more load in each loop."""
    (clocks,) = [row["all"] for row in records.table("more_loads", "clocks") if row["more"] == 1]
    return clocks


def bar_y(title_y: int, bar: str) -> int:
    return title_y + FIRST_GAP + BAR_GAP * ("time", "LSU", "ALU").index(bar)


def draw_changed_work(board: Board) -> None:
    times, within, one = measured_clocks(), worked.SUM_STEPS[0], worked.load_store_clocks(1)
    passes, cheaper = worked.alu_clocks(0), worked.cheaper_alu_clocks(4)
    alu = {warps: worked.alu_clocks(warps) for warps in (4, 1)}
    alu_sums = {warps: f"{passes:.0f} + {clocks - passes:.0f} = {clocks:.0f}" for warps, clocks in alu.items()}
    more, longer = 2 * worked.WARPS, clocks_with_one_more_load()
    board.step(
        f"Bars on one scale: time, LSU, ALU. Four warps: {times[4, 'as_taught']:.0f}, {worked.LSU_CLOCKS}, "
        f"{alu_sums[4]}. Beside it a cheaper pass: {times[4, 'cheaper']:.0f}, {worked.LSU_CLOCKS}, {cheaper:.0f}. "
        f"Below that one more load, + {more}: {longer:.0f}, {worked.LSU_CLOCKS + more}. At the bottom one warp, with "
        f"tickets for key, row and loads, {within} + {within} + 2 = {one}: {times[1, 'as_taught']:.0f}, {one}, "
        f"{alu_sums[1]}."
    )
    board.erase(keep=STAYS)
    taught, right = COLUMN_XS.values()
    four_y, one_y = TITLE_YS[4], TITLE_YS[1]
    board.write(14, four_y, "4 warps", 0.9, at="left")
    draw_time(board, taught, four_y, times[4, "as_taught"])
    draw_unit(board, taught, four_y, "LSU", worked.LSU_CLOCKS)
    draw_passes(board, passes)
    with board.withhold():
        with board.group("passes"):
            loops = f"4 · {worked.LOOP_INSTRUCTIONS} / {worked.ALU_PER_CLOCK} = {alu[4] - passes:.0f}"
            board.write(14, PASSES_Y + 52, f"+ 4 warps:  {loops}", 0.9, at="left")
        draw_unit(board, taught, four_y, "ALU", alu[4], alu_sums[4])
    with board.withhold():
        board.erase_with_answer("passes")
        board.write(right, four_y, "cheaper pass", 0.9, at="left")
        draw_unit(board, right, four_y, "LSU", worked.LSU_CLOCKS)
        draw_unit(board, right, four_y, "ALU", cheaper)
    with board.withhold():
        draw_time(board, right, four_y, times[4, "cheaper"])
    with board.withhold():
        board.write(14, one_y, "1 warp", 0.9, at="left")
        draw_tickets(board, 100, one_y, within, within)
        draw_unit(board, taught, one_y, "LSU", one)
    with board.withhold():
        draw_unit(board, taught, one_y, "ALU", alu[1], alu_sums[1])
    with board.withhold():
        draw_time(board, taught, one_y, times[1, "as_taught"])
    with board.withhold():
        board.write(right, MORE_Y, f"one more load: + {more}", 0.9, at="left")
        draw_unit(board, right, MORE_Y, "LSU", worked.LSU_CLOCKS + more)
    with board.withhold():
        draw_time(board, right, MORE_Y, longer)


def draw_passes(board: Board, passes: float) -> None:
    """How the passes' clocks are worked out; wiped once that's done."""
    factors = (
        ("2", "passes"),
        (f"· {worked.SHAPE[-1]}", "places"),
        (f"· {worked.PLACE_INSTRUCTIONS}", "a place"),
        (f"/ {worked.LANES}", "at once"),
        (f"/ {worked.ALU_PER_CLOCK}", "a clock"),
    )
    with board.withhold(), board.group("passes"):
        draw_factors(board, (30, 98, 188), factors[:3])
    with board.withhold(), board.group("passes"):
        draw_factors(board, (288, 376), factors[3:])
        board.write(420, PASSES_Y, f"= {passes:.0f}", 0.95, at="left")


def draw_factors(board: Board, xs: tuple[int, ...], factors: tuple[tuple[str, str], ...]) -> None:
    for x, (number, name) in zip(xs, factors, strict=True):
        board.write(x, PASSES_Y, number, 0.95)
        board.write(x, PASSES_Y + 19, name, 0.75)


def draw_unit(board: Board, x: float, title_y: int, unit: str, clocks: float, text: str = "") -> None:
    """A hollow bar, since it's worked out, with its name, and behind it its clocks, or how they add up."""
    y, width = bar_y(title_y, unit), CLOCK_WIDTH * clocks
    board.box(x, y - 5, width, 10)
    write_around_bar(board, x, width, y, text or f"{clocks:.0f}", unit)


def draw_time(board: Board, x: float, title_y: int, clocks: float) -> None:
    """A filled bar, since it's measured."""
    y, width = bar_y(title_y, "time"), CLOCK_WIDTH * clocks
    board.line((x + 4, y), (x + width - 4, y), width=10)
    write_around_bar(board, x, width, y, f"{clocks:.0f}", "time")


def write_around_bar(board: Board, x: float, width: float, y: float, text: str, name: str) -> None:
    board.write(x + width + 7, y, text, 0.8, at="left")
    board.write(x - NAME_GAP, y, name, 0.75, at="right")
