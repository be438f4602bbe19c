"""Sheet 9: what the chip waits for at d = 128, and what a kernel does that waits less."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from kernels.bench.cost import attention_flops, mib, qkvo_bytes
from kernels.bench.hardware import H100
from scripts import records
from scripts.chapters.board import Board
from scripts.chapters.hopper import steps
from scripts.chapters.hopper.worked import BYTES, HEAD_DIM, HEADS, RING_USES, N

CONSUMER_QUERIES, BLOCK_K, STAGES, CONSUMERS, THREADS = 64, 128, 2, 2, 128  # of the kernel's plan at d = 128
THREAD_REGISTERS = {2: 240, 3: 160}  # by the number of consumers
STEPS = ("flash_attention", "specialised", "overlap_softmax", "persistent", "pair_blocks", "longest_first_tail")
STEPS += ("queries_in_registers", "overlap_epilogue")
SKETCHED_PARTS = (0.5, 0.54, 0.6, 0.42, 0.56, 0.62, 0.62, 0.62)  # how long each step's bar is while the run is awaited
FORMS = {"portable": "flash_attention", "cuDNN": "sdpa_cudnn", "ours": "hopper_attention"}  # of the run beside cuDNN
NOTABLE_PERCENT = 2  # from which a step back is hatched: the sheet reads nothing into less
SINGLE_HEADS = 2  # whose blocks go singly, after the pairs of all others
SM_COUNT = int(H100["sms"].value)
EXP2_CLOCKS = 1 / H100["exp2"].value  # of a score, on the special function units of an SM
LIMIT_MS = attention_flops(N, HEAD_DIM, HEADS, causal=True) / H100["bf16 peak"].value * 1e3


def milliseconds_by_name(table: Callable[[], list[dict]], name: str) -> dict[str, float]:
    """Returns milliseconds, causal, by the column of their names; nothing if the table's snippet has never run."""
    wanted = {"n": N, "causal": True, "head_dim": HEAD_DIM}
    try:
        rows = [row for row in table() if all(row.get(key, value) == value for key, value in wanted.items())]
    except records.Missing:
        return {}
    return {row[name]: row["median"] for row in rows}


def matmul_clocks(head_dim: int) -> float:
    """Of a score, on the tensor cores of an SM."""
    return attention_flops(1, head_dim) / H100["bf16 tensor core"].value


def tflops_in_turn(head_dim: int) -> float:
    """TFLOP/s at most, if exp2 and the matmuls take turns."""
    matmuls = matmul_clocks(head_dim)
    return H100["bf16 peak"].value / 1e12 * matmuls / (matmuls + EXP2_CLOCKS)


def program_0_blocks() -> tuple[list[int], list[tuple[int, int]]]:
    """The blocks of keys that program 0 meets in each of its blocks of queries, and in each of its pairs."""
    blocks = N // (CONSUMER_QUERIES * CONSUMERS)
    lengths = list(range(blocks, 0, -1)) * HEADS  # the longest of a head first
    pairs = [(blocks - i, 1 + i) for i in range(blocks // 2)] * HEADS
    return lengths[::SM_COUNT], pairs[::SM_COUNT]


def blocks_per_program() -> list[int]:
    """The blocks of keys of each program, if the last heads go singly and every other round is dealt back."""
    blocks = N // (CONSUMER_QUERIES * CONSUMERS)
    units = [blocks + 1] * (blocks // 2 * (HEADS - SINGLE_HEADS))
    units += [length for length in range(blocks, 0, -1) for _ in range(SINGLE_HEADS)]
    rounds = [units[i : i + SM_COUNT] for i in range(0, len(units), SM_COUNT)]
    rounds[-1] += [0] * (SM_COUNT - len(rounds[-1]))
    return [sum(each) for each in zip(*(each[:: -1 if i % 2 else 1] for i, each in enumerate(rounds)), strict=True)]


def board() -> Board:
    board = Board()
    for draw in (draw_limit, draw_clocks, draw_sm, draw_bits, draw_capacity, draw_timeline, draw_pairs, draw_ladder):
        draw(board)
    return board


def draw_bar(board: Board, y: float, name: str, length: float, end: str, x: float = 120) -> None:
    board.write(x - 8, y, name, 0.85, at="right")
    board.box(x, y - 11, length, 22)
    board.write(x + 8 + length, y, end, 0.85, at="left")


def draw_limit(board: Board) -> None:
    times, scale = milliseconds_by_name(lambda: records.table("beside_cudnn", "forward"), "form"), 130
    bars = {name: times.get(form) for name, form in FORMS.items()}
    summary = ", ".join(f"{name} {time:.2f} ms" if time else f"{name} awaits its run" for name, time in bars.items())
    hbm = qkvo_bytes(N, HEAD_DIM, BYTES, HEADS) / H100["hbm bandwidth"].value * 1e3
    board.step(
        f"Bars of milliseconds: {summary}. A thick line at {LIMIT_MS:.1f} ms is the limit of the arithmetic. Below, a "
        f"bar of {hbm:.2f} ms, for all bytes through HBM."
    )
    board.write(240, 22, f"causal, {HEADS} heads of {HEAD_DIM}, {N:,} words", 0.85)
    for i, (name, time) in enumerate(bars.items()):
        draw_bar(board, 94 + 36 * i, name, scale * (time or 1.5), f"{time:.2f} ms" if time else "?")
    at = 120 + scale * LIMIT_MS
    board.line((at, 66), (at, 190), width=3.2)
    board.write(at, 52, f"the limit: {LIMIT_MS:.1f} ms", 0.9)
    with board.withhold():
        draw_bar(board, 218, "HBM", scale * hbm, f"{mib(qkvo_bytes(N, HEAD_DIM, BYTES, HEADS)):.0f} MiB: {hbm:.2f} ms")
    board.write(128, 250, "where is the rest?", 0.9, at="left")


def draw_clocks(board: Board) -> None:
    board.step(
        "Clocks of a score on one SM: 512 FLOP on the tensor cores are 0.125, an exp2 is 0.0625. A table by head "
        "dimension: "
        + "; ".join(f"{d}: {matmul_clocks(d):g} and {tflops_in_turn(d):.0f} TFLOP/s" for d in (64, 128, 256))
        + "."
    )
    board.erase()
    per_clock, flops = int(H100["bf16 tensor core"].value), attention_flops(1, HEAD_DIM)
    board.write(20, 28, f"products: {flops} ÷ {per_clock} = {matmul_clocks(HEAD_DIM):g} clocks", 0.9, at="left")
    with board.withhold():
        board.write(20, 58, f"exp2: 1 ÷ {H100['exp2'].value} = {EXP2_CLOCKS:g} clocks", 0.9, at="left")
        board.box(20, 78, 240, 28, "products", 0.85)
        board.box(260, 78, 120, 28, "exp2", 0.85)
    widths = [104, 96, 134]
    board.table(56, 136, [["d", "products", "exp2", "in turn, TFLOP/s"]], widths, size=0.85)
    for i, d in enumerate((128, 64, 256)):
        cells = [d, f"{matmul_clocks(d):g}", f"{EXP2_CLOCKS:g}", f"{tflops_in_turn(d):.0f}"]
        if i:
            with board.withhold():
                board.table(56, 166 + 30 * i, [cells], widths, size=0.9)
        else:
            cells[-1] += f" of {H100['bf16 peak'].value / 1e12:.1f}"
            board.table(56, 166, [cells[:2]], widths, size=0.9)
            with board.withhold():
                board.table(56 + sum(widths[:2]), 166, [cells[2:]], widths[2:], size=0.9)


def draw_sm(board: Board) -> None:
    board.step(
        "An SM: the producer, one warp, tells TMA what to copy; TMA fills rings of tiles of K, V and Q; the tensor "
        "cores read the rings; two consumers of four warps and 64 queries each use them, and say when a place is empty."
    )
    board.erase()
    board.box(14, 26, 116, 48, "producer", 0.85)
    board.write(72, 92, "1 warp", 0.8)
    board.box(14, 140, 116, 36, "TMA", 0.9)
    board.arrow(72, 102, 72, 136)
    for i, name in enumerate(("K", "V", "Q")):
        board.write(172, 74 + 44 * i, name, 0.95)
        rings = CONSUMERS if name == "Q" else 1  # Q has a ring for each consumer
        board.row(190, 58 + 44 * i, [""] * STAGES * rings, w=34 / rings, h=32)
    board.write(222, 34, "rings", 0.9)
    board.arrow(132, 158, 160, 132)
    board.arrow(262, 92, 296, 62)
    board.box(300, 26, 166, 44, "tensor cores", 0.9)
    for i in range(CONSUMERS):
        board.box(300, 104 + 64 * i, 166, 54)
        board.write(383, 120 + 64 * i, f"consumer {i}", 0.85)
        board.write(383, 142 + 64 * i, f"4 warps, {CONSUMER_QUERIES} queries", 0.75)
    board.arrow(350, 100, 350, 76)
    board.arrow(410, 76, 410, 100)
    board.arrow(296, 190, 252, 186)
    with board.withhold(), board.group("barriers"):
        board.write(20, 220, "full: the consumers wait", 0.85, at="left")
        board.write(20, 248, "empty: producer waits", 0.85, at="left")


def draw_bits(board: Board) -> None:
    rows = {
        "use": list(range(RING_USES)),
        "place": [use % STAGES for use in range(RING_USES)],
        "full": [use // STAGES % 2 for use in range(RING_USES)],
        "empty": [1 - use // STAGES % 2 for use in range(RING_USES)],
    }
    summary = "; ".join(f"{name} {' '.join(map(str, numbers))}" for name, numbers in rows.items())
    board.step(f"A table of six uses of a ring of two places, and the bit that each side waits for: {summary}.")
    board.erase(keep=("barriers",))
    for i, (name, numbers) in enumerate(rows.items()):
        y = 40 + 46 * i
        board.write(20, y, name, 1, at="left")
        with nullcontext() if name in ("use", "place") else board.withhold():
            board.table(130, y, [numbers], [56] * RING_USES, size=1)
    board.line((14, 62), (466, 62))
    board.write(234, 220, f"for the bit of use div {STAGES}", 0.85, at="left")
    with board.withhold():
        board.write(234, 248, "for the other one", 0.85, at="left")


def draw_capacity(board: Board) -> None:
    registers = {"blend": CONSUMER_QUERIES * HEAD_DIM // THREADS, "scores": CONSUMER_QUERIES * BLOCK_K // THREADS}
    registers["exp"] = CONSUMER_QUERIES * BLOCK_K // THREADS // 2
    tile, queries = BLOCK_K * HEAD_DIM * BYTES, CONSUMER_QUERIES * HEAD_DIM * BYTES
    keys, q, available_bytes = 2 * STAGES * tile, 2 * CONSUMERS * queries, int(H100["shared memory per block"].value)
    total, third_stage = sum(registers.values()), keys + q + 2 * tile
    board.step(
        f"Two bars. Registers of a thread: {' + '.join(map(str, registers.values()))} = {total}, with marks at 160, "
        f"what three consumers get, and 240, two. Bytes: {keys:,} + {q:,} = {keys + q:,} of {available_bytes:,}; a "
        f"third stage, dashed, makes {third_stage:,}."
    )
    board.erase()
    board.write(20, 20, f"registers: {' + '.join(map(str, registers.values()))} = {total}", 0.9, at="left")
    x, scale = 20.0, 1.7
    for name, count in registers.items():
        board.box(x, 36, scale * count, 30, name, 0.8)
        x += scale * count
    for consumers, granted in THREAD_REGISTERS.items():
        at = 20 + scale * granted
        board.line((at, 30), (at, 84), width=3.2)
        with board.withhold():
            board.write(at, 98, f"{'two' if consumers == 2 else 'three'}: {granted}", 0.85)
    board.write(20, 142, f"bytes: {keys:,} + {q:,} = {keys + q:,}", 0.9, at="left")
    scale = 410 / third_stage
    board.box(20, 158, scale * keys, 30, "K and V", 0.8)
    board.box(20 + scale * keys, 158, scale * q, 30, "Q", 0.8)
    at, x, end = 20 + scale * available_bytes, 20 + scale * (keys + q), 20 + scale * third_stage
    board.line((at, 152), (at, 206), width=3.2)
    board.write(at, 220, f"{available_bytes:,}", 0.8)
    with board.withhold():
        board.line((x, 158), (end, 158), (end, 188), (x, 188), dashed=True)
        board.write(20, 250, f"a third stage: {third_stage:,}, does not fit", 0.85, at="left")


def draw_timeline(board: Board) -> None:
    product = round(CONSUMER_QUERIES * BLOCK_K * matmul_clocks(HEAD_DIM) / 2)
    exp2 = round(CONSUMER_QUERIES * BLOCK_K * EXP2_CLOCKS)
    spare = 2 * product - exp2
    board.step(
        f"Above, one consumer alone: products of {product} and {product} clocks, then a gap while exp2 takes {exp2}. "
        f"Below, two take turns on the tensor cores without a gap; under the products of one, exp2 of the other and "
        f"{spare} clocks to spare."
    )
    board.erase()
    unit = 46 / product
    board.write(14, 20, "one alone", 0.85, at="left")
    at = 66.0
    for i in range(2):
        for name in "SO":
            board.box(at, 36, unit * product, 26, name, 0.85)
            at += unit * product
        board.box(at, 68, unit * exp2, 26, "exp2", 0.75)
        at += unit * exp2 if not i else 0
    board.write(466, 20, f"busy {2 * product} of {2 * product + exp2}", 0.85, at="right")
    board.line((14, 108), (466, 108))
    with board.withhold():
        for i in range(8):
            board.box(66 + unit * product * i, 120, unit * product, 26, f"{'SO'[i % 2]}_{{{i // 2 % 2}}}", 0.85)
        for consumer in range(2):
            y = 154 + 34 * consumer
            board.write(14, y + 13, f"exp2_{{{consumer}}}", 0.8, at="left")
            for turn in range(2 - consumer):
                x = 66 + unit * product * (2 + 2 * consumer + 4 * turn)
                board.box(x, y, unit * exp2, 26, str(exp2), 0.75)
                board.line(
                    (x + unit * exp2, y), (x + unit * 2 * product, y), (x + unit * 2 * product, y + 26),
                    (x + unit * exp2, y + 26), dashed=True,
                )  # fmt: skip
        board.write(20, 248, f"to spare: {2 * product} - {exp2} = {spare} clocks", 0.9, at="left")


def draw_pairs(board: Board) -> None:
    single, paired = program_0_blocks()
    single_total, paired_total, pair_length = sum(single), sum(map(sum, paired)), sum(paired[0])
    mean = sum(range(1, N // (CONSUMER_QUERIES * CONSUMERS) + 1)) * HEADS / SM_COUNT
    board.step(
        f"Program 0's blocks as bars of {single[0]}, {single[1]} and so on to {single[-1]} blocks of keys, together "
        f"{single_total}. Beside them its {len(paired)} pairs, each {pair_length}, together {paired_total}. The mean "
        f"is {mean:.1f}. With the blocks of {SINGLE_HEADS} heads singly the busiest has {max(blocks_per_program())}."
    )
    board.erase()
    *_, end, _ = board.write(20, 22, f"program 0: {single[0]}", 0.85, at="left")
    board.box(20, 170 - single[0], 13, single[0])
    board.write(20, 248, f"blocks 0, {SM_COUNT}, {2 * SM_COUNT}, ...", 0.9, at="left")
    with board.withhold():
        board.write(end, 22, f", {single[1]}, ... {single[-1]}", 0.85, at="left")
        for i, length in enumerate(single[1:], 1):
            board.box(20 + 13 * i, 170 - length, 13, length)
        board.write(20, 192, f"{len(single)} · {single_total // len(single)} = {single_total}", 0.9, at="left")
        board.write(276, 22, f"pairs: {paired[0][0]} + {paired[0][1]}, ...", 0.85, at="left")
        for i, (long, short) in enumerate(paired):
            board.box(276 + 18 * i, 170 - pair_length, 18, short)
            board.box(276 + 18 * i, 170 - long, 18, long)
        board.write(276, 192, f"{len(paired)} · {pair_length} = {paired_total}", 0.9, at="left")
        board.write(236, 220, f"{single_total} ÷ {paired_total} = {single_total / paired_total:.2f}", 0.95, at="left")
        board.write(236, 248, f"{SINGLE_HEADS} heads singly: {max(blocks_per_program())}", 0.9, at="left")
    board.write(20, 220, f"mean: {mean:.1f}", 0.9, at="left")


def draw_ladder(board: Board) -> None:
    times = milliseconds_by_name(lambda: steps.rows_of(HEAD_DIM), "step")
    is_measured = times.keys() >= {*STEPS}
    parts = [LIMIT_MS / times[step] for step in STEPS] if is_measured else SKETCHED_PARTS
    reached = {steps.NAMES[step]: part for step, part in zip(STEPS, parts, strict=True)}
    summary = ", ".join(f"{name} {100 * part:.0f} %" if is_measured else name for name, part in reached.items())
    board.step(
        f"A ladder of bars, what part of the limit each step reaches: {summary}. The step back by over "
        f"{NOTABLE_PERCENT} % is "
        "hatched." + ("" if is_measured else " The run is awaited, and the bars are not to scale.")
    )
    board.erase()
    x = 164  # where the bars begin
    board.write(240, 22, f"part of the limit, {LIMIT_MS:.1f} ms", 0.9)
    for i, (last, (name, part)) in enumerate(zip([0, *parts[:-1]], reached.items(), strict=True)):
        draw_bar(board, 48 + 25 * i, name, 300 * part, f"{100 * part:.0f} %" if is_measured else "?", x)
        if part < (1 - NOTABLE_PERCENT / 100) * last:
            with board.withhold():
                board.hatch(x, 37 + 25 * i, 300 * part, 22)
    if not is_measured:
        for y, text in ((48, "awaits its run:"), (73, "not to scale")):
            board.write(466, y, text, 0.85, at="right")
    board.write(x, 254, f"below {NOTABLE_PERCENT} %: read nothing into it", 0.9, at="left")
