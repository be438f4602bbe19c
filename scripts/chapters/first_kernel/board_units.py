"""Board 5's two answers: how threads talk when they add up, and what the kernel takes with parts left out."""

from __future__ import annotations

from scripts import records
from scripts.chapters import plot
from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.board_suspects import FOOT, STAYS

LEFT, WARP_GAP = 20, 94  # the tree's left edge; from one warp to the next
SUMS = (3, 1, 4, 2)  # of four warps, say
TREE_YS = (38, 100, 148, 196)  # the levels of a sum
NAMES_X, BARS_X, MS_WIDTH = 14, 112, 1.6  # a form's name, its bar, and the pixels of a millisecond
FORM_YS = (28, 80, 132, 184)  # of each form's bar
DINNER_X, DINNER_YS, MINUTE = 318, (104, 172), 3.4  # rice is as long as the kernel


def draw_program(board: Board) -> None:
    """The tree of a sum."""
    warps, lanes = worked.WARPS, worked.LANES
    board.step(
        f"The tree of a sum. Four boxes, the warps, of {lanes} threads each, {warps * lanes} threads. Each multiplies "
        "one number of the key. Shuffles fold a warp's products to one sum, drawn as four lines to two to one; an "
        "arrow leads from each warp into shared memory, 3, 1, 4, 2; below it a dashed line, the barrier, and across it "
        "an arrow to a box that adds the four: 10. From it an arrow leads into shared memory, 10, and from there one "
        "for each warp, across a second barrier. At the foot: they talk."
    )
    board.erase(keep=STAYS)
    threads, shared, added, out = TREE_YS
    middles = [LEFT + WARP_GAP * (warp + 0.5) for warp in range(warps)]
    right = LEFT + WARP_GAP * warps
    for x in middles:
        board.box(x - 23, threads - 10, 46, 20, str(lanes), 0.85)
    board.write(470, threads, "warps", 0.75, at="right")
    with board.withhold():
        board.write(LEFT, 14, f"{warps} · {lanes} = {warps * lanes} threads", 0.85, at="left")
    with board.withhold():
        for x in middles:
            draw_fold(board, x, threads + 14)
        halves = ", ".join(str(lanes >> i) for i in range(1, lanes.bit_length()))
        board.write(470, threads + 22, halves, 0.75, at="right")
        board.write(470, threads + 42, "shuffles", 0.75, at="right")
    with board.withhold():
        for x in middles:
            board.arrow(x, threads + 35, x, shared - 11)
        board.box(LEFT, shared - 10, right - LEFT, 20, f"shared: {', '.join(map(str, SUMS))}", 0.8)
    with board.withhold():
        board.line((LEFT, (shared + added) / 2), (right, (shared + added) / 2), dashed=True)
        board.write(right + 34, (shared + added) / 2, "barrier", 0.75)
        board.arrow(middles[0], shared + 11, middles[0], added - 11)
        board.box(LEFT, added - 10, 74, 20, f"adds: {sum(SUMS)}", 0.8)
    with board.withhold():
        board.arrow(middles[0], added + 11, middles[0], out - 11)
        board.box(LEFT, out - 10, right - LEFT, 20, f"shared: {sum(SUMS)}", 0.8)
    with board.withhold():
        board.line((LEFT, out + 19), (right, out + 19), dashed=True)
        board.write(right + 34, out + 19, "barrier", 0.75)
        for x in middles:
            board.arrow(x, out + 11, x, out + 31)
        with board.group("talk"):
            board.write(468, FOOT + 14, "they talk", 0.75, at="right")


def draw_fold(board: Board, x: float, y: float) -> None:
    """Four lines meet in two points, and these in one."""
    for side in (-12, 12):
        board.line((x + side - 7, y), (x + side, y + 9), (x + side + 7, y))
        board.line((x + side, y + 9), (x, y + 19))


def ablation_milliseconds() -> dict[str, float]:
    """Returns what the kernel takes at 512 words, by what's left out."""
    rows = plot.rows_with(records.table("ablation", "times"), n=worked.SHAPE[-1])
    times = {row["left_out"]: row["median"] for row in rows}
    names = {"our kernel": "nothing", "no passes": "passes", "no sums": "sums", "neither": "both"}
    return {name: times[left_out] for name, left_out in names.items()}


def draw_ablation(board: Board) -> None:
    """The kernel's time, and those of three forms with parts left out."""
    times = ablation_milliseconds()
    said = ", ".join(f"{name} {time:.0f}" for name, time in times.items())
    board.step(
        f"Bars on one scale, in milliseconds: {said}. On the right rice for the sums, 30, and sauce for the passes, "
        "16: dinner at the end of the longer."
    )
    board.erase(keep=STAYS)
    first, *forms = times
    draw_time(board, first, times)
    for name in forms:
        with board.withhold():
            draw_time(board, name, times)
    with board.withhold():
        draw_dinner(board)


def draw_time(board: Board, name: str, times: dict[str, float]) -> None:
    y, width = FORM_YS[list(times).index(name)], MS_WIDTH * times[name]
    board.write(NAMES_X, y, name, 0.85, at="left")
    board.line((BARS_X, y), (BARS_X + width, y), width=9)
    board.write(BARS_X + width + 9, y, f"{times[name]:.0f} ms", 0.85, at="left")


def draw_dinner(board: Board) -> None:
    """Rice for sums and sauce for passes, and dinner at the end of the longer."""
    for y, dish, part, minutes in zip(DINNER_YS, ("rice", "sauce"), ("sums", "passes"), (30, 16), strict=True):
        board.write(DINNER_X - 8, y, dish, 0.85, at="right")
        board.write(DINNER_X, y - 28, part, 0.85, at="left")
        board.box(DINNER_X, y - 16, MINUTE * minutes, 32, str(minutes), 0.9)
    end = DINNER_X + MINUTE * 30
    board.line((end, DINNER_YS[0] - 28), (end, DINNER_YS[1] + 46), width=3.2)
    board.write(end - 10, DINNER_YS[1] + 40, "dinner", 0.9, at="right")
