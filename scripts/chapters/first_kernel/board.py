"""Sheet 5: a shelf, a loop without its loop, one row of scores, and one suspect after the other."""

from __future__ import annotations

import math

from kernels.bench.cost import mb
from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.facts import a_meeting_in_a_long_row
from scripts.chapters.first_kernel.worked import BLOCK, LENGTH, QUERIES, ROW, Line, line, pair, per_cent, row_of, shown

LEFT, FOOT = 26, 242  # the left edge, and the line above what stays
STAYS = ("vote", "new row", "talk")
CARD = ("load my query", "score each key", "normalize the row", "blend the values", "store the output")
CODE = 116  # the first line of the kernel that adds
ROWS = 136  # below a row that is full: its exponentials
VERDICT = (116, 150, 184, 218)  # the lines of the table of errors
X, Y, WIDE, HIGH = 30, 116, 214, 68  # the curve of a meeting
LEVEL = 512  # words, up to which a meeting costs the same
SHELF = 338  # where the suspects begin
END = 456  # where the board ends, and a bar that would go on


def milliseconds(form: str, head_dim: int) -> float:
    """The measured time at 512 words, 2048 numbers of each cut into heads."""
    wanted = {"form": form, "n": 512, "direction": "forward", "causal": False}
    (row,) = [row for row in records.table("prefill_speed", f"forward_{head_dim}") if wanted.items() <= row.items()]
    return row["median"]


def board() -> Board:
    board = Board()
    for step in (shelf, loop, add, one_head, padding, program, correct, slow, suspects, meetings, unit, cube):
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
        for x, text in ((14, "faster?"), (100, "slower?")):
            board.words(x, FOOT + 15, text, 0.75, at="left")


def jar(board: Board, x: float, y: float, label: str, inside: str) -> None:
    """A jar with a lid, its label stuck on and what it holds at the bottom."""
    board.line((x + 12, y), (x + 56, y), (x + 56, y + 10), (x + 12, y + 10), (x + 12, y))
    board.line((x + 16, y + 10), (x, y + 24), (x, y + 106), (x + 68, y + 106), (x + 68, y + 24), (x + 52, y + 10))
    board.box(x + 7, y + 32, 54, 26, label, 0.8)
    board.words(x + 34, y + 84, inside, 0.8)


def loop(board: Board) -> None:
    board.step(
        "The jars are gone. Above the card: for query in queries, struck out; around its five steps a box. From it an "
        "arrow leads to each of three programs, 0, 1 and 2, each with its query: once for each query. "
        "Above: tl.program_id(0), a program's number."
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
    with board.answer():
        board.words(LEFT, 42, "tl.program_id(0)", 0.95, at="left")


def add(board: Board) -> None:
    programs, last = -(-LENGTH // BLOCK), LENGTH // BLOCK
    rest, begin, unit, left = worked.real(last), last * BLOCK, 432 / (programs * BLOCK), 22
    board.step(
        f"A line of places from 0 to {programs * BLOCK}, cut into programs 0, 1 and 2; beyond {LENGTH}, where a vector "
        f"ends, it is shaded. The kernel that adds, in Triton: {' '.join(code())}. Program 2: from {begin}, "
        f"{rest} True, {BLOCK - rest} False."
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
    for lines in ((0, 1), (2,), (3, 4, 5)):
        with board.answer():
            for i in lines:
                board.words(14, CODE + 22 * i, code()[i], 0.8, at="left")
    with board.answer():
        board.hatch(end, 46, left + 432 - end, 26, gap=9)
        for i, text in zip((0, 2, 3), worked.masked(last), strict=True):
            board.words(466, CODE + 22 * i, text, 0.75, at="right")


def code() -> tuple[str, ...]:
    """``kernels.first.add``'s kernel, with its numbers; the sum goes over two lines of the board."""
    return (
        f"first = tl.program_id(0) * {BLOCK}",
        f"place = first + tl.arange(0, {BLOCK})",
        f"real = place < {LENGTH}",
        "total = tl.load(x + place, real)",
        "      + tl.load(y + place, real)",
        "tl.store(out + place, total, real)",
    )


def exponentials(board: Board, y: float, found: Line) -> None:
    board.words(LEFT - 12, y, f"e^{{S - {max(found.scores):g}}}", 0.85, at="left")
    board.table(134, y, [[shown(term) for term in found.terms[:-1]]], [60] * ROW, size=0.85)


def last_exponential(board: Board, y: float, found: Line) -> None:
    board.words(134 + 60 * (ROW - 1), y, shown(found.terms[-1]), 0.85)


def total(board: Board, y: float, found: Line) -> None:
    board.words(352, y, f"sum {found.total:.3f}", 0.85, at="left")


def shares(board: Board, y: float, found: Line) -> None:
    board.words(LEFT - 12, y + 21, "shares", 0.85, at="left")
    board.table(134, y + 21, [[f"{share} %" for share in found.shares]], [60] * ROW, size=0.85)


def output(board: Board, y: float, found: Line) -> None:
    board.words(352, y + 21, f"out {pair(found.output)}", 0.85, at="left")


def one_head(board: Board) -> None:
    mine = line(QUERIES[1])
    board.step(
        f"Program 1, query {list(QUERIES[1])}: a row of four places, all minus infinity; under it, key by key, the row "
        f"after it, at last 1, 1, 2 and minus infinity. The exponentials, together {mine.total:.3f}, the shares "
        f"{per_cent(mine.shares)}; the first of them alone, among zeros, to be added up; the output "
        f"{pair(mine.output)}. Below, programs 0 and 2. At the foot, to stay: one place, a new row."
    )
    board.rub(but=STAYS)
    for i in range(ROW):
        y, cells = 8 + 29 * i, mine.scores[:i] + [-math.inf] * (ROW - i)
        with board.group("fill" if i < ROW - 1 else "row"):
            name = f"key {list(worked.KEYS[i - 1])}" if i else f"q {list(QUERIES[1])}"
            board.words(LEFT - 12, y + 12, name, 0.85, at="left")
            with board.answer():
                board.row(107, y, [shown(cell) for cell in cells], w=60, h=24, size=0.85)
            if i:
                board.words(352, y + 12, f"value {list(worked.VALUES[i - 1])}", 0.85, at="left")
            else:
                board.words(352, y + 12, f"e^{{-1}} = {math.exp(-1):.3f}", 0.85, at="left")
    with board.answer(), board.group("new row"):
        board.words(196, FOOT + 15, "1 place: a new row", 0.75, at="left")
    with board.answer():
        exponentials(board, ROWS, mine)
    with board.answer():
        last_exponential(board, ROWS, mine)
    with board.answer():
        total(board, ROWS, mine)
        shares(board, ROWS, mine)
    with board.answer(), board.group("one share"):
        y, alone = ROWS + 42, mine.shares[:1] + [0] * (ROW - 1)
        board.words(LEFT - 12, y, "one share", 0.85, at="left")
        board.table(134, y, [[f"{share} %" for share in alone]], [60] * ROW, size=0.85)
        board.words(352, y, f"sum {sum(alone)} %", 0.85, at="left")
    with board.answer():
        output(board, ROWS, mine)
    with board.answer(), board.group("rooms"):
        for i, other in enumerate((0, 2)):
            found = line(QUERIES[other])
            text = f"program {other}: {row_of(found)}  {per_cent(found.shares)}  {pair(found.output)}"
            board.words(LEFT - 12, 204 + 22 * i, text, 0.85, at="left")


def padding(board: Board) -> None:
    wrong = line(QUERIES[1], padding=0.0)
    board.step(
        "Above the last row the same one with 0 in its empty place: the exponentials add up to "
        f"{wrong.total:.3f}, the shares are {per_cent(wrong.shares)}, the last ringed, the output {pair(wrong.output)}."
    )
    board.rub("fill", "rooms", "one share")
    board.words(LEFT - 12, 20, "padded: 0", 0.85, at="left")
    board.row(107, 8, [shown(score) for score in wrong.scores], w=60, h=24, size=0.85)
    with board.answer():
        board.words(352, 20, f"e^{{-2}} = {math.exp(-2):.3f}", 0.85, at="left")
        for part in (exponentials, last_exponential, total):
            part(board, 50, wrong)
    with board.answer():
        shares(board, 50, wrong)
        board.ring(134 + 60 * (ROW - 1), 71, 48, 22)
    with board.answer():
        output(board, 50, wrong)
        board.words(LEFT - 12, 192, f"{wrong.shares[-1]} % to a word that doesn't exist", 0.85, at="left")
    with board.answer():
        board.words(LEFT - 12, 220, "sum: pad with 0.   Softmax: pad with -∞.", 0.85, at="left")


def program(board: Board) -> None:
    warps, lanes = worked.WARPS, worked.LANES
    board.step(
        f"One program: {warps} boxes, the warps, of {lanes} threads each. Each multiplies its part of query and key; "
        "from all four an arrow leads to one sum, the score. At the foot, to stay: here they talk."
    )
    board.rub(but=STAYS)
    for warp in range(warps):
        x = 22 + 112 * warp
        board.box(x, 48, 100, 66)
        board.table(x + 50, 66, [[f"warp {warp}"], [f"{lanes} threads"]], [0], 28)
    with board.answer():
        board.words(240, 24, f"a program = {warps} · {lanes} = {warps * lanes} threads", 0.95)
    with board.answer():
        for warp in range(warps):
            board.words(72 + 112 * warp, 134, "q · k", 0.95)
    with board.answer():
        for warp in range(warps):
            board.arrow(72 + 112 * warp, 148, 240 + 32 * (warp - 1.5), 180)
        board.box(164, 184, 152, 40, "sum = score", 0.95)
        board.arrow(406, FOOT + 4, 322, 208)
        with board.group("talk"):
            board.words(466, FOOT + 15, "here they talk", 0.75, at="right")


def correct(board: Board) -> None:
    found = {row["form"]: row for row in records.table("first_kernel", "errors")}
    ours, zeros = found["one_key"], found["one_head_of_zeros"]
    used, over = f"{ours['of_budget']:.2f}", f"{zeros['of_budget']:,.0f}"
    board.step(
        "2 texts of 16 heads. The budget: in each head 1.5 times PyTorch's error, against the truth in FP64. Below, a "
        f"head of zeros: a mean error of {zeros['mean']:.4f}, the largest {zeros['largest']:.4f}, {over} times its "
        f"budget, REJECTED; and ours: {used} of it, passes."
    )
    board.rub(but=STAYS)
    board.words(LEFT, 24, "2 texts · 16 heads = 32,   N = 500, d = 80", 0.9, at="left")
    board.words(LEFT, 52, "budget = 1.5 · PyTorch's error, head by head", 0.9, at="left")
    board.line((16, 94), (464, 94))
    lines = ("mean error", "largest", "of budget", "verdict")
    for text, y in zip(lines, VERDICT, strict=True):
        board.words(LEFT, y, text, 0.85, at="left")
    board.words(252, 80, "a head of zeros", 0.85)
    board.words(252, VERDICT[0], f"{zeros['mean']:.4f}", 0.85)
    with board.answer():
        board.words(252, VERDICT[1], f"{zeros['largest']:.4f}", 0.85)
    with board.answer():
        for text, y in zip((over, zeros["verdict"]), VERDICT[2:], strict=True):
            board.words(252, y, text, 0.85)
        board.words(402, 80, "ours", 0.85)
        numbers = (f"{ours['mean']:.5f}", f"{ours['largest']:.7f}", used, ours["verdict"])
        for text, y in zip(numbers, VERDICT, strict=True):
            board.words(402, y, text, 0.85)


def slow(board: Board) -> None:
    ours, lines = milliseconds("one_key_attention", 128), milliseconds("attention", 128)
    board.step(
        f"Two times, for 32 texts of 512 words: three lines {lines:.2f} ms, with a dot for a bar, our kernel "
        f"{ours:.0f} ms, {ours / lines:.0f} times as long, whose bar runs to the end of the board and would go on. To "
        "stay, three suspects: how we read, how much, a third."
    )
    board.rub(but=STAYS)
    board.words(LEFT, 28, "32 texts of 512 words,", 0.85, at="left")
    board.words(LEFT, 54, "16 heads of 128", 0.85, at="left")
    board.words(LEFT, 98, f"three lines    {lines:.2f} ms", 0.95, at="left")
    board.line((LEFT, 114), (LEFT + 3, 114), width=6)
    board.words(LEFT, 142, "our kernel", 0.95, at="left")
    with board.answer():
        board.line((LEFT, 160), (END - 12, 160), width=6)
        board.arrow(END - 12, 160, END + 10, 160)
        board.words(LEFT + 126, 142, f"{ours:.0f} ms", 0.95, at="left")
        board.words(LEFT, 196, f"{ours / lines:.0f} times as long", 1.2, at="left")
        with board.group("suspects"):
            for i, text in enumerate(("suspects", "1. how we read", "2. how much", "3. ?")):
                board.words(SHELF, 28 + 30 * i, text, 0.85, at="left")


def suspects(board: Board) -> None:
    n, head_dim = 1024, 128
    table = n * head_dim * 2
    (whole,) = [row for row in records.table("hbm_traffic", "whole") if row["form"] == "one_key_attention"]
    board.step(
        "For strides 1, 2 and 8: the sectors, 4, 8, 32, and the part of them that is used, 1 to an eighth. One "
        f"head of {n} words: K has {table:,} bytes, {mb(2 * n * table):.0f} MB are asked for, K, V and Q have "
        f"{mb(3 * table):.2f} MB, HBM gave {whole['flushed']:.2f}. Two suspects are struck."
    )
    board.rub(but=(*STAYS, "suspects"))
    for i, name in enumerate(("stride", "sectors", "used")):
        board.words(14, 28 + 28 * i, name, 0.85, at="left")
    for j, stride in enumerate((1, 2, 8)):
        x, count = 126 + 70 * j, worked.sectors(stride)
        part = count * worked.SECTOR // (worked.LANES * worked.NUMBER)
        board.words(x, 28, str(stride), 0.9)
        with board.answer():
            board.words(x, 56, str(count), 0.9)
            board.words(x, 84, f"1/{part}" if part > 1 else "1", 0.9)
    board.line((14, 106), (SHELF - 14, 106), dashed=True)
    board.words(14, 130, f"one head: N = {n}, d = {head_dim}, FP16", 0.85, at="left")
    with board.answer(), board.group("suspects"):
        board.strike(SHELF - 2, 63, SHELF + 124, 53)
    with board.answer():
        board.words(14, 157, f"K:  {n} · {head_dim} · 2 = {table:,} bytes", 0.85, at="left")
    with board.answer():
        asked = f"asked for:  2 · {n} · {table:,} = {mb(2 * n * table):.0f} MB"
        board.words(14, 184, asked, 0.85, at="left")
    with board.answer():
        board.words(14, 213, f"K, V, Q once:  {mb(3 * table):.2f} MB", 0.85, at="left")
    with board.answer():
        board.words(466, 213, f"HBM gave {whole['flushed']:.2f} MB", 0.95, at="right")
        with board.group("suspects"):
            board.strike(SHELF - 2, 93, SHELF + 116, 83)


def meetings(board: Board) -> None:
    times = [(2048 // d, d, milliseconds("one_key_attention", d)) for d in (64, 128, 256)]
    said = ", ".join(f"{heads} heads of {d}: {time:.0f} ms" for heads, d, time in times)
    board.step(
        f"As many multiplications in {said}. From the third suspect an arrow: the meetings. "
        "Below, what happens in one: two loads; two sums, where they talk; over the row, which makes a new one."
    )
    board.rub(but=(*STAYS, "suspects"))
    board.words(LEFT - 12, 28, "2048 numbers a word", 0.85, at="left")
    for i, (heads, d, _) in enumerate(times):
        board.words(LEFT - 12, 62 + 30 * i, f"{heads} heads of {d}", 0.95, at="left")
    for those in ((0, 1), (2,)):
        with board.answer():
            for i in those:
                board.words(290, 62 + 30 * i, f"{times[i][2]:.0f} ms", 0.95, at="right")
    with board.answer():
        board.words(SHELF + 22, 148, "the meetings", 0.85, at="left")
        board.arrow(SHELF + 20, 128, SHELF + 40, 138)
    with board.answer():
        board.words(LEFT - 12, 162, "in each:", 0.85, at="left")
        for x, w, text in ((14, 124, "two loads"), (156, 140, "over the row"), (314, 148, "two sums")):
            board.box(x, 178, w, 32, text, 0.8)
        board.arrow(246, FOOT + 4, 236, 214)
        board.arrow(410, FOOT + 4, 396, 214)


def unit(board: Board) -> None:
    ours = milliseconds("one_key_attention", 128)
    (busy,) = [
        row
        for row in records.table("what_is_busy", "busy")
        if (row["form"], row["n"], row["head_dim"]) == ("one_key", 512, 128)
    ]
    each, clocks, found = worked.FOR_THE_UNIT, worked.CLOCKS, worked.predicted()
    million, per_sm = worked.MEETINGS / 1e6, worked.MEETINGS * clocks / worked.SMS / 1e6
    warp, write, warps, writes = worked.SUM
    board.step(
        f"One sum: 32 numbers of a warp become 1 in {warp} shuffles, 4 warps' sums in {warps}, each time shared memory "
        f"takes {write}, together {sum(worked.SUM)}. Two sums and two loads are {each}, for {worked.WARPS} warps "
        f"{clocks} clocks. 32 · 16 · 512 · 512 = {million:.1f} million meetings on {worked.SMS} SMs take "
        f"{found:.1f} of {ours:.0f} ms. The profiler: the unit starts one in {busy['starts']:.0f} % of all clocks."
    )
    board.rub(but=STAYS)
    board.words(14, 20, "32 numbers:", 0.85, at="left")
    with board.answer():
        board.words(129, 20, "16, 8, 4, 2, 1", 0.85, at="left")
        board.words(341, 20, f"{warp} shuffles", 0.85, at="right")
    with board.answer():
        board.words(466, 20, f"write, read: {write}", 0.85, at="right")
        board.words(14, 43, "4 numbers:", 0.85, at="left")
    with board.answer():
        board.words(129, 43, "2, 1", 0.85, at="left")
        board.words(341, 43, f"{warps} shuffles", 0.85, at="right")
        board.words(466, 43, f"write, read: {writes}", 0.85, at="right")
        board.words(14, 67, f"one sum:  {' + '.join(map(str, worked.SUM))} = {sum(worked.SUM)}", 0.9, at="left")
    with board.answer():
        board.words(14, 91, f"2 sums, 2 loads:  2 · {sum(worked.SUM)} + 2 = {each}", 0.9, at="left")
    with board.answer():
        board.words(14, 115, f"{worked.WARPS} warps:  {worked.WARPS} · {each} = {clocks} clocks", 0.9, at="left")
    with board.answer():
        board.words(14, 139, f"meetings:  {' · '.join(map(str, worked.GRID))} = {million:.1f} million", 0.9, at="left")
    with board.answer():
        *_, right, _ = board.words(14, 164, f"{million:.1f} million · {clocks} ÷ {worked.SMS}", 0.85, at="left")
    with board.answer():
        board.words(right + 9, 164, f"= {per_sm:.1f} million clocks", 0.85, at="left")
        board.words(14, 190, f"{per_sm:.1f} ÷ {worked.GIGAHERTZ} = {found:.1f} of {ours:.0f} ms", 0.95, at="left")
        ringed(board, 322, 190, f"{100 * found / ours:.0f} %")
    with board.answer():
        board.words(14, 220, "profiler: starts one in", 0.95, at="left")
        ringed(board, 240, 220, f"{busy['starts']:.0f} %")
        board.words(304, 220, "of all clocks", 0.95, at="left")


def ringed(board: Board, x: float, y: float, text: str) -> None:
    left, _, right, _ = board.words(x, y, text, 0.95, at="left")
    board.ring((left + right) / 2, y, right - left + 18, 26)


def cube(board: Board) -> None:
    ours, blocks, flash = (milliseconds(f"{form}_attention", 128) for form in ("one_key", "key_blocks", "flash"))
    found = {row["n"]: row["one_meeting"] for row in records.table("first_kernel", "growth")}
    least, n = min(found), max(found)
    longer = n // LEVEL
    board.step(
        "N programs times N meetings times N places is N cubed, for N squared scores. What a meeting costs, from "
        f"{least} to {n} words: dashed, if only the row counted, {longer} times as much at {n} as at {LEVEL}; a curve, "
        f"as measured, level up to {LEVEL}, then rising to {a_meeting_in_a_long_row()} as much. Below, what is left of "
        f"today's {ours:.0f} ms: one key at a time, chapter 6, {blocks:.0f}; a whole row, 7, and each query for "
        f"itself, 8, {flash:.2f}."
    )
    board.rub(but=STAYS)
    board.words(14, 24, "N programs · N meetings · N places", 0.9, at="left")
    with board.answer():
        board.words(356, 24, "= N^{3}", 1, at="left")
        board.words(466, 48, "for N² scores", 0.85, at="right")
    board.axis(X, Y, WIDE + 14, HIGH + 10)
    board.words(X - 8, height(1), "1", 0.75, at="right")
    for words in (LEVEL, n):
        board.words(across(words), Y + 13, str(words), 0.75)
    with board.answer():
        ends = [across(LEVEL * 2**i) for i in range(longer.bit_length() - 1)] + [across(n)]
        board.line(*((x, height(2**i)) for i, x in enumerate(ends)), dashed=True)
        board.words(ends[-1] + 8, height(longer), f"{longer}", 0.85, at="left")
    with board.answer():
        board.line(*((across(words), height(cost / found[LEVEL])) for words, cost in sorted(found.items())))
        board.words(across(n) + 8, height(found[n] / found[LEVEL]) + 4, a_meeting_in_a_long_row(), 0.85, at="left")
    board.words(466, 136, f"today:  {ours:.0f} ms", 0.9, at="right")
    with board.answer():
        for i, fault in enumerate(("one key at a time", "a whole row", "each query for itself")):
            board.words(14, 163 + 26 * i, fault, 0.9, at="left")
            board.words(230, 163 + 26 * i, f"→  chapter {6 + i}", 0.9, at="left")
    with board.answer():
        for i, text in ((0, f"{blocks:.0f} ms"), (2, f"{flash:.2f} ms")):
            board.words(466, 163 + 26 * i, text, 0.9, at="right")


def across(words: int) -> float:
    """Where a number of words is on the axis: each doubling goes as far, from 256 to 8192."""
    return X + WIDE * math.log2(words / 256) / 5


def height(times: float) -> float:
    """Where a cost is on the axis that ends at 16 times that of 512 words."""
    return Y - HIGH * times / 16
