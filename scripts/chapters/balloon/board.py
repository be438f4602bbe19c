# ruff: noqa: RUF001  (signs as a board has them)
"""Sheet 3: small, square, small: the shapes, their bytes as powers of two, and which of them live together."""

from __future__ import annotations

from kernels.bench.cost import eager_peak_bytes, fused_peak_bytes, mib, qkvo_bytes, square_bytes
from scripts import records
from scripts.chapters.balloon.worked import BYTES, CURVE_WORDS, HEAD_DIM, HEADS, SENTENCES, WORDS
from scripts.chapters.board import Board

SQUARE_SIDE, SLIVER_WIDTH = 112, 14  # pixels: N is 8 · d, as in the chapter's drawing
LIVE_SQUARES = {"Q·Kᵀ": (1, "raw"), "· scale": (2, "scores"), "softmax": (2, "shares"), "· V": (2, "output")}


def power_of_two(number: int) -> str:
    """4096 as 2¹², for the marker."""
    exponent = number.bit_length() - 1
    assert number == 2**exponent, number
    return f"2^{{{exponent}}}"


def board() -> Board:
    board = Board()
    draw_small_balloons(board)
    draw_shapes(board)
    draw_powers_of_two(board)
    draw_ratio(board)
    draw_live_squares(board)
    draw_curves(board)
    draw_longest_by_card(board)
    draw_what_is_left(board)
    return board


def draw_balloon(board: Board, x: float, y: float, size: float) -> None:
    """A balloon with its knot and a piece of string."""
    board.ring(x, y, size, size * 1.15)
    bottom = y + size * 0.575
    board.line((x - 4, bottom + 7), (x, bottom), (x + 4, bottom + 7), (x - 4, bottom + 7))
    board.line((x, bottom + 7), (x + 3, bottom + 16), (x - 2, bottom + 26))


def draw_small_balloons(board: Board) -> None:
    board.step("A small balloon on the left and a small one on the right; between them a question mark.")
    with board.group("pocket"):
        for x in (90, 390):
            draw_balloon(board, x, 110, 34)
            board.write(x, 190, "small")
        board.write(240, 116, "?", 2.4)
        board.arrow(136, 116, 200, 116)
        board.arrow(280, 116, 344, 116)


def draw_shapes(board: Board) -> None:
    board.step(
        "Four shapes to scale: Q is a sliver, N by d; scores and shares are squares, N by N; the output is a sliver "
        "again, N by d. Above them stands: small, square, small."
    )
    board.erase("pocket")
    tables = [
        (48, SLIVER_WIDTH, "Q", "N×d"),
        (118, SQUARE_SIDE, "scores", "N×N"),
        (262, SQUARE_SIDE, "shares", "N×N"),
        (420, SLIVER_WIDTH, "O", "N×d"),
    ]
    with board.group("shapes"):
        for x, width, name, shape in tables:
            board.box(x, 74, width, SQUARE_SIDE)
            board.write(x + width / 2, 210, name)
            if width == SLIVER_WIDTH:
                board.write(x + width / 2, 240, shape)
        with board.withhold():
            for x, width, _, shape in tables[1:3]:
                board.write(x + width / 2, 240, shape)
    board.write(240, 26, "small,  square,  small", 1.1)


def draw_powers_of_two(board: Board) -> None:
    query = qkvo_bytes(WORDS, HEAD_DIM, BYTES) // 4
    square = square_bytes(WORDS, BYTES)
    slices = SENTENCES * HEADS
    n, d, size, slices_power = (power_of_two(number) for number in (WORDS, HEAD_DIM, BYTES, slices))
    board.step(
        f"Powers of two: one head of Q is {query >> 20} MiB, one square {square >> 20} MiB. All {slices} of them: "
        f"{query * slices >> 30} GiB and {square * slices >> 30} GiB."
    )
    board.erase("shapes")
    with board.group("heads"):
        board.write(20, 58, f"N = {WORDS} = {n},  d = {HEAD_DIM} = {d},  {BYTES} bytes = {size}", 0.9, at="left")
    with board.group("sizes"):
        board.write(20, 90, "Q", at="left")
        board.write(110, 90, f"{n} · {d} · {size}", at="left")
        board.write(20, 120, "square", at="left")
        board.write(110, 120, f"{n} · {n} · {size}", at="left")
        with board.withhold():
            board.write(262, 90, f"= {power_of_two(query)} = {query >> 20} MiB", at="left")
            board.write(262, 120, f"= {power_of_two(square)} = {square >> 20} MiB", at="left")
    with board.group("heads"):
        board.line((20, 144), (460, 144))
        board.write(20, 174, f"{SENTENCES} · {HEADS} = {slices_power} heads", 0.9, at="left")
        with board.withhold():
            board.write(262, 214, f"{query * slices >> 30} GiB  →  {square * slices >> 30} GiB", 1.15)


def draw_ratio(board: Board) -> None:
    board.step(
        "Q and the square, one head of each, are left. Below them the bytes of the square over those of Q: heads, "
        "batch, bytes of a number and one N are struck out above and below the line. N over d is left, in a ring: "
        f"{WORDS} over {HEAD_DIM}, {WORDS // HEAD_DIM}."
    )
    board.erase("heads")
    with board.group("ratio"):
        signs = ["heads", "batch", "bytes", "N"]
        places = [62, 130, 200, 250]
        for y, last in ((166, "N"), (212, "d")):
            for x, sign in zip(places, signs, strict=True):
                board.write(x, y, sign, 0.95)
            board.write(284, y, last, 1.1)
        for x, sign in zip(places, signs, strict=True):
            half = 26 if len(sign) > 1 else 10
            with board.withhold():
                for y in (166, 212):
                    board.strike(x - half, y + 8, x + half, y - 8)
        board.line((30, 189), (302, 189))
        board.write(330, 189, "=", 1.1)
        with board.withhold():
            board.write(386, 168, "N", 1.2)
            board.line((366, 189), (406, 189))
            board.write(386, 210, "d", 1.2)
            board.ring(386, 190, 72, 84)
            board.write(166, 248, f"{WORDS} ÷ {HEAD_DIM} = {WORDS // HEAD_DIM}", 1.1)


def draw_live_squares(board: Board) -> None:
    query, square = (size >> 20 for size in (qkvo_bytes(WORDS, HEAD_DIM, BYTES) // 4, square_bytes(WORDS, BYTES)))
    peak = eager_peak_bytes(WORDS, HEAD_DIM, BYTES) >> 20
    counts = ", ".join(str(count) for count, _ in LIVE_SQUARES.values())
    board.step(
        f"Four kernels in a row, what each writes below it, and the squares that are alive: {counts}. The peak of one "
        f"head is two squares and the output: 2 times {square} plus {query}, {peak} MiB."
    )
    board.erase("ratio")
    with board.group("alive"):
        for i, (kernel, (count, written)) in enumerate(LIVE_SQUARES.items()):
            x = 68 + 114 * i
            board.write(x, 148, kernel, 0.95)
            board.write(x, 171, f"→ {written}", 0.75)
            with board.withhold():
                for k in range(count):
                    board.box(x - (15 * count + 3 * (count - 1)) + 36 * k, 184, 30, 30)
                if kernel == "· V":
                    board.box(x + 40, 184, 5, 30)
                board.write(x, 230, str(count), 1.1)
        board.write(20, 256, "peak of one head:", 0.9, at="left")
        with board.withhold():
            board.write(196, 256, f"2 · {square} + {query} = {peak} MiB", at="left")


def draw_curves(board: Board) -> None:
    rows = records.table("balloon", "limit")
    failed_n = rows[-1]["longest"] + rows[-1]["gap"]  # at which the three lines ran out of memory
    card = records.read("balloon").chip
    eager, fused = ([mib(count(n, 128, 2)) for n in CURVE_WORDS] for count in (eager_peak_bytes, fused_peak_bytes))
    board.step(
        f"Memory against words. The three lines rise with N squared, {eager[0]:,.0f} MiB at {CURVE_WORDS[0]:,} words "
        f"and {eager[1]:,.0f} at {CURVE_WORDS[1]:,}; a cross stands at {failed_n:,}, where our {card} ran out. "
        f"FlashAttention rises with N, to {fused[1]:.1f} MiB, and so lies on the axis."
    )
    board.erase("sizes", "alive")
    # The cross stands at one place whatever its number is, because that is as large as the card's memory.
    corner_x, corner_y, x_scale, y_scale = 40, 214, 336 / failed_n, 150 / mib(eager_peak_bytes(failed_n, 128, 2))

    def point_at(n: float) -> tuple[float, float]:
        return corner_x + n * x_scale, corner_y - mib(eager_peak_bytes(round(n), 128, 2)) * y_scale

    with board.group("curves"):
        board.axis(corner_x, corner_y, 420, 164, up="MiB, one head")
        board.curve(lambda x: point_at((x - corner_x) / x_scale)[1], corner_x, point_at(failed_n)[0])
        x, y = point_at(failed_n)
        with board.withhold():  # said after it
            board.line((x - 9, y - 9), (x + 9, y + 9), width=3.2)
            board.line((x - 9, y + 9), (x + 9, y - 9), width=3.2)
            board.write(x + 16, y + 16, f"{failed_n:,}", 0.8, at="left")
            board.write(x + 16, y + 38, "ran out:", 0.8, at="left")
            board.write(x + 16, y + 60, card, 0.8, at="left")
        for n, size in zip(CURVE_WORDS, eager, strict=True):
            x, y = point_at(n)
            board.ring(x, y, 9, 9)
            board.line((x, corner_y - 5), (x, corner_y + 5))
            board.write(x, corner_y + 18, f"{n:,}", 0.8)
            with board.withhold():
                board.write(x - 12, y - 14, f"{size:,.0f}", 0.9, at="right")
        board.write(150, 96, "N²", 1.3)
        board.line((corner_x, corner_y - 3), (corner_x + 400, corner_y - 4), width=3.2)
        board.write(20, 254, "FlashAttention, N:", 0.8, at="left")
        with board.withhold():
            board.write(190, 254, f"{fused[0]:.2f} → {fused[1]:.1f} MiB", 0.8, at="left")


def draw_longest_by_card(board: Board) -> None:
    longest_by_card = {row["card"]: row["longest"] for row in records.table("balloon", "cards") if row["heads"] == 1}
    limits = ", ".join(f"{card} GB {longest:,}" for card, longest in longest_by_card.items())
    board.step(f"What the demo prints, ticked off: how many words of one head a card can hold: {limits}.")
    board.erase("curves")
    with board.group("cards"):
        board.write(130, 64, "card", 0.9)
        board.write(290, 64, "words, one head", 0.9)
        board.line((80, 82), (390, 82))
        for i, (card, longest) in enumerate(longest_by_card.items()):
            y = 106 + 36 * i
            board.write(130, y, f"{card} GB")
            board.write(420, y, "✓")
            if i:
                with board.withhold():
                    board.write(290, y, f"{longest:,}", 1.1)
            else:
                board.write(290, y, f"{longest:,}", 1.1)


def draw_what_is_left(board: Board) -> None:
    board.step("One large square, N by N, a sliver at either side; it stays on the board.")
    board.erase("cards")
    board.box(150, 52, 180, 180)
    board.write(240, 130, "N×N", 1.6)
    with board.withhold():
        board.write(240, 170, "nobody asked for it", 0.8)
    board.box(82, 52, 22, 180)
    board.box(376, 52, 22, 180)
    board.write(60, 142, "Q", 1.1)
    board.write(420, 142, "O", 1.1)
