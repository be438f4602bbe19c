# ruff: noqa: RUF001  (signs as a board has them)
"""Sheet 2: three words, two heads, twelve cells and the launches of both forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from scripts.chapters.board import Board

WORDS = ((1, 0, 1, 2), (1, 1, 0, 0), (0, 1, 1, 1))
W_Q = ((1, 0, 0, 0), (0, 1, 0, 0))  # a row for each number that comes out
W_K = ((0, 0, 1, 0), (0, 1, 0, 0))
W_V = ((0, 0, 0, 5), (5, 5, 5, -5))
HEADS, WIDTH = 8, 512  # of the model whose launches are counted
SIDE_X, WORK_X = 66, 142  # the middle of what stands on the side, and where the rest of the board begins

Rows = Sequence[Sequence[float]]


def projection(rows: Rows) -> list[list[int]]:
    """The three words after a projection."""
    return [[sum(a * b for a, b in zip(word, row, strict=True)) for row in rows] for word in WORDS]


Q, K, V = (projection(rows) for rows in (W_Q, W_K, W_V))


def products(queries: Rows, keys: Rows) -> list[list[float]]:
    return [[sum(a * b for a, b in zip(query, key, strict=True)) for key in keys] for query in queries]


def weights(row: Sequence[float]) -> list[int]:
    """In whole per cent, as at the board."""
    terms = [math.exp(each / math.sqrt(2)) for each in row]
    return [round(100 * term / sum(terms)) for term in terms]


def weighted_sum(percent: Sequence[int]) -> list[float]:
    values = V[: len(percent)]  # of the words that the mask lets it see
    return [sum(weight * value[i] for weight, value in zip(percent, values, strict=True)) / 100 for i in (0, 1)]


def vector_text(numbers: Sequence[float]) -> str:
    return "[" + ", ".join(f"{number:g}" for number in numbers) + "]"


def board() -> Board:
    board = Board()
    draw_projections(board)
    draw_averages(board)
    draw_second_head(board)
    draw_mask(board)
    draw_one_matrix(board)
    draw_cells(board)
    draw_launches(board)
    draw_squares(board)
    return board


def draw_head_1_on_side(board: Board) -> None:
    grid = products(Q, K)
    board.box(12, 12, 2 * (SIDE_X - 12), 246)
    board.write(SIDE_X, 32, "head 1", 0.9)
    board.matrix(SIDE_X - 46, 52, grid, w=28, h=24, size=0.85)
    for i, row in enumerate(grid):
        board.write(SIDE_X, 152 + 32 * i, vector_text(weighted_sum(weights(row))), 0.9)


def draw_projections(board: Board) -> None:
    board.step(
        "Three words of four numbers, and from each an arrow to its query, key and value: "
        f"{'; '.join(', '.join(map(vector_text, vectors)) for vectors in zip(Q, K, V, strict=True))}. Below, what is "
        "taken for each. On the side, head 1's dot products and its output."
    )
    with board.group("side"):
        draw_head_1_on_side(board)
    with board.group("work"):
        for x, name in ((196, "x"), (306, "q"), (368, "k"), (436, "v")):
            board.write(x, 28, name, 1.0)
        for i, word in enumerate(WORDS):
            y = 62 + 34 * i
            board.write(196, y, vector_text(word), 0.85)
            board.arrow(252, y, 272, y)
            if i:
                with board.withhold():
                    draw_projections_of_word(board, i, y)
            else:
                draw_projections_of_word(board, i, y)
        for i, rule in enumerate(
            ("q: the 1st and 2nd number", "k: the 3rd and 2nd", "v: 5 · 4th, and", "    5 · (1st + 2nd + 3rd - 4th)")
        ):
            board.write(WORK_X + 8, 166 + 26 * i, rule, 0.8, at="left")


def draw_projections_of_word(board: Board, i: int, y: float) -> None:
    for x, rows in ((306, Q), (368, K), (436, V)):
        board.write(x, y, vector_text(rows[i]), 0.85)


def draw_averages(board: Board) -> None:
    cat, mat = V[0], V[1]
    half = [(a + b) / 2 for a, b in zip(cat, mat, strict=True)]
    board.step(
        f"Cat {vector_text(cat)} and mat {vector_text(mat)}, half of each, make {vector_text(half)}; a word that is "
        f"{vector_text(half)} gives the same. Below, two heads keep both answers in four boxes, with a cut in "
        "the middle."
    )
    board.erase("work")
    with board.group("work"):
        board.write(WORK_X + 8, 30, f"cat {vector_text(cat)}   mat {vector_text(mat)}", 0.9, at="left")
        board.write(
            WORK_X + 8, 64, f"½ · {vector_text(cat)} + ½ · {vector_text(mat)} = {vector_text(half)}", 0.85, at="left"
        )
        _, _, end, _ = board.write(WORK_X + 8, 98, f"a word that is {vector_text(half)}", 0.85, at="left")
        with board.withhold():
            board.write(end, 98, ": the same", 0.85, at="left")
            board.write(WORK_X + 8, 144, "two heads", 0.9, at="left")
            board.row(WORK_X + 108, 128, [*cat, *mat], w=54, h=34)
            board.line((WORK_X + 213, 118), (WORK_X + 213, 172), width=3.2)
            board.write(WORK_X + 8, 206, "the width is cut, never the sentence", 0.8, at="left")
            board.write(WORK_X + 8, 238, f"{WIDTH} ÷ {HEADS} = {WIDTH // HEADS} numbers a head", 0.9, at="left")


def draw_second_head(board: Board) -> None:
    grid = products(K, Q)
    outputs = [weighted_sum(weights(row)) for row in grid]
    board.step(
        "Head 2's grid is head 1's on its side. Its shares in per cent, and its outputs beside those of head 1: "
        f"{', '.join(map(vector_text, outputs))}."
    )
    board.erase("work")
    board.write(WORK_X + 62, 32, "head 2", 0.9)
    board.matrix(WORK_X + 16, 52, grid, w=28, h=24, size=0.85)
    board.write(WORK_X + 140, 64, "head 1's on its side", 0.8, at="left")
    board.write(WORK_X + 140, 90, "q and k exchanged", 0.8, at="left")
    for i, (row, output) in enumerate(zip(grid, outputs, strict=True)):
        y = 152 + 32 * i
        percent = "  ".join(map(str, weights(row)))
        if i:
            with board.withhold():
                draw_blend(board, y, output, percent)
        else:
            draw_blend(board, y, output, percent)
    board.write(WORK_X + 8, 247, "each pair adds up to 10", 0.8, at="left")


def draw_blend(board: Board, y: float, output: Sequence[float], percent: str) -> None:
    board.write(WORK_X + 62, y, vector_text(output), 0.9)
    board.write(WORK_X + 140, y, f"from  {percent} %", 0.85, at="left")


def draw_mask(board: Board) -> None:
    grid = products(Q, K)
    outputs = [weighted_sum(weights(row[: i + 1])) for i, row in enumerate(grid)]
    masked_after = weights(grid[1])[:2]
    board.step(
        "Head 1 stays on the side. Beside it its grid, large; the upper right half, above a thick staircase, has minus "
        f"infinity in it. Behind the rows the causal outputs {', '.join(map(vector_text, outputs))}. Below, what a "
        "mask after softmax leaves, and a row that sees nothing."
    )
    board.erase(keep=("side",))
    x, y, w, h = 152, 34, 60, 42
    board.grid(x, y, 3, 3, w, h)
    board.write(x, 18, "q · k, before ÷ √2 and softmax", 0.8, at="left")
    edge = [(x + i * w, y + (i + down) * h) for i in range(4) for down in (-1, 0)][1:]
    board.line((x, y), *[point for point in edge if point[1] >= y], width=4.2)
    for i, row in enumerate(grid):
        for j, each in enumerate(row):
            board.write(x + (j + 0.5) * w, y + (i + 0.5) * h, "-∞" if j > i else f"{each:g}", 0.95)
        board.arrow(x + 3 * w + 12, y + (i + 0.5) * h, x + 3 * w + 44, y + (i + 0.5) * h)
        if i:
            with board.withhold():
                board.write(x + 3 * w + 96, y + (i + 0.5) * h, vector_text(outputs[i]), 1.0)
        else:
            board.write(x + 3 * w + 96, y + (i + 0.5) * h, vector_text(outputs[i]), 1.0)
    with board.withhold():
        board.write(x, 186, "hidden after softmax:", 0.85, at="left")
        board.write(x + 20, 210, f"row 2 keeps {masked_after[0]} + {masked_after[1]} %", 0.85, at="left")
        board.write(x, 242, "nothing to see: 0/0 = NaN.  We say 0", 0.8, at="left")


def draw_one_matrix(board: Board) -> None:
    side_by_side = [[rows[j][i] for rows in (W_Q, W_K) for j in (0, 1)] for i in range(4)]
    queries = [a + b for a, b in zip(Q, K, strict=True)]
    board.step(
        "X times one matrix, W1 and W2 side by side, is Q1 and Q2 side by side: rows "
        f"{', '.join(map(vector_text, queries))}. A dashed cut goes through the matrix and through the queries."
    )
    board.erase()
    w, h, y = 27, 26, 70
    for x, name in ((82, "X"), (200, "W_{1}"), (262, "W_{2}"), (364, "Q_{1}"), (424, "Q_{2}")):
        board.write(x, 36, name, 1.0)
    board.matrix(24, y, WORDS, w=w, h=h)
    board.write(154, y + 1.5 * h, "·", 1.4)
    board.matrix(172, y, side_by_side, w=w, h=h)
    board.write(312, y + 1.5 * h, "=", 1.1)
    with board.withhold():
        board.matrix(336, y, queries, w=w, h=h)
    for x, rows in ((172, 4), (336, 3)):
        board.line((x + 4 + 2 * w, y - 14), (x + 4 + 2 * w, y + rows * h + 12), dashed=True)
    board.write(240, 222, "one multiplication, cut afterwards", 0.95)
    board.write(240, 250, "the cut moves no number", 0.85)


def draw_cells(board: Board) -> None:
    heads, words, numbers = 2, 3, 2
    word_cells = [head * words * numbers + i for head in range(heads) for i in range(numbers)]
    steps = [b - a for a, b in pairwise(word_cells)]
    board.step(
        f"Twelve cells in a line, 0 to {heads * words * numbers - 1}, and below each the word it belongs to. Cells "
        f"{', '.join(map(str, word_cells))} are ringed; the steps between them are {', '.join(map(str, steps))}."
    )
    board.erase()
    x, y, w, h = 24, 70, 36, 34
    board.write(x + 3 * w, 28, "head 1", 0.9)
    board.write(x + 9 * w, 28, "head 2", 0.9)
    board.grid(x, y, 1, 12, w, h)
    for i in range(heads * words * numbers):
        board.write(x + (i + 0.5) * w, y + h / 2, str(i), 0.9)
    with board.withhold():
        for i in range(heads * words * numbers):
            board.write(x + (i + 0.5) * w, y + h + 30, str(i // numbers % words + 1), 0.8)
        board.write(x, y + h + 58, "below: whose number, word 1, 2 or 3", 0.8, at="left")
    board.line((x + 6 * w, 20), (x + 6 * w, y + h + 44), dashed=True)
    board.write(x, 204, "word 1:", 0.9, at="left")
    first_cells = list(range(heads * numbers))
    words_in_view = sorted({i // numbers % words + 1 for i in first_cells})
    view = f"view: {', '.join(map(str, first_cells))}.  Words {words_in_view[0]} and {words_in_view[1]} in one row"
    with board.withhold():
        for first_cell in (0, 6):
            board.ring(x + (first_cell + 1) * w, y + h / 2, 2 * w + 4, h + 20)
        board.write(x + 78, 204, f"steps {', '.join(map(str, steps))}:  no stride does that, copy", 0.9, at="left")
        board.write(x, 242, view, 0.9, at="left")


def draw_launches(board: Board) -> None:
    expected = (6 * HEADS, 3 + 1 + 1 + 1)  # of the loop, and all at once
    profiled = (7 * HEADS + 2, expected[1] + 3)
    board.step(
        "Two pairs of bars, host and GPU. Short kernels: the GPU waits between them. Long kernels: the host is done "
        f"early. Below, the launches of loop and all at once, as told, {expected[0]} and {expected[1]}, and as the "
        f"profiler counts, {profiled[0]} and {profiled[1]}."
    )
    board.erase()
    x, h = 84, 20
    for y, name, long in ((16, "short", 22), (92, "long", 58)):
        board.write(x - 12, y + h / 2, "host", 0.8, at="right")
        board.write(x - 12, y + 38, "GPU", 0.8, at="right")
        board.write(x + 372, y + 24, name, 0.9, at="right")
        begin = 0.0
        for i in range(5):
            board.line((x + 44 * i, y), (x + 44 * i + 40, y), (x + 44 * i + 40, y + h), (x + 44 * i, y + h),
                       (x + 44 * i, y - 1))  # fmt: skip
            begin = max(begin, 44.0 * i + 22)
            board.box(x + begin, y + 28, long - 4, h)
            begin += long
    with board.withhold(), board.group("counted"):
        board.table(230, 172, [["3 projections, QKᵀ, softmax, ×V", "all of them"]], [188], size=0.8)
    with board.group("counted"):
        board.write(22, 206, "loop", 0.9, at="left")
        board.write(22, 242, "at once", 0.9, at="left")
    for y, expected_text, profiled_text in (
        (206, f"{3 * HEADS} + {HEADS} + {HEADS} + {HEADS} = {expected[0]}", f"7h + 2 = {profiled[0]}"),
        (242, f"3 + 1 + 1 + 1 = {expected[1]}", f"{profiled[1]}"),
    ):
        with board.withhold(), board.group("counted"):
            board.write(306, y, expected_text, 0.9, at="right")
            board.write(468, y, profiled_text, 0.95, at="right")


def draw_squares(board: Board) -> None:
    words = 128
    board.step(
        f"{HEADS} squares of N by N, one behind the other, above the launches of both forms. Beside them: from "
        f"{7 * HEADS + 2} launches to 9, squares still {HEADS}; with {words} words, {HEADS * words**2:,} scores."
    )
    board.erase(keep=("counted",))
    side, gap = 72, 10
    left, top = 24, 10 + gap * (HEADS - 1)  # of the one in front
    board.box(left, top, side, side, "N × N", 1.0)
    for i in range(1, HEADS):
        x, y = left + gap * i, top - gap * i
        board.line((x, y + gap), (x, y), (x + side, y), (x + side, y + side), (x + side - gap, y + side))
    board.write(222, 32, f"launches: {7 * HEADS + 2} → 9", 0.95, at="left")
    with board.withhold():
        board.write(222, 64, f"squares: {HEADS} → {HEADS}", 0.95, at="left")
    board.write(222, 112, f"{HEADS} · {words}² = {HEADS * words**2:,} scores", 0.9, at="left")
