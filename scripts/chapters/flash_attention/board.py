# ruff: noqa: RUF001  (signs as a board has them)
"""Sheet 8: three words tile by tile, who answers, and one row of gradients after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction

from kernels.bench.cost import fused_traffic, mb, mib, qkvo_bytes, requested_bytes
from scripts.chapters.board import Board
from scripts.chapters.three_matmuls.worked import K, Q, V, dot

OUTPUT_GRADIENT = ((1, 0), (0, 1), (1, 1))  # of the output
BLOCK = 2
N, HEAD_DIM, BYTES, BLOCK_Q, BLOCK_K = 8192, 128, 2, 64, 128
BLOCKS = 40  # each way, of the larger causal square
BACKENDS = ("flash", "cuDNN", "memory-efficient", "math")
COLUMN_WIDTHS = [70, 66, 92, 140]  # of the table of gradients, from the middle of one to the middle of the next

Row = Sequence[Fraction]


@dataclass(frozen=True)
class State:
    """What a query keeps of the keys so far, in powers of 2."""

    maximum: int
    total: Fraction
    blend: Row

    @property
    def output(self) -> list[Fraction]:
        return [part / self.total for part in self.blend]

    @property
    def lse(self) -> float:
        return self.maximum + math.log2(self.total)


def power_of_two(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def block_states(query: Sequence[int]) -> list[State]:
    """The state after each block of keys."""
    states: list[State] = []
    for first in range(0, len(K), BLOCK):
        keys, values = K[first : first + BLOCK], V[first : first + BLOCK]
        dots = [dot(query, key) for key in keys]
        top = max(dots + [state.maximum for state in states[-1:]])
        terms = [power_of_two(each - top) for each in dots]
        total, blend = sum(terms), [dot(terms, column) for column in zip(*values, strict=True)]
        for old in states[-1:]:
            factor = power_of_two(old.maximum - top)
            total, blend = total + factor * old.total, [b + factor * o for b, o in zip(blend, old.blend, strict=True)]
        states.append(State(top, total, blend))
    return states


@dataclass(frozen=True)
class GradientRow:
    """A row on its way back: each weight and its gradient, the average of these, the excess over it, each score's."""

    weights: Row
    dp: list[int]
    average: Fraction
    excess: Row
    ds: Row


def gradient_row(query: int) -> GradientRow:
    last = block_states(Q[query])[-1]
    weights = [power_of_two(dot(Q[query], key) - last.maximum) / last.total for key in K]
    dp = [dot(OUTPUT_GRADIENT[query], value) for value in V]
    average = dot(OUTPUT_GRADIENT[query], last.output)
    excess = [each - average for each in dp]
    return GradientRow(weights, dp, average, excess, [p * a for p, a in zip(weights, excess, strict=True)])


def number_text(number: float | Fraction) -> str:
    return f"{float(number):.4g}"


def vector_text(numbers: Sequence) -> str:
    return "[" + ", ".join(map(number_text, numbers)) + "]"


def board() -> Board:
    board = Board()
    for draw in (draw_belt, draw_states, draw_tile, draw_causal_tiles, draw_traffic, draw_lse, draw_average,
                 draw_gradients, draw_backends):  # fmt: skip
        draw(board)
    return board


def draw_belt(board: Board) -> None:
    board.step(
        "A belt on which blocks of keys and values come past from right to left. Below it one box, 64 queries, stays; "
        "it keeps a maximum, a sum and a blend, and each tile of scores is used and forgotten."
    )
    board.write(20, 26, "keys and values pass", 0.9, at="left")
    board.arrow(460, 50, 20, 50)
    board.row(60, 60, ["K V 1", "K V 2", "K V 3", "K V 4"], w=102, h=40, size=0.9)
    board.line((20, 110), (460, 110))
    board.arrow(210, 116, 210, 150)
    board.write(226, 132, "a tile: used, forgotten", 0.85, at="left")
    board.box(112, 156, 196, 40, f"{BLOCK_Q} queries stay", 0.95)
    for y, text in ((224, "each keeps: max, sum, blend"), (252, "at the end: blend ÷ sum")):
        board.write(210, y, text, 0.95)


def draw_states(board: Board) -> None:
    rows = [block_states(query) for query in Q]
    states_text = "; ".join(
        f"query {i}: " + ", then ".join(f"{s.maximum}, {number_text(s.total)}, {vector_text(s.blend)}" for s in states)
        for i, states in enumerate(rows, 1)
    )
    board.step(
        f"Keys and values on top, and a table of maximum, sum and blend after each block of keys: {states_text}. "
        f"Divided: {', '.join(vector_text(states[-1].output) for states in rows)}."
    )
    board.erase()
    for y, name, vectors in ((22, "keys", K), (48, "values", V)):
        board.write(14, y, name, 0.85, at="left")
        for x, block in ((94, vectors[:BLOCK]), (268, vectors[BLOCK:])):
            board.write(x, y, "   ".join(map(vector_text, block)), 0.85, at="left")
    board.line((10, 66), (470, 66))
    board.line((254, 8), (254, 216))
    widths = [66, 44, 54, 82, 48, 58]
    board.table(42, 86, [["query", *["max", "sum", "blend"] * 2]], widths, size=0.8)
    for i, (query, states) in enumerate(zip(Q, rows, strict=True)):
        cells = [vector_text(query)]
        for state in states:
            cells += [state.maximum, number_text(state.total), vector_text(state.blend)]
        with board.withhold() if i else nullcontext():
            board.table(42, 120 + 36 * i, [cells], widths, size=0.8)
            board.write(206 + 110 * i, 242, vector_text(states[-1].output), 0.9)
            if states[0].maximum < states[-1].maximum:
                board.ring(288, 120 + 36 * i, 28, 26)
    board.write(14, 242, "blend ÷ sum:", 0.9, at="left")


def draw_tile(board: Board) -> None:
    width, height, strip_bytes, tile_bytes = 400, 70, BLOCK_Q * N * 4, BLOCK_Q * BLOCK_K * 4
    board.step(
        f"A dashed strip of 64 rows by 8192 scores, {mib(strip_bytes):.0f} MiB, and in it, drawn to scale, a narrow "
        f"shaded tile of 64 by 128, {tile_bytes // 2**10} KiB. Below: a query leaves {HEAD_DIM * BYTES + 4} bytes "
        "behind."
    )
    board.erase()
    board.write(40, 26, f"strip: {BLOCK_Q} × {N} · 4 B = {mib(strip_bytes):.0f} MiB", 0.95, at="left")
    board.line((40, 46), (40 + width, 46), (40 + width, 46 + height), (40, 46 + height), (40, 46), dashed=True)
    board.box(160, 46, width * BLOCK_K / N, height)
    board.hatch(160, 46, width * BLOCK_K / N, height, gap=6)
    board.write(320, 82, "never there", 0.95)
    board.arrow(190, 144, 167, 120)
    board.write(40, 158, f"tile: {BLOCK_Q} × {BLOCK_K} · 4 B = {tile_bytes // 2**10} KiB", 0.95, at="left")
    board.write(40, 204, "a query leaves: output, one FP32 number", 0.85, at="left")
    with board.withhold():
        board.write(40, 236, f"{HEAD_DIM} · {BYTES} B + 4 B = {HEAD_DIM * BYTES + 4} B, whatever N", 0.85, at="left")


def draw_causal_tiles(board: Board) -> None:
    tiles_read = BLOCKS * (BLOCKS + 1) // 2
    board.step(
        "A grid of four by four tiles, queries down and keys across. Above the diagonal the tiles are struck out, on "
        f"it they are hatched, below it whole. Beside it: of 40 blocks each way {tiles_read} of {BLOCKS**2} tiles are "
        "read."
    )
    board.erase()
    left, top, side = 80, 40, 48
    board.write(left + 2 * side, 20, "keys", 0.9)
    board.write(42, top + 2 * side, "queries", 0.85)
    board.grid(left, top, 4, 4, side, side)
    with board.withhold():
        for i in range(4):
            for j in range(i + 1, 4):
                x, y = left + j * side, top + i * side
                board.strike(x + 9, y + side - 9, x + side - 9, y + 9)
            board.hatch(left + i * side, top + i * side, side, side)
        for i, text in enumerate(("above: never read", "on it: masked", "below: whole")):
            board.write(292, 58 + 30 * i, text, 0.85, at="left")
        board.write(292, 166, f"{BLOCKS} · {BLOCKS + 1} ÷ 2 = {tiles_read}", 0.9, at="left")
        board.write(292, 194, f"of {BLOCKS**2}:  {100 * tiles_read / BLOCKS**2:.0f} %", 0.9, at="left")


def draw_traffic(board: Board) -> None:
    kv_bytes, programs = 2 * N * HEAD_DIM * BYTES, N // BLOCK_Q
    requested = requested_bytes(N, HEAD_DIM, BYTES, BLOCK_Q)
    qo_bytes = qkvo_bytes(N, HEAD_DIM, BYTES) - kv_bytes  # Q and the output, once
    hbm_bytes = fused_traffic(N, HEAD_DIM, BYTES)[0].read
    board.step(
        f"HBM as a line, above it L2 as a box, and a row of {programs} programs. An arrow leads from L2 to each, "
        f"and one from HBM to L2. {mb(requested):.0f} MB are asked for, {mb(hbm_bytes):.1f} MB come through HBM."
    )
    board.erase()
    board.write(14, 22, f"K, V: {mib(kv_bytes):.0f} MiB", 0.85, at="left")
    for i in range(8):
        board.box(40 + 52 * i, 42, 38, 26)
        board.arrow(150 + 23 * i, 106, 59 + 52 * i, 72, width=1.6)
    board.box(130, 108, 200, 34, "L2", 1)
    board.line((40, 206), (440, 206), width=3.2)
    board.write(466, 222, "HBM", 0.85, at="right")
    with board.withhold():
        board.write(466, 22, f"{N} ÷ {BLOCK_Q} = {programs} programs", 0.85, at="right")
        board.arrow(230, 202, 230, 148)
        board.write(346, 126, f"asked: {mb(requested):.0f} MB", 0.85, at="left")
        board.write(246, 178, f"{mb(hbm_bytes):.1f} MB", 0.9, at="left")
        board.write(14, 246, f"{programs} · {mib(kv_bytes):.0f} MiB + {mib(qo_bytes):.0f} MiB (Q, O)", 0.85, at="left")


def draw_lse(board: Board) -> None:
    last = block_states(Q[1])[-1]
    dots = [dot(Q[1], key) for key in K]
    weights = [power_of_two(each) / power_of_two(round(last.lse)) for each in dots]
    lse = number_text(last.lse)
    board.step(
        f"Query 2: maximum {last.maximum} and sum {number_text(last.total)} become one number, lse {lse}. A share is 2 "
        f"to the power of its dot product minus {lse}: {', '.join(map(number_text, weights))}."
    )
    board.erase()
    board.write(30, 34, f"query 2:   max {last.maximum},  sum {number_text(last.total)}", 1, at="left")
    end = board.write(30, 78, f"lse = {last.maximum} + log_{{2}} {number_text(last.total)} =", 1.15, at="left")[2]
    board.write(end + 22, 78, lse, 1.15)
    board.ring(end + 22, 78, 36, 34)
    board.write(30, 134, "dot products", 0.9, at="left")
    for i, (each, weight) in enumerate(zip(dots, weights, strict=True)):
        x = 220 + 90 * i
        board.write(x, 134, str(each), 1)
        board.write(x, 172, f"2^{{{each} - {lse}}}", 1.1)
        with board.withhold():
            board.write(x, 212, number_text(weight), 1)
    board.write(30, 172, "share", 0.9, at="left")
    board.write(30, 250, "no maximum, no sum, any order", 0.85, at="left")


def draw_gradient_row(board: Board, query: int, row: GradientRow, begin: int = 0, end: int = 5) -> None:
    """A row of the table of step 7 and 8, or some of its columns; 0 is its first."""
    cells = [query + 1, *(", ".join(map(number_text, each)) for each in (row.dp, [row.average], row.excess, row.ds))]
    board.table(30 + sum(COLUMN_WIDTHS[:begin]), 72 + 42 * query, [cells[begin:end]], COLUMN_WIDTHS[begin:], size=0.8)


def draw_average(board: Board) -> None:
    row, out = gradient_row(0), block_states(Q[0])[-1].output
    terms = " + ".join(f"{number_text(weight)} · {dp}" for weight, dp in zip(row.weights, row.dp, strict=True))
    board.step(
        f"The first row of a table: dP {vector_text(row.dp)}, D {number_text(row.average)}, dP minus D "
        f"{vector_text(row.excess)}, dS {vector_text(row.ds)}. Below, the average D in two ways: as a sum over the "
        "row, and as dO times O."
    )
    board.erase()
    board.table(30, 28, [["row", "dP", "D", "dP - D", "dS"]], COLUMN_WIDTHS, size=0.95)
    board.line((14, 48), (466, 48))
    draw_gradient_row(board, 0, row, 0, 2)
    with board.withhold():
        draw_gradient_row(board, 0, row, 2)
    with board.group("why"):
        board.write(30, 116, f"dO = {vector_text(OUTPUT_GRADIENT[0])}    O = {vector_text(out)}", 0.9, at="left")
        with board.withhold():
            board.write(30, 152, f"D, the long way:  {terms} = {number_text(dot(row.weights, row.dp))}", 0.8, at="left")
            board.write(30, 188, f"D = dO · O = {number_text(row.average)}", 1, at="left")
        shares = ", ".join(map(number_text, row.weights))
        board.write(30, 230, f"dS = shares · (dP - D),  shares {shares}", 0.8, at="left")


def draw_gradients(board: Board) -> None:
    rows = [gradient_row(query) for query in range(3)]
    ds = "; ".join(vector_text(row.ds) for row in rows[1:])
    board.step(
        f"The table has two more rows; their dS is {ds}. Each row of dS adds up to 0, and the third has only zeros."
    )
    board.erase("why")
    draw_gradient_row(board, 1, rows[1])
    board.write(30, 208, "each row of dS adds up to 0", 0.95, at="left")
    with board.withhold():
        draw_gradient_row(board, 2, rows[2])
        board.write(30, 242, f"row 3: outputs add up to {sum(block_states(Q[2])[-1].output)}, always", 0.9, at="left")


def draw_backends(board: Board) -> None:
    outputs = [vector_text(block_states(query)[-1].output) for query in Q]
    board.step(
        f"Above, the demo: a tick behind each output, {', '.join(outputs)}. Below, PyTorch's call with a mask, an "
        "arrow to each of four backends; cuDNN, which it took in our run, has a tick."
    )
    board.erase()
    board.write(24, 30, "demo: the square is never there, out comes", 0.85, at="left")
    for x, output in zip((60, 200, 340), outputs, strict=True):
        end = board.write(x, 60, output, 0.95, at="left")[2]
        board.write(end + 20, 60, "✓", 0.95)
    board.line((14, 82), (466, 82))
    board.box(14, 150, 166, 42, "sdpa(q, k, v, mask)", 0.75)
    for i, name in enumerate(BACKENDS):
        y = 112 + 44 * i
        board.arrow(186, 171, 250, y)
        board.write(262, y, name, 0.95, at="left")
    with board.withhold():
        board.write(350, 112 + 44 * BACKENDS.index("cuDNN"), "✓", 1.1)
        board.write(368, 112 + 44 * BACKENDS.index("cuDNN"), "in our run", 0.85, at="left")
    board.write(24, 250, "which one ran?", 0.95, at="left")
