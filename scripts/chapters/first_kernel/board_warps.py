"""A step of board 5: what more warps and fewer have to do, and how long they take."""

from __future__ import annotations

from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.board_suspects import STAYS

WARPS = (4, 8, 1)  # as they're tried
BARS_XS, BAR_YS, CLOCK_WIDTH = dict(zip(WARPS, (58, 165, 330), strict=True)), (78, 102, 126), 0.5  # LSU, ALU, time


def measured_clocks() -> dict[int, float]:
    """For how many clocks of an SM a pair takes, by the warps of a program, at 512 words."""
    wanted = {"n": 512, "head_dim": worked.HEAD_DIM}
    return {row["warps"]: row["all"] for row in records.table("what_limits", "clocks") if wanted.items() <= row.items()}


def draw_bill(board: Board) -> None:
    clocks, lsu = measured_clocks(), {warps: worked.load_store_clocks(warps) for warps in WARPS}
    within, key_sum = worked.SUM_STEPS[0], sum(worked.SUM_STEPS)
    eight, one = f"{key_sum} + {key_sum + 1} + 2 = {lsu[8] // 8}", f"{within} + {within} + 2 = {lsu[1]}"
    passes, alu = worked.alu_clocks(0), {warps: worked.alu_clocks(warps) for warps in WARPS}
    one_sum = f"{passes:.0f} + {alu[1] - passes:.0f} = {alu[1]:.0f}"
    factors = (
        ("2", "passes"),
        (f"· {worked.SHAPE[-1]}", "places"),
        (f"· {worked.PLACE_INSTRUCTIONS}", "a place"),
        (f"/ {worked.LANES}", "at once"),
        (f"/ {worked.ALU_PER_CLOCK}", "a clock"),
    )
    rows = ", ".join(
        f"{warps} warps: LSU {lsu[warps]}, ALU {alu[warps]:.0f}, time {clocks[warps]:.0f}" for warps in WARPS
    )
    said = " ".join(f"{number} ({name})" for number, name in factors)
    board.step(
        f"Bars on one scale for the clocks of a pair, hollow for LSU and ALU, filled for the time. {rows}. Above "
        f"them, tickets for key, row and loads: {eight} for each of eight warps, and {one}. Below, the ALU: {said} = "
        f"{passes:.0f}, and for one warp {one_sum}."
    )
    board.erase(keep=STAYS)
    lsu_y, alu_y, time_y = BAR_YS
    for y, name in zip(BAR_YS, ("LSU", "ALU", "time"), strict=True):
        board.write(50, y, name, 0.75, at="right")
    for warps in WARPS:
        board.write(BARS_XS[warps], 18, f"{warps} warp{'s' * (warps > 1)}", 0.9, at="left")
    draw_unit_clocks(board, 4, lsu_y, lsu[4])
    draw_time(board, 4, time_y, clocks[4])
    with board.withhold():
        board.write(BARS_XS[8], 54, eight, 0.75, at="left")
        for x, name in zip((172, 207, 248), ("key", "row", "loads"), strict=True):
            board.write(x, 37, name, 0.75)
    with board.withhold():
        draw_unit_clocks(board, 8, lsu_y, lsu[8])
    with board.withhold():
        draw_time(board, 8, time_y, clocks[8])
    with board.withhold():
        board.write(BARS_XS[1], 54, one, 0.75, at="left")
        draw_unit_clocks(board, 1, lsu_y, lsu[1])
    with board.withhold():
        draw_time(board, 1, time_y, clocks[1])
    with board.withhold():
        draw_factors(board, (30, 98, 188), factors[:3])
    with board.withhold():
        draw_factors(board, (288, 376), factors[3:])
        board.write(420, 166, f"= {passes:.0f}", 0.95, at="left")
    with board.withhold():
        each = worked.LOOP_INSTRUCTIONS
        board.write(14, 218, f"+ each warp: {each} / 2 = {each // worked.ALU_PER_CLOCK}", 0.85, at="left")
        draw_unit_clocks(board, 1, alu_y, alu[1], one_sum)
    with board.withhold():
        for warps in (4, 8):
            draw_unit_clocks(board, warps, alu_y, alu[warps])


def draw_factors(board: Board, xs: tuple[int, ...], factors: tuple[tuple[str, str], ...]) -> None:
    for x, (number, name) in zip(xs, factors, strict=True):
        board.write(x, 166, number, 0.95)
        board.write(x, 185, name, 0.75)


def draw_unit_clocks(board: Board, warps: int, y: float, clocks: float, text: str = "") -> None:
    """A hollow bar, since it's worked out, and behind it its clocks, or how they add up."""
    width = CLOCK_WIDTH * clocks
    board.box(BARS_XS[warps], y - 4, width, 8)
    board.write(BARS_XS[warps] + width + 7, y, text or f"{clocks:.0f}", 0.75, at="left")


def draw_time(board: Board, warps: int, y: float, clocks: float) -> None:
    """A filled bar, since it's measured."""
    end = BARS_XS[warps] + CLOCK_WIDTH * clocks
    board.line((BARS_XS[warps] + 3, y), (end - 3, y), width=8)
    board.write(end + 7, y, f"{clocks:.0f}", 0.75, at="left")
