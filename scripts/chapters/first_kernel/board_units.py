"""Board 5's units: how threads talk, what a pair takes the LSU and the ALU, and what happens without a part of it."""

from __future__ import annotations

from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.board_suspects import FOOT, STAYS

LEFT, WARP_GAP = 14, 50  # the tree's left edge; from one warp to the next
TREE_YS, COUNTS_X = (34, 87, 125, 163), 232  # the levels of a sum, and where their instructions are counted
WALL_X = 366  # the load-store unit is a gap in it
NAMES_X, BARS_X, CLOCK_WIDTH = 14, 146, 1.1  # a form's name, its bars, and the pixels of a clock
FORM_YS, BAR_GAP = (24, 104, 148, 192), 20  # of each form's time; from it to what the units take of it
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


def measured_clocks() -> dict[str, float]:
    """For how many clocks of an SM a pair takes, by what's left out, at 512 words."""
    rows = records.table("ablation", "clocks")
    return {row["left_out"]: row["all"] for row in rows if row["n"] == worked.SHAPE[-1]}


def draw_ablation(board: Board) -> None:
    """The kernel's time with what two units have to do in it, and the times of three forms with parts left out."""
    times, lsu, alu = measured_clocks(), worked.LSU_CLOCKS, round(worked.alu_clocks(worked.WARPS))
    forms = {"no passes": times["passes"], "no sums": times["sums"], "neither": times["both"]}
    said = ", ".join(f"{name} {clocks:.0f}" for name, clocks in forms.items())
    board.step(
        f"Bars on one scale. The kernel: its time {times['nothing']:.0f}, the LSU {lsu}, the ALU {alu}; on the "
        f"right how its passes are worked out. Below, the times with parts left out: {said}. On the right rice "
        "for the sums, 30, and sauce for the passes, 12: dinner at the end of the longer."
    )
    board.erase(keep=STAYS)
    board.write(NAMES_X, FORM_YS[0], "the kernel", 0.85, at="left")
    draw_time(board, FORM_YS[0], times["nothing"])
    draw_unit(board, "LSU", lsu)
    draw_count(board, worked.alu_clocks(0))
    with board.withhold():
        draw_unit(board, "ALU", alu)
    for y, (name, clocks) in zip(FORM_YS[1:], forms.items(), strict=True):
        with board.withhold():
            board.write(NAMES_X, y, name, 0.85, at="left")
            draw_time(board, y, clocks)
    with board.withhold():
        draw_dinner(board)


def draw_dinner(board: Board) -> None:
    """Rice for sums and sauce for passes, and dinner at the end of the longer."""
    for y, name, minutes in ((156, "sums: rice", 30), (180, "passes: sauce", 12)):
        board.write(COUNT_X - 6, y, name, 0.75, at="right")
        board.box(COUNT_X, y - 8, 3 * minutes, 16, str(minutes), 0.75)
    end = COUNT_X + 3 * 30
    board.line((end, 142), (end, 196), width=3.2)
    board.write(end, 210, "dinner", 0.75, at="right")


def draw_count(board: Board, passes: float) -> None:
    """How the passes' clocks are worked out."""
    lines = ["2 passes", f"· {worked.SHAPE[-1]} places", f"· {worked.PLACE_INSTRUCTIONS} at each"]
    speed = [f"/ {worked.LANES} at once", f"/ {worked.ALU_PER_CLOCK} a clock", f"= {passes:.0f}"]
    for first, texts in ((0, lines), (len(lines), speed)):
        with board.withhold():
            for i, text in enumerate(texts):
                board.write(COUNT_X, COUNT_Y + COUNT_GAP * (first + i), text, 0.8, at="left")


def draw_unit(board: Board, unit: str, clocks: float) -> None:
    """A hollow bar, since it's worked out."""
    y, width = FORM_YS[0] + BAR_GAP * ("time", "LSU", "ALU").index(unit), CLOCK_WIDTH * clocks
    board.box(BARS_X, y - 5, width, 10)
    write_around_bar(board, width, y, f"{clocks:.0f}", unit)


def draw_time(board: Board, form_y: int, clocks: float) -> None:
    """A filled bar, since it's measured."""
    width = CLOCK_WIDTH * clocks
    board.line((BARS_X + 4, form_y), (BARS_X + width - 4, form_y), width=9)
    write_around_bar(board, width, form_y, f"{clocks:.0f}", "time")


def write_around_bar(board: Board, width: float, y: float, text: str, name: str) -> None:
    board.write(BARS_X + width + 7, y, text, 0.75, at="left")
    board.write(BARS_X - 8, y, name, 0.75, at="right")
