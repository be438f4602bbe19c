"""Sheet 10: a tape of numbers, the seven ties of E2M1, and one block of NVFP4, byte by byte."""

from __future__ import annotations

import math
from contextlib import nullcontext

from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.number_formats.worked import (
    BIAS,
    BLOCK,
    E2M1,
    STEPS,
    TENSOR_SCALE,
    TIES,
    block_codes,
    block_maximum,
    block_scale,
    combined_scale,
    e2m1_text,
    encode_e2m1,
    encode_e4m3,
    no_leading_zero,
    packed_bytes,
    short,
)

LOUD_MAXIMUM = 45  # in place of 4.5


def error_percent(distribution: str, column: str) -> float:
    """Of NVFP4 in blocks of 16, in per cent."""
    (row,) = [
        row
        for row in records.table("format_error", "blocks")
        if (row["distribution"], row["scheme"], row["block"]) == (distribution, "NVFP4", 16)
    ]
    return row[column]


def board() -> Board:
    board = Board()
    draw_tape(board)
    draw_one_tenth(board)
    draw_ruler(board)
    draw_moved_rulers(board)
    draw_block_scale(board)
    draw_block_bytes(board)
    draw_bits_per_number(board)
    draw_errors(board)
    draw_wall(board)
    return board


def draw_tape(board: Board) -> None:
    board.step(
        "Eight boxes: one s, four e, three m. Below, a tape from 1 to 8 with eight steps from 1 to 2, eight from 2 to "
        "4 and eight from 4 to 8, each stretch twice as wide as the one before."
    )
    for i, name in enumerate("seeeemmm"):
        board.box(76 + 42 * i, 30, 34, 40, name, 1.1)
    board.line((114, 84), (114, 92), (279, 92), (279, 84))
    board.line((288, 84), (288, 92), (404, 92), (404, 84))
    board.write(197, 112, "which stretch", 0.9)
    board.write(350, 112, "which mark", 0.9)
    board.line((30, 200), (460, 200))
    for stretch in range(3):
        for mark in range(STEPS + (stretch == 2)):
            number = 2**stretch * (1 + mark / STEPS)
            x = 30 + 60 * (number - 1)
            board.line((x, 200), (x, 200 - (26 if mark % STEPS == 0 else 13)), width=2.2 if mark % STEPS == 0 else 1.4)
    for power in range(4):
        board.write(30 + 60 * (2**power - 1), 222, str(2**power), 1)


def draw_one_tenth(board: Board) -> None:
    code, value = encode_e4m3(0.1)
    power = math.floor(math.log2(0.1))
    significand = 0.1 / 2**power
    steps = (significand - 1) * STEPS
    board.step(
        f"0.1 is {significand:g} times 2 to the {power}. Exponent: {power} plus {BIAS} is {power + BIAS}. Mantissa: "
        f"{steps:.1f} becomes {round(steps)}. The code {code} stands for {value:g}. In E2M1 0.1 becomes "
        f"{e2m1_text(encode_e2m1(0.1))}."
    )
    board.erase()
    board.write(30, 36, f"E4M3:  0.1 = {significand:g} · 2^{{{power}}}", 1, at="left")
    board.write(30, 78, f"exponent  {power} + {BIAS} = {power + BIAS}", 0.95, at="left")
    board.write(30, 112, f"mantissa  {significand - 1:.1f} · {STEPS} = {steps:.1f} → ", 0.95, at="left")
    with board.withhold():
        board.write(300, 112, f"{round(steps)}", 0.95, at="left")
        board.write(30, 156, code, 1.2, at="left")
        board.write(180, 156, f"= {value:.7f}", 1, at="left")
        board.write(30, 194, f"off by {100 * (value / 0.1 - 1):.1f} %", 0.95, at="left")
    with board.withhold():  # said after it
        board.line((26, 216), (450, 216))
        board.write(30, 242, f"E2M1:  0.1 → {e2m1_text(encode_e2m1(0.1))}", 1, at="left")


def ruler_x(number: float) -> float:
    """Where a number lies on the ruler."""
    return 66 + 63 * number


def draw_ruler(board: Board) -> None:
    rounded_ties = [(tie, E2M1[encode_e2m1(tie)]) for tie in TIES]
    board.step(
        "A ruler with the marks 0, a half, 1, one and a half, 2, 3, 4, 6, their codes 000 to 111, the even ones "
        "filled. Arrows from the seven ties: " + ", ".join(f"{tie:g} to {mark:g}" for tie, mark in rounded_ties) + "."
    )
    board.erase()

    with board.group("ruler"):
        board.line((56, 130), (468, 130))
    for code, mark in enumerate(E2M1):
        with board.group("ruler"):
            board.line((ruler_x(mark), 118), (ruler_x(mark), 142))
            board.write(ruler_x(mark), 96, short(mark), 1)
        board.write(ruler_x(mark), 66 - 26 * (code % 2), f"{code:03b}", 0.75)
        if code % 2 == 0:
            board.box(ruler_x(mark) - 7, 123, 14, 14)
            board.hatch(ruler_x(mark) - 7, 123, 14, 14, gap=4)
    with board.withhold():
        for i, (tie, mark) in enumerate(rounded_ties):
            board.write(ruler_x(tie), 204 + 26 * (i % 2), short(tie), 0.8)
            tail_y, head_x = 190 + 26 * (i % 2) - (0 if i % 2 == 0 else 2), ruler_x(mark) + (5 if tie > mark else -5)
            board.arrow(ruler_x(tie), tail_y, head_x, 146)


def draw_moved_rulers(board: Board) -> None:
    loud = LOUD_MAXIMUM / E2M1[-1]
    board.step(
        "The sizes of sixteen numbers as dots above the ruler. Below it the same ruler twice more, times "
        f"{combined_scale():g}, where it ends at the largest, {block_maximum():g}, and times {loud:g}, which leaves "
        f"two marks, 0 and {loud * E2M1[1]:g}."
    )
    board.erase(keep=("ruler",))
    for number in sorted({abs(number) for number in BLOCK}):
        board.ring(ruler_x(number), 60, 6, 6)
    board.write(8, 130, "· 1", 0.85, at="left")
    draw_scaled_ruler(board, 184, combined_scale())
    with board.withhold():
        draw_scaled_ruler(board, 234, loud)


def draw_scaled_ruler(board: Board, y: float, factor: float) -> None:
    """The ruler once more, its marks times a factor."""
    board.write(8, y, f"· {factor:g}", 0.85, at="left")
    board.line((ruler_x(0), y), (468, y))
    for mark in E2M1:
        if mark * factor <= E2M1[-1]:
            board.line((ruler_x(mark * factor), y - 11), (ruler_x(mark * factor), y + 11))
    last = max(mark * factor for mark in E2M1 if mark * factor <= E2M1[-1])
    board.write(ruler_x(last), y + 22, f"{last:g}", 0.85)


def draw_block_scale(board: Board) -> None:
    code, value = block_scale()
    hexadecimal = f"{int(code.replace(' ', ''), 2):X}"
    board.step(
        f"Sixteen numbers in two rows, the largest, {block_maximum():g}, ringed. Divided by 6 and by {TENSOR_SCALE:g} "
        f"it is {value:g}, in E4M3 {code}, the byte {hexadecimal}; a stored 1 is worth {combined_scale():g}. Below a "
        "line MX: amax 7, scale 4 divided by 4 is 1, and 7 becomes 6."
    )
    board.erase()
    with board.group("block"):
        for i, number in enumerate(BLOCK):
            board.write(88 + 51 * (i % 8), 20 + 26 * (i // 8), no_leading_zero(number), 0.75)
    board.ring(88, 20, 44, 24)
    board.write(20, 84, f"amax {block_maximum():g} ÷ {E2M1[-1]} ÷ {TENSOR_SCALE:g} = {value:g}", 0.95, at="left")
    with board.withhold():
        board.write(20, 116, f"{code} = {hexadecimal}", 1.1, at="left")
        digits = code.replace(" ", "")
        board.write(20, 142, f"{digits[:4]} {digits[4:]}", 1.1, at="left")
        board.write(20, 174, f"1 is worth {value:g} · {TENSOR_SCALE:g} = {combined_scale():g}", 0.95, at="left")
    board.line((16, 196), (460, 196))
    power = 2 ** math.floor(math.log2(7))
    top = 2 ** math.floor(math.log2(E2M1[-1]))
    step = power / top
    with board.withhold():
        board.write(20, 218, f"MX, amax 7: {power} ÷ {top} = {step:g}", 0.95, at="left")
        board.write(300, 218, f"7 → {e2m1_text(encode_e2m1(7 / step))}", 0.95, at="left")
        board.write(20, 248, f"÷ {top}: the largest power of two in E2M1", 0.8, at="left")


def draw_block_bytes(board: Board) -> None:
    codes, byte_texts = block_codes(), packed_bytes()
    board.step(
        "Below the sixteen numbers the block in two halves, each with the numbers divided by "
        f"{combined_scale():g}, what is taken, and the codes: {' '.join(f'{code:X}' for code in codes)}. Below each "
        f"half its bytes: {' '.join(byte_texts)}."
    )
    board.erase(keep=("block",))
    for half in range(2):
        top = 74 + 98 * half
        positions = range(8 * half, 8 * half + 8)
        lines = (
            (f"÷ {short(combined_scale())}", [short(BLOCK[i] / combined_scale()) for i in positions]),
            ("taken", [e2m1_text(codes[i]) for i in positions]),
            ("code", [f"{codes[i]:X}" for i in positions]),
        )
        for line, (name, cells) in enumerate(lines):
            board.write(10, top + 22 * line, name, 0.75, at="left")
            if half and line:
                with board.withhold():
                    board.table(88, top + 22 * line, [cells], [51] * 8, size=0.8)
            else:
                board.table(88, top + 22 * line, [cells], [51] * 8, size=0.8)
        board.write(10, top + 69, "bytes", 0.75, at="left")
        row = byte_texts[4 * half : 4 * half + 4]
        if half:
            with board.withhold():
                board.table(113, top + 69, [row], [102] * 4, size=1.1)
        else:
            board.table(113, top + 69, [row], [102] * 4, size=1.1)
    board.line((10, 158), (468, 158))


def draw_bits_per_number(board: Board) -> None:
    count, scale_bits = len(BLOCK), 8
    mean_bits = (4 * count + scale_bits) / count
    board.step(
        f"{count} small boxes of 4 bits and one of {scale_bits} for the scale: {4 * count} plus {scale_bits} is "
        f"{4 * count + scale_bits} bits, divided by {count} is {mean_bits:g}. 16 divided by {mean_bits:g} is "
        f"{16 / mean_bits:.2f}."
    )
    board.erase()
    for i in range(count):
        board.box(22 + 23 * i, 44, 20, 34, "4", 0.8)
    board.box(406, 44, 46, 34, str(scale_bits), 0.9)
    board.write(204, 100, f"{count} · 4 = {4 * count}", 0.9)
    board.write(429, 100, "scale", 0.8)
    with board.withhold():
        board.write(40, 158, f"{4 * count} + {scale_bits} = {4 * count + scale_bits},  ÷ {count} =", 1.05, at="left")
        board.write(40, 214, f"16 ÷ {mean_bits:g} =", 1.05, at="left")
        board.write(290, 158, f"{mean_bits:g} bits", 1.1, at="left")
        board.write(180, 214, f"{16 / mean_bits:.2f}, not 4", 1.1, at="left")


def draw_errors(board: Board) -> None:
    kinds = ("gaussian", "outliers")
    over_size, over_spread = ([error_percent(kind, column) for kind in kinds] for column in ("error", "of_spread"))
    board.step(
        "Two pairs of bars, NVFP4's error on Gaussian numbers and with loud channels. Over size: "
        f"{over_size[0]:.1f} and {over_size[1]:.1f} percent. Over spread: "
        f"{over_spread[0]:.1f} and {over_spread[1]:.1f} percent."
    )
    board.erase()
    board.line((22, 206), (458, 206))
    for i, (name, errors) in enumerate((("over size", over_size), ("over spread", over_spread))):
        for j, percent in enumerate(errors):
            x, high = 50 + 230 * i + 90 * j, 4 * percent
            with board.withhold() if j else nullcontext():
                board.box(x, 206 - high, 48, high)
                if j:
                    board.hatch(x, 206 - high, 48, high)
                board.write(x + 24, 206 - high - 18, f"{percent:.1f} %", 0.85)
        board.write(119 + 230 * i, 230, name, 0.95)
    board.box(40, 22, 18, 18)
    board.write(66, 31, "Gaussian", 0.8, at="left")
    board.box(40, 52, 18, 18)
    board.hatch(40, 52, 18, 18)
    board.write(66, 61, "loud channels", 0.8, at="left")


def draw_wall(board: Board) -> None:
    percent = error_percent("gaussian", "error")
    board.step(
        f"A wall down the middle. On its left: a value is off by {percent:.1f} percent. On its right: answers lost, "
        "under 1 percent, as the maker reports. Below: computed, and only the model knows."
    )
    board.erase()
    for x in (236, 244):
        board.line((x, 20), (x, 250), width=3.2)
    board.write(120, 70, "a value is off by", 0.95)
    board.write(120, 120, f"{percent:.1f} %", 1.5)
    board.write(360, 70, "answers lost", 0.95)
    board.write(360, 120, "< 1 %", 1.5)
    with board.withhold():
        board.write(120, 200, "arithmetic", 0.95)
        board.write(360, 200, "model, questions", 0.95)
