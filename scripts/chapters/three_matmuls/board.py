# ruff: noqa: RUF001  (signs as a board has them)
"""Sheet 1: three words from the cards they hold to the output, and the square on the way."""

from __future__ import annotations

import math
from contextlib import nullcontext

from scripts.chapters.board import Board
from scripts.chapters.three_matmuls.worked import (
    K,
    Q,
    Row,
    V,
    dot,
    dot_products,
    number_text,
    vector_text,
    weighted_sum,
)

CARDS = {"Q": "what I look for", "K": "what I offer", "V": "what I hand over"}
QUERY = (1, 0, 0.5, -0.5)  # one query, and four keys with what to say of them
KEYS = {
    (0.5, 0, 1, 0): "alike",
    (-0.5, 0, -1, 0): "opposed",
    (0, 1, 0, 0): "nothing in common",
    (1, 0, 0, 2): "it cancels",
}
WORDS, DIM, BYTES = 8192, 128, 2  # the large example: one head in FP16
DEMO_SHAPE = (1024, 64)  # words, numbers of a query
COLUMN_X, ROW_Y = (109, 159, 209), (95, 141, 187)  # the middles of the grid's columns and rows


def scores() -> list[list[float]]:
    return [[product / math.sqrt(len(K[0])) for product in row] for row in dot_products()]


def exponentials() -> list[list[float]]:
    return [[math.exp(score) for score in row] for row in scores()]


def weights() -> list[list[float]]:
    return [[power / sum(row) for power in row] for row in exponentials()]


def rounded_weights() -> list[list[float]]:
    """The shares as we write them: to whole per cents, 24.8 as 25 and 50.3 as 50."""
    return [[round(weight, 2) for weight in row] for row in weights()]


def short_texts(row: Row) -> list[str]:
    """Each number as we write it in a hurry: 0.5 as .5."""
    return [f"{value:g}".replace("0.", ".") for value in row]


def percent_text(row: Row) -> str:
    return "  ".join(f"{100 * weight:.0f}" for weight in row) + " %"


def square_size() -> str:
    return f"{WORDS**2 * BYTES // 2**20} MiB"


def draw_person(board: Board, x: float, y: float) -> None:
    """Head, body and legs; x, y is the middle of the head."""
    board.ring(x, y, 20, 20)
    board.line((x, y + 10), (x, y + 32))
    board.line((x - 9, y + 46), (x, y + 32), (x + 9, y + 46))
    board.line((x - 11, y + 19), (x + 11, y + 19))


def draw_pie(board: Board, x: float, y: float, size: float, parts: Row) -> None:
    """A circle cut into these parts, from the top on, clockwise."""
    turns = [2 * math.pi * i / 28 - math.pi / 2 for i in range(29)]
    board.line(*((x + size * math.cos(turn), y + size * math.sin(turn)) for turn in turns))
    for i in range(len(parts)):
        turn = 2 * math.pi * sum(parts[:i]) - math.pi / 2
        board.line((x, y), (x + size * math.cos(turn), y + size * math.sin(turn)))


def board() -> Board:
    board = Board()
    draw_cards(board)
    draw_dot_products(board)
    draw_grid(board)
    draw_scores(board)
    draw_pies(board)
    draw_outputs(board)
    draw_demo(board)
    draw_large_square(board)
    return board


def draw_cards(board: Board) -> None:
    board.step(
        "On the left a person with three cards: Q, what I look for, K, what I offer, V, what I hand over. On the right "
        "three others, each with a K and a V; an arrow goes from the Q of the first to the K of each."
    )
    draw_person(board, 32, 104)
    board.write(32, 170, "you", 0.85)
    for i, (card, says) in enumerate(CARDS.items()):
        y = 44 + 62 * i
        board.box(60, y, 194, 44)
        board.write(72, y + 22, card, 1.1, at="left")
        board.write(246, y + 22, says, 0.8, at="right")
        draw_person(board, 448, 32 + 76 * i)
        board.box(344, 34 + 76 * i, 34, 30, "K", 0.9)
        board.box(386, 34 + 76 * i, 34, 30, "V", 0.9)
        board.arrow(258, 66, 338, 49 + 76 * i)
    board.write(150, 246, "multiply, squish, multiply", 0.9)


def draw_dot_products(board: Board) -> None:
    first, *others = KEYS
    products_text = ", ".join(
        f"{' '.join(short_texts(key))}: {number_text(dot(QUERY, key))}, {says}" for key, says in KEYS.items()
    )
    board.step(
        f"The query in four boxes, below it a key, below that their products, and the sum {dot(QUERY, first):.2f}. "
        f"Then three other keys: with all four it is {products_text}."
    )
    board.erase()
    lines = {"q": QUERY, "k": first, "products": [q * k + 0.0 for q, k in zip(QUERY, first, strict=True)]}
    for i, (name, row) in enumerate(lines.items()):
        board.write(42, 33 + 40 * i, name, 0.95 if len(name) == 1 else 0.8)
        board.row(90, 18 + 40 * i, short_texts(row), w=62, h=30)
    board.write(344, 113, f"sum = {dot(QUERY, first):.2f}", 1, at="left")
    board.write(344, 73, KEYS[first], 0.85, at="left")
    board.write(42, 164, "k", 0.95)
    for i, key in enumerate(others):
        y = 164 + 38 * i
        board.write(62, y, "(" + ", ".join(short_texts(key)) + ")", 0.85, at="left")
        with board.withhold() if i else nullcontext():  # the first is said before the room is asked
            sums = f"1 - 1 = {dot(QUERY, key):.0f}" if key[0] * QUERY[0] == 1 else f"= {dot(QUERY, key):.2f}"
            board.write(202, y, sums, 0.85, at="left")
            board.write(310, y, KEYS[key], 0.8, at="left")


def draw_grid(board: Board) -> None:
    rows = dot_products()
    board.step(
        "A grid of three by three, the queries on its left, the keys on top. Its rows are "
        + "; ".join(" ".join(map(str, row)) for row in rows)
        + ". Beside it, the cells: 3 words 9, 10 words 100, 1000 words a million."
    )
    board.erase()
    board.write(159, 22, "who is looked at", 0.8)
    board.write(41, 52, "who asks", 0.75)
    for j, key in enumerate(K):
        board.write(COLUMN_X[j] + 2 * (j - 1), 52, vector_text(key), 0.75)
    with board.group("grid"):
        board.grid(84, 72, 3, 3, w=50, h=46)
    for i, (query, row) in enumerate(zip(Q, rows, strict=True)):
        with board.group("number"):
            board.write(10, ROW_Y[i], f"{i + 1}.", 0.75, at="left")
        board.write(54, ROW_Y[i], vector_text(query), 0.85)
        with board.withhold() if i else nullcontext():
            for j, cell in enumerate(row):
                board.write(COLUMN_X[j], ROW_Y[i] - 11, number_text(cell))
    for y, (words, cells) in zip(ROW_Y, ((3, 3**2), (10, 10**2), (1000, f"{1000**2:,}")), strict=True):
        with board.group("cells"), board.withhold():  # counted last
            board.write(272, y, f"{words}² = {cells}", at="left")


def draw_scores(board: Board) -> None:
    rows = scores()
    board.step(
        f"In each cell of the grid, below its number, the score: divided by the root of 2, {math.sqrt(2):.2f}. The "
        "rows are " + "; ".join(" ".join(map(number_text, row)) for row in rows) + "."
    )
    board.erase("cells")
    board.write(272, ROW_Y[0], "÷ √2 =", 1.1, at="left")
    board.write(356, ROW_Y[0], f"{math.sqrt(len(K[0])):.2f}", 1.1, at="left")
    with board.withhold(), board.group("scores"):
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                board.write(COLUMN_X[j], ROW_Y[i] + 11, number_text(cell), 0.8)
    for y, says in zip(ROW_Y[1:], ("a score keeps its size,", "however large d is"), strict=True):
        board.write(272, y - 10, says, 0.85, at="left")


def draw_pies(board: Board) -> None:
    powers, parts = exponentials(), rounded_weights()
    lines = [
        f"{' '.join(map(number_text, row))} over {sum(row):.2f}, {percent_text(part)}"
        for row, part in zip(powers, parts, strict=True)
    ]
    board.step(
        "Of the grid only the scores are left. Beside each row its exponentials and their sum, below these its shares, "
        f"and its pie: {'; '.join(lines)}. Below, 10 against 5: e to the 5, {math.exp(5):.0f}, to 1."
    )
    board.erase(keep=("grid", "number", "scores"))
    exponent_texts = {
        0: "0",
        1: f"{math.sqrt(1 / 2):.2f}",
        2: f"{math.sqrt(2):.3f}",
    }  # as on the board, and to the digits needed
    powers_by_product = {product: math.exp(product / math.sqrt(len(K[0]))) for row in dot_products() for product in row}
    powers_text = "     ".join(
        f"e^{{{exponent_texts[product]}}} = {number_text(power)}"
        for product, power in sorted(powers_by_product.items())
    )
    board.write(240, 20, powers_text, 0.85)
    for x, y, head in ((159, 56, "scores"), (306, 44, "exponentials"), (396, 44, "sum"), (306, 62, "shares")):
        board.write(x, y, head, 0.75)
    for i, (row, part) in enumerate(zip(powers, parts, strict=True)):
        with board.withhold() if i == len(parts) - 1 else nullcontext():
            board.table(264, ROW_Y[i] - 11, [list(map(number_text, row))], [42] * 3, size=0.75)
            board.write(396, ROW_Y[i] - 11, number_text(sum(row)), 0.75)
            with board.group("shares"):
                board.write(306, ROW_Y[i] + 11, percent_text(part), 0.8)
            draw_pie(board, 448, ROW_Y[i], 20, part)
    board.write(18, 242, "10 against 5:", 0.9, at="left")
    with board.withhold():
        board.write(150, 242, f"e^{{5}} = {math.exp(5):.0f}  to 1", 0.9, at="left")


def draw_outputs(board: Board) -> None:
    parts = rounded_weights()
    rows = [weighted_sum(part) for part in parts]
    board.step(
        "The shares are left. Before them the output, behind them the values: output is shares times values, "
        + "; ".join(vector_text(row) for row in rows)
        + f". Below, the first row: each value times its share, added up to {vector_text(rows[0])}, together 10."
    )
    board.erase(keep=("shares",))
    for x, head in ((86, "output"), (306, "shares"), (436, "values")):
        board.write(x, 64, head, 0.8)
    top, bottom = ROW_Y[0] - 12, ROW_Y[2] + 34
    board.matrix(38, top, [["", ""]] * 3, w=44, h=46)
    board.write(192, ROW_Y[1] + 11, "=", 1.2)
    for edge, back in ((246, 6), (366, -6)):  # brackets around the shares
        board.line((edge + back, top), (edge, top), (edge, bottom), (edge + back, bottom))
    board.write(382, ROW_Y[1] + 11, "·", 1.2)
    board.matrix(396, top, V, w=34, h=46)
    board.table(64, ROW_Y[0] + 11, [[number_text(value) for value in rows[0]]], [44, 44], size=0.9)
    with board.withhold():
        board.table(64, ROW_Y[1] + 11, [[number_text(value) for value in row] for row in rows[1:]], [44, 44], 46, 0.9)
    with board.group("work"):
        board.write(240, 26, "N×d = N×N · N×d", 0.9)
        terms = " + ".join(
            f"{number_text(weight)[:3]}·{vector_text(value)}" for weight, value in zip(parts[0], V, strict=True)
        )
        board.write(18, 236, f"{terms}", 0.85, at="left")
        board.write(346, 236, f"= {vector_text(rows[0])}", 0.85, at="left")
        with board.withhold():
            board.write(
                18, 256, f"{number_text(rows[0][0])} + {number_text(rows[0][1])} = {sum(V[0])} ✓", 0.85, at="left"
            )


def draw_demo(board: Board) -> None:
    n, d = DEMO_SHAPE
    first = f"[{', '.join(f'{value:.3f}' for value in weighted_sum(weights()[0]))}]"  # as the machine prints it
    board.step(
        f"Above output, shares and values a tick beside the machine's shares and output, {first}. Below: a thin table "
        f"of {n} by {d}, a square of {n} by {n}, a thin table of {n} by {d}."
    )
    board.erase("work")
    board.write(18, 28, "  ".join(f"{weight:.3f}" for weight in weights()[0]) + f"   →   {first}", 0.85, at="left")
    board.write(420, 28, "✓")
    side, top = 36, 227
    for x, wide, shape, says in (
        (24, side * d / n, f"{n}×{d}", "thin"),
        (158, side, f"{n}×{n}", "square"),
        (372, side * d / n, f"{n}×{d}", "thin"),
    ):
        board.box(x, top, wide, side)
        board.write(x + wide + 8, top + 9, shape, 0.8, at="left")
        board.write(x + wide + 8, top + 28, says, 0.8, at="left")
    board.arrow(116, top + 18, 148, top + 18)
    board.arrow(312, top + 18, 360, top + 18)


def draw_large_square(board: Board) -> None:
    small = WORDS * DIM * BYTES // 2**20
    board.step(
        f"A large square, {WORDS} words by {WORDS}, {square_size()}; beside it, to scale, four thin lines, Q, K, V and "
        f"the output, {small} MiB each. The square stays on the board."
    )
    board.erase()
    side = 208
    board.box(230, 34, side, side)
    board.write(334, 18, f"{WORDS} words", 0.85)
    board.write(334, 116, square_size(), 1.4)
    board.write(334, 154, f"{WORDS}² · {BYTES} bytes", 0.85)
    for i, name in enumerate("QKVO"):
        board.box(46 + 40 * i, 34, side * DIM / WORDS, side)
        board.write(48 + 40 * i, 20, name, 0.85)
    board.write(110, 256, f"d = {DIM}: {small} MiB each", 0.8)
