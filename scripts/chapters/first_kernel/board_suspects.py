"""The second half of board 5: how slow it is, one suspect after the other, and what cures it."""

from __future__ import annotations

import math

from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.facts import a_pair_in_a_long_row

LEFT, FOOT = 26, 244  # the left edge, and the line above what stays
STAYS = ("vote", "one place", "talk")  # what no step wipes
BAR_X, BAR_END, BAR_Y = 206, 456, 56  # the bar that would go on where the board ends
AT_LEAST = 100  # times as long as the three lines
UNIT_X, UNIT_WIDTH, UNIT_YS = 104, 320, (36, 94, 152)  # a pair's bar of clocks, and those of two units below it
CURVE_X, CURVE_Y, CURVE_WIDTH, CURVE_HEIGHT = 30, 164, 150, 76  # the clocks of a pair
LONG, SHORT = a_pair_in_a_long_row.keys  # words
FEWEST, HIGHEST = 256, 12  # words where the curve begins; times the clocks at SHORT where its axis ends


def measured_milliseconds(form: str, head_dim: int) -> float:
    """The measured time at 512 words, 2048 numbers of each cut into heads."""
    wanted = {"form": form, "n": 512, "direction": "forward", "causal": False}
    (row,) = [row for row in records.table("prefill_speed", f"forward_{head_dim}") if wanted.items() <= row.items()]
    return row["median"]


def draw_slow(board: Board) -> None:
    one_key, lines = measured_milliseconds("one_key_attention", 128), measured_milliseconds("attention", 128)
    assert one_key > AT_LEAST * lines  # as the speech says
    clocks, rounded = worked.clocks_of_milliseconds(one_key), f"2 · {one_key:.0f} = {2 * round(one_key)}"
    board.step(
        f"Two times: PyTorch's three lines {lines:.2f} ms, with a dot for a bar, ours {one_key:.0f} ms, more than "
        f"{AT_LEAST} times as long, whose bar runs to the end of the board and would go on. On the right, two "
        f"suspects, multiply and memory, and room for a third. On the left, one SM: 1 million pairs, 2 million clocks "
        f"a millisecond, so {rounded} clocks a pair, more exactly {clocks:.0f}."
    )
    board.erase(keep=STAYS)
    board.write(14, 24, f"3 lines  {lines:.2f} ms", 0.95, at="left")
    board.line((BAR_X, 24), (BAR_X + 3, 24), width=6)
    with board.withhold():
        board.write(14, BAR_Y, f"ours  {one_key:.0f} ms", 0.95, at="left")
        board.line((BAR_X, BAR_Y), (BAR_END - 12, BAR_Y), width=6)
        board.arrow(BAR_END - 12, BAR_Y, BAR_END + 10, BAR_Y)
        board.write(466, 26, f"> {AT_LEAST} times", 1.1, at="right")
    with board.withhold():
        for y, text in ((110, "1. multiply"), (144, "2. memory"), (178, "3.")):
            board.write(350, y, text, 0.9, at="left")
    with board.withhold():
        board.write(14, 110, "1 SM:  1 million pairs", 0.9, at="left")
        board.write(14, 144, "2 million clocks a ms", 0.9, at="left")
    with board.withhold():
        board.write(14, 178, rounded, 0.9, at="left")
    with board.withhold():
        _, _, end, _ = board.write(14, 212, f"more exactly {clocks:.0f} clocks a pair", 1.1, at="left")
        board.line((14, 228), (end, 228))


def draw_pairs(board: Board) -> None:
    """Two suspects are struck out."""
    clocks = worked.clocks_of_milliseconds(measured_milliseconds("one_key_attention", 128))
    a_clock, sent = cache_bytes_a_clock(), worked.PAIR_BYTES
    products = [
        f"2 · 2 · {worked.HEAD_DIM} = {worked.PAIR_FLOP}",
        f"{worked.PAIR_FLOP} / {worked.FP32_FLOP_PER_CLOCK} = {worked.FP32_CLOCKS}",
    ]
    memory = [f"2 · {worked.HEAD_DIM} · {worked.BYTES} = {sent}", f"{sent} / {a_clock} = {sent / a_clock:.0f}"]
    board.step(
        f"Three bars on one scale. A pair's: {clocks:.0f} clocks. Multiply: {', '.join(products)}, a sliver, struck "
        f"out. Memory: {', '.join(memory)}, a short piece, struck out. Below: work / speed."
    )
    board.erase(keep=STAYS)
    for y, name in zip(UNIT_YS, ("a pair", "multiply", "memory"), strict=True):
        board.write(14, y, name, 0.85, at="left")
    draw_unit_bar(board, UNIT_YS[0], 1)
    board.write(UNIT_X + UNIT_WIDTH + 10, UNIT_YS[0], f"{clocks:.0f}", 0.95, at="left")
    with board.withhold():
        board.write(466, 206, "work / speed", 1.0, at="right")
    for y, (work, speed), unit_clocks in zip(
        UNIT_YS[1:], (products, memory), (worked.FP32_CLOCKS, sent / a_clock), strict=True
    ):
        with board.withhold():
            board.write(156, y, work, 0.8, at="left")
        with board.withhold():
            board.write(466, y, speed, 0.8, at="right")
            draw_unit_bar(board, y, unit_clocks / clocks)
            board.strike(10, y + 6, 88, y - 6)


def draw_unit_bar(board: Board, y: float, part: float) -> None:
    end = UNIT_X + UNIT_WIDTH * part
    board.line((UNIT_X, y - 9), (end, y - 9), (end, y + 9), (UNIT_X, y + 9), (UNIT_X, y - 10))


def cache_bytes_a_clock() -> int:
    """Returns how many bytes L2 gives an SM in a clock, as measured."""
    (speed,) = [row["speed"] for row in records.table("l2_speed", "sizes") if row["size"] == 16]
    return round(worked.bytes_in_a_clock(1e12 * speed))


def draw_cure(board: Board) -> None:
    one_key, blocks, flash = (
        measured_milliseconds(f"{form}_attention", 128) for form in ("one_key", "key_blocks", "flash")
    )
    clocks = {row["n"]: row["all"] for row in records.table("what_limits", "clocks") if row["warps"] == worked.WARPS}
    words = [SHORT, 2 * SHORT, 4 * SHORT]
    passes = [worked.alu_clocks(0, places) for places in words]
    said = ", ".join(f"{clocks:.0f} at {places}" for places, clocks in zip(words, passes, strict=True))
    board.step(
        f"On the left, what a pair takes by hand: the door {worked.LSU_CLOCKS} clocks, however many words, the passes "
        f"{said} words. Below, the measured clocks of a pair, each step on the axis twice the words: level up to "
        f"{2 * SHORT} words, then rising to {a_pair_in_a_long_row()} as much at {LONG}. On the right, today "
        f"{one_key:.0f} ms; N programs times N pairs times N places is N cubed; many keys, chapter 6, {blocks:.0f}; no "
        f"row, chapter 7; many queries and tensor cores, chapter 8, {flash:.2f}."
    )
    board.erase(keep=STAYS)
    xs = (86, 132, 180)
    for x, places in zip(xs, words, strict=True):
        board.write(x, 16, str(places), 0.75)
    board.line((14, 27), (200, 27))
    board.write(14, 40, "door", 0.85, at="left")
    board.write(14, 62, "passes", 0.85, at="left")
    board.write(xs[0], 40, str(worked.LSU_CLOCKS), 0.85)
    board.write(xs[0], 62, f"{passes[0]:.0f}", 0.85)
    board.write(226, 26, f"today  {one_key:.0f} ms", 0.95, at="left")
    with board.withhold():
        for x, clocks_of_passes in zip(xs[1:], passes[1:], strict=True):
            board.write(x, 40, str(worked.LSU_CLOCKS), 0.85)
            board.write(x, 62, f"{clocks_of_passes:.0f}", 0.85)
    with board.withhold():
        board.axis(CURVE_X, CURVE_Y, CURVE_WIDTH + 14, CURVE_HEIGHT + 6)
        board.write(CURVE_X + 8, CURVE_Y - CURVE_HEIGHT, "clocks a pair", 0.85, at="left")
        for i in range(round(math.log2(LONG / SHORT)) + 1):
            words = SHORT * 2**i
            board.line((across(words), CURVE_Y), (across(words), CURVE_Y + 6))
            if i % 2 == 0:  # there's no room for all
                board.write(across(words), CURVE_Y + 16, str(words), 0.75)
        board.write(CURVE_X, CURVE_Y + 35, "each step doubles", 0.8, at="left")
        board.line(*((across(words), height(cost / clocks[SHORT])) for words, cost in sorted(clocks.items())))
        board.write(across(LONG) - 4, CURVE_Y - 58, a_pair_in_a_long_row(), 0.75, at="right")
    with board.withhold():
        board.write(226, 52, "N · N · N  = N^{3}", 0.95, at="left")
    with board.withhold():
        board.write(226, 94, "many keys", 0.85, at="left")
        board.write(352, 94, f"→ 6:  {blocks:.0f} ms", 0.85, at="left")
    with board.withhold():
        board.write(226, 134, "no row", 0.85, at="left")
        board.write(352, 134, "→ 7", 0.85, at="left")
        for y, text in ((174, "many queries"), (204, "tensor cores")):
            board.write(226, y, text, 0.85, at="left")
        board.line((340, 164), (346, 164), (346, 214), (340, 214))
        board.write(352, 189, f"→ 8:  {flash:.2f} ms", 0.85, at="left")


def across(words: int) -> float:
    """Where a number of words is on the axis: each doubling goes as far."""
    return CURVE_X + CURVE_WIDTH * math.log2(words / FEWEST) / math.log2(LONG / FEWEST)


def height(times: float) -> float:
    """Where so many times the clocks at ``SHORT`` words are."""
    return CURVE_Y - CURVE_HEIGHT * times / HIGHEST
