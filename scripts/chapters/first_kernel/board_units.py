"""Board 5's units: how threads talk, what a pair takes the LSU and the ALU, and what happens if that changes."""

from __future__ import annotations

from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.board_suspects import FOOT, STAYS

LEFT, WARP_GAP = 14, 50  # the tree's left edge; from one warp to the next
TREE_YS, COUNTS_X = (34, 87, 125, 163), 232  # the levels of a sum, and where their instructions are counted
WALL_X = 366  # the load-store unit is a gap in it
NAMES_X, BARS_X, CLOCK_WIDTH = 14, 146, 1.1  # a form's name, its bars, and the pixels of a clock
FORM_YS, BAR_GAP = (24, 80, 136, 192), 16  # of each form's first bar; from one to the next
COUNT_X, COUNT_Y, COUNT_GAP = 364, 18, 17  # how the passes' clocks are worked out, line by line


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
        board.line((LEFT, (shared + added) / 2), (right, (shared + added) / 2), dashed=True)
        board.write(150, added - 5, "barrier", 0.75)
        board.arrow(middles[0], shared + 11, middles[0], added - 11)
        board.box(LEFT, added - 10, 74, 20, f"adds {warps}", 0.8)
    with board.withhold():
        board.arrow(middles[0], added + 11, middles[0], out - 11)
        board.box(LEFT, out - 10, right - LEFT, 20, "shared: 1 out", 0.8)
    with board.withhold():
        board.line((LEFT, out + 19), (right, out + 19), dashed=True)
        for x in middles:
            board.arrow(x, out + 11, x, out + 31)
        with board.group("talk"):
            board.write(468, FOOT + 14, "they talk", 0.75, at="right")


def draw_fold(board: Board, x: float, y: float) -> None:
    """Four lines meet in two points, and these in one."""
    for side in (-12, 12):
        board.line((x + side - 7, y), (x + side, y + 9), (x + side + 7, y))
        board.line((x + side, y + 9), (x, y + 19))


def draw_load_store_unit(board: Board) -> None:
    each, clocks, steps = worked.LSU_INSTRUCTIONS, worked.LSU_CLOCKS, worked.SUM_STEPS
    folds = " → ".join(str(worked.LANES >> i) for i in range(steps[0] + 1))
    board.step(
        f"The tree stays. A warp folds {folds}. Beside the levels their tickets: {', '.join(map(str, steps))}, "
        f"together {sum(steps)}. On the right four queues, one for each warp, at a single door in a wall, the "
        "load-store unit: 1 a clock. A warp's pair, for key, row and loads: "
        f"{sum(steps)} + {sum(steps)} + 2 = {each}, so {clocks} clocks."
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


def draw_changed_work(board: Board) -> None:
    """Four forms of the kernel, one below the other: each with the bars of its time and of two units."""
    times, within, one = measured_clocks(), worked.SUM_STEPS[0], worked.load_store_clocks(1)
    passes, cheaper_passes = worked.alu_clocks(0), worked.alu_clocks(0, instructions=worked.CHEAPER_PLACE_INSTRUCTIONS)
    more, longer = 2 * worked.WARPS, clocks_with_one_more_load()
    alu = [
        f"{part:.0f} + {whole - part:.0f} = {whole:.0f}"
        for part, whole in (
            (passes, worked.alu_clocks(4)),
            (cheaper_passes, worked.cheaper_alu_clocks(4)),
            (passes, worked.alu_clocks(1)),
        )
    ]
    lsu = f"{within} + {within} + 2 = {one}"
    board.step(
        f"Bars on one scale: time, LSU, ALU. The kernel: {times[4, 'as_taught']:.0f}, {worked.LSU_CLOCKS}, {alu[0]}; "
        f"on the right how its passes are worked out. Below, a cheaper pass, k += HEAD_DIM: {times[4, 'cheaper']:.0f}, "
        f"{worked.LSU_CLOCKS}, {alu[1]}. With one more load, + {more}: {longer:.0f}, {worked.LSU_CLOCKS + more}, "
        f"{worked.cheaper_alu_clocks(4) + more:.0f}. And the kernel with one warp: {times[1, 'as_taught']:.0f}, {lsu}, "
        f"{alu[2]}."
    )
    board.erase(keep=STAYS)
    kernel, cheaper, loads, alone = FORM_YS
    board.write(NAMES_X, kernel, "the kernel", 0.85, at="left")
    draw_time(board, kernel, times[4, "as_taught"])
    draw_unit(board, kernel, "LSU", worked.LSU_CLOCKS)
    draw_count(board, passes)
    with board.withhold():
        draw_unit(board, kernel, "ALU", worked.alu_clocks(4), alu[0])
    with board.withhold():
        board.write(NAMES_X, cheaper, "cheaper", 0.85, at="left")
        board.write(NAMES_X, cheaper + 20, "pass", 0.85, at="left")
        board.write(470, cheaper + 46, "k += HEAD_DIM", 0.75, at="right")
        draw_unit(board, cheaper, "LSU", worked.LSU_CLOCKS)
        draw_unit(board, cheaper, "ALU", worked.cheaper_alu_clocks(4), alu[1])
    with board.withhold():
        draw_time(board, cheaper, times[4, "cheaper"])
    with board.withhold():
        board.write(NAMES_X, loads, "and one", 0.85, at="left")
        board.write(NAMES_X, loads + 20, "more load", 0.85, at="left")
        for unit, before in (("LSU", worked.LSU_CLOCKS), ("ALU", round(worked.cheaper_alu_clocks(4)))):
            draw_unit(board, loads, unit, before + more, f"{before} + {more} = {before + more}")
    with board.withhold():
        draw_time(board, loads, longer)
    with board.withhold():
        board.write(NAMES_X, alone, "the kernel,", 0.85, at="left")
        board.write(NAMES_X, alone + 20, "1 warp", 0.85, at="left")
        draw_unit(board, alone, "LSU", one, lsu)
    with board.withhold():
        draw_unit(board, alone, "ALU", worked.alu_clocks(1), alu[2])
    with board.withhold():
        draw_time(board, alone, times[1, "as_taught"])


def draw_count(board: Board, passes: float) -> None:
    """How the passes' clocks are worked out."""
    lines = ["2 passes", f"· {worked.SHAPE[-1]} places", f"· {worked.PLACE_INSTRUCTIONS} at each"]
    speed = [f"/ {worked.LANES} at once", f"/ {worked.ALU_PER_CLOCK} a clock", f"= {passes:.0f}"]
    for first, texts in ((0, lines), (len(lines), speed)):
        with board.withhold():
            for i, text in enumerate(texts):
                board.write(COUNT_X, COUNT_Y + COUNT_GAP * (first + i), text, 0.8, at="left")


def draw_unit(board: Board, form_y: int, unit: str, clocks: float, text: str = "") -> None:
    """A hollow bar, since it's worked out, with its name, and behind it its clocks, or how they add up."""
    y, width = form_y + BAR_GAP * ("time", "LSU", "ALU").index(unit), CLOCK_WIDTH * clocks
    board.box(BARS_X, y - 5, width, 10)
    write_around_bar(board, width, y, text or f"{clocks:.0f}", unit)


def draw_time(board: Board, form_y: int, clocks: float) -> None:
    """A filled bar, since it's measured."""
    width = CLOCK_WIDTH * clocks
    board.line((BARS_X + 4, form_y), (BARS_X + width - 4, form_y), width=9)
    write_around_bar(board, width, form_y, f"{clocks:.0f}", "time")


def write_around_bar(board: Board, width: float, y: float, text: str, name: str) -> None:
    board.write(BARS_X + width + 7, y, text, 0.75, at="left")
    board.write(BARS_X - 8, y, name, 0.75, at="right")
