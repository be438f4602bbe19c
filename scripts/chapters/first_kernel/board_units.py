"""Board 5's units: how threads talk, what a pair takes the LSU and the ALU, and what happens if that changes."""

from __future__ import annotations

from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.board_suspects import FOOT, STAYS

LEFT, WARP_GAP = 14, 50  # the tree's left edge; from one warp to the next
TREE_YS, COUNTS_X = (34, 87, 125, 163), 232  # the levels of a sum, and where their instructions are counted
WALL_X = 366  # the load-store unit is a gap in it
NAME_GAP, CLOCK_WIDTH = 8, 1.0  # between the name of a bar and the bar; pixels of a clock
COLUMN_XS = {"as_taught": 58, "cheaper": 296}  # where its bars begin
TITLE_YS = {4: 16, 1: 156}  # by the warps of a program
MORE_Y = 94  # the title of one more load
BAR_GAP, FIRST_GAP = 18, 20  # from one to the next; from a title to the first
PASSES_Y = 166  # how their clocks are worked out


def draw_program(board: Board) -> None:
    """The tree of a sum, on the left half: the next step counts its tickets beside it."""
    warps, lanes = worked.WARPS, worked.LANES
    board.step(
        f"The tree of a sum. Four boxes, the warps, of {lanes} threads each, {warps * lanes} threads. Each multiplies "
        "one number of the key. Shuffles fold a warp's products to one sum, drawn as four lines to two to one; an "
        "arrow leads from each warp into shared memory, 4 in; below it a dashed line, the barrier, and across it an "
        "arrow to a box that adds the four. From it an arrow leads into shared memory, 1 out, and from there one for "
        "each warp, across a second barrier. At the foot: they talk."
    )
    board.erase(keep=STAYS)
    threads, shared, added, out = TREE_YS
    middles = [LEFT + WARP_GAP * (warp + 0.5) for warp in range(warps)]
    right = LEFT + WARP_GAP * warps
    for x in middles:
        board.box(x - 23, threads - 10, 46, 20, str(lanes), 0.85)
    with board.withhold(), board.group("threads"):
        board.write(LEFT, 13, f"{warps} · {lanes} = {warps * lanes} threads", 0.85, at="left")
    with board.withhold():
        for x in middles:
            draw_fold(board, x, threads + 14)
    with board.withhold():
        for x in middles:
            board.arrow(x, threads + 35, x, shared - 11)
        board.box(LEFT, shared - 10, right - LEFT, 20, f"shared: {warps} in", 0.8)
    with board.withhold():
        draw_barrier(board, (shared + added) / 2, LEFT, 118)
        board.arrow(middles[0], shared + 11, middles[0], added - 11)
        board.box(LEFT, added - 10, 74, 20, f"adds {warps}", 0.8)
    with board.withhold():
        board.arrow(middles[0], added + 11, middles[0], out - 11)
        board.box(LEFT, out - 10, right - LEFT, 20, "shared: 1 out", 0.8)
    with board.withhold():
        draw_barrier(board, out + 19, LEFT, right)
        for x in middles:
            board.arrow(x, out + 11, x, out + 31)
        with board.group("talk"):
            board.write(468, FOOT + 15, "they talk", 0.75, at="right")


def draw_barrier(board: Board, y: float, left: float, right: float) -> None:
    board.line((left, y), (right, y), dashed=True)
    board.write(right + 4, y, "barrier", 0.75, at="left")


def draw_fold(board: Board, x: float, y: float) -> None:
    """Four lines meet in two points, and these in one."""
    for side in (-12, 12):
        board.line((x + side - 7, y), (x + side, y + 9), (x + side + 7, y))
        board.line((x + side, y + 9), (x, y + 19))


def draw_load_store_unit(board: Board) -> None:
    each, clocks, steps = worked.LSU_INSTRUCTIONS, worked.LSU_CLOCKS, worked.SUM_STEPS
    folds = " → ".join(str(worked.LANES >> i) for i in range(steps[0] + 1))
    places, threads = worked.SHAPE[-1], worked.WARPS * worked.LANES
    board.step(
        f"The tree stays. A warp folds {folds}. Beside the levels their tickets: {', '.join(map(str, steps))}, "
        f"together {sum(steps)}. Below, one thread with its {places} / {threads} = {places // threads} places. On the "
        "right four queues, one for each warp, at a single door in a wall, the load-store unit: 1 a clock. A warp's "
        f"pair, for key, row and loads: {sum(steps)} + {sum(steps)} + 2 = {each}, so {clocks} clocks."
    )
    board.erase("threads")
    board.write(WALL_X, 20, "load-store unit", 0.85)
    for y in (34, 121):
        board.line((WALL_X, y), (WALL_X, y + 57), width=3.2)
    board.arrow(WALL_X + 8, 106, WALL_X + 26, 106)
    board.write(WALL_X + 32, 106, "1 a clock", 0.8, at="left")
    with board.withhold():
        board.write(LEFT, 13, folds, 0.75, at="left")
        board.write(COUNTS_X, TREE_YS[0] + 22, str(steps[0]), 0.9)
    for y, tickets in zip(TREE_YS[1:], steps[1:], strict=True):
        with board.withhold():
            board.write(COUNTS_X, y, str(tickets), 0.9)
    with board.withhold():
        board.line((COUNTS_X - 14, 194), (COUNTS_X + 14, 194))
        board.write(COUNTS_X, 207, str(sum(steps)), 0.95)
    with board.withhold():
        board.write(280, 196, f"{places} / {threads} = {places // threads}", 0.8, at="left")
        board.grid(406, 188, 1, places // threads, 16, 16)
    with board.withhold():
        draw_tickets(board, 26, 229, sum(steps), sum(steps))
        for warp in range(worked.WARPS):
            board.write(294, queue_y(warp), str(each), 0.95)
            for i in range(3):
                board.line((312 + 10 * i, queue_y(warp) - 8), (312 + 10 * i, queue_y(warp) + 8), width=1.2)
            board.arrow(338, queue_y(warp), WALL_X - 8, 94 + 8 * warp)
    with board.withhold():
        board.write(466, 225, f"4 · {each} = {clocks} clocks", 1.1, at="right")


def draw_tickets(board: Board, x: float, y: float, key: int, row: int, loads: int = 2) -> None:
    """A warp's tickets for a pair, each number below what it's for."""
    for right, number, name in ((0, f"{key}", "key"), (52, f"+ {row}", "row"), (108, f"+ {loads}", "loads")):
        board.write(x + right, y, number, 0.95)
        board.write(x + right, y - 18, name, 0.75)
    board.write(x + 130, y, f"= {key + row + loads}", 0.95, at="left")


def queue_y(warp: int) -> float:
    return 55 + 34 * warp


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
