"""Sheet 5: a shelf, a loop without its loop, one row of scores, and one suspect after the other."""

from __future__ import annotations

import math

from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.board_suspects import FOOT, LEFT, STAYS, cube, meetings, slow, suspects, unit
from scripts.chapters.first_kernel.worked import BLOCK, LENGTH, QUERIES, ROW, Line, line, pair, per_cent, row_of, shown

CARD = ("load my query", "score each key", "normalize the row", "blend the values", "store the output")
CODE = 116  # the first line of the kernel that adds
ROWS = 136  # below a row that is full: its exponentials
VERDICT = (116, 150, 184, 218)  # the lines of the table of errors


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
    board.erase("jars")
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
    board.erase(keep=STAYS)
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
    board.erase(keep=STAYS)
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
    board.erase("fill", "rooms", "one share")
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
    board.erase(keep=STAYS)
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
    board.erase(keep=STAYS)
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
