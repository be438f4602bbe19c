# ruff: noqa: RUF001  (signs as a board has them)
"""The talk: three words by hand on the left of the board, and on its right the square that nobody wanted."""

from __future__ import annotations

import math

from kernels.bench.cost import square_bytes
from kernels.bench.hardware import H100
from scripts.chapters.board import Board
from scripts.chapters.three_matmuls.worked import K, Q, V, dot_products, number_text, vector_text, weighted_sum

CARDS = {"Q": "look for", "K": "offer", "V": "hand over"}
WORDS, DIM, BYTES = 8192, 128, 2  # the large example: one head in FP16
TRIPS = 4  # of the square, in the textbook
FREE_X = 322  # where the right third begins
SQUARE_X, SQUARE_Y, SQUARE_SIDE = 346, 26, 118  # its upper left corner and its side


def exponentials() -> list[list[float]]:
    return [[math.exp(product / math.sqrt(len(K[0]))) for product in row] for row in dot_products()]


def weights() -> list[list[float]]:
    """As we write them: to whole per cents."""
    return [[round(power / sum(row), 2) for power in row] for row in exponentials()]


def thin_and_square_mib() -> tuple[int, int]:
    """One of Q, K, V and the output, and the square, in MiB."""
    return WORDS * DIM * BYTES // 2**20, square_bytes(WORDS, BYTES) // 2**20


def matmul_and_trip_microseconds() -> tuple[float, float]:
    """How long the two matmuls take, and how long the four trips of the square, in µs, by the maker's figures."""
    matmul_seconds = 4 * WORDS**2 * DIM / H100["bf16 peak"].value
    trip_seconds = TRIPS * square_bytes(WORDS, BYTES) / H100["hbm bandwidth"].value
    return 1e6 * matmul_seconds, 1e6 * trip_seconds


def board() -> Board:
    board = Board()
    draw_cards(board)
    draw_grid(board)
    draw_pie(board)
    draw_weighted_sum(board)
    draw_balloon(board)
    draw_hallway(board)
    draw_struck_square(board)
    return board


def draw_person(board: Board, x: float, y: float) -> None:
    """Head, arms, body and legs; x, y is the middle of the head."""
    board.ring(x, y, 20, 20)
    board.line((x, y + 10), (x, y + 32))
    board.line((x - 9, y + 46), (x, y + 32), (x + 9, y + 46))
    board.line((x - 11, y + 19), (x + 11, y + 19))


def draw_cards(board: Board) -> None:
    board.step(
        "On the left a person with three cards, Q, look for, K, offer, V, hand over; beside them three others, each "
        "with a K and a V, and an arrow from the Q to each K. The right third of the board is kept free."
    )
    with board.group("left"):
        draw_person(board, 24, 98)
        for i, (card, says) in enumerate(CARDS.items()):
            y = 32 + 60 * i
            board.box(44, y, 118, 42)
            board.write(52, y + 21, card, 1.1, at="left")
            board.write(156, y + 21, says, 0.8, at="right")
            draw_person(board, 296, 22 + 72 * i)
            board.box(208, 24 + 72 * i, 32, 30, "K", 0.9)
            board.box(246, 24 + 72 * i, 32, 30, "V", 0.9)
            board.arrow(165, 53, 203, 39 + 72 * i)
        board.write(150, 248, "multiply, squish, multiply", 0.9)
    with board.group("free"):
        board.line((FREE_X, 20), (FREE_X, 250), dashed=True)
        board.write(398, 130, "stays free", 0.85)


def draw_grid(board: Board) -> None:
    rows = dot_products()
    scores = [product / math.sqrt(len(K[0])) for product in rows[0]]
    board.step(
        "A grid of three by three, the queries on its left, the keys on top. Its rows are "
        + "; ".join(" ".join(map(str, row)) for row in rows)
        + f". Below, row 1 divided by the root of 2: {' '.join(map(number_text, scores))}. "
        + "The cells: 9, 100, a million."
    )
    board.erase("left")
    with board.group("left"):
        for j, key in enumerate(K):
            board.write(122 + 64 * j, 24, vector_text(key), 0.8)
        board.grid(90, 40, 3, 3, w=64, h=38)
        for i, (query, row) in enumerate(zip(Q, rows, strict=True)):
            board.write(50, 59 + 38 * i, vector_text(query), 0.85)
            for j, cell in enumerate(row):
                if i:
                    with board.withhold():
                        board.write(122 + 64 * j, 59 + 38 * i, number_text(cell))
                else:
                    board.write(122 + 64 * j, 59, number_text(cell))
        for x, y, words in ((16, 220, 3), (104, 220, 10), (16, 248, 1000)):
            board.write(x, y, f"{words}² = {words**2:,}", 0.85, at="left")
    with board.group("row"):
        board.write(50, 184, "row 1 ÷ √2", 0.75)
        board.table(122, 184, [list(map(number_text, scores))], [64, 64], size=0.9)


def draw_pie(board: Board) -> None:
    row, part = exponentials()[0], weights()[0]
    percents = "  ".join(f"{100 * weight:.0f}" for weight in part)
    board.step(
        f"Of the grid row 1 is left, divided. Below it its exponentials, {' '.join(map(number_text, row))}, and their "
        f"sum, {sum(row):.2f}; above it a pie cut into its shares, {percents} %."
    )
    board.erase("left")
    with board.group("left"):
        board.write(92, 216, " + ".join(map(number_text, row)) + f" = {sum(row):.2f}", 0.85, at="left")
        for y, says in ((76, "along the row,"), (104, "never down")):
            board.write(166, y, says, 0.9, at="left")
    with board.group("pie"):
        x, y, size = 72, 90, 54
        turns = [2 * math.pi * i / 36 - math.pi / 2 for i in range(37)]
        board.line(*((x + size * math.cos(turn), y + size * math.sin(turn)) for turn in turns))
        for i, weight in enumerate(part):
            turn = 2 * math.pi * sum(part[:i]) - math.pi / 2
            middle = turn + math.pi * weight
            with board.withhold():
                board.line((x, y), (x + size * math.cos(turn), y + size * math.sin(turn)))
                board.write(x + 38 * math.cos(middle), y + 40 * math.sin(middle), f"{100 * weight:.0f}", 0.9)


def draw_weighted_sum(board: Board) -> None:
    part = weights()[0]
    board.step(
        "Beside the pie the shares of row 1, each with its value: "
        + ", ".join(f"{number_text(weight)} of {vector_text(value)}" for weight, value in zip(part, V, strict=True))
        + f". Below a line their sum, {vector_text(weighted_sum(part))}, whose numbers add up to {sum(V[0])}."
    )
    board.erase("left", "row")
    with board.group("left"):
        for i, (weight, value) in enumerate(zip(part, V, strict=True)):
            board.write(135, 44 + 36 * i, f"{weight:.1f} · {vector_text(value)}", 0.8, at="left")
            board.write(242, 44 + 36 * i, f"= {vector_text([weight * each for each in value])}", 0.8, at="left")
        board.line((135, 140), (308, 140))
        with board.withhold():
            board.write(228, 166, f"= {vector_text(weighted_sum(part))}", 1, at="left")
            board.write(
                34, 208, " + ".join(map(number_text, weighted_sum(part))) + f" = {sum(V[0])} ✓", 0.95, at="left"
            )
        board.write(34, 246, "a lot of what fits", 0.9, at="left")


def draw_balloon(board: Board) -> None:
    small, large = thin_and_square_mib()
    board.step(
        f"On the left a balloon, thin, wide, thin: N by d, N by N, N by d, {small} MiB, {large} MiB, {small} MiB. On "
        f"the right, to stay, a square of {WORDS} by {WORDS} words between two thin lines, to scale."
    )
    board.erase("left", "pie", "free")
    with board.group("left"):

        def half(x: float) -> float:
            return 6 + 68 * math.sin(math.pi * min(max((x - 70) / 170, 0), 1)) ** 2

        board.curve(lambda x: 112 - half(x), 20, 290, 40)
        board.curve(lambda x: 112 + half(x), 20, 290, 40)
        for x, shape, size in ((44, "N×d", small), (155, "N×N", large), (268, "N×d", small)):
            board.write(x, 84 if size == small else 112, shape, 0.9)
            with board.withhold():
                board.write(x, 212, f"{size} MiB", 0.85)
        board.write(155, 246, "small, square, small", 0.85)
    left, top, side = SQUARE_X, SQUARE_Y, SQUARE_SIDE
    board.box(left, top, side, side)
    for x in (left - 14, left + side + 6):
        board.line((x, top), (x, top + side), width=side * DIM / WORDS)
    board.write(left + side / 2, top + 48, "N×N", 1.1)
    with board.withhold():
        board.write(left + side / 2, top + 78, f"{large} MiB", 0.9)


def draw_hallway(board: Board) -> None:
    matmul_us, trip_us = matmul_and_trip_microseconds()
    peak, speed = H100["bf16 peak"].value / 1e12, H100["hbm bandwidth"].value / 1e12
    board.step(
        f"On the left a kitchen, {peak:.0f} TFLOP/s, with a narrow hallway, {speed:.2f} TB/s, to the memory, HBM. "
        f"Under the square four arrows: written, down; read, up; and both again. N over d is {WORDS // DIM}, circled; "
        f"cooks {matmul_us:.0f} microseconds, hallway {trip_us:.0f}."
    )
    board.erase("left")
    board.box(16, 18, 276, 44, f"kitchen: {peak:.0f} TFLOP/s", 0.9)
    board.line((128, 63), (128, 112))
    board.line((152, 63), (152, 112))
    board.arrow(140, 108, 140, 68)
    board.write(164, 88, f"{speed:.2f} TB/s", 0.85, at="left")
    board.write(118, 88, "hallway", 0.85, at="right")
    board.line((16, 114), (292, 114))
    board.write(154, 132, "memory: HBM", 0.85)
    left, top, side = SQUARE_X, SQUARE_Y, SQUARE_SIDE
    with board.withhold():
        for i, trip in enumerate(("w", "r", "w", "r")):
            x, high, low = left + 14 + 30 * i, top + side + 6, top + side + 34
            board.arrow(x, *((high, x, low) if trip == "w" else (low, x, high)))  # up is read, as in the hallway
            board.write(x, top + side + 48, trip, 0.8)
        board.write(18, 174, f"{TRIPS}N² / {TRIPS}Nd = N/d =", 0.95, at="left")
        board.write(252, 174, str(WORDS // DIM), 1.2)
        board.ring(252, 174, 58, 38)
        board.write(18, 246, f"hallway: {trip_us:.0f} µs", 0.95, at="left")
    board.write(18, 216, f"cooks: {matmul_us:.0f} µs", 0.95, at="left")


def draw_struck_square(board: Board) -> None:
    board.step("The square on the right is struck out. Below it: a row in pieces, and a question mark.")
    left, top, side = SQUARE_X, SQUARE_Y, SQUARE_SIDE
    board.strike(left - 6, top + side + 4, left + side + 4, top - 4)
    board.strike(left - 6, top - 4, left + side + 4, top + side + 4)
    for i in range(3):
        board.box(318 + 42 * i, 218, 34, 24)
    board.write(452, 230, "?", 1.4)
