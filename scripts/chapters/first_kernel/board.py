"""Sheet 5: a shelf, a loop without its loop, one row of scores, and one suspect after the other.

What a teacher has drawn before the lesson is in the groups ``before`` and ``vote``, what's on paper in ``printed``.
"""

from __future__ import annotations

import math

from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.board_suspects import (
    FOOT,
    STAYS,
    draw_cure,
    draw_pairs,
    draw_slow,
)
from scripts.chapters.first_kernel.board_units import draw_ablation, draw_program
from scripts.chapters.first_kernel.worked import (
    BLOCK,
    LENGTH,
    PADDED_KEYS,
    QUERIES,
    ProgramRow,
    number_text,
    percents,
    program_row,
    vector_text,
)

LEFT = 26  # the left edge
CARD = ("load my query", "score each key", "normalize scores", "blend the values", "store the output")
CODE_Y, CODE_LINE = 115, 21  # the first line of the kernel that adds, and from one to the next
TURN_Y, TURN_LINE = 185, 21  # the same of what is quoted of the kernel's loops
PLACE_XS = [137 + 60 * i for i in range(PADDED_KEYS)]  # the middle of each of a row
RESULT_X = 362  # what follows from a row, on its right
ROW_YS = [15 + 18.5 * i for i in range(PADDED_KEYS)]  # the row of scores, from key to key
EXPONENTIALS_Y, SHARES_Y, ONE_SHARE_Y, VALUES_Y = 94, 114, 134, 154
WRONG_ROW_Y, WRONG_EXPONENTIALS_Y, WRONG_SHARES_Y = 144, 174, 204  # padded with 0


def board() -> Board:
    board = Board()
    for step in (
        draw_shelf,
        draw_loop,
        draw_add,
        draw_one_head,
        draw_padding,
        draw_slow,
        draw_pairs,
        draw_program,
        draw_ablation,
        draw_cure,
    ):
        step(board)
    return board


def draw_shelf(board: Board) -> None:
    jars = [(str(list(key)), str(list(value))) for key, value in zip(worked.KEYS, worked.VALUES, strict=True)]
    said = ", ".join(f"{label} with {inside} in it" for label, inside in jars)
    board.step(
        f"A query, {list(QUERIES[1])}, and three jars, each with its label: {said}. Below: match, recipe, mix. On the "
        f"right the card of five steps: {', '.join(CARD)}. At the foot, to stay: faster? Slower? Both votes stay."
    )
    with board.group("before"):
        board.write(LEFT, 26, f"craving: query {list(QUERIES[1])}", 0.85, at="left")
        for i, texts in enumerate(jars):
            draw_jar(board, LEFT + 2 + 84 * i, 54, *texts)
    for i, words in enumerate(("match → scores", "recipe → shares", "mix → output")):
        with board.withhold(), board.group("jars"):
            board.write(LEFT + 2, 178 + 21 * i, words, 0.85, at="left")
    with board.group("card"):
        for i, text in enumerate(CARD):
            board.write(286, 76 + 28 * i, f"{i + 1}. {text}", 0.85, at="left")
    with board.group("vote"):  # a count of hands goes behind each word
        board.line((10, FOOT), (470, FOOT), dashed=True)
        for x, text in ((14, "faster?"), (103, "slower?")):
            board.write(x, FOOT + 14, text, 0.75, at="left")


def draw_jar(board: Board, x: float, y: float, label: str, inside: str) -> None:
    """A jar with a lid, its label stuck on and what it holds at the bottom."""
    board.line((x + 12, y), (x + 56, y), (x + 56, y + 10), (x + 12, y + 10), (x + 12, y))
    board.line((x + 16, y + 10), (x, y + 24), (x, y + 106), (x + 68, y + 106), (x + 68, y + 24), (x + 52, y + 10))
    board.box(x + 7, y + 32, 54, 26, label, 0.8)
    board.write(x + 34, y + 84, inside, 0.8)


def draw_loop(board: Board) -> None:
    board.step(
        "The jars are gone. Above the card: for query in queries, struck out; around its five steps a box. From it an "
        "arrow leads to each of three programs, 0, 1 and 2, each with its query. Below: tl.program_id(0) is 0, 1 or 2."
    )
    board.erase("before", "jars")
    board.box(276, 58, 192, 146)
    board.write(256, 36, "for query in queries:", 0.95, at="left")
    with board.withhold():
        board.strike(252, 42, 466, 29)
    with board.withhold():
        for i, query in enumerate(QUERIES):
            board.box(LEFT, 66 + 48 * i, 110, 34, f"{i}: {list(query)}", 0.9)
            board.arrow(270, 83 + 48 * i, 146, 83 + 48 * i)
    with board.withhold():
        board.write(LEFT, 224, "tl.program_id(0): 0, 1 or 2", 0.95, at="left")


def draw_add(board: Board) -> None:
    programs, last = -(-LENGTH // BLOCK), LENGTH // BLOCK
    rest, begin, unit, left = worked.mask_true_count(last), last * BLOCK, 432 / (programs * BLOCK), 22
    board.step(
        f"A line of places from 0 to {programs * BLOCK}, cut into programs 0, 1 and 2; beyond {LENGTH}, where a vector "
        f"ends, it is shaded. On a sheet of paper the kernel that adds, in Triton: {' '.join(code())}. Program 2: from "
        f"{begin}, {rest} True, {BLOCK - rest} False."
    )
    board.erase(keep=STAYS)
    with board.group("printed"):
        board.box(9, CODE_Y - 17, 304, 137)
        for i, text in enumerate(code()):
            board.write(18, CODE_Y + CODE_LINE * i, text, 0.75, at="left")
    board.line((left, 62), (left + 432, 62))
    end = left + unit * LENGTH
    board.line((end, 46), (end, 72), width=3.2)
    board.write(end, 86, str(LENGTH), 0.8)
    with board.withhold():
        for i in range(programs + 1):
            x = left + unit * BLOCK * i
            board.line((x, 52), (x, 72))
            board.write(x if i else x + 4, 86, str(BLOCK * i), 0.8)
            if i < programs:
                board.write(x + unit * BLOCK / 2 - (24 if i == last else 0), 32, str(i), 0.85)
    with board.withhold():
        board.hatch(end, 46, left + 432 - end, 26, gap=9)
        mask_y = CODE_Y + 2 * CODE_LINE
        board.line((327, mask_y - 16), (321, mask_y - 16), (321, mask_y + 16), (327, mask_y + 16))
        for y, text in zip((CODE_Y, mask_y - 10, mask_y + 10), worked.mask_text(last), strict=True):
            board.write(334, y, text, 0.95, at="left")


def code() -> tuple[str, ...]:
    """``kernels.first.add``'s kernel, with its numbers; the sum goes over two lines of the board."""
    return (
        f"first = tl.program_id(0) * {BLOCK}",
        f"offsets = first + tl.arange(0, {BLOCK})",
        f"mask = offsets < {LENGTH}",
        "total = (tl.load(x + offsets, mask)",
        "       + tl.load(y + offsets, mask))",
        "tl.store(out + offsets, total, mask)",
    )


def write_places(board: Board, y: float, texts: list[str]) -> None:
    board.table(PLACE_XS[0], y, [texts], [60] * len(texts), size=0.85)


def draw_exponentials(board: Board, y: float, row: ProgramRow) -> None:
    board.write(LEFT - 12, y + 3, f"e^{{score - {max(row.scores):g}}}", 0.85, at="left")
    write_places(board, y, [number_text(term) for term in row.terms[:-1]])


def draw_total(board: Board, y: float, row: ProgramRow) -> None:
    board.write(PLACE_XS[-1], y, number_text(row.terms[-1]), 0.85)
    board.write(RESULT_X, y, f"sum {row.total:.3f}", 0.85, at="left")


def draw_shares(board: Board, y: float, row: ProgramRow) -> None:
    board.write(LEFT - 12, y, "%", 0.85, at="left")
    write_places(board, y, [str(share) for share in row.shares])


def draw_one_head(board: Board) -> None:
    row = program_row(QUERIES[1])
    values = [str(list(value)) for value in worked.VALUES]
    board.step(
        f"Program 1, query {list(QUERIES[1])}: a row of four places, all minus infinity; under "
        f"it, key by key, the row after it, at last 1, 1, 2 and minus infinity. The exponentials, together "
        f"{row.total:.3f}, the shares {percents(row.shares)}; the first share alone, among zeros, to be added up; the "
        f"values {', '.join(values)}, and the output {vector_text(row.output)}. Below, on a strip of paper, the "
        f"kernel's lines that make a score, place it and read a share: {'; '.join(turn())}. At the foot, to "
        "stay: write: pass; read: pass, sum."
    )
    board.erase(keep=STAYS)
    first, line = ROW_YS[0], ROW_YS[1] - ROW_YS[0]
    names = ["start", *(str(list(key)) for key in worked.KEYS)]
    for y, name in zip(ROW_YS, names, strict=True):
        board.write(LEFT - 12, y, name, 0.75, at="left")
    board.write(RESULT_X, first, f"q {list(QUERIES[1])}", 0.75, at="left")
    board.grid(107, first - line / 2, PADDED_KEYS, PADDED_KEYS, 60, line)
    with board.group("blend"):
        board.write(LEFT - 12, VALUES_Y, "v", 0.85, at="left")
        board.table(PLACE_XS[0], VALUES_Y, [values], [60] * len(values), size=0.75)
    for keys in ((0,), (1,), (2, 3)):  # after so many; the last two rows are written together
        with board.withhold():
            for i in keys:
                cells = row.scores[:i] + [-math.inf] * (PADDED_KEYS - i)
                write_places(board, ROW_YS[i], [number_text(cell) for cell in cells])
    with board.withhold(), board.group("one place"):
        board.write(176, FOOT + 14, "write: pass", 0.75, at="left")
    with board.withhold():
        draw_exponentials(board, EXPONENTIALS_Y, row)
    with board.withhold():
        draw_total(board, EXPONENTIALS_Y, row)
    with board.withhold():
        draw_shares(board, SHARES_Y, row)
    with board.withhold(), board.group("blend"):
        alone = row.shares[:1] + [0] * (PADDED_KEYS - 1)
        board.write(LEFT - 12, ONE_SHARE_Y, "one share", 0.75, at="left")
        write_places(board, ONE_SHARE_Y, [str(share) for share in alone])
        board.write(RESULT_X, ONE_SHARE_Y, f"sum {sum(alone)}", 0.85, at="left")
    with board.withhold(), board.group("one place"):
        board.write(272, FOOT + 14, "read: pass, sum", 0.75, at="left")
    with board.withhold(), board.group("blend"):
        board.write(RESULT_X, VALUES_Y, f"out {vector_text(row.output)}", 0.85, at="left")
    with board.withhold(), board.group("printed"):
        board.box(6, TURN_Y - 13, 468, 68)
        for i, text in enumerate(turn()):
            board.write(12, TURN_Y + TURN_LINE * i, text, 0.75, at="left")


def turn() -> tuple[str, ...]:
    """Three lines of ``kernels.first.one_head``'s kernel: two of its first loop, and one of its second."""
    return (
        "score = tl.sum(query * key) * scale",
        "scores = tl.where(place == key_number, score, scores)",
        "weight = tl.sum(tl.where(place == key_number, weights, 0.0))",
    )


def draw_padding(board: Board) -> None:
    wrong = program_row(QUERIES[1], padding=0.0)
    board.step(
        "Below program 1's row and its shares the same with 0 in its empty place, ringed: the exponentials add up to "
        f"{wrong.total:.3f}, the shares are {percents(wrong.shares)}, the last ringed, for nobody."
    )
    board.erase("printed", "blend")
    board.write(LEFT - 12, WRONG_ROW_Y, "with 0", 0.75, at="left")
    write_places(board, WRONG_ROW_Y, [number_text(score) for score in wrong.scores])
    board.ring(PLACE_XS[-1], WRONG_ROW_Y, 34, 19)
    with board.withhold():
        draw_exponentials(board, WRONG_EXPONENTIALS_Y, wrong)
        draw_total(board, WRONG_EXPONENTIALS_Y, wrong)
    with board.withhold():
        draw_shares(board, WRONG_SHARES_Y, wrong)
        board.ring(PLACE_XS[-1], WRONG_SHARES_Y, 34, 19)
    with board.withhold():
        board.write(RESULT_X, WRONG_SHARES_Y, "for nobody", 0.8, at="left")
