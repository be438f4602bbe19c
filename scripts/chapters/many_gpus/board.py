# ruff: noqa: RUF001  (signs as a board has them)
"""Sheet 12: four words on two boards, what travels, and who waits for whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction

from kernels.bench.hardware import H100
from kernels.bench.parallel.cost import Part, flops_of, load_imbalance, min_tokens_to_overlap, pairs, sent_bytes
from scripts.chapters.board import Board

QUERIES = ((1, -1), (1, 0), (1, 2), (1, 1))
KEYS = ((0, 0), (1, 0), (1, 1), (0, 1))
VALUES = ((9, 0), (0, 9)) * 2
PART = Part(8192, 16, 16, 128)
GPUS = 4  # in the drawings
FLOP_PER_SECOND, LINK_BANDWIDTH, NETWORK_BANDWIDTH = 640e12, 360e9, 50e9  # bandwidths in bytes a second
TEXT_TOKENS, LAYERS, HEADS, KV_HEADS, HEAD_DIM = 2**20, 32, 32, 8, 128  # Llama 3 8B
LEFT_BOARD_X, RIGHT_BOARD_X = 122, 358  # their middles
COLUMN_WIDTHS = [62, 62, 112, 124]  # of the demo's table of words, from the middle of one to the middle of the next


@dataclass(frozen=True)
class Partial:
    """What one board finds for a word: the exponentials of its products, their sum, and its output."""

    terms: list[Fraction]
    total: Fraction
    output: list[Fraction]


def partial_of(word: int, half: slice) -> Partial:
    query = QUERIES[word]
    terms = [Fraction(2) ** sum(a * b for a, b in zip(query, key, strict=True)) for key in KEYS[half]]
    blend = [sum(t * value[i] for t, value in zip(terms, VALUES[half], strict=True)) for i in (0, 1)]
    return Partial(terms, sum(terms), [each / sum(terms) for each in blend])


def partials_of(word: int) -> tuple[Partial, Partial]:
    return partial_of(word, slice(0, 2)), partial_of(word, slice(2, 4))


def weights(one: Partial, other: Partial) -> tuple[Fraction, Fraction]:
    total = one.total + other.total
    return one.total / total, other.total / total


def merge(word: int) -> list[Fraction]:
    one, other = partials_of(word)
    a, b = weights(one, other)
    return [a * x + b * y for x, y in zip(one.output, other.output, strict=True)]


def vector_text(numbers: Sequence[Fraction | int]) -> str:
    return "[" + ", ".join(number_text(number) for number in numbers) + "]"


def number_text(number: Fraction | int) -> str:
    return f"{float(number):g}"


def board() -> Board:
    board = Board()
    for draw in (draw_one_gpu, draw_first_word, draw_other_words, draw_schemes, draw_ridge, draw_stretches,
                 draw_gradient_sent_home, draw_copy_engine, draw_demo):  # fmt: skip
        draw(board)
    return board


def draw_one_gpu(board: Board) -> None:
    token = 2 * LAYERS * KV_HEADS * HEAD_DIM * 2
    need, room = TEXT_TOKENS * token, H100["hbm"].value
    seconds = LAYERS * HEADS * 4 * TEXT_TOKENS**2 * HEAD_DIM / 2 / FLOP_PER_SECOND
    board.step(
        f"Two bars: the keys and values of a text, {need >> 30} GiB, and below it the memory of one H100, "
        f"{room / 1e9:.0f} GB, which is much shorter. Under them the attention: {seconds:.0f} seconds."
    )
    board.write(24, 26, f"Llama 3 8B: {token >> 10} KiB a token", 0.9, at="left")
    bar = 420 / need
    board.box(24, 50, need * bar, 40, f"2²⁰ · {token >> 10} KiB = {need >> 30} GiB", 0.9)
    board.box(24, 102, room * bar, 40, f"one H100: {room / 1e9:.0f} GB", 0.9)
    board.hatch(24 + room * bar, 102, (need - room) * bar, 40, gap=12)
    board.write(24, 180, f"½ · {LAYERS} · {HEADS} · 4 · (2²⁰)² · {HEAD_DIM} FLOP", 0.9, at="left")
    board.write(24, 210, f"÷ {FLOP_PER_SECOND / 1e12:.0f} TFLOP/s", 0.9, at="left")
    with board.withhold():
        board.write(24, 244, f"= {seconds:.0f} s of attention = {seconds / 60:.1f} minutes", 0.95, at="left")


def draw_first_word(board: Board) -> None:
    one, other = partials_of(0)
    a, b = weights(one, other)
    board.step(
        f"Two boards side by side, each with two keys and values. Below, word 1 finds the sum {number_text(one.total)} "
        f"and {vector_text(one.output)} at home, {number_text(other.total)} and {vector_text(other.output)} on the "
        "other board; weighed, "
        f"{vector_text(merge(0))}."
    )
    board.erase()
    with board.group("word"):
        board.write(240, 128, f"word 1:  q = {vector_text(QUERIES[0])}", 0.95)
    for x, name, half, part in ((LEFT_BOARD_X, 1, slice(0, 2), one), (RIGHT_BOARD_X, 2, slice(2, 4), other)):
        keys = "  ".join(vector_text(key) for key in KEYS[half])
        values = "  ".join(vector_text(value) for value in VALUES[half])
        board.box(x - 110, 6, 220, 104)
        board.write(x, 20, f"board {name}", 0.85)
        board.write(x, 44, f"k  {keys}", 0.85)
        board.write(x, 68, f"v  {values}", 0.85)
        products = [math.log2(term) for term in part.terms]
        powers = " + ".join(f"2^{{{power:g}}}" for power in products)
        with board.group("word"):
            board.write(x, 158, f"{powers} = {number_text(part.total)}", 0.95)
            board.write(x, 188, f"→ {vector_text(part.output)}", 1.0)
    with board.group("word"):
        for x, to in ((LEFT_BOARD_X + 60, 210), (RIGHT_BOARD_X - 60, 270)):
            board.line((x, 200), (to, 214))
    with board.withhold(), board.group("word"):
        total = f"{number_text(one.total)} + {number_text(other.total)}"
        board.write(
            240, 228, f"{number_text(one.total)} ÷ ({total}) = {a},  {number_text(other.total)} ÷ ({total}) = {b}", 0.8
        )
        board.write(
            240,
            254,
            f"{a} · {vector_text(one.output)} + {b} · {vector_text(other.output)} = {vector_text(merge(0))}",
            0.95,
        )


def draw_other_words(board: Board) -> None:
    outputs = ", ".join(vector_text(merge(word)) for word in range(4))
    one, other = partials_of(0)
    board.step(
        "The two boards, each with the output that it always finds. Below them a line for each word: its query, its "
        f"sum on board 1, its sum on board 2, the two shares, and what comes out: {outputs}."
    )
    board.erase("word")
    with board.withhold():
        board.write(LEFT_BOARD_X, 94, f"always {vector_text(one.output)}", 0.8)
        board.write(RIGHT_BOARD_X, 94, f"always {vector_text(other.output)}", 0.8)
        board.write(240, 254, f"each output adds up to {sum(VALUES[0])}", 0.8)
    board.table(74, 130, [["word", "sum 1", "sum 2", "shares", "output"]], [94, 56, 102, 110, 0], size=0.75)
    for word, query in enumerate(QUERIES):
        y, sums = 156 + 25 * word, [number_text(each.total) for each in partials_of(word)]
        board.write(16, y, f"{word + 1}.  {vector_text(query)}", 0.8, at="left")
        a, b = weights(*partials_of(word))
        with board.withhold() if word else nullcontext():  # the first is known
            board.table(168, y, [[*sums, f"{a} and {b}", vector_text(merge(word))]], [56, 102, 110], size=0.8)


def draw_schemes(board: Board) -> None:
    sent = {scheme: sent_bytes(scheme, 8, PART) / 1e6 for scheme in ("ring", "all_gather", "all_to_all")}
    board.step(
        "Three tables of tokens and heads, as one of four GPUs sees them. Ring: its own quarter of the tokens and "
        "one that comes. All-gather: all tokens. All-to-all: all tokens of a quarter of the heads. Below, what each "
        f"of eight GPUs sends: {', '.join(f'{each:.0f}' for each in sent.values())} MB."
    )
    board.erase()
    board.write(240, 13, f"{PART.tokens} tokens · {PART.kv_heads} heads · {PART.head_dim} · K, V · 2 bytes", 0.8)
    board.write(240, 34, f"= {PART.kv_bytes / 1e6:.1f} MB a part", 0.8)
    side, cell, top = 104, 26, 78
    for x, name, shaded in (
        (34, "ring", [(0, 0, side, cell), (0, 2 * cell, side, cell)]),
        (188, "all-gather", [(0, 0, side, side)]),
        (342, "all-to-all", [(0, 0, cell, side)]),
    ):
        board.write(x + side / 2, 56, name, 0.95)
        board.grid(x, top, 4, 4, cell, cell)
        for left, down, w, h in shaded:
            board.hatch(x + left, top + down, w, h, gap=9)
    board.arrow(20, top + 2.5 * cell, 20, top + 0.6 * cell)
    board.write(34, 200, "a row: tokens of one GPU, a column: heads", 0.8, at="left")
    _, _, right, _ = board.write(34, 226, "a GPU of 8 sends", 0.8, at="left")
    with board.withhold():
        board.write(right + 9, 226, "7 parts, 7 parts, 7/8 of 2 parts", 0.8, at="left")
        for x, each in zip((86, 240, 394), sent.values(), strict=True):
            board.write(x, 252, f"{each:.0f} MB", 1.0)


def draw_ridge(board: Board) -> None:
    full, network = (min_tokens_to_overlap(PART, FLOP_PER_SECOND, link) for link in (LINK_BANDWIDTH, NETWORK_BANDWIDTH))
    computing = flops_of(PART.tokens**2, PART) / FLOP_PER_SECOND
    fetching = PART.kv_bytes / LINK_BANDWIDTH
    board.step(
        "Time against tokens a GPU: fetching is a straight line, computing a curve that grows with the square. They "
        f"cross at {full:.0f} tokens; from there on computing hides the fetching. Causal {2 * full:.0f}, through a "
        f"network {network:,.0f}."
    )
    board.erase()
    board.write(24, 26, "4n²d FLOP ÷ 4nd bytes = n FLOP a byte", 0.95, at="left")
    corner_x, corner_y, text_x, token_width = 40, 224, 262, 0.04  # the last: pixels a token
    board.axis(corner_x, corner_y, 200, 172, "", "time")
    board.write(228, corner_y + 18, "tokens a GPU", 0.8, at="right")
    slope = 44 / full  # fetching is 44 pixels high where both are the same
    board.line((corner_x, corner_y), (corner_x + 4400 * token_width, corner_y - 4400 * slope))
    end_x = corner_x + 3200 * token_width
    board.curve(lambda x: corner_y - slope / full * ((x - corner_x) / token_width) ** 2, corner_x, end_x)
    board.write(corner_x + 122, corner_y - 157, "n²", 0.9, at="right")
    board.write(corner_x + 176, corner_y - 90, "n", 0.9, at="left")
    board.ring(corner_x + full * token_width, corner_y - 44, 22, 22)
    board.write(text_x, 66, f"at {PART.tokens}: {1e3 * computing:.3f} ms", 0.8, at="left")
    board.write(text_x, 90, f"against {1e3 * fetching:.3f} ms", 0.8, at="left")
    board.write(text_x, 126, f"{FLOP_PER_SECOND / 1e12:.0f} TFLOP/s ÷ {LINK_BANDWIDTH / 1e9:.0f} GB/s", 0.75, at="left")
    with board.withhold():
        board.write(text_x, 154, f"= {full:.0f}, causal {2 * full:.0f}", 0.95, at="left")
    board.write(text_x, 208, f"network, {NETWORK_BANDWIDTH / 1e9:.0f} GB/s:", 0.85, at="left")
    with board.withhold():
        board.write(text_x, 236, f"{network:,.0f}, causal {2 * network:,.0f}", 0.85, at="left")


def draw_stretches(board: Board) -> None:
    work = [[pairs(rank, owner, GPUS, 2**20, True, "contiguous") for owner in range(GPUS)] for rank in range(GPUS)]
    squares = [sum(row) / 2**40 for row in work]
    fair = sum(squares) / GPUS
    most, mean = squares[-1] / squares[0], load_imbalance(GPUS, 2**20, "contiguous")
    board.step(
        f"The causal triangle in four stretches of {', '.join(f'{each:.1f}' for each in squares)} squares. The last "
        f"has {most:.0f} times the work of the first. Beside it chunks 1 to 8, folded in the middle: 1 lies on 8, 2 "
        f"on 7, 3 on 6, 4 on 5, {fair:.0f} squares each."
    )
    board.erase()
    cell, x, y = 44, 24, 44
    board.write(x, 22, "in stretches", 0.9, at="left")
    board.line((x, y), (x, y + 4 * cell), (x + 4 * cell, y + 4 * cell), (x, y))
    for rank, square in enumerate(squares):
        bottom = y + (rank + 1) * cell
        if rank + 1 < GPUS:
            board.line((x, bottom), (x + (rank + 1) * cell, bottom))
        board.write(x + (rank + 1) * cell + 14, bottom - cell / 2 + 6, f"{square:g}", 0.95, at="left")
    *_, end, _ = board.write(x, 246, f"last ÷ first = {most:.0f}", 0.85, at="left")
    with board.withhold():
        board.write(end + 24, 246, f"last ÷ fair = {mean:.2f}", 0.85, at="left")
        board.write(290, 22, "fold it", 0.9, at="left")
        for rank in range(GPUS):
            board.row(290, y + rank * cell, [rank + 1, 2 * GPUS - rank], w=48, h=34, size=0.95)
            board.write(396, y + rank * cell + 17, f"GPU {rank + 1}: {fair:g}", 0.85, at="left")


def draw_gradient_sent_home(board: Board) -> None:
    totals = [sum(each.total for each in partials_of(word)) for word in range(4)]
    parts = [sum(1 / total for total in totals[i : i + 2]) for i in (0, 2)]
    wrong = 2 * sum(1 / partial_of(word, slice(0, 2)).total for word in (0, 1))
    board.step(
        f"Value 1 lies on board 1. Board 1 finds {float(parts[0]):.3f} of its gradient, board 2 finds "
        f"{float(parts[1]):.3f} and sends it home with an arrow: {float(sum(parts)):.3f}. Below, with the lse of a "
        f"part, it would be {float(wrong):.2f}."
    )
    board.erase()
    board.write(240, 24, f"sums of the rows: {',  '.join(number_text(total) for total in totals)}", 0.95)
    for x, name, i in ((LEFT_BOARD_X, 1, 0), (RIGHT_BOARD_X, 2, 2)):
        board.box(x - 108, 48, 216, 94)
        board.write(x, 66, f"board {name}{': has value 1' if not i else ''}", 0.85)
        board.write(x, 92, f"words {i + 1} and {i + 2} look at it", 0.8)
        terms = " + ".join(f"1/{number_text(total)}" for total in totals[i : i + 2])
        with board.withhold():
            board.write(x, 122, f"{terms} = {float(parts[i // 2]):.3f}", 0.9)
    board.arrow(RIGHT_BOARD_X - 30, 148, LEFT_BOARD_X + 150, 180)
    board.write(RIGHT_BOARD_X, 178, "home", 0.85)
    with board.withhold():
        total = f"{float(parts[0]):.3f} + {float(parts[1]):.3f} = {float(sum(parts)):.3f}"
        board.write(LEFT_BOARD_X - 96, 196, total, 1.0, at="left")
    board.write(LEFT_BOARD_X - 96, 242, f"lse of a part: 2 · (1/3 + 1/3) = {float(wrong):.2f}, wrong", 0.9, at="left")


def draw_copy_engine(board: Board) -> None:
    sms = round(H100["sms"].value)
    board.step(
        f"A grid of {sms} SMs, all taken, one of them ringed: it carries a message and starts late. Beside the grid "
        "a box, the copy engine, with an arrow from the other GPU. Below, two bars: one SM that starts late ends "
        "late, and the kernel with it."
    )
    board.erase()
    rows, columns, cell = 6, sms // 6, 13
    board.write(24, 22, f"{rows} × {columns} = {sms} SMs, all taken", 0.9, at="left")
    board.hatch(24, 40, columns * cell, rows * cell, gap=10)
    board.grid(24, 40, rows, columns, cell, cell)
    board.ring(24 + 18.5 * cell, 40 + 3.5 * cell, 32, 30)
    board.box(346, 56, 110, 46, "copy engine", 0.8)
    board.arrow(401, 130, 401, 106)
    board.write(401, 144, "from a GPU", 0.8)
    board.write(24, 174, "an SM", 0.85, at="left")
    board.box(136, 160, 220, 28, "its pieces", 0.8)
    with board.withhold():
        board.write(24, 212, "the late one", 0.85, at="left")
        board.box(136, 198, 52, 28, "carry", 0.8)
        board.box(188, 198, 220, 28, "its pieces", 0.8)
        board.line((408, 166), (408, 252), dashed=True)
        board.write(400, 244, "the kernel ends", 0.85, at="right")


def draw_demo(board: Board) -> None:
    board.step(
        "The table of the four words again, with a tick behind each line: the library has found the same outputs, "
        f"{', '.join(vector_text(merge(word)) for word in range(4))}."
    )
    board.erase()
    board.write(240, 26, "make run SNIPPET=two_boards BOARD=1", 0.9)
    board.table(42, 66, [["word", "sum 1", "sum 2", "shares", "merged = alone"]], [*COLUMN_WIDTHS, 0], size=0.8)
    for word in range(4):
        y, sums = 102 + 34 * word, [number_text(each.total) for each in partials_of(word)]
        a, b = weights(*partials_of(word))
        board.table(42, y, [[word + 1, *sums, f"{a} and {b}", vector_text(merge(word))]], COLUMN_WIDTHS, size=0.95)
        board.write(461, y - 1, "✓", 0.95)
    with board.withhold():
        board.write(240, 246, f"decode: {HEADS * (HEAD_DIM + 1) * 4 / 1e3:.1f} kB a layer, however long the text", 0.85)
