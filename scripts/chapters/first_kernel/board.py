# ruff: noqa: RUF001  (signs as a board has them)
"""Sheet 5: a loop without its loop, its programs, one row of scores, and where the time goes."""

from __future__ import annotations

import math
from contextlib import nullcontext

from kernels.bench.cost import mb, requested_bytes
from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.first_kernel.worked import (
    HEAD_DIM,
    HEADS,
    KEYS,
    LANES,
    NUMBER,
    PROGRAM,
    QUERY,
    REGISTERS,
    ROW,
    SECTOR,
    SENTENCES,
    VALUES,
    WARPS,
    WORDS,
    place,
    scores,
    sectors,
    shown,
    strides,
)

LEFT = 30
STAYS, FOOT = ("question", "wait"), 240  # what stays from the first step on, and the line above it


def milliseconds(form: str, head_dim: int) -> float:
    """The measured time at 512 words, 2048 numbers of each cut into heads."""
    wanted = {"form": form, "n": 512, "direction": "forward", "causal": False}
    (row,) = [row for row in records.table("prefill_speed", f"forward_{head_dim}") if wanted.items() <= row.items()]
    return row["median"]


def board() -> Board:
    board = Board()
    for step in (loop, hall, program, memory, one_row, fits, correct, coalesce, meetings, cube):
        step(board)
    return board


def loop(board: Board) -> None:
    ours, lines = milliseconds("one_key_attention", 128), milliseconds("attention", 128)
    board.step(
        "A loop: for query in queries, and in it multiply, for each key, squish, and multiply, for each value. The "
        "line with for query is struck out; what is left, in a box, is started once a query. At the foot, to stay, the "
        f"lesson's question, why: {ours:.1f} ms without the square, {lines:.3f} ms with it."
    )
    board.words(LEFT + 10, 50, "for query in queries:", 1.25, at="left")
    for i, line in enumerate(("for each key: multiply", "squish", "for each value: multiply")):
        board.words(LEFT + 40, 96 + 34 * i, line, at="left")
    board.box(LEFT + 28, 76, 256, 108)
    with board.answer():
        board.strike(LEFT, 56, LEFT + 268, 42)
        board.words(LEFT + 318, 130, "once a query", 0.9, at="left")
        board.arrow(LEFT + 312, 130, LEFT + 290, 130)
    with board.group("question"):
        board.line((10, FOOT), (470, FOOT), dashed=True)
        board.words(14, FOOT + 16, f"no square {ours:.1f} ms, with it {lines:.3f} ms: why?", 0.75, at="left")


def hall(board: Board) -> None:
    word, head, sentence = place(PROGRAM)
    programs = SENTENCES * HEADS * WORDS
    board.step(
        f"A hall with {programs} seats, numbered 0 to {programs - 1}, three in a row. Seat {PROGRAM} is ringed: "
        f"word {word}, head {head}, sentence {sentence}, with the three divisions that find it."
    )
    board.rub(but=STAYS)
    board.words(LEFT, 24, f"{SENTENCES} sentences · {HEADS} heads · {WORDS} words = {programs}", 0.95, at="left")
    for row in range(SENTENCES * HEADS):
        board.row(LEFT + 4, 46 + 47 * row, range(WORDS * row, WORDS * (row + 1)), w=50, h=36)
    with board.answer():
        whole, seat = divmod(PROGRAM, WORDS)  # rows before its own, and its place in it
        board.ring(LEFT + 26 + 50 * seat, 64 + 47 * whole, 62, 46)
        board.words(206, 64, f"{PROGRAM} mod {WORDS} = {word}", at="left")
        board.words(352, 64, f"word {word}", at="left")
        board.words(206, 106, f"{PROGRAM} div {WORDS} = {whole}", at="left")
        board.words(206, 148, f"{whole} mod {HEADS} = {head}", at="left")
        board.words(352, 148, f"head {head}", at="left")
        board.words(206, 200, f"{whole} div {HEADS} = {sentence}", at="left")
        board.words(352, 200, f"sentence {sentence}", at="left")


def program(board: Board) -> None:
    board.step(
        f"One program: {WARPS} boxes, the warps, of {LANES} lanes each. Each multiplies its part of query "
        "and key; from all four an arrow leads to one sum, the score. At the foot, to stay: here they wait."
    )
    board.rub(but=STAYS)
    board.words(240, 24, f"one program = {WARPS} · {LANES} = {WARPS * LANES} threads", 1)
    for warp in range(WARPS):
        x = 26 + 110 * warp
        board.box(x, 50, 98, 72)
        board.words(x + 49, 70, f"warp {warp}", 0.85)
        board.words(x + 49, 100, f"{LANES} lanes", 0.85)
        board.words(x + 49, 142, "q × k", 0.95)
        with board.answer():
            board.arrow(x + 49, 158, 240 + 30 * (warp - 1.5), 184)
    with board.answer():
        board.box(170, 188, 140, 40, "sum = score", 0.95)
        board.arrow(408, FOOT + 5, 316, 212)
        with board.group("wait"):
            board.words(468, FOOT + 16, "here they wait", 0.75, at="right")


def memory(board: Board) -> None:
    (word, head, sentence), (per_word, per_head, per_sentence) = place(PROGRAM), strides()
    count, first = SENTENCES * per_sentence, sentence * per_sentence + head * per_head + word * per_word
    board.step(
        f"Memory as a line of {count} numbers, 0 to {count - 1}, in two sentences of two heads. {first} and "
        f"{first + HEAD_DIM - 1} are shaded: {sentence} times {per_sentence} plus {head} times {per_head} plus "
        f"{word} times {per_word}."
    )
    board.rub(but=STAYS)
    cell, left, top = 18.5, 18, 84
    board.grid(left, top, 1, count, w=cell, h=34)
    for i in range(0, count, per_head):
        board.words(left + cell * (i + 0.5), top + 50, str(i), 0.75)
        board.line((left + cell * i, top - 12), (left + cell * i, top + 34), width=3.2)
    for i in range(SENTENCES):
        board.words(left + cell * per_sentence * (i + 0.5), 30, f"sentence {i}", 0.9)
        for j in range(HEADS):
            board.words(left + cell * (per_sentence * i + per_head * (j + 0.5)), 58, f"head {j}", 0.8)
    board.words(240, 166, f"strides: sentence {per_sentence}, head {per_head}, word {per_word}", 0.9)
    with board.answer():
        board.hatch(left + cell * first, top, cell * HEAD_DIM, 34, gap=7)
        for i in range(HEAD_DIM):
            board.words(left + cell * (first + 0.5 + i) + 3 * (2 * i - 1), top + 50, str(first + i), 0.75)
        sums = f"{sentence} · {per_sentence} + {head} · {per_head} + {word} · {per_word} = {first}"
        board.words(240, 196, sums, 1.1)
        board.words(240, 225, f"program {PROGRAM} reads {first} and {first + HEAD_DIM - 1}", 0.95)


def one_row(board: Board) -> None:
    row = scores()
    terms = [math.exp(score - max(row)) for score in row]
    total = sum(terms)
    output = [sum(t * v[i] for t, v in zip(terms, VALUES, strict=False)) / total for i in (0, 1)]
    board.step(
        f"The query {list(QUERY)} and a row of four places, all minus infinity. Under it each of three keys, the row "
        "after it, at last 1, 1, 2 and minus infinity, and its value. "
        f"Then the exponentials, together {total:.2f}, the shares and the output."
    )
    board.rub(but=STAYS)
    lines = [(f"q {list(QUERY)}", [-math.inf] * ROW, "")]
    for number, (key, value) in enumerate(zip(KEYS, VALUES, strict=True)):
        filled = row[: number + 1] + [-math.inf] * (ROW - number - 1)
        lines.append((f"k {list(key)}", filled, f"v {list(value)}"))
    for i, (name, cells, value) in enumerate(lines):
        y = 10 + 34 * i
        board.words(LEFT - 4, y + 14, name, 0.85, at="left")
        board.row(110, y, [shown(cell) for cell in cells], w=66, h=28, size=0.95)
        board.words(386, y + 14, value, 0.85, at="left")
    with board.answer():
        board.ring(110 + 66 * row.index(max(row)) + 30, 126, 58, 34)
        board.words(LEFT - 4, 166, f"e^{{S - {max(row):g}}}", 0.85, at="left")
        board.table(140, 166, [[shown(term) for term in terms]], [66] * ROW, size=0.95)
        board.words(386, 166, f"sum {total:.2f}", 0.9, at="left")
        board.words(LEFT - 4, 194, "shares", 0.85, at="left")
        board.table(140, 194, [[f"{term / total:.0%}".replace("%", " %") for term in terms]], [66] * ROW, size=0.95)
        board.words(LEFT - 4, 222, "output", 0.85, at="left")
        board.words(140, 222, "[" + ", ".join(f"{number:g}" for number in (round(x, 9) for x in output)) + "]", 1)


def fits(board: Board) -> None:
    threads = WARPS * LANES
    fit, none = (length // threads for length in (2**14, 2**15))
    board.step(
        f"The {REGISTERS} registers of a thread as a long box. 16,384 scores over {threads} threads fill {fit}, "
        f"half; 32,768 want {none}, one too many."
    )
    board.rub(but=STAYS)
    bar(board, 52, 2**14, fit)
    board.words(LEFT + 300, 72, "room for the rest", 0.85)
    with board.answer():
        bar(board, 146, 2**15, none)
        board.box(LEFT + 404, 146, 12, 40)
        board.hatch(LEFT + 404, 146, 12, 40, gap=7)
        board.words(LEFT, 212, f"{none} > {REGISTERS}: one too many", 1.1, at="left")


def bar(board: Board, y: float, length: int, count: int) -> None:
    """The registers of a thread, and how many of them a row of this length takes."""
    board.words(LEFT, y - 26, f"{length:,} ÷ {WARPS * LANES} = {count} a thread", 1, at="left")
    board.box(LEFT, y, 400, 40)
    board.hatch(LEFT, y, 400 * min(count, REGISTERS) / REGISTERS, 40, gap=10)


def correct(board: Board) -> None:
    found = {row["form"]: row for row in records.table("first_kernel", "errors")}
    board.step(
        "A table of errors against FP64: PyTorch and the kernel pass with 0.67 of the budget, in the head that uses "
        "most of its own; one head of zeros has a small mean, more than a thousand times its budget, and is rejected."
    )
    board.rub(but=STAYS)
    board.words(LEFT - 14, 30, "shape: N = 500, d = 80", 0.95, at="left")
    with board.answer():
        board.words(464, 58, "budget: of the worst head", 0.75, at="right")
    board.table(144, 84, [["mean", "largest", "of budget", "verdict"]], [90, 86, 88], size=0.85)
    board.line((16, 102), (464, 102))
    for i, (name, form) in enumerate((("PyTorch", "pytorch"), ("ours", "one_key"), ("zeros", "one_head_of_zeros"))):
        row, y = found[form], 130 + 46 * i
        board.words(16, y, name, 0.85, at="left")
        part = f"{row['of_budget']:.2f}" if row["of_budget"] < 10 else f"{row['of_budget']:,.0f}"
        with board.answer() if i < 2 else nullcontext():
            board.words(144, y, f"{row['mean']:.4f}" if i == 2 else f"{row['mean']:.6f}", 0.85)
        with board.answer():
            board.words(234, y, f"{row['largest']:.2f}" if i == 2 else f"{row['largest']:.5f}", 0.85)
            board.words(320, y, part, 0.85)
            board.words(408, y, "✓" if row["verdict"] == "passes" else "REJECTED", 0.85)


def coalesce(board: Board) -> None:
    speed = {row["read"]: row["to_stride_1"] for row in records.table("coalescing", "reads")}
    board.step(
        "Two sectors of eight numbers: at stride 1 all eight are wanted, at stride 8 one. Below, for strides 1 to 16, "
        "the sectors, 4, 8, 16, 32, 32, the part used, and the speed measured, which at 16 is half of that foretold."
    )
    board.rub(but=STAYS)
    for x, stride in ((26, 1), (262, 8)):
        board.grid(x, 36, 1, SECTOR // NUMBER, w=24, h=24)
        board.hatch(x, 36, 24 * 8 / stride, 24, gap=8)
        board.words(x, 20, f"stride {stride}: {8 // stride} of 8 used", 0.85, at="left")
    board.words(26, 86, "a warp:", 0.85, at="left")
    for i, name in enumerate(("stride", "sectors", "used", "speed")):
        board.words(112, 86 + 40 * i, name, 0.85, at="left")
    for j, stride in enumerate((1, 2, 4, 8, 16)):
        x, count = 216 + 54 * j, sectors(stride)
        part = count * SECTOR // (LANES * NUMBER)
        board.words(x, 86, str(stride), 0.95)
        board.words(x, 126, str(count), 0.95)
        board.words(x, 166, f"1/{part}" if part > 1 else "1", 0.95)
        with board.answer() if stride == 16 else nullcontext():
            board.words(x, 206, f"{speed[f'stride_{stride}']:.2f}", 0.9)
    with board.answer():
        board.ring(432, 206, 52, 30)
        board.words(346, 230, f"foretold {1 / part:.3f}", 0.85)


def meetings(board: Board) -> None:
    n, head_dim = 1024, 128
    asked = mb(requested_bytes(n, head_dim, 2, block_q=1))
    (whole,) = [row for row in records.table("hbm_traffic", "whole") if row["form"] == "one_key_attention"]
    times = [(2048 // d, d, milliseconds("one_key_attention", d)) for d in (64, 128, 256)]
    said = ", ".join(f"{heads} heads of {d}: {time:.1f} ms" for heads, d, time in times)
    board.step(
        f"One head of {n} words, {head_dim} numbers each: asked for {asked:.1f} MB; HBM gave, as measured, "
        f"{whole['flushed']:.2f} MB. Below, the same arithmetic at 512 words in {said}: half the heads, half the time."
    )
    board.rub(but=STAYS)
    board.words(LEFT, 28, f"one head, N = {n}, d = {head_dim}:", 0.85, at="left")
    board.words(LEFT, 60, f"asked for {asked:.1f} MB", 0.95, at="left")
    board.arrow(LEFT + 196, 60, LEFT + 226, 60)
    board.words(LEFT + 236, 60, f"HBM gave {whole['flushed']:.2f} MB", 0.95, at="left")
    board.words(448, 28, "not the bytes", 0.95, at="right")
    board.line((LEFT, 86), (450, 86), dashed=True)
    board.words(LEFT, 112, "N = 512, the same FLOP:", 0.95, at="left")
    for i, (heads, d, time) in enumerate(times):
        board.words(LEFT + 20, 150 + 36 * i, f"{heads} heads of {d}", 1, at="left")
        with board.answer() if i == 2 else nullcontext():
            board.words(360, 150 + 36 * i, f"{time:.1f} ms", 1, at="right")


def cube(board: Board) -> None:
    growth = {row["n"]: row["one_meeting"] for row in records.table("first_kernel", "growth")}
    lengths = (256, 512, 4096, 8192)
    said = ", ".join(f"{growth[n]:.0f} ps at {n} words" for n in lengths)
    board.step(
        "A square, N by N: the scores. Beside it a cube, N by N by N: programs, meetings, places. Below, what a "
        f"meeting costs with two heads of 64: {said}. 512 is ringed; from why, at the foot, an arrow to: the meetings."
    )
    board.rub(but=STAYS)
    board.box(60, 30, 100, 100, "N²", 1.4)
    board.words(110, 146, "scores", 0.95)
    x, y, side, deep = 216, 42, 88, 34
    board.box(x, y, side, side, "N^{3}", 1.4)
    board.line((x, y), (x + deep, y - deep), (x + deep + side, y - deep), (x + side, y))
    board.line((x + deep + side, y - deep), (x + deep + side, y + side - deep), (x + side, y + side))
    board.words(280, 146, "places gone over", 0.95)
    for i, line in enumerate(("programs", "· meetings", "· places")):
        board.words(350, 46 + 30 * i, line, 0.9, at="left")
    for i, line in enumerate(("a meeting,", "two heads", "of 64")):
        board.words(14, 178 + 20 * i, line, 0.75, at="left")
    board.table(150, 178, [[f"N = {n}" for n in lengths]], [82, 88, 92], size=0.75)
    with board.answer():
        board.table(150, 202, [[f"{growth[n]:.0f} ps" for n in lengths]], [82, 88, 92], size=0.75)
        board.ring(232, 202, 72, 22)
        board.arrow(322, FOOT + 7, 336, FOOT - 7)
        board.words(342, FOOT - 14, "the meetings", 0.75, at="left")
