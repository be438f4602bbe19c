"""*64x traffic* and its sheet: every number worked by hand is right, and so is all that words say of the records."""

import re
from itertools import accumulate, pairwise
from math import isclose
from xml.etree import ElementTree

import pytest

from kernels.bench.cost import (
    attention_flops,
    eager_traffic,
    fused_traffic,
    gb,
    mb,
    mib,
    qkvo_bytes,
    square_bytes,
    three_kernels_traffic,
)
from kernels.bench.hardware import H200
from tests.docs.by_hand import ROOT, minutes, table, value, words

CHAPTER = "chapters/traffic.md"
SHEET = "whiteboard/traffic.md"
KITCHEN = "assets/drawings/kitchen.svg"
FIT = "assets/drawings/does-it-fit.svg"
TRIPS = "assets/drawings/trips.svg"

N, D = 8192, 128


PEAK, BANDWIDTH = value("bf16 peak"), value("hbm bandwidth")
RIDGE = PEAK / BANDWIDTH
SQUARE, LEAST = square_bytes(N, 2), qkvo_bytes(N, D, 2)
MOVED = sum(step.read + step.written for step in eager_traffic(N, D, 2))
ON_CHIP = [mib(value("sms") * value(f"{what} per SM")) for what in ("registers", "shared memory")]
ON_CHIP.append(mib(value("l2")))
QK = eager_traffic(N, D, 2)[0]
INTENSITY = attention_flops(N, D) / 2 / (QK.read + QK.written)
HEADS = 80 * 64
PASS = 4 * square_bytes(N, 2, heads=HEADS)
FUSED = attention_flops(N, D) / sum(fused_traffic(N, D, 2)[0][1:])
L2_SPEED = 7.5  # TB/s, measured: held against the record below
LANES = value("fp32 lanes") * value("sms") * value("tensor core clock")

TYPED = {
    CHAPTER: [
        # the hallway
        f"an H100's {value('sms')} *streaming multiprocessors*",
        f"{PEAK / 1e12:.0f} TFLOP/s on numbers of 16 bits",
        f"and moves at most {BANDWIDTH / 1e12:.2f} TB a second",
        f"a large matmul reached {value('bf16 matmul') / 1e12:.0f} TFLOP/s, "
        f"and a copy {value('hbm copy') / 1e12:.2f} TB/s",
        f"The {value('shared memory bandwidth') / 1e12:.0f} TB/s of shared memory are arithmetic: {value('sms')} SMs, "
        f"{value('shared memory per clock')} bytes a clock each, {value('tensor core clock') / 1e9:.2f} GHz",
        f"{PEAK / 1e12:.0f} TFLOP/s ÷ {BANDWIDTH / 1e12:.2f} TB/s = {RIDGE:.0f} FLOP per byte",
        f"used in {2 * round(RIDGE)} operations, which is {RIDGE:.0f} multiply-adds",
        "2 · 8192³ FLOP on 3 · 8192² · 2 bytes",
        f"That is {2 * 8192**3 / (3 * 8192**2 * 2):.0f} FLOP per byte",
        f"{value('sms')} SMs, each with {value('registers per SM') / 2**10:.0f} KiB of registers and "
        f"{value('shared memory per SM') / 2**10:.0f} KiB of shared memory; all shared memory together gives "
        f"{value('shared memory bandwidth') / 1e12:.0f} TB/s; the L2 cache of "
        f"{mib(value('l2')):.0f} MiB that all SMs share, {L2_SPEED} TB/s as measured; "
        f"the hallway, {BANDWIDTH / 1e12:.2f} TB/s; "
        f"and at the bottom HBM, {gb(value('hbm')):.0f} GB",
        # where the square could live
        f"the scores of one head, {mib(SQUARE):.0f} MiB; L2, {ON_CHIP[2]:.0f} MiB; "
        f"all registers, {ON_CHIP[0]:.0f} MiB; all shared memory, {ON_CHIP[1]:.0f} MiB; "
        f"and Q, K, V and the output together, {mib(LEAST):.0f} MiB",
        f"The square of scores has 8192² cells of two bytes: {mib(SQUARE):.0f} MiB",
        f"the output are {mib(LEAST) / 4:.0f} MiB each",
        f"One SM's shared memory is {value('shared memory per SM') / 2**10:.0f} KiB",
        f"*together* come to {sum(ON_CHIP):.0f} MiB",
        f"A square of $N = 1024$ takes {mib(square_bytes(1024, 2)):.0f} MiB",
        # trips
        f"4N² ÷ 4Nd = N ÷ d = 8192 ÷ 128 = {N // D}. Circle it",
        f"4 · {mib(SQUARE):.0f} MiB = {4 * mib(SQUARE):.0f} MiB against "
        f"4 · {mib(LEAST) / 4:.0f} MiB = {mib(LEAST):.0f} MiB",
        f"N = 8 and d = 2: {4 * 8**2} numbers against {4 * 8 * 2}",
        f"80 · 64 = {HEADS} squares. Four trips each: {HEADS} · 4 · {mb(SQUARE):.1f} MB = {gb(PASS) / 1e3:.2f} TB",
        f"At {BANDWIDTH / 1e12:.2f} TB/s that is {PASS / BANDWIDTH:.2f} s",
        f"Six trips of {mb(SQUARE):.1f} MB and {mb(LEAST):.1f} MB of small tables make {mb(MOVED):.1f} MB, "
        f"{MOVED / LEAST:.0f} times",
        f"The output of PV, {mb(LEAST / 4):.1f} MB, all but vanishes",
        f"it makes an output of {mb(LEAST / 4):.1f} MB",
        "a matmul wrote 112 MB of its 134 MB output",  # as the record says, below
        f"The first matmul makes a square of {mb(SQUARE):.1f} MB",
        f"QKᵀ reads {mb(QK.read):.1f} MB in the prediction",
        f"L2 holds {mib(value('l2')):.0f} MiB",
        # the roofline
        f"{D} ÷ {1 + 2 * D / N:.5f} = {INTENSITY:.0f} FLOP per byte",
        f"{INTENSITY:.0f} · {BANDWIDTH / 1e12:.2f} = {INTENSITY * BANDWIDTH / 1e12:.0f} TFLOP/s, of {PEAK / 1e12:.0f}",
        f"Choose *predicted*, and it stands at {INTENSITY:.0f}",
        f"flat roof, {LANES / 1e12:.0f} TFLOP/s at the clock of the tensor cores' {PEAK / 1e12:.0f}",
        f"| 4N²d | 8Nd | N/2 = {FUSED:.0f} | arithmetic |",
        f"one head in FP16, where the ridge is {RIDGE:.0f}",
        f"from about N = {2 * round(RIDGE)} on",
        f"like an H200's with {H200['hbm bandwidth'].value / 1e12:.1f} TB/s",
        # questions
        f"N ÷ d = 16,384 ÷ 128 = {16384 // 128}",
        f"moves {MOVED / LEAST:.0f} times fewer bytes",
    ],
    SHEET: [
        f"H100: {PEAK / 1e12:.0f} TFLOP/s, {BANDWIDTH / 1e12:.2f} TB/s",
        f"{PEAK / 1e12:.0f} ÷ {BANDWIDTH / 1e12:.2f} = {RIDGE:.0f} FLOP per byte",
        f"The square, {mib(SQUARE):.0f} MiB, beside {ON_CHIP[2]:.0f} (L2), {ON_CHIP[0]:.0f} (registers), "
        f"{ON_CHIP[1]:.0f} (shared memory)",
        f"All memory on the chip together is {sum(ON_CHIP):.0f} MiB",
        f"the storeroom; {BANDWIDTH / 1e12:.2f} TB/s at the hallway",
        f"N ÷ d = {N // D}. Circle it",
        f"ridge at {RIDGE:.0f}; QKᵀ at {INTENSITY:.0f}",
        f"| {mib(SQUARE):.0f} MiB = {mb(SQUARE):.1f} MB; {mib(LEAST):.0f} MiB = {mb(LEAST):.1f} MB |",
        f"| 4 · {mib(SQUARE):.0f} MiB against {mib(LEAST):.0f} MiB | "
        f"{4 * mib(SQUARE):.0f} to {mib(LEAST):.0f} = {4 * SQUARE // LEAST} = N ÷ d |",
        f"| 6 · {mb(SQUARE):.1f} + {mb(LEAST):.1f} MB | {mb(MOVED):.1f} MB, {MOVED / LEAST:.0f} times the least |",
        f"| N = 8, d = 2: 4 · {8**2} against 4 · {8 * 2} | {4 * 8**2} to {4 * 8 * 2} = {8 // 2} |",
        f"| {PEAK / 1e12:.0f} ÷ {BANDWIDTH / 1e12:.2f} | {RIDGE:.0f} FLOP per byte |",
        f"{D} ÷ {1 + 2 * D / N:.5f} | {INTENSITY:.0f}, so at most {INTENSITY * BANDWIDTH / 1e12:.0f} TFLOP/s |",
        f"| N ÷ 2; 4Nd ÷ 4Nd | {FUSED:.0f}; 1 FLOP per byte |",
        f"| 80 · 64 squares, four trips | {gb(PASS) / 1e3:.2f} TB, {PASS / BANDWIDTH:.2f} s of hallway |",
    ],
    KITCHEN: [
        f"{value('sms')} SMs, each with",
        f"{PEAK / 1e12:.0f} TFLOP/s",
        f"registers {value('registers per SM') / 2**10:.0f} KiB",
        f"shared mem. {value('shared memory per SM') / 2**10:.0f} KiB",
        f"together: {value('shared memory bandwidth') / 1e12:.0f} TB/s",
        f"one pantry for all {mib(value('l2')):.0f} MiB, {L2_SPEED} TB/s",
        f"the hallway {BANDWIDTH / 1e12:.2f} TB/s",
        "a ninth of 31",
    ],
    FIT: [
        f"scores {mib(SQUARE):.0f} MiB",
        f"on the chip: {sum(ON_CHIP):.0f} MiB",
        f"registers {ON_CHIP[0]:.0f} MiB",
        f"shared {ON_CHIP[1]:.0f} MiB",
        f"L2 {ON_CHIP[2]:.0f} MiB",
        f"Q, K, V, O {mib(LEAST):.0f} MiB",
    ],
}


@pytest.mark.parametrize("page, text", [(page, text) for page, texts in TYPED.items() for text in texts])
def test_a_number_worked_by_hand_is_right(page, text):
    assert text in words(page)


def test_the_minutes_of_the_sheet_add_up():
    assert f"{sum(minutes(SHEET))} minutes" in words(SHEET)


def test_what_is_said_of_the_count():
    assert 4 * SQUARE == 64 * LEAST and MOVED == 6 * SQUARE + LEAST
    assert sum(ON_CHIP) < mib(SQUARE)  # it fits nowhere
    assert round(value("shared memory bandwidth") / BANDWIDTH) == 9  # a ninth
    by_n = [
        attention_flops(n, D) / 2 / sum(eager_traffic(n, D, 2)[0][1:]) for n in (2**power for power in range(8, 24))
    ]
    assert all(before < after < D < RIDGE for before, after in pairwise(by_n))  # below d, however long
    assert isclose(INTENSITY, D / (1 + 2 * D / N))
    assert FUSED == N / 2 > RIDGE
    assert 0 < 1 - BANDWIDTH / H200["hbm bandwidth"].value < 1 / 3  # less than a third
    assert [round((t.read + t.written) / square_bytes(N, 4)) for t in three_kernels_traffic(N, D, 2, 4)] == [1, 3, 1]


def test_the_drawn_areas_are_to_scale():
    rects = ElementTree.fromstring((ROOT / "docs" / FIT).read_text()).iter("{http://www.w3.org/2000/svg}rect")
    sides = [float(rect.get("width")) for rect in rects]
    registers, shared, l2 = ON_CHIP
    for side, size in zip(sides, [mib(SQUARE), l2, registers, shared, mib(LEAST)], strict=True):
        assert abs((side / sides[0]) ** 2 - size / mib(SQUARE)) < 0.003


def test_the_drawn_trips_are_counted():
    assert [int(number) for number in re.findall(r"(?<= )\d(?= )", words(TRIPS).split("HBM")[-1])] == [1, 2, 3, 4, 5, 6]


def test_what_words_say_of_the_counters():
    counted = table("hbm_traffic", "counted")
    whole = {row["form"]: row for row in table("hbm_traffic", "whole")}

    def rows(form, caches):
        return [row for row in counted if (row["form"], row["caches"]) == (form, caches)]

    def speed(row):
        return 1e9 * (row["read"] + row["written"]) / row["time"]  # B/s: MB by ms

    eager = whole["attention"]
    assert f"{1e6 * eager['flushed'] / SQUARE:.1f} squares. That is neither" in words(CHAPTER)
    assert f"{1e6 * eager['kept'] / SQUARE:.2f} squares. Taken apart" in words(CHAPTER)
    flushed, kept = rows("attention", "flushed"), rows("attention", "kept")
    for moved, sign in (("read", -1), ("written", 1)):  # half a per cent fewer, half a per cent more
        expected = mb(sum(getattr(step, moved) for step in eager_traffic(N, D, 2)))
        assert 0.003 < sign * (sum(row[moved] for row in kept) / expected - 1) < 0.007
    qk, scale, softmax, pv = flushed
    assert "QKᵀ, scale, softmax, PV: about 1, 1½, 5 and 1 long" in words(SHEET)
    unit = sum(row["time"] for row in flushed) / 8.5
    assert all(abs(row["time"] / unit / bar - 1) < 0.1 for row, bar in zip(flushed, (1, 1.5, 5, 1), strict=True))
    assert (scale["time"] + softmax["time"]) / sum(row["time"] for row in flushed) > 0.75
    assert all(value("bf16 matmul") / 2 > attention_flops(N, D) / 2 / (1e-3 * row["time"]) for row in (qk, pv))
    for row in (qk, pv):  # bytes take longer than arithmetic
        arithmetic = attention_flops(N, D) / 2 / value("bf16 matmul")
        assert (row["read"] + row["written"]) * 1e6 / value("hbm copy") > arithmetic
    assert 0.9 < speed(scale) / value("hbm copy") < 1
    assert 0.28 < speed(softmax) / value("hbm copy") < 0.38  # about a third
    ours = rows("three_kernel_attention", "flushed")[1]
    assert 2.7 < (ours["read"] + ours["written"]) / (softmax["read"] + softmax["written"]) < 3.3
    assert abs(ours["time"] / softmax["time"] - 1) < 0.05  # the same time
    assert abs(1e6 * kept[1]["read"] / SQUARE - 1) < 0.01  # the scale finds nothing of the square in L2
    late = [SQUARE - 1e6 * row["written"] for row in (qk, scale, softmax)]
    assert 0 < max(late) < value("l2") / 2  # less than half of L2 holds late bytes
    assert qk["read"] > 1.2 * mb(QK.read)  # read more than once
    assert kept[3]["written"] / 2 > mb(LEAST / 4)  # most of what PV writes is not its output
    made = [SQUARE, SQUARE, SQUARE, LEAST / 4]
    short = list(accumulate(size - 1e6 * row["written"] for size, row in zip(made, kept, strict=True)))
    assert all(0 < late < value("l2") / 2 for late in short[:3]) and abs(short[3]) < LEAST / 4  # the account
    for row in (qk, kept[0]):  # with counted bytes, to the right of d
        assert attention_flops(N, D) / 2 / (1e6 * (row["read"] + row["written"])) > D
    assert 1 / 5 < qk["time"] / (1e3 * (QK.read + QK.written) / value("hbm copy")) - 1 < 1 / 4
    assert f"{round(qk['written'])} MB of its {mb(SQUARE):.0f} MB output" in words(CHAPTER)


def test_what_words_say_of_the_softmax():
    rows = {row["row"]: row for row in table("roofline", "softmax")}
    copy = rows.pop(None)
    kernels = {length: row["kernel"] for length, row in rows.items()}
    assert len(set(kernels.values())) == 4
    assert kernels[8192].endswith("Reg") and kernels[16384].endswith("Smem")
    for other in (rows[16384]["time"], rows[8192]["ours"]):
        assert abs(other / rows[8192]["time"] - 0.5) < 0.03  # in half the time
    assert 0.9 < rows[2048]["our_speed"] / copy["speed"] < 1  # within a tenth
    assert 8192 / 1024 <= 9 < 16384 / 1024  # up to nine numbers a thread, 1024 threads a row
    assert value("registers per SM") / 4 / 32 == 2 * 1024  # with 32 registers a thread, two blocks of 1024


def test_what_words_say_of_the_roofline():
    reached = {row["step"]: row for row in table("roofline", "reached")}
    assert reached["softmax"]["to_the_roof"] < 1 / 3  # well below
    assert all(reached[step]["to_the_roof"] > 0.8 for step in ("scale", "PV"))  # close below
    assert reached["PV"]["to_the_roof"] > reached["QKᵀ"]["to_the_roof"] > 2 * reached["softmax"]["to_the_roof"]
    assert reached["QKᵀ"]["flop_a_byte"] > D


def test_what_words_say_of_the_floors():
    rows = table("prefill_speed", "forward_128")
    times = {
        row["n"]: row["median"] for row in rows if row["form"] == "attention" and not row["causal"] and row["median"]
    }
    above = {}
    for n, median in times.items():
        moved = sum(step.read + step.written for step in eager_traffic(n, D, 2, 16, 16384 // n))
        memory = 1e3 * moved / value("hbm copy")
        arithmetic = 1e3 * attention_flops(n, D, 16, 16384 // n) / value("bf16 matmul")
        assert 5 < memory / arithmetic < 7
        above[n] = median / memory - 1
    assert all(above[n] < above[2 * n] for n in (512, 1024, 2048, 4096))  # the gap grows
    assert abs(above[512] - 1 / 8) < 0.02 and abs(above[8192] - 2 / 3) < 0.03 and 0.1 < above[16384] < 1 / 6
    assert 1 < times[16384] / times[8192] < 1.5
    (fused,) = (row for row in rows if (row["form"], row["n"], row["causal"]) == ("flash_attention", 8192, False))
    assert fused["speed"] > 0.75 * value("bf16 matmul") / 1e12 > INTENSITY * BANDWIDTH / 1e12
    assert 7 < times[8192] / fused["median"] < 8


def test_the_speed_of_l2_is_the_one_that_was_measured():
    speeds = {each["size"]: each["speed"] for each in table("l2_speed", "sizes")}
    assert f"{speeds[16]:.1f}" == f"{L2_SPEED}"
