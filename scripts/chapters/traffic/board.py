# ruff: noqa: RUF001  (signs as a board has them)
"""Sheet 4: a hallway, a square that fits nowhere, its trips, their times and the roof above them."""

from __future__ import annotations

import math
from contextlib import nullcontext

from kernels.bench import hardware
from kernels.bench.cost import attainable, attention_flops, eager_traffic, mb, mib, qkvo_bytes, square_bytes
from kernels.bench.hardware import H100, H200
from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.traffic.worked import BYTES, HEAD_DIM, N

PEAK_FLOPS, HBM_BANDWIDTH = H100["bf16 peak"].value, H100["hbm bandwidth"].value  # FLOP and bytes a second
SQUARE_BYTES, LEAST_BYTES = square_bytes(N, BYTES), qkvo_bytes(N, HEAD_DIM, BYTES)
KERNELS = eager_traffic(N, HEAD_DIM, BYTES)  # QKᵀ, scale, softmax, PV
KERNEL_NAMES = ("QK^{T}", "× scale", "softmax", "PV")
KERNEL_X = (24, 138, 252, 366)  # where the boxes of the four kernels begin
LEFT_X, MEMORY_Y = 24, 176  # the second is the line that is HBM


def on_chip_bytes() -> dict[str, float]:
    """What an H200 holds on the chip besides, in bytes; but for L2 an H100 has the same."""
    sms = H100["sms"].value
    return {
        "L2": H200["l2"].value,
        "registers": sms * H100["registers per SM"].value,
        "shared": sms * H100["shared memory per SM"].value,
    }


def flop_per_byte() -> float:
    """FLOP of QKᵀ per byte."""
    return attention_flops(N, HEAD_DIM) / 2 / (KERNELS[0].read + KERNELS[0].written)


def squares_moved(caches: str) -> float:
    """How many squares HBM saw of the three lines, by the counters."""
    (row,) = [row for row in records.table("hbm_traffic", "whole") if row["form"] == "attention"]
    return row[caches] / mb(SQUARE_BYTES)


def kernel_milliseconds() -> list[float]:
    """What the four kernels took, in ms, caches flushed."""
    rows = records.table("hbm_traffic", "counted")
    return [row["time"] for row in rows if (row["form"], row["caches"]) == ("attention", "flushed")]


def three_lines_and_limit_milliseconds() -> tuple[float, float]:
    """The three lines, 16 heads of two sentences, and the least that their arithmetic would take, in ms."""
    (row,) = [
        row
        for row in records.table("prefill_speed", f"forward_{HEAD_DIM}")
        if (row["form"], row["n"], row["direction"], row["causal"]) == ("attention", N, "forward", False)
    ]
    flops = attention_flops(N, HEAD_DIM, 16, 2)
    maker = getattr(hardware, records.read("prefill_speed").chip)
    peak, hallway = maker["bf16 peak"].value, maker["hbm bandwidth"].value
    fastest = attainable(flops / qkvo_bytes(N, HEAD_DIM, BYTES, 16, 2), peak, hallway)
    return row["median"], 1e3 * flops / fastest


def board() -> Board:
    board = Board()
    draw_kitchen(board)
    draw_sizes_on_chip(board)
    draw_four_trips(board)
    draw_six_trips(board)
    draw_counted_trips(board)
    draw_kernel_times(board)
    draw_roof(board)
    draw_struck_square(board)
    return board


def draw_kitchen(board: Board) -> None:
    ridge = PEAK_FLOPS / HBM_BANDWIDTH
    board.step(
        f"Cooks at {H100['sms'].value:.0f} stations on the left, the storeroom on the right, and between them a narrow "
        f"hallway: {PEAK_FLOPS / 1e12:.0f} TFLOP/s, {HBM_BANDWIDTH / 1e12:.2f} TB/s, and their quotient, {ridge:.0f} "
        "FLOP per byte."
    )
    board.box(LEFT_X, 40, 150, 130)
    board.write(LEFT_X + 75, 60, f"{H100['sms'].value:.0f} stations", 0.95)
    for i in range(12):
        board.ring(LEFT_X + 27 + 32 * (i % 4), 86 + 20 * (i // 4), 12, 12)
    board.write(LEFT_X + 75, 153, f"{PEAK_FLOPS / 1e12:.0f} TFLOP/s", 0.9)
    board.line((LEFT_X + 156, 94), (324, 94))
    board.line((LEFT_X + 156, 116), (324, 116))
    board.arrow(314, 105, 196, 105)
    board.write(252, 72, "hallway", 0.95)
    board.write(252, 140, f"{HBM_BANDWIDTH / 1e12:.2f} TB/s", 0.95)
    board.box(330, 40, 124, 130)
    board.write(392, 92, "storeroom", 0.95)
    board.write(392, 120, "HBM", 0.95)
    with board.withhold():
        board.write(240, 222, f"{PEAK_FLOPS / 1e12:.0f} ÷ {HBM_BANDWIDTH / 1e12:.2f} = {ridge:.0f} FLOP per byte", 1.15)


def draw_sizes_on_chip(board: Board) -> None:
    places = on_chip_bytes()
    mebibytes = {name: mib(size) for name, size in places.items()}
    board.step(
        f"Four squares, their areas to scale: the square of scores, {mib(SQUARE_BYTES):.0f} MiB, and "
        + ", ".join(f"{name} {size:.0f}" for name, size in mebibytes.items())
        + f". The three on the chip make {sum(mebibytes.values()):.0f} MiB together, less than the first."
    )
    board.erase()
    x, floor = 14, 186
    for name, size in (("the square", mib(SQUARE_BYTES)), *mebibytes.items()):
        side = 150 * math.sqrt(size / mib(SQUARE_BYTES))
        board.box(x, floor - side, side, side, f"{size:.0f} MiB", 0.95)
        board.write(x + side / 2, floor + 18, name, 0.8)
        x += side + 16
    with board.withhold():
        whole = " + ".join(f"{size:.0f}" for size in mebibytes.values())
        board.write(240, 240, f"{whole} = {sum(mebibytes.values()):.0f} MiB: it fits nowhere", 1)


def draw_kernel(board: Board, slot: int, reads: bool, writes: bool) -> None:
    """A box and its trips of the square: down is written, up is read."""
    x = KERNEL_X[slot]
    with board.group("kernels"):
        board.box(x, 50, 90, 44, KERNEL_NAMES[slot], 0.9)
    with board.group("trips"):
        for wanted, at, ends in ((reads, 22, (MEMORY_Y - 4, 98)), (writes, 68, (98, MEMORY_Y - 4))):
            if wanted:
                board.arrow(x + at, ends[0], x + at, ends[1], width=4.5)


def draw_four_trips(board: Board) -> None:
    ratio = 4 * SQUARE_BYTES / LEAST_BYTES
    board.step(
        "HBM as a line. Above it three boxes, QKᵀ, softmax and PV, with four thick arrows: written, read, written, "
        f"read; four thin ones for Q, K, V and O. Ringed: N divided by d is {ratio:.0f}."
    )
    board.erase()
    with board.group("trips"):
        board.line((14, MEMORY_Y), (466, MEMORY_Y), width=3.2)
        board.write(18, MEMORY_Y + 16, "HBM", 0.85, at="left")
    draw_kernel(board, 0, reads=False, writes=True)
    draw_kernel(board, 2, reads=True, writes=True)
    draw_kernel(board, 3, reads=True, writes=False)
    for name, x, up in (("Q", 32, True), ("K", 58, True), ("V", 410, True), ("O", 442, False)):
        ends = (MEMORY_Y - 4, 98) if up else (98, MEMORY_Y - 4)
        with board.group("trips"):
            board.arrow(x, ends[0], x, ends[1], width=1.4)
            board.write(x + 10, 136, name, 0.75)
    with board.group("count"), board.withhold():
        board.write(14, 232, f"4N² ÷ 4Nd = N ÷ d = {N} ÷ {HEAD_DIM} =", 0.95, at="left")
        board.write(424, 232, f"{ratio:.0f}", 1.2)
        board.ring(424, 232, 56, 40)


def draw_six_trips(board: Board) -> None:
    moved_bytes = sum(kernel.read + kernel.written for kernel in KERNELS)
    board.step(
        "A fourth box, times scale, between the first and softmax, with two more thick arrows: six trips. "
        f"With the small tables {mb(moved_bytes):.1f} MB, {moved_bytes / LEAST_BYTES:.0f} times the least."
    )
    board.erase("count")
    draw_kernel(board, 1, reads=True, writes=True)
    trips = sum(round((each.read + each.written) / SQUARE_BYTES) for each in KERNELS)
    with board.withhold():
        board.write(240, 24, f"as typed: {trips} trips", 1.1)
    with board.withhold(), board.group("count"):
        board.write(240, 220, f"{trips} · {mb(SQUARE_BYTES):.2f} + {mb(LEAST_BYTES):.2f} = {mb(moved_bytes):.1f} MB", 1)
        board.write(240, 248, f"{moved_bytes / LEAST_BYTES:.0f} times the least", 1)


def draw_counted_trips(board: Board) -> None:
    rows = (("theory", 4.0), ("as typed", 6.0), ("kept", squares_moved("kept")), ("flushed", squares_moved("flushed")))
    board.step(
        "Below the six trips, rows of small squares, one for each trip: in theory 4, as typed 6, counted with kept "
        f"caches {rows[2][1]:.2f}, with flushed ones {rows[3][1]:.1f}, the last square not whole."
    )
    board.erase("count")
    for i, (name, count) in enumerate(rows):
        x, y = 14 + 226 * (i // 2), 214 + 34 * (i % 2)
        board.write(x, y, name, 0.85, at="left")
        fraction = count % 1
        count_text = f"{count:.0f}" if not fraction else f"{count:.2f}" if fraction < 0.1 else f"{count:.1f}"
        with board.withhold() if i > 1 else nullcontext():
            for j in range(int(count)):
                board.box(x + 80 + 18 * j, y - 7, 14, 14)
            if fraction > 0.1:
                board.box(x + 80 + 18 * int(count), y - 7, 14 * fraction, 14)
            board.write(x + 190, y, count_text, 0.9, at="left")


def draw_kernel_times(board: Board) -> None:
    measured = kernel_milliseconds()
    times_text = ", ".join(
        f"{name} {time:.3f}" for name, time in zip(("QKᵀ", "scale", "softmax", "PV"), measured, strict=True)
    )
    part = sum(measured[1:3]) / sum(measured)
    board.step(
        "Of the trips only the four kernels are left. From each hangs a bar, as long as the kernel took, in ms: "
        f"{times_text}. Scale and softmax take {100 * part:.0f} % of it."
    )
    board.erase(keep=("kernels",))
    for i, (x, time) in enumerate(zip(KERNEL_X, measured, strict=True)):
        height = 112 * time / max(measured)
        board.box(x + 20, 102, 50, height)
        if i in (1, 2):
            with board.withhold():
                board.hatch(x + 20, 102, 50, height)
        board.write(x + 45, 118 + height, f"{time:.3f} ms", 0.9)
    with board.withhold():
        board.write(240, 252, f"scale and softmax: {part:.0%} of the time".replace("%", " %"), 1)


def draw_roof(board: Board) -> None:
    ridge, at = PEAK_FLOPS / HBM_BANDWIDTH, flop_per_byte()
    reached = attainable(at, PEAK_FLOPS, HBM_BANDWIDTH)
    board.step(
        f"Both axes logarithmic, the roof: a slope, flat at {PEAK_FLOPS / 1e12:.0f} TFLOP/s from the ridge at "
        f"{ridge:.0f} FLOP per byte on. Under the slope QKᵀ, at {at:.0f}: at most {reached / 1e12:.0f} TFLOP/s."
    )
    board.erase()

    def roof_point(flop: float) -> tuple[float, float]:
        """Where the roof is above so many FLOP per byte."""
        speed = attainable(flop, PEAK_FLOPS, HBM_BANDWIDTH)
        return 60 + 130 * math.log10(flop / 4), 196 - 78 * math.log10(speed / 10e12)

    board.axis(50, 214, 414, 196, "FLOP per byte", "TFLOP/s")
    corner, point = roof_point(ridge), roof_point(at)
    board.line(roof_point(4), corner, (452, corner[1]))
    board.line(corner, (corner[0], 214), dashed=True)
    board.write(corner[0], 230, f"{ridge:.0f}", 0.9)
    board.write(430, corner[1] - 14, f"{PEAK_FLOPS / 1e12:.0f}", 0.9)
    board.write(corner[0] + 14, 90, "arithmetic", 0.85, at="left")
    board.write(126, 90, "bytes", 0.85)
    with board.withhold():
        board.ring(*point, 14, 14)
        board.line((point[0], point[1] + 8), (point[0], 214), dashed=True)
        board.write(point[0], 230, f"{at:.0f}", 0.9)
        board.write(point[0] - 8, 150, "QK^{T}", 0.9, at="right")
        board.write(point[0] - 14, point[1] - 4, f"{reached / 1e12:.0f}", 0.9, at="right")
        tables = 1 + 2 * HEAD_DIM / N
        board.write(48, 252, f"QK^{{T}}: {HEAD_DIM} ÷ {tables:.5f} = {at:.0f}", 0.9, at="left")


def draw_struck_square(board: Board) -> None:
    lines, limit = three_lines_and_limit_milliseconds()
    board.step(
        f"Two bars: the three lines, {lines:.1f} ms, and the limit, {limit:.1f} ms, {100 * limit / lines:.1f} % of it. "
        "Below, the square, struck out, with the question what happens if we never write it down."
    )
    board.erase()
    for y, name, time in ((22, "three lines", lines), (66, "the limit", limit)):
        width = 250 * time / lines
        board.write(LEFT_X - 6, y + 15, name, 0.9, at="left")
        board.box(124, y, width, 30)
        board.write(134 + width, y + 15, f"{time:.1f} ms", 0.9, at="left")
    board.write(300, 81, f"{limit / lines:.1%}".replace("%", " %"), 1.1)
    board.box(60, 130, 110, 110, f"{mib(SQUARE_BYTES):.0f} MiB", 0.95)
    with board.withhold():
        board.strike(48, 248, 182, 122)
        board.strike(48, 122, 182, 248)
        board.write(206, 168, "What if we never", 1.1, at="left")
        board.write(206, 202, "write it down?", 1.1, at="left")
