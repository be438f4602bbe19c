# ruff: noqa: RUF001  (signs as a board has them)
"""Sheet 6: one key at a time, then a tile of keys, and why only queries can share a key."""

from __future__ import annotations

import math
from contextlib import nullcontext
from statistics import median

from kernels.bench.cost import attention_flops, qkvo_bytes, requested_bytes
from kernels.bench.hardware import H100
from scripts import records
from scripts.chapters.blocks_of_keys.worked import KEYS, QUERY, STRIP_KEYS, STRIP_QUERIES, VALUES, N
from scripts.chapters.board import Board
from scripts.chapters.prefill_speed import TOKENS, WIDTH

HEAD_DIM, BLOCK, BYTES, THREADS, LOAD_BYTES = 128, 32, 2, 128, 16  # the last: of the widest load of a thread
RUNGS = {"one_key_attention": "one key", "key_blocks_attention": "key blocks"}
RUNGS |= {"three_kernel_attention": "three kernels", "attention": "three lines"}
BLOCK_TOPS_Y = (92, 176)  # of the two blocks of a tile


def products() -> list[list[int]]:
    return [[q * k for q, k in zip(QUERY, key, strict=True)] for key in KEYS]


def scores() -> list[float]:
    return [sum(product) / math.sqrt(len(QUERY)) for product in products()]


def weights(zeros: int = 0) -> list[float]:
    """The weight of each key, and of as many missing keys as there are zeros, if they count with a score of 0."""
    powers = [math.exp(score) for score in [*scores(), *[0.0] * zeros]]
    return [power / sum(powers) for power in powers]


def block_outputs() -> list[list[float]]:
    """What each block of values brings, with shares of one decimal, as at the board."""
    terms = [[round(weight, 1) * v for v in value] for weight, value in zip(weights(), VALUES, strict=True)]
    return [[sum(column) for column in zip(*terms[i : i + 2], strict=True)] for i in range(0, len(terms), 2)]


def vector_text(numbers: list[float]) -> str:
    return "[" + ", ".join(f"{number:g}" for number in numbers) + "]"


def board() -> Board:
    board = Board()
    draw_one_key(board)
    draw_trays(board)
    draw_tile(board)
    draw_absent_key(board)
    draw_column_sums(board)
    draw_ladder(board)
    draw_shared_key(board)
    draw_strip(board)
    return board


def draw_one_key(board: Board) -> None:
    board.step(
        f"One query and a queue of keys, an arrow to the first. N = {N}: {N} steps over {N} places each, "
        f"{N * N:,} places for one query."
    )
    board.write(16, 18, "scores: sum along the row. output: sum down the column.", 0.75, at="left")
    with board.group("query"):
        board.box(20, 62, 40, 36, "q")
        board.write(40, 116, "query", 0.8)
    with board.group("one"):
        for i in range(8):
            board.box(130 + 36 * i, 62, 24, 36, "k" if i < 3 else "")
        board.write(440, 80, "...", 1.2)
        board.write(270, 116, f"{N} keys", 0.8)
        board.arrow(66, 80, 122, 80)
        board.write(94, 60, "one", 0.8)
        board.write(20, 168, f"N = {N}:", at="left")
        _, _, end, _ = board.write(120, 168, f"{N} steps", at="left")
        with board.withhold():
            board.write(end, 168, f", {N} places each", at="left")
            board.write(120, 206, f"{N} · {N} = {N * N:,} places", 1.1, at="left")


def draw_trays(board: Board) -> None:
    steps, numbers_per_thread = N // BLOCK, BLOCK * HEAD_DIM // THREADS
    loads = numbers_per_thread * BYTES // LOAD_BYTES
    board.step(
        f"The same keys in trays of {BLOCK}: {steps} steps over {N} places are {steps * N}. A thread needs {loads} "
        f"loads of {LOAD_BYTES} bytes for what took {numbers_per_thread} loads of {BYTES}."
    )
    board.erase("one")
    with board.group("trays"):
        for i in range(4):
            x = 130 + 82 * i
            board.box(x, 58, 70, 44)
            board.write(x + 35, 80, str(BLOCK))
        board.write(462, 80, "...", 0.9)
        board.arrow(66, 80, 122, 80)
        board.write(94, 60, "tray", 0.8)
        with board.withhold():
            board.write(20, 146, f"{N} ÷ {BLOCK} = {steps} steps", at="left")
            board.write(20, 176, f"{steps} · {N} = {steps * N} places", 1.1, at="left")
        board.line((20, 198), (460, 198))
        board.write(20, 224, f"a thread: {numbers_per_thread} loads of {BYTES} bytes", 0.95, at="left")
        with board.withhold():
            board.write(42, 250, f"→ {loads} loads of {LOAD_BYTES} bytes", 0.95, at="left")


def draw_tile(board: Board) -> None:
    key_products, sums, row = products(), [sum(product) for product in products()], scores()
    first, second = (", ".join(f"{score:.2g}" for score in part) for part in (row[:2], row[2:]))
    board.step(
        f"The query lies flat above two blocks of keys, each key a row. Beside each block its products, the sum "
        f"along each row, and that divided by root 2: {first} for the first block, {second} for the second."
    )
    board.erase("query", "trays")
    with board.group("tile"):
        for x, head in zip((70, 196, 310, 410), ("keys", "products", "sum  →", "÷ √2"), strict=True):
            board.write(x, 72 if x != 70 else 76, head, 0.8)
        board.matrix(36, 36, [QUERY])
        board.write(16, 47, "q", at="left")
        for block, top in enumerate(BLOCK_TOPS_Y):
            keys = [*KEYS[2 * block : 2 * block + 2]]
            in_block = slice(2 * block, 2 * block + len(keys))
            board.matrix(36, top, [*keys, *[("-", "-")] * (2 - len(keys))], h=28)
            if block:
                with board.withhold():
                    draw_sums(board, top, key_products[in_block], sums[in_block], row[in_block])
            else:
                draw_sums(board, top, key_products[in_block], sums[in_block], row[in_block])


def draw_sums(board: Board, top: float, key_products: list[list[int]], sums: list[int], row: list[float]) -> None:
    board.matrix(162, top, [*key_products, *[("", "")] * (2 - len(key_products))], h=28)
    for i, (total, score) in enumerate(zip(sums, row, strict=True)):
        y = top + 14 + 28 * i
        board.arrow(244, y, 284, y)
        board.write(310, y, str(total))
        board.write(410, y, f"{score:.2f}" if score else "0")


def draw_absent_key(board: Board) -> None:
    padding_weight, terms = weights(1)[-1], [math.exp(score) for score in (*scores(), 0.0)]
    board.step(
        "In the row that holds no key the load brings 0, which is struck out for minus infinity. Below: with 0 the "
        f"exponentials add up to {sum(terms):.2f}, and 1 of them, {padding_weight:.0%}, goes to nobody."
    )
    y = BLOCK_TOPS_Y[1] + 42
    with board.group("nobody"):
        board.write(310, y, "0")
        with board.withhold():
            board.strike(298, y + 9, 322, y - 9)
            board.write(410, y, "−∞", 1.1)
            board.write(16, 256, "with 0:  e^{0} = 1", 0.9, at="left")
            board.write(184, 256, f"1 ÷ {sum(terms):.2f} = {100 * padding_weight:.0f} % to nobody", 0.9, at="left")


def draw_column_sums(board: Board) -> None:
    outputs = block_outputs()
    whole = [sum(column) for column in zip(*outputs, strict=True)]
    rounded_weights = [round(weight, 1) for weight in weights()]
    board.step(
        f"The shares stand upright beside the values: {rounded_weights[0]:g} and {rounded_weights[1]:g}, then "
        f"{rounded_weights[2]:g} and 0. Each value row times its share, summed down the columns: "
        f"{vector_text(outputs[0])} and {vector_text(outputs[1])}, together {vector_text(whole)}."
    )
    board.erase("tile", "nobody")
    with board.group("down"):
        for x, head in zip((58, 158, 300), ("shares", "values", "share · value"), strict=True):
            board.write(x, 54, head, 0.8)
        for block, top in enumerate((72, 160)):
            in_block = slice(2 * block, 2 * block + 2)
            values, parts = [*VALUES[in_block]], rounded_weights[in_block]
            absent = 2 - len(values)
            board.matrix(36, top, [*([f"{part:g}"] for part in parts), *[["0"]] * absent], w=36, h=26)
            board.matrix(112, top, [*values, *[("-", "-")] * absent], w=40, h=26)
            terms = [[f"{part * v:g}" for v in value] for part, value in zip(parts, values, strict=True)]
            with board.withhold() if block else nullcontext():
                board.matrix(254, top, [*terms, *[("0", "0")] * absent], w=40, h=26)
            with board.withhold():
                board.arrow(364, top + 4, 364, top + 50)
                board.write(412, top + 26, vector_text(outputs[block]))
        with board.withhold():
            board.write(
                20, 246, f"{vector_text(outputs[0])} + {vector_text(outputs[1])} = {vector_text(whole)}", 1.1, at="left"
            )


def work_and_rates() -> tuple[float, float, float, float]:
    """Of the ladder's run at d = 128: FLOP, and FLOP/s of the FP32 lanes; bytes asked of L2, and its bandwidth."""
    heads, batch = WIDTH // HEAD_DIM, TOKENS // N
    l2_bytes = requested_bytes(N, HEAD_DIM, BYTES, 1, heads, batch) - qkvo_bytes(N, HEAD_DIM, BYTES, heads, batch) // 2
    clock = round(median(row["clock"] for row in records.table("what_is_busy", "busy")), 2)
    lanes = H100["sms"].value * H100["fp32 lanes"].value * clock * 1e9
    (l2,) = [row["speed"] for row in records.table("l2_speed", "sizes") if row["size"] == 16]
    return (
        attention_flops(N, HEAD_DIM, heads, batch),
        lanes,
        l2_bytes,
        round(l2, 1) * 1e12,  # as it stands at the board
    )


def draw_ladder(board: Board) -> None:
    medians = {
        row["form"]: row["median"]
        for row in records.table("prefill_speed", f"forward_{HEAD_DIM}")
        if row["n"] == N and not row["causal"]
    }
    (unit,) = [
        row["unit"]
        for row in records.table("what_is_busy", "busy")
        if (row["form"], row["n"], row["head_dim"]) == ("key_blocks", N, HEAD_DIM)
    ]
    times = {name: medians[form] for form, name in RUNGS.items()}
    flop, lane_flops, l2_bytes, l2_bandwidth = work_and_rates()
    times_text = ", ".join(f"{name} {time:.3g} ms" for name, time in times.items())
    board.step(
        f"The ladder, slowest on top, bars to scale: {times_text}. Below, two divisions: multiplying would take "
        f"{1e3 * flop / lane_flops:.2f} ms, bringing {1e3 * l2_bytes / l2_bandwidth:.1f}. "
        f"One unit is busy {20 * unit / 100:.0f} of 20 clocks."
    )
    board.erase("down")
    with board.group("ladder"):
        for i, (name, time) in enumerate(times.items()):
            y = 50 + 34 * i
            length = max(220 * time / max(times.values()), 3)
            board.write(16, y, name, 0.9, at="left")
            board.box(146, y - 10, length, 20)
            if length > 6:
                board.hatch(146, y - 10, length, 20, gap=9)
            board.write(156 + length, y, f"{time:.1f} ms" if time > 2 else f"{time:.2f} ms", 0.85, at="left")
        board.line((244, 112), (254, 112), (254, 158), (244, 158))
        board.write(264, 135, "write the square", 0.85, at="left")
        board.write(16, 192, f"multiply: {flop / 1e9:.1f} GFLOP ÷ {lane_flops / 1e12:.0f} TFLOP/s", 0.8, at="left")
        board.write(16, 220, f"bring: {l2_bytes / 1e9:.1f} GB ÷ {l2_bandwidth / 1e12:.1f} TB/s", 0.8, at="left")
        with board.withhold():
            board.write(464, 192, f"= {1e3 * flop / lane_flops:.2f} ms", 0.8, at="right")
            board.write(464, 220, f"= {1e3 * l2_bytes / l2_bandwidth:.1f} ms", 0.8, at="right")
            board.write(16, 250, f"one unit is busy in {20 * unit / 100:.0f} of 20 clocks", 0.9, at="left")


def draw_shared_key(board: Board) -> None:
    board.step(
        f"One number of K, {BYTES} bytes: with one query 2 FLOP, {2 // BYTES} FLOP a byte; with {STRIP_QUERIES} "
        f"queries {2 * STRIP_QUERIES // BYTES} FLOP a byte, a fan of arrows from the key."
    )
    board.erase("ladder")
    with board.group("sharing"):
        board.box(60, 70, 60, 34, "key")
        board.arrow(126, 87, 196, 87)
        board.box(204, 70, 40, 34, "q")
        board.write(270, 87, f"2 ÷ {BYTES} = {2 // BYTES}", 0.95, at="left")
        with board.withhold():
            board.box(60, 168, 60, 34, "key")
            for i in range(4):
                board.arrow(126, 185, 196, 140 + 30 * i)
                board.box(204, 129 + 30 * i, 40, 22, "q", 0.8)
            board.write(224, 250, f"{STRIP_QUERIES} queries", 0.8)
            board.write(270, 185, f"{STRIP_QUERIES} · 2 ÷ {BYTES} = {STRIP_QUERIES * 2 // BYTES}", 0.95, at="left")
        board.write(360, 48, "FLOP a byte", 0.8)


def draw_strip(board: Board) -> None:
    strip_bytes, register_bytes = STRIP_QUERIES * STRIP_KEYS * 4, int(H100["registers per SM"].value)
    rows = register_bytes // (STRIP_KEYS * 4)
    board.step(
        f"A strip of {STRIP_QUERIES} rows by {STRIP_KEYS} scores, {strip_bytes >> 20} MiB, with {rows} of its rows "
        f"shaded: {register_bytes >> 10} KiB, all the registers of an SM."
    )
    board.erase("sharing")
    left, top, width, height = 90, 66, 360, 128
    board.box(left, top, width, height)
    board.write(240, 44, f"{STRIP_KEYS} keys", 0.9)
    board.write(46, 120, str(STRIP_QUERIES), 1.1)
    board.write(46, 144, "queries", 0.8)
    shaded = height * rows / STRIP_QUERIES
    board.write(118, 144, f"{STRIP_QUERIES} · {STRIP_KEYS} · 4 bytes", 0.95, at="left")
    with board.withhold():
        board.line((left, top + shaded), (left + width, top + shaded))
        board.hatch(left, top, width, shaded, gap=8)
        board.write(320, 144, f"= {strip_bytes >> 20} MiB", 0.95, at="left")
        board.write(left, 226, f"registers of an SM: {register_bytes >> 10} KiB, {rows} rows", 0.9, at="left")
