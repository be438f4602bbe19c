"""The primer and the 29-minute talk: every number worked by hand, or taken from the registry, is computed here."""

from math import exp, log, log2
from xml.etree import ElementTree

import pytest

from kernels.bench.cost import attention_flops, mb, mib, qkvo_bytes, square_bytes
from tests.docs.by_hand import (
    AT_THE_BOARD,
    ROOT,
    SHARES,
    K,
    Q,
    S,
    V,
    blend,
    dot,
    minutes,
    percent,
    softmax,
    table,
    value,
    vector,
    words,
)

CHAPTER = "chapters/primer.md"
SHEET = "whiteboard/talk.md"
DRAWING = "assets/drawings/gpu.svg"
TILE = "assets/drawings/tile.svg"

SMS, CLOCK, PEAK, HBM, SHARED = map(
    value, ("sms", "tensor core clock", "bf16 peak", "hbm bandwidth", "shared memory bandwidth")
)
TENSOR, LANES = value("bf16 tensor core"), value("fp32 lanes")
REGISTERS, SHARED_SIZE, L2, HBM_SIZE = map(value, ("registers per SM", "shared memory per SM", "l2", "hbm"))
HBM_CLOCK = HBM / SMS / CLOCK  # bytes a clock for each SM
SHARED_CLOCK = value("shared memory per clock")
REGISTERS_CLOCK = LANES / 2 * 3 * 4  # a multiply-add reads 3 numbers of 4 bytes
L2_SPEED, L2_CLOCK = 7.5, 31  # TB/s and bytes a clock for each SM: measured, and held against the record below
REGISTERS_SPEED = value("register bandwidth")
RIDGE, SHARED_RIDGE = PEAK / HBM, PEAK / SHARED
EDGE, SHARED_EDGE = 2 * RIDGE, 2 * SHARED_RIDGE

LSE = log(sum(map(exp, S[0])))
SQUARE, ROWS = square_bytes(8192, 2), qkvo_bytes(8192, 128, 2)
SPENT, WORKED = 4 * SQUARE / HBM, attention_flops(8192, 128) / PEAK  # seconds
MODEL = 64 * 80 * 4 * SQUARE


def fetched(n, edge):
    """Numbers fetched by a product of two square tables, in tiles."""
    steps = n // edge
    return steps * steps * steps * 2 * edge * edge


def kib(count):
    return f"{count / 2**10:.0f} KiB"


LOWERED = softmax([0, -2, -2])
FED = 64 / 2 * HBM  # FLOP/s, of a matmul whose tiles have an edge of 64 and come from HBM

A, B = [[1, 2], [3, 4]], [[1, 0], [1, 1]]
PRODUCT = [[dot(row, column) for column in zip(*B, strict=True)] for row in A]

TYPED = {
    CHAPTER: [
        f"[2, 1] · [3, \N{MINUS SIGN}4] = 6 \N{MINUS SIGN} 4 = {dot([2, 1], [3, -4])}",
        f"$e^1 = {exp(1):.2f}$, $e^5 = {exp(5):.0f}$, $e^{{-5}} = {exp(-5):.4f}$",
        f"the sum $e + 1 + e = {sum(map(exp, S[0])):.2f}$, and ln 6.44 = {LSE:.2f}",
        f"= e^{{1 - {LSE:.2f}}}$, which is {100 * exp(1 - LSE):.0f} %; "
        f"that of the second is $e^{{0 - {LSE:.2f}}}$, which is {100 * exp(-LSE):.0f} %. This {LSE:.2f}",
        f"Since $e = 2^{{{log2(exp(1)):.4f}}}$",
        " \\\\ ".join(" & ".join(map(str, row)) for row in A),
        " \\\\ ".join(" & ".join(map(str, row)) for row in PRODUCT),
        f"The {PRODUCT[1][0]} is row 2 with column 1: 3 · 1 + 4 · 1",
        f"16 · 8 = {fetched(4, 1)} numbers",
        f"8 + 8 numbers. 4 · 16 = {fetched(4, 2)}",
        f"16 + 16 = {fetched(4, 4)}, each number once",
        f"16 cells of 8 FLOP are {2 * 4**3} FLOP",
        "is good for {:.0f} FLOP, then {:.0f}, then {:.0f}".format(
            *(2 * 4**3 / fetched(4, edge) for edge in (1, 2, 4))
        ),
        f" product: {fetched(4, 1)}, {fetched(4, 2)}, {fetched(4, 4)}",
        # the registry
        f"A kitchen has {SMS} stations",
        f"plain lanes with {LANES} FLOP a clock and tensor cores with {TENSOR}. The lanes ask the registers, "
        f"{kib(REGISTERS)}, for {REGISTERS_CLOCK:.0f} bytes a clock. Shared memory, {kib(SHARED_SIZE)}, gives "
        f"{SHARED_CLOCK} bytes a clock. It is one of {SMS} SMs, which share {mib(L2):.0f} MiB of L2 cache and "
        f"{HBM_SIZE / 1e9:.0f} GB of HBM. HBM gives {HBM / 1e12:.2f} TB/s, which is {HBM_CLOCK:.1f} bytes a clock for "
        f"each SM. L2 gives {L2_SPEED} TB/s, as measured, which is {L2_CLOCK} bytes a clock for each SM",
        f'the "{HBM_SIZE / 1e9:.0f} GB" of the GPU\'s name',
        f"| HBM | – | {HBM_SIZE / 1e9:.0f} GB, by its name | {HBM_CLOCK:.1f} | {HBM / 1e12:.2f} TB/s |",  # noqa: RUF001
        f"the tensor cores of one SM do {TENSOR} FLOP a clock on 16-bit numbers, and its plain FP32 lanes {LANES}: "
        f"{TENSOR // LANES} times",
        f"The clock is the {CLOCK / 1e9:.2f} GHz",
        f"{LANES} FLOP a clock are {LANES // 2} multiply-adds, and each reads 3 numbers of 4 bytes",
        f"| Registers | {kib(REGISTERS)} | {mib(SMS * REGISTERS):.0f} MiB "
        f"| {REGISTERS_CLOCK:.0f} asked for | {REGISTERS_SPEED / 1e12:.0f} TB/s |",
        f"| Shared memory | {kib(SHARED_SIZE)} | {mib(SMS * SHARED_SIZE):.1f} MiB "
        f"| {SHARED_CLOCK} | {SHARED / 1e12:.1f} TB/s |",
        f"can have {value('shared memory per block') / 2**10:.0f} KiB of the {SHARED_SIZE / 2**10:.0f}",
        f"| L2 | – | {mib(L2):.0f} MiB | {L2_CLOCK} |",  # noqa: RUF001
        f"Far beyond {mib(L2):.0f} MiB it comes down to that of HBM",
        "The row of 16 MiB is the one quoted above",
        "Tables of 2 and 4 MiB come out a little faster",
        "And 256 MiB come out a little faster than HBM can be, for L2 can hold a fifth of them",
        f"TB/s ÷ {SMS} ÷ {CLOCK / 1e9:.2f} GHz = {L2_CLOCK} bytes a clock for each SM",
        f"at {CLOCK / 1e9:.2f} GHz there are {CLOCK / 1e6:.0f} million of them in a second",
        f"bytes a clock: {REGISTERS_CLOCK:.0f}, {SHARED_CLOCK}, {L2_CLOCK}, {HBM_CLOCK:.1f}",
        f"{REGISTERS_CLOCK:.0f}, {SHARED_CLOCK}, {L2_CLOCK} and {HBM_CLOCK:.0f} bytes a clock for each SM",
        f"a GPU that holds {HBM_SIZE / 1e9:.0f} GB has {mib(SMS * REGISTERS):.0f} MiB of registers",
        f"an SM can do {TENSOR} FLOP on numbers of 16 bits",
        f"{HBM / 1e12:.2f} TB/s ÷ {SMS} ÷ {CLOCK / 1e9:.2f} GHz = {HBM_CLOCK:.1f} bytes: {HBM_CLOCK / 2:.0f} numbers",
        f"{TENSOR} ÷ {HBM_CLOCK:.1f} = {RIDGE:.0f} FLOP a byte",
        f"{SMS} · {TENSOR} · {CLOCK / 1e9:.2f} GHz = {PEAK / 1e12:.0f} TFLOP/s, and 989 ÷ 3.35 = {RIDGE:.0f}",
        f"{TENSOR} ÷ {SHARED_CLOCK} = {SHARED_RIDGE:.0f} FLOP a byte",
        f"The {RIDGE:.0f} FLOP a byte are called the *ridge*",
        f"To reach {SHARED_RIDGE:.0f} takes an edge of {SHARED_EDGE:.0f}. "
        f"To reach {RIDGE:.0f} takes an edge of {EDGE:.0f}",
        f"an edge of {EDGE:.0f} fits no SM",
        f"{EDGE:.0f}² · 4 bytes = {mb(round(EDGE) ** 2 * 4):.1f} MB, and the registers of an SM hold {kib(REGISTERS)}",
        f"takes {value('wgmma rows')} rows at a time",
        f"{RIDGE:.0f} FLOP a byte, worked out in two ways",
        f"A KiB is {2**10} bytes, a MiB {2**20 // 2**10} KiB",
        # questions
        f"The shares stay {100 * LOWERED[0]:.0f} %, {100 * LOWERED[1]:.0f} % and {100 * LOWERED[2]:.0f} %",
        f"(a) {PEAK / 1e12:.0f} TFLOP/s: an edge of {SHARED_EDGE:.0f} is enough",
        f"(c) {HBM / 1e12:.2f} TFLOP/s, one operation for each byte",
        f"(b) {FED / 1e12:.0f} TFLOP/s, about a ninth of that",
        f"makes {64 // 2} FLOP a byte, and 32 · 3.35 TB/s = {FED / 1e12:.0f} TFLOP/s",
    ],
    SHEET: [
        f"3 words, {3 * 3} scores; 10 words, {10 * 10}; 1000 words, a million",
        f"over {sum(map(exp, S[0])):.2f}, then a pie: {percent(SHARES[0], between=', ')}",
        f"÷ √2: {percent(AT_THE_BOARD[0], between=', ')}",
        f"0.4 · {vector(V[0])} + 0.2 · {vector(V[1])} + 0.4 · {vector(V[2])} = {vector(blend(AT_THE_BOARD[0], V))}",
        f"Value rows add up to {sum(V[0])}",
        f"Under them {mib(ROWS / 4):.0f} MiB, {mib(SQUARE):.0f} MiB, {mib(ROWS / 4):.0f} MiB",
        f"4N² / 4Nd = N/d = {8192 // 128}, circled",
        f"{PEAK / 1e12:.0f} trillion operations a second, fed by {HBM / 1e12:.2f} TB/s. The cooks need "
        f"{1e6 * WORKED:.0f} µs for the two matmuls. The hallway needs {1e6 * SPENT:.0f} µs",
        f"Q = {', '.join(map(vector, Q))} · K = {', '.join(map(vector, K))} · V = {', '.join(map(vector, V))}",
        *[
            f"| row {i + 1} | {' '.join(map(str, S[i]))} | {percent(SHARES[i], between=' ')} "
            f"| {percent(AT_THE_BOARD[i], between=' ')} | {vector(blend(AT_THE_BOARD[i], V))} |"
            for i in range(3)
        ],
        f"{mib(ROWS / 4):.0f} MiB each, {mib(ROWS):.0f} MiB. The square: 8192² · 2 bytes = {mib(SQUARE):.0f} MiB "
        f"= {mb(SQUARE):.1f} MB",
        f"Four trips: {mib(4 * SQUARE):.0f} MiB = {mb(4 * SQUARE):.0f} MB, at 3.35 TB/s {1e6 * SPENT:.0f} µs",
        f"4N²d = {attention_flops(8192, 128) / 1e9:.1f} GFLOP, at 989 TFLOP/s {1e6 * WORKED:.0f} µs",
        f"{MODEL / 1e12:.2f} TB a forward pass, {MODEL / HBM:.2f} s in the hallway",
        f"so reckoned, falls from {1e6 * SPENT:.0f} to {1e6 * WORKED:.0f} µs",
        f"{mib(SQUARE):.0f} MiB is {mb(SQUARE):.1f} MB",
    ],
}


@pytest.mark.parametrize("page, text", [(page, text) for page, texts in TYPED.items() for text in texts])
def test_a_number_worked_by_hand_is_right(page, text):
    assert text in words(page)


def test_what_is_said_of_the_numbers():
    assert 4 * SQUARE == 64 * ROWS
    assert round(EDGE) ** 2 * 4 > REGISTERS  # no SM holds the sums of such a tile
    assert [round(share, 2) for share in softmax(S[0])[:2]] == [0.42, 0.16]
    assert 8 < SHARED_CLOCK / HBM_CLOCK < 13 and 8 < REGISTERS_CLOCK / SHARED_CLOCK < 13  # "about a factor of ten"
    assert pytest.approx(REGISTERS_SPEED) == REGISTERS_CLOCK * SMS * CLOCK
    assert 0.9 * SMS * CLOCK * TENSOR < PEAK <= SMS * CLOCK * TENSOR
    assert softmax([5, 3, 3]) == pytest.approx(LOWERED)
    assert round(PEAK / FED) == round(SHARED / HBM) == 9  # a ninth


def test_what_is_said_of_the_speed_of_l2():
    speeds = {each["size"]: 1e12 * each["speed"] for each in table("l2_speed", "sizes")}
    clock = speeds[16] / SMS / CLOCK
    assert (f"{speeds[16] / 1e12:.1f}", round(clock)) == (f"{L2_SPEED}", L2_CLOCK)
    assert round(SHARED_CLOCK / clock) == 4 and 2 < clock / HBM_CLOCK < 3  # a quarter; more than twice
    assert HBM < speeds[256] < 1.1 * HBM and round(256 * 2**20 / L2) == 5  # a little faster; a fifth may lie in L2
    assert speeds[16] < speeds[4] < speeds[2] < 1.1 * speeds[16] and speeds[8] < speeds[16]  # 2 and 4, a little
    kernel = (ROOT / "kernels" / "rereading.py").read_text(encoding="utf-8")
    assert kernel.count("tl.load(") == kernel.count('cache_modifier=".cg"') == 1  # the reads pass L1 by


def test_the_minutes_of_the_talk_are_those_of_the_plan():
    planned = minutes(SHEET)
    assert planned == [4, 6, 5, 4, 3, 5, 2]
    assert f"# The {sum(planned)}-minute talk" in words(SHEET) and f"{sum(planned)} minutes" in words(SHEET)
    assert f"in minute {sum(planned[:4])}" in words(SHEET)


def test_the_drawn_gpu_is_to_scale_and_says_what_the_registry_says():
    drawing = ElementTree.parse(ROOT / "docs" / DRAWING)
    pipes = {rect.get("data-pipe"): float(rect.get("width")) for rect in drawing.iter() if rect.get("data-pipe")}
    speeds = {"registers": REGISTERS_CLOCK, "shared memory": SHARED_CLOCK, "l2": L2_CLOCK, "hbm": HBM_CLOCK}
    assert pipes.keys() == speeds.keys()
    for name, width in pipes.items():
        assert width == pytest.approx(276 * speeds[name] / REGISTERS_CLOCK, rel=0.01), name
    groups = {group.get("data-what"): list(group) for group in drawing.iter() if group.get("data-what")}
    assert len(groups["sms"]) == SMS and len(groups["warps"]) % 32 == 0

    shown = words(DRAWING)
    for text in [
        f"registers {kib(REGISTERS)}",
        f"shared memory {kib(SHARED_SIZE)}",
        f"L2 cache {mib(L2):.0f} MiB, {L2_SPEED} TB/s",
        f"{L2_CLOCK} B a clock per SM",
        f"HBM {HBM_SIZE / 1e9:.0f} GB, {HBM / 1e12:.2f} TB/s",
        f"{LANES} FLOP a clock",
        f"{TENSOR} FLOP a clock",
        f"lanes ask for {REGISTERS_CLOCK:.0f} B a clock",
        f"{SHARED_CLOCK} B a clock",
        f"{HBM_CLOCK:.1f} B a clock per SM",
        f"{SMS} SMs",
        "a pipe a twelfth as wide",
    ]:
        assert text in shown
    assert round(REGISTERS_CLOCK / SHARED_CLOCK) == 12


def test_the_drawn_tile_is_fed_by_two_rows_and_two_columns():
    drawing = ElementTree.parse(ROOT / "docs" / TILE)
    marked = {
        grid.get("data-what"): sum("data-marked" in cell.attrib for cell in grid)
        for grid in drawing.iter()
        if grid.get("data-what")
    }
    assert marked == {"first": 8, "second": 8, "product": 4}
    assert fetched(4, 2) == 4 * (marked["first"] + marked["second"])
