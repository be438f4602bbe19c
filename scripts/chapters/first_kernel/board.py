"""Sheet 5: a shelf, a loop without its loop, one row of scores, and one suspect after the other."""

from __future__ import annotations

import math
from contextlib import nullcontext

from kernels.bench.cost import mb, requested_bytes
from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.facts import a_meeting_in_a_long_row
from scripts.chapters.first_kernel.worked import BLOCK, LENGTH, QUERIES, ROW, Line, line, pair, per_cent, row_of, shown

LEFT, FOOT = 26, 242  # the left edge, and the line above what stays
STAYS, SUSPECTS = ("vote", "wait"), ("vote", "wait", "suspects")
CARD = ("load my query", "score each key", "normalize the row", "blend the values", "store the output")
SHELF = 338  # where the suspects begin
BAR = 290  # how long the bar of our time is


def milliseconds(form: str, head_dim: int) -> float:
    """The measured time at 512 words, 2048 numbers of each cut into heads."""
    wanted = {"form": form, "n": 512, "direction": "forward", "causal": False}
    (row,) = [row for row in records.table("prefill_speed", f"forward_{head_dim}") if wanted.items() <= row.items()]
    return row["median"]


def board() -> Board:
    board = Board()
    for step in (shelf, loop, add, one_head, padding, program, correct, slow, suspects, meetings, cube):
        step(board)
    return board


def shelf(board: Board) -> None:
    jars = [(str(list(key)), str(list(value))) for key, value in zip(worked.KEYS, worked.VALUES, strict=True)]
    said = ", ".join(f"{label} with {inside} in it" for label, inside in jars)
    board.step(
        f"A query, {list(QUERIES[1])}, and three jars, each with its label: {said}. Below: match, recipe, mix. On the "
        f"right the card of five steps: {', '.join(CARD)}. At the foot, to stay: faster? Slower? Both votes stay."
    )
    with board.group("jars"):
        board.words(LEFT, 26, f"craving: query {list(QUERIES[1])}", 0.85, at="left")
        for i, texts in enumerate(jars):
            jar(board, LEFT + 2 + 84 * i, 54, *texts)
        board.table(LEFT + 34, 192, [["match", "recipe", "mix"], ["scores", "shares", "output"]], [84, 84], 26, 0.85)
        for x in (70, 154):
            board.arrow(LEFT + x - 3, 192, LEFT + x + 12, 192)
    for i, text in enumerate(CARD):
        board.words(286, 76 + 28 * i, f"{i + 1}. {text}", 0.85, at="left")
    with board.group("vote"):
        board.line((10, FOOT), (470, FOOT), dashed=True)
        board.words(14, FOOT + 15, "faster?        slower?", 0.75, at="left")


def jar(board: Board, x: float, y: float, label: str, inside: str) -> None:
    """A jar with a lid, its label stuck on and what it holds at the bottom."""
    board.line((x + 12, y), (x + 56, y), (x + 56, y + 10), (x + 12, y + 10), (x + 12, y))
    board.line((x + 16, y + 10), (x, y + 24), (x, y + 106), (x + 68, y + 106), (x + 68, y + 24), (x + 52, y + 10))
    board.box(x + 7, y + 32, 54, 26, label, 0.8)
    board.words(x + 34, y + 84, inside, 0.8)


def loop(board: Board) -> None:
    board.step(
        "The jars are gone. Above the card: for query in queries, struck out; around its five steps a box. From it an "
        "arrow leads to each of three programs, 0, 1 and 2, each with its query: once for each query."
    )
    board.rub("jars")
    board.box(276, 58, 192, 146)
    board.words(256, 36, "for query in queries:", 0.95, at="left")
    with board.answer():
        board.strike(252, 42, 466, 29)
    with board.answer():
        for i, query in enumerate(QUERIES):
            board.box(LEFT, 66 + 48 * i, 158, 34, f"program {i}: {list(query)}", 0.85)
            board.arrow(270, 83 + 48 * i, 192, 83 + 48 * i)
        board.words(LEFT + 2, 222, "once for each query", 0.85, at="left")


def add(board: Board) -> None:
    programs, last = -(-LENGTH // BLOCK), LENGTH // BLOCK
    rest, begin, unit, left = worked.real(last), last * BLOCK, 432 / (programs * BLOCK), 22
    board.step(
        f"A line of places from 0 to {programs * BLOCK}, cut into programs 0, 1 and 2; beyond {LENGTH}, where a vector "
        f"ends, it is shaded. Places and mask as code. Program 2: from {begin}, {rest} True, {BLOCK - rest} False."
    )
    board.rub(but=STAYS)
    board.line((left, 62), (left + 432, 62))
    end = left + unit * LENGTH
    board.line((end, 46), (end, 72), width=3.2)
    board.words(end, 88, str(LENGTH), 0.8)
    with board.answer():
        for i in range(programs + 1):
            x = left + unit * BLOCK * i
            board.line((x, 52), (x, 72))
            board.words(x if i else x + 4, 88, str(BLOCK * i), 0.8)
            if i < programs:
                board.words(x + unit * BLOCK / 2 - (24 if i == last else 0), 30, f"program {i}", 0.85)
        board.hatch(end, 46, left + 432 - end, 26, gap=9)
    board.words(LEFT, 124, f"place = {BLOCK} · number + [0, 1, 2, ...]", 0.95, at="left")
    board.words(LEFT, 150, f"real  = place < {LENGTH}", 0.95, at="left")
    board.words(LEFT, 180, f"program {last}:", 0.85, at="left")
    with board.answer():
        for i, text in enumerate(worked.masked(last)):
            board.words(LEFT + 110, 180 + 22 * i, text, 0.85, at="left")


def numbers(board: Board, y: float, found: Line) -> None:
    """Below a row: the exponentials with their sum, then the shares and the output."""
    for part in (exponentials, shares, output):
        part(board, y, found)


def exponentials(board: Board, y: float, found: Line) -> None:
    board.words(LEFT - 12, y, f"e^{{S - {max(found.scores):g}}}", 0.85, at="left")
    board.table(134, y, [[shown(term) for term in found.terms]], [60] * ROW, size=0.85)
    board.words(352, y, f"sum {found.total:.3f}", 0.85, at="left")


def shares(board: Board, y: float, found: Line) -> None:
    board.words(LEFT - 12, y + 22, "shares", 0.85, at="left")
    board.table(134, y + 22, [[f"{share} %" for share in found.shares]], [60] * ROW, size=0.85)


def output(board: Board, y: float, found: Line) -> None:
    board.words(352, y + 22, f"out {pair(found.output)}", 0.85, at="left")


def one_head(board: Board) -> None:
    mine = line(QUERIES[1])
    board.step(
        f"Program 1, query {list(QUERIES[1])}: a row of four places, all minus infinity; under it, key by key, the row "
        f"after it, at last 1, 1, 2 and minus infinity. The exponentials, together {mine.total:.3f}, the shares "
        f"{per_cent(mine.shares)} and the output {pair(mine.output)}. Below, programs 0 and 2."
    )
    board.rub(but=STAYS)
    for i in range(ROW):
        y, cells = 8 + 31 * i, mine.scores[:i] + [-math.inf] * (ROW - i)
        with board.group("fill" if i < ROW - 1 else "row"):
            name = f"key {list(worked.KEYS[i - 1])}" if i else f"q {list(QUERIES[1])}"
            board.words(LEFT - 12, y + 13, name, 0.85, at="left")
            with board.answer():
                board.row(107, y, [shown(cell) for cell in cells], w=60, h=26, size=0.85)
            if i:
                board.words(352, y + 13, f"value {list(worked.VALUES[i - 1])}", 0.85, at="left")
    with board.group("powers"):
        board.words(466, FOOT + 15, f"e^{{-1}} = {math.exp(-1):.3f},  e^{{-2}} = {math.exp(-2):.3f}", 0.75, at="right")
    with board.answer():
        numbers(board, 146, mine)
        with board.group("rooms"):
            for i, other in enumerate((0, 2)):
                found = line(QUERIES[other])
                text = f"program {other}: {row_of(found)}  {per_cent(found.shares)}  {pair(found.output)}"
                board.words(LEFT - 12, 200 + 24 * i, text, 0.85, at="left")


def padding(board: Board) -> None:
    wrong = line(QUERIES[1], padding=0.0)
    board.step(
        "Above the last row the same one with 0 in its empty place: the exponentials add up to "
        f"{wrong.total:.3f}, the shares are {per_cent(wrong.shares)}, the last ringed, the output {pair(wrong.output)}."
    )
    board.rub("fill", "rooms")
    board.words(LEFT - 12, 21, "padded: 0", 0.85, at="left")
    board.row(107, 8, [shown(score) for score in wrong.scores], w=60, h=26, size=0.85)
    with board.answer():
        exponentials(board, 52, wrong)
    with board.answer():
        shares(board, 52, wrong)
        board.ring(134 + 60 * (ROW - 1), 74, 48, 24)
    with board.answer():
        output(board, 52, wrong)
        board.words(LEFT - 12, 200, f"{wrong.shares[-1]} % to a word that doesn't exist", 0.85, at="left")
    with board.answer():
        board.words(LEFT - 12, 224, "sum: pad with 0.   Softmax: pad with -∞.", 0.85, at="left")


def program(board: Board) -> None:
    warps, lanes = worked.WARPS, worked.LANES
    board.step(
        f"One program: {warps} boxes, the warps, of {lanes} threads each. Each multiplies its part of query and key; "
        "from all four an arrow leads to one sum, the score. At the foot, to stay: here they wait."
    )
    board.rub(but=STAYS)
    for warp in range(warps):
        x = 22 + 112 * warp
        board.box(x, 48, 100, 66)
        board.table(x + 50, 66, [[f"warp {warp}"], [f"{lanes} threads"]], [0], 28)
        board.words(x + 50, 134, "q · k", 0.95)
        with board.answer():
            board.arrow(x + 50, 148, 240 + 32 * (warp - 1.5), 180)
    with board.answer():
        board.words(240, 24, f"a program = {warps} · {lanes} = {warps * lanes} threads", 0.95)
        board.box(164, 184, 152, 40, "sum = score", 0.95)
        board.arrow(406, FOOT + 6, 322, 208)
        with board.group("wait"):
            board.words(466, FOOT + 15, "here they wait", 0.75, at="right")


def correct(board: Board) -> None:
    found = {row["form"]: row for row in records.table("first_kernel", "errors")}
    ours, zeros = found["one_key"], found["one_head_of_zeros"]
    used, over = f"{ours['of_budget']:.2f}", f"{zeros['of_budget']:,.0f}"
    board.step(
        "The budget: in each head 1.5 times PyTorch's error, against the truth in FP64. Below, one head of zeros: a "
        f"mean error of {zeros['mean']:.4f}, {over} of its budget, REJECTED; and ours: {used} of it, passes."
    )
    board.rub(but=STAYS)
    board.words(LEFT, 28, "N = 500, d = 80, truth in FP64", 0.9, at="left")
    board.words(LEFT, 60, "budget = 1.5 · PyTorch's error, head by head", 0.9, at="left")
    board.table(196, 104, [["mean error", "of budget", "verdict"]], [112, 114], size=0.85)
    board.line((16, 120), (464, 120))
    board.words(16, 148, "a head of zeros", 0.85, at="left")
    board.words(196, 148, f"{zeros['mean']:.4f}", 0.85)
    with board.answer():
        board.table(308, 148, [[over, zeros["verdict"]]], [114])
        board.words(16, 186, "ours", 0.85, at="left")
        board.table(196, 186, [[f"{ours['mean']:.5f}", used, ours["verdict"]]], [112, 114])


def slow(board: Board) -> None:
    ours, lines = milliseconds("one_key_attention", 128), milliseconds("attention", 128)
    board.step(
        f"Two times, for 32 texts of 512 words: three lines {lines:.2f} ms, our kernel {ours:.0f} ms, "
        f"{ours / lines:.0f} times as long; each has a bar. To stay, three suspects: how we read, how much, a third."
    )
    board.rub(but=STAYS)
    board.words(LEFT, 28, "32 texts of 512 words,", 0.85, at="left")
    board.words(LEFT, 54, "16 heads of 128", 0.85, at="left")
    board.words(LEFT, 98, f"three lines    {lines:.2f} ms", 0.95, at="left")
    board.line((LEFT, 112), (LEFT + BAR * lines / ours, 112), width=6)
    board.words(LEFT, 138, "our kernel", 0.95, at="left")
    with board.answer():
        board.line((LEFT, 156), (LEFT + BAR, 156), width=6)
        board.words(LEFT + 126, 138, f"{ours:.0f} ms", 0.95, at="left")
        board.words(LEFT, 190, f"{ours / lines:.0f} times as long", 1.2, at="left")
        with board.group("suspects"):
            for i, text in enumerate(("suspects", "1. how we read", "2. how much", "3. ?")):
                board.words(SHELF, 28 + 30 * i, text, 0.85, at="left")


def suspects(board: Board) -> None:
    speed = {row["read"]: row["to_stride_1"] for row in records.table("coalescing", "reads")}
    n, head_dim = 1024, 128
    table, asked = n * head_dim * 2, mb(requested_bytes(n, head_dim, 2, block_q=1))
    (whole,) = [row for row in records.table("hbm_traffic", "whole") if row["form"] == "one_key_attention"]
    board.step(
        "For strides 1, 2, 4, 8 and 16: the sectors, 4, 8, 16, 32, 32, the speed predicted and, for two, measured. In "
        f"one head of {n} words, {asked:.1f} MB asked for, HBM gave {whole['flushed']:.2f}. Two suspects are struck."
    )
    board.rub(but=SUSPECTS)
    for i, name in enumerate(("stride", "sectors", "predicted", "measured")):
        board.words(14, 28 + 28 * i, name, 0.85, at="left")
    for j, stride in enumerate((1, 2, 4, 8, 16)):
        x, count = 116 + 46 * j, worked.sectors(stride)
        part = count * worked.SECTOR // (worked.LANES * worked.NUMBER)
        board.words(x, 28, str(stride), 0.9)
        with board.answer():
            board.words(x, 56, str(count), 0.9)
            board.words(x, 84, f"1/{part}" if part > 1 else "1", 0.9)
            if stride > 4:
                board.words(x, 112, f"{speed[f'stride_{stride}']:.2f}", 0.85)
    board.line((14, 134), (466, 134), dashed=True)
    board.words(14, 156, f"one head: N = {n}, d = {head_dim}, FP16", 0.85, at="left")
    with board.answer():
        board.ring(116 + 46 * 4, 112, 46, 26)
        both = mb(2 * n * table)
        board.words(14, 184, f"K and V:  2 · {n} · {table:,} = {both:.1f} MB", 0.85, at="left")
        board.words(14, 216, f"asked for {asked:.1f} MB", 0.95, at="left")
        board.arrow(206, 216, 236, 216)
        board.words(246, 216, f"HBM gave {whole['flushed']:.2f} MB", 0.95, at="left")
        with board.group("suspects"):
            board.strike(SHELF - 2, 63, SHELF + 124, 53)
            board.strike(SHELF - 2, 93, SHELF + 116, 83)


def meetings(board: Board) -> None:
    times = [(2048 // d, d, milliseconds("one_key_attention", d)) for d in (64, 128, 256)]
    said = ", ".join(f"{heads} heads of {d}: {time:.0f} ms" for heads, d, time in times)
    board.step(
        f"The same arithmetic in {said}. From the third suspect an arrow: the meetings. "
        "Below, what happens in one: two loads, two sums, twice over the row."
    )
    board.rub(but=SUSPECTS)
    board.words(LEFT - 12, 28, "2048 numbers a word", 0.85, at="left")
    for i, (heads, d, time) in enumerate(times):
        board.words(LEFT - 12, 62 + 30 * i, f"{heads} heads of {d}", 0.95, at="left")
        with board.answer() if i == 2 else nullcontext():
            board.words(290, 62 + 30 * i, f"{time:.0f} ms", 0.95, at="right")
    with board.answer():
        board.words(SHELF + 22, 148, "the meetings", 0.85, at="left")
        board.arrow(SHELF + 20, 128, SHELF + 40, 138)
    with board.answer():
        board.words(LEFT - 12, 166, "in each:", 0.85, at="left")
        for x, w, text in ((14, 124, "two loads"), (156, 152, "two sums"), (326, 136, "twice the row")):
            board.box(x, 184, w, 32, text, 0.8)
        board.arrow(364, FOOT + 6, 272, 220)


def cube(board: Board) -> None:
    ours, blocks, flash = (milliseconds(f"{form}_attention", 128) for form in ("one_key", "key_blocks", "flash"))
    board.step(
        "N programs times N meetings times N places is N cubed, for N squared scores. With 512 words and heads of 64, "
        f"8 places for each number. A meeting at 8192 words costs {a_meeting_in_a_long_row()} as much as at 512. Below "
        "are three faults, each with its chapter: one key at a time, 6; a whole row, 7; each query for itself, 8. Of "
        f"{ours:.0f} ms, chapter 6 leaves {blocks:.0f}, and chapter 8 {flash:.2f}."
    )
    board.rub(but=STAYS)
    board.words(14, 28, "N programs · N meetings · N places", 0.9, at="left")
    with board.answer():
        board.words(370, 28, "= N^{3}", 1, at="left")
        board.words(466, 56, "for N² scores", 0.85, at="right")
        board.words(14, 62, "N = 512, d = 64:  512 ÷ 64 = 8", 0.85, at="left")
    board.words(14, 96, "a meeting:  512 words: 1", 0.85, at="left")
    board.words(116, 120, "8192 words:", 0.85, at="left")
    faults = ("one key at a time", "a whole row", "each query for itself")
    with board.answer():
        board.words(232, 120, a_meeting_in_a_long_row(), 0.85, at="left")
        for i, fault in enumerate(faults):
            board.words(14, 156 + 28 * i, fault, 0.9, at="left")
            board.words(230, 156 + 28 * i, f"→  chapter {6 + i}", 0.9, at="left")
        for i, text in ((0, f"{blocks:.0f} ms"), (2, f"{flash:.2f} ms")):
            board.words(466, 156 + 28 * i, text, 0.9, at="right")
