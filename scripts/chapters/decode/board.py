"""Sheet 11: one query and its cache, whole and in two parts; what a step reads, and how long that takes."""

from __future__ import annotations

from contextlib import nullcontext

from kernels.bench import hardware
from kernels.bench.hardware import H100
from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.decode.worked import (
    BYTES,
    HEAD_DIM,
    KEYS,
    KV_HEADS,
    LAYERS,
    LONG_TOKENS,
    PAGE_TABLE,
    PAGE_TOKENS,
    PAGES,
    QUERY,
    TOKENS,
    VALUES,
    partial_of,
    rescaled_sums,
    vector_text,
)

LAYER_WIDTH = 4096  # of a layer, and as many tokens
CACHE_COUNT = 100
FORMATS = {"bf16": ("BF16", 16), "fp8": ("FP8", 8), "nvfp4": ("NVFP4", 4.5)}  # bits a number, with its scale


def speed_row(cache: str, heads: str = "32/8") -> dict:
    """Our kernel's row of 16 sequences of 8192 tokens."""
    wanted = {"form": "ours", "cache": cache, "heads": heads, "batch": 16, "n": 8192}
    return next(row for row in records.table("decode_speed", "decode") if wanted.items() <= row.items())


def megabytes(row: dict) -> float:
    return 1e3 * row["read"] * row["median"]  # TB/s times ms


def least_ms(row: dict) -> float:
    """The least time of what a row has read, in ms."""
    return 1e9 * megabytes(row) / bytes_per_second()


def bytes_per_second() -> float:
    """The most bytes a second of the GPU's memory in the run, by its maker."""
    return getattr(hardware, records.read("decode_speed").chip)["hbm bandwidth"].value


def fixed_us(cache: str) -> float:
    """Where the line through two caches begins, one four times as large as the other, in µs."""
    small, large = speed_row(cache), speed_row(cache, "32/32")
    slope = (large["median"] - small["median"]) / (megabytes(large) - megabytes(small))
    return 1e3 * (small["median"] - slope * megabytes(small))


def board() -> Board:
    board = Board()
    draw_cache(board)
    draw_hand_computation(board)
    draw_shared_weights(board)
    draw_cache_size(board)
    draw_pages(board)
    draw_split(board)
    draw_bills(board)
    draw_points(board)
    draw_demo_ticks(board)
    return board


def draw_cache(board: Board) -> None:
    board.step(
        "One query on the left, an arrow to a long row of keys with a row of values below, and at its end a dashed "
        "box for the next token. A bracket around the rows says KV cache."
    )
    board.box(22, 92, 50, 40, "q", 1.2)
    board.arrow(78, 112, 118, 112)
    for y, name in ((88, "k"), (134, "v")):
        board.row(126, y, [name] * 6 + ["..", name], w=36, h=36, size=0.9)
        with board.withhold():
            board.line((422, y), (456, y), (456, y + 36), (422, y + 36), (422, y), dashed=True)
    with board.withhold():
        board.line((126, 184), (126, 194), (408, 194), (408, 184))
        board.write(267, 214, "kept: the KV cache", 1)
        board.write(438, 66, "next", 0.85)
    board.write(47, 66, "new", 0.85)


def draw_hand_computation(board: Board) -> None:
    full = partial_of(0, len(KEYS), reference=0)
    board.step(
        f"A table of four tokens with the query {vector_text(QUERY)}: scores {vector_text(full.scores)}, powers of 2 "
        f"{vector_text(full.terms)}, together {full.total:g}, values, and the output {vector_text(full.output)}. "
        "Beside it a causal triangle whose last row, the newest token's, is full."
    )
    board.erase()
    board.write(22, 32, f"q = {vector_text(QUERY)}", 1, at="left")
    rows = (
        ("key", map(vector_text, KEYS)),
        ("score", full.scores),
        ("2^{s}", full.terms),
        ("value", map(vector_text, VALUES)),
    )
    for i, (name, cells) in enumerate(rows):
        board.write(22, 74 + 34 * i, name, 0.9, at="left")
        for j, cell in enumerate(cells):
            board.write(104 + 64 * j, 74 + 34 * i, cell if isinstance(cell, str) else f"{cell:g}", 0.9)
    board.write(332, 142, f"Σ {full.total:g}", 0.9, at="left")
    board.write(22, 230, f"{vector_text(full.blend)} ÷ {full.total:g}", 1, at="left")
    with board.withhold():
        board.write(180, 230, f"= {vector_text(full.output)}", 1.1, at="left")
    board.grid(392, 34, 4, 4, 18, 18)
    for row in range(4):
        board.hatch(392, 34 + 18 * row, 18 * (row + 1), 18, gap=9)
    board.ring(428, 97, 88, 24)


def draw_shared_weights(board: Board) -> None:
    weights, cache = 24 * LAYER_WIDTH**2, 4 * LAYER_WIDTH * LAYER_WIDTH
    board.step(
        f"Two bars to scale: the weights of a layer, 24 w squared, {weights / 1e6:.0f} MB, for everyone; and "
        f"{CACHE_COUNT} caches of 4 N w, {cache / 1e6:.1f} MB each, together {CACHE_COUNT * cache / 1e9:.2f} GB."
    )
    board.erase()
    board.write(22, 30, f"N = w = {LAYER_WIDTH}", 0.9, at="left")
    board.write(22, 68, f"weights: 24w² = {weights / 1e6:.0f} MB, for everyone", 0.9, at="left")
    unit = 430 / (CACHE_COUNT * cache)
    board.box(22, 84, unit * weights, 34)
    board.hatch(22, 84, unit * weights, 34)
    board.write(22, 152, f"one past: 4Nw = {cache / 1e6:.1f} MB, a sixth", 0.9, at="left")
    board.box(22, 168, unit * cache, 34)
    with board.withhold():
        board.box(22, 168, unit * CACHE_COUNT * cache, 34)
        for i in range(2, CACHE_COUNT):
            board.line((22 + unit * cache * i, 170), (22 + unit * cache * i, 200), width=0.8)
        board.write(22, 222, f"{CACHE_COUNT} pasts: {CACHE_COUNT * cache / 1e9:.2f} GB", 0.95, at="left")


def draw_cache_size(board: Board) -> None:
    token_bytes = 2 * LAYERS * KV_HEADS * HEAD_DIM * BYTES
    cache_bytes = LONG_TOKENS * token_bytes
    read_ms = f"{1e3 * cache_bytes / H100['hbm bandwidth'].value:.2f} ms"
    board.step(
        f"Llama 3 8B: 2 times {LAYERS} layers times {KV_HEADS} heads times {HEAD_DIM} numbers times {BYTES} bytes is "
        f"{token_bytes // 1024} KiB a token. 8192 tokens are {8192 * token_bytes // 2**30} GiB, {LONG_TOKENS:,} are "
        f"{cache_bytes // 2**30} GiB, which takes an H100 {read_ms} to read."
    )
    board.erase()
    board.write(22, 30, "Llama 3 8B, one token:", 0.9, at="left")
    factors = ((2, "K, V"), (LAYERS, "layers"), (KV_HEADS, "heads"), (HEAD_DIM, "d"), (BYTES, "bytes"))
    for i, (factor, name) in enumerate(factors):
        board.write(44 + 64 * i, 70, str(factor), 1.1)
        board.write(44 + 64 * i, 96, name, 0.75)
        if i:
            board.write(12 + 64 * i, 70, "·", 1.1)
    board.write(345, 70, f"= {token_bytes // 1024} KiB", 1.1, at="left")
    board.write(22, 144, "8192 tokens", 0.95, at="left")
    board.write(22, 180, f"{LONG_TOKENS:,} tokens", 0.95, at="left")
    board.write(22, 210, "H100:", 0.75, at="left")
    board.write(22, 236, f"÷ {H100['hbm bandwidth'].value / 1e12:.2f} TB/s", 0.95, at="left")
    with board.withhold():
        board.write(200, 144, f"{8192 * token_bytes // 2**30} GiB", 0.95, at="left")
        board.write(200, 180, f"{cache_bytes // 2**30} GiB = {cache_bytes / 1e9:.1f} GB", 0.95, at="left")
        board.write(200, 236, f"{read_ms} a step, at least", 0.95, at="left")


def draw_pages(board: Board) -> None:
    entry, row = divmod(5, PAGE_TOKENS)
    board.step(
        f"Eight pages of {PAGE_TOKENS} tokens in memory, numbered from 0. The page table of a text of {TOKENS} tokens "
        f"says {PAGE_TABLE}, with an arrow to each page; the last holds one token. Token 5: entry {entry}, page "
        f"{PAGE_TABLE[entry]}, row {row}."
    )
    board.erase()
    board.write(22, 33, f"{TOKENS} tokens, table:", 0.9, at="left")
    board.row(214, 16, PAGE_TABLE, w=50, h=34)
    for page in range(PAGES):
        x = 22 + 55 * page
        board.box(x, 118, 46, 60)
        board.write(x + 23, 194, str(page), 0.85)
    for index, page in enumerate(PAGE_TABLE):
        x = 22 + 55 * page
        board.arrow(236 + 50 * index, 52, x + 23, 114)
        held = min(PAGE_TOKENS, TOKENS - PAGE_TOKENS * index)
        board.hatch(x, 118, 46, 60 * held / PAGE_TOKENS)
    board.write(22, 220, f"token 5:  5 div {PAGE_TOKENS}, 5 mod {PAGE_TOKENS}", 0.9, at="left")
    with board.withhold():
        board.write(22, 248, f"entry {entry} → page {PAGE_TABLE[entry]}, row {row}", 0.95, at="left")


def draw_split(board: Board) -> None:
    parts, merged = [partial_of(0, 2), partial_of(2, 4)], partial_of(0, 4)
    ratio = rescaled_sums(*parts)
    sms = int(H100["sms"].value)
    board.step(
        f"Above: {KV_HEADS} of {sms} SMs are {100 * KV_HEADS / sms:.0f} percent. Below, two programs side by side. "
        + " ".join(
            f"Program {i}: scores {vector_text(p.scores)}, maximum {p.maximum}, sum {p.total:g}, blend "
            f"{vector_text(p.blend)}, output {vector_text(p.output)}."
            for i, p in enumerate(parts)
        )
        + f" Below: their sums are worth {ratio[0]:g} to {ratio[1]:g}, so a third and two thirds: "
        f"{vector_text(merged.output)}."
    )
    board.erase()
    board.write(24, 24, f"{KV_HEADS} heads of keys, {sms} SMs: {100 * KV_HEADS / sms:.0f} %", 0.9, at="left")
    board.line((20, 42), (460, 42))
    board.line((240, 50), (240, 184))
    for i, part in enumerate(parts):
        x = 24 + 236 * i
        terms = " + ".join("½" if term == 0.5 else f"{term:g}" for term in part.terms)
        lines = (
            f"program {i}: scores {', '.join(map(str, part.scores))}",
            f"max {part.maximum}",
            f"sum {terms} = {part.total:g}",
            f"{vector_text(part.blend)} ÷ {part.total:g}",
        )
        for line, text in enumerate(lines):
            board.write(x, 60 + 27 * line, text, 0.85, at="left")
        board.write(x, 171, f"= {vector_text(part.output)}", 1, at="left")
    with board.withhold():
        board.write(
            24, 214, f"{parts[0].total:g} · 2^{{{parts[0].maximum}-{parts[1].maximum}}} = {ratio[0]:g}", 0.9, at="left"
        )
        board.write(200, 214, f"{ratio[0]:g} to {ratio[1]:g} = 1 to {ratio[1] / ratio[0]:g}", 0.9, at="left")
        blend = f"1/3 · {vector_text(parts[0].output)} + 2/3 · {vector_text(parts[1].output)}"
        board.write(24, 246, f"{blend} = {vector_text(merged.output)}", 1, at="left")


def draw_bills(board: Board) -> None:
    rows = [(name, bits, speed_row(cache)) for cache, (name, bits) in FORMATS.items()]
    board.step(
        "Three bills, for one layer with 16 sequences of 8192 tokens and 32 heads of queries on 8 of keys: "
        + "; ".join(
            f"{name}, {16 / bits:.3g} times fewer bytes, {row['median']:.3f} ms, error {row['error']:.2g} percent"
            for name, bits, row in rows
        )
        + "."
    )
    board.erase()
    board.write(22, 32, "one layer, 16 · 8192 tokens, heads 32/8", 0.9, at="left")
    with board.group("bills"):
        board.table(112, 84, [["bytes", "ms"]], [64], size=0.85)
    board.write(320, 84, "error", 0.85)
    board.line((14, 104), (456, 104))
    for i, (name, bits, row) in enumerate(rows):
        error = f"{row['error']:.2f} %" if row["error"] < 1 else f"{row['error']:.1f} %"
        fewer = "1" if bits == 16 else f"÷ {16 / bits:.3g}"
        with board.group("bills"):
            board.table(46, 134 + 44 * i, [[name, fewer, f"{row['median']:.3f}"]], [66, 64], size=0.9)
        board.write(320, 134 + 44 * i, error, 0.9)


def draw_points(board: Board) -> None:
    rows = [(name, speed_row(cache), fixed_us(cache)) for cache, (name, _) in FORMATS.items()]
    most, chip = rows[0][1], records.read("decode_speed").chip
    board.step(
        "Beside bytes and times of the bills, time over megabytes. A dashed line, bytes over the bandwidth of our "
        f"{chip}, to {megabytes(most):.0f} MB and {least_ms(most):.3f} ms; above it the points of the three bills: "
        + "; ".join(f"{name} at {megabytes(row):.0f} MB and {row['median']:.3f} ms" for name, row, _ in rows)
        + ". Their fixed parts are "
        + ", ".join(f"{start:.0f}" for *_, start in rows)
        + " µs; the line has "
        + ", ".join(f"{100 * least_ms(row) / row['median']:.0f}" for _, row, _ in rows)
        + " percent of their heights."
    )
    board.erase(keep=("bills",))
    left, bottom, x_scale, y_scale = 210, 226, 0.42, 1400
    board.axis(left, bottom, 250, 212, "", "ms")
    board.write(378, 246, "MB", 0.8)
    board.line((left, bottom), (left + x_scale * megabytes(most), bottom - y_scale * least_ms(most)), dashed=True)
    board.write(470, bottom - y_scale * least_ms(most) + 26, f"{least_ms(most):.3f}", 0.85, at="right")
    board.write(10, 32, f"{chip}: bytes ÷ {bytes_per_second() / 1e12:.1f} TB/s", 0.8, at="left")
    for name, row, start in rows:
        x, y = left + x_scale * megabytes(row), bottom - y_scale * row["median"]
        board.ring(x, y, 9, 9)
        board.line((x, bottom - 4), (x, bottom + 4))
        board.write(x, bottom + 20, f"{megabytes(row):.0f}", 0.85)
        for above, text in ((16, name), (33, f"+{start:.0f} µs")):
            board.write(x - (36 if row is rows[-1][1] else 20), y - above, text, 0.75, at="left")
        with board.withhold():
            below = bottom - y_scale * least_ms(row) + (50 if row is most else 18)
            board.write(x + (12 if row is most else 30), below, f"{100 * least_ms(row) / row['median']:.0f} %", 0.9)


def draw_demo_ticks(board: Board) -> None:
    parts, first = [partial_of(0, 2), partial_of(2, 4)], partial_of(0, 1)
    board.step(
        f"Ticks behind {vector_text(parts[0].output)}, {vector_text(parts[1].output)} and the merged "
        f"{vector_text(partial_of(0, 4).output)}, which the demo has printed, and behind is_causal, "
        f"{vector_text(first.output)}."
    )
    board.erase()
    outputs = {"program 0": parts[0].output, "program 1": parts[1].output, "merged": partial_of(0, 4).output}
    for i, (name, output) in enumerate([*outputs.items(), ("is_causal", first.output)]):
        y = 50 + 48 * i + (14 if i == 3 else 0)
        board.write(60, y, name, 1, at="left")
        with board.withhold() if i == 3 else nullcontext():
            board.write(260, y, vector_text(output), 1.1, at="left")
            board.write(390, y, "✓", 1.2)
    board.line((56, 174), (420, 174))
    with board.withhold():
        board.write(60, 244, "sees the first word only", 0.8, at="left")
