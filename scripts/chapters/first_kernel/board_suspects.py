"""The second half of board 5: how slow it is, two suspects that it isn't, how it grows, and what cures it."""

from __future__ import annotations

from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.first_kernel import worked

FOOT = 244  # the line above what stays
STAYS = ("vote", "one place", "talk")  # what no step wipes
BAR_X, BAR_END, BAR_Y = 206, 456, 56  # the bar that would go on where the board ends
AT_LEAST = 100  # times as long as the three lines
COUNT_YS = (20, 50, 80)  # how the work is counted
TIME_X, TIME_WIDTH, TIME_YS = (
    104,
    320,
    (116, 150, 184, 218),
)  # the kernel's bar, those of two suspects below it, and what's missing
GROWTH_XS, GROWTH_YS = (60, 150, 206), [52 + 29 * i for i in range(4)]  # by how much the time grows, from text to text


def form_milliseconds(form: str) -> float:
    """Returns the measured time at 512 words, in heads of 128."""
    wanted = {"form": form, "n": 512, "direction": "forward", "causal": False}
    (row,) = [row for row in records.table("prefill_speed", "forward_128") if wanted.items() <= row.items()]
    return row["median"]


def draw_slow(board: Board) -> None:
    one_key, lines = form_milliseconds("one_key_attention"), form_milliseconds("attention")
    assert one_key > AT_LEAST * lines  # as the speech says
    board.step(
        f"Two times: PyTorch's three lines {lines:.2f} ms, with a dot for a bar, ours {one_key:.0f} ms, more than "
        f"{AT_LEAST} times as long, whose bar runs to the end of the board and would go on. Below, two suspects, "
        "memory and multiply, and room for a third."
    )
    board.erase(keep=STAYS)
    with board.withhold():
        board.write(14, 24, f"3 lines  {lines:.2f} ms", 0.95, at="left")
        board.line((BAR_X, 24), (BAR_X + 3, 24), width=6)
    with board.withhold():
        board.write(14, BAR_Y, f"ours  {one_key:.0f} ms", 0.95, at="left")
        board.line((BAR_X, BAR_Y), (BAR_END - 12, BAR_Y), width=6)
        board.arrow(BAR_END - 12, BAR_Y, BAR_END + 10, BAR_Y)
        board.write(466, 26, f"> {AT_LEAST} times", 1.1, at="right")
    with board.withhold():
        for y, text in ((118, "1. memory"), (158, "2. multiply"), (198, "3.")):
            board.write(14, y, text, 1.0, at="left")


def draw_pairs(board: Board) -> None:
    """Two suspects are struck out."""
    one_key, speed, billions = (
        form_milliseconds("one_key_attention"),
        cache_speed(),
        worked.requested_gigabytes(),
    )
    memory, multiply = billions / speed, worked.milliseconds_of_clocks(worked.FP32_CLOCKS)
    pairs = f"{' · '.join(map(str, worked.SHAPE))} = {worked.PAIRS / 1e6:.0f} million pairs"
    each = f"a pair:  2 · {worked.HEAD_DIM} · {worked.BYTES} = {worked.PAIR_BYTES} bytes"
    bytes_of_memory = f"{billions:.0f} / {speed:.1f} = {memory:.0f} ms"
    operations = f"{billions:.0f} / {worked.TERAFLOPS:.0f} = {multiply:.0f} ms"
    board.step(
        f"{pairs}. {each}, so {billions:.0f} billion, and as many operations. Three bars on one scale: ours "
        f"{one_key:.0f} ms; memory, {bytes_of_memory}, a short piece, struck out; multiply, {operations}, a "
        "sliver, struck out; 3., with a question mark, and the long bar that's missing."
    )
    board.erase(keep=STAYS)
    for y, name in zip(TIME_YS[:3], ("ours", "memory", "multiply"), strict=True):
        board.write(14, y, name, 0.85, at="left")
    draw_time_bar(board, TIME_YS[0], 1)
    board.write(TIME_X + TIME_WIDTH + 10, TIME_YS[0], f"{one_key:.0f}", 0.95, at="left")
    with board.withhold():
        board.write(14, COUNT_YS[0], pairs, 0.85, at="left")
    with board.withhold():
        board.write(14, COUNT_YS[1], each, 0.85, at="left")
    with board.withhold():
        millions = f"{worked.PAIRS / 1e6:.0f} million · {worked.PAIR_BYTES} = {billions:.0f} billion bytes"
        board.write(14, COUNT_YS[2], millions, 0.8, at="left")
    for y, words, time in zip(TIME_YS[1:3], (bytes_of_memory, operations), (memory, multiply), strict=True):
        if words == operations:
            with board.withhold():
                board.write(466, COUNT_YS[2], "and operations", 0.8, at="right")
        with board.withhold():
            board.write(466, y, words, 0.85, at="right")
            draw_time_bar(board, y, time / one_key)
            board.strike(10, y + 6, 88, y - 6)
    with board.withhold():
        board.write(14, TIME_YS[3], "3. ?", 0.85, at="left")
        draw_time_bar(board, TIME_YS[3], (one_key - memory - multiply) / one_key)


def draw_time_bar(board: Board, y: float, part: float) -> None:
    end = TIME_X + TIME_WIDTH * part
    board.line((TIME_X, y - 9), (end, y - 9), (end, y + 9), (TIME_X, y + 9), (TIME_X, y - 10))


def cache_speed() -> float:
    """Returns how many terabytes L2 delivers in a second, as measured."""
    (speed,) = [row["speed"] for row in records.table("l2_speed", "sizes") if row["size"] == 16]
    return speed


def draw_cure(board: Board) -> None:
    one_key, blocks, flash = (form_milliseconds(f"{form}_attention") for form in ("one_key", "key_blocks", "flash"))
    rows = records.table("first_kernel", "growth")
    grown = {row["n"]: row["of_half"] for row in rows if row["of_half"] and row["n"] <= worked.LONGEST}
    said = ", ".join(f"{times:.1f} to {words}" for words, times in grown.items())
    board.step(
        f"On the left, twice the words each time, and by how much the work of attention grows, 4 each time, and our "
        f"time: {said} words. On the right, today {one_key:.0f} ms; N queries times N keys times N places is N cubed; "
        f"many keys, chapter 6, {blocks:.0f}; no row, chapter 7; many queries and tensor cores, chapter 8, {flash:.2f}."
    )
    board.erase(keep=STAYS)
    for x, head in zip(GROWTH_XS, ("words", "pairs", "time"), strict=True):
        board.write(x, 16, head, 0.8)
    board.line((14, 28), (232, 28))
    for y, words in zip(GROWTH_YS, grown, strict=True):
        board.write(GROWTH_XS[0], y, f"{words // 2} → {words}", 0.75)
    board.write(242, 24, f"today  {one_key:.0f} ms", 0.95, at="left")
    with board.withhold():
        for y in GROWTH_YS:
            board.write(GROWTH_XS[1], y, "× 4", 0.85)  # noqa: RUF001
    with board.withhold():
        for y, times in zip(GROWTH_YS, grown.values(), strict=True):
            board.write(GROWTH_XS[2], y, f"× {times:.1f}", 0.85)  # noqa: RUF001
    with board.withhold():
        board.write(14, 180, "queries · keys · places", 0.85, at="left")
        board.write(14, 214, "N · N · N  = N^{3}", 1.1, at="left")
    with board.withhold():
        board.write(242, 78, "many keys", 0.85, at="left")
        board.write(354, 78, f"ch. 6:  {blocks:.0f} ms", 0.8, at="left")
    with board.withhold():
        board.write(242, 120, "no row", 0.85, at="left")
        board.write(354, 120, "ch. 7", 0.8, at="left")
        for y, text in ((162, "many queries"), (194, "tensor cores")):
            board.write(242, y, text, 0.75, at="left")
        board.line((344, 152), (350, 152), (350, 204), (344, 204))
        board.write(354, 178, f"ch. 8: {flash:.2f} ms", 0.75, at="left")
