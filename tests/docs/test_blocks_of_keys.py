"""Blocks of keys: hand-worked numbers are what they must be, and words agree with the records and the compiled code."""

# ruff: noqa: RUF001  (a multiplication sign, as print has it)

import re
from itertools import pairwise
from math import exp, inf

import pytest

from kernels.bench.cost import attention_flops, gib, mib, qkvo_bytes, requested_bytes
from kernels.bench.hardware import H100
from tests.docs.by_hand import ROOT, K, Q, V, blend, dot, minutes, percent, row, softmax, table, vector, words
from tests.docs.compiled import elsewhere

CHAPTER = "chapters/blocks-of-keys.md"
SHEET = "whiteboard/blocks-of-keys.md"
STRIP = "assets/drawings/strip.svg"

N, D, KEYS, QUERIES, THREADS, BYTES = 8192, 128, 32, 64, 128, 2
STEPS = N // KEYS
TILE = KEYS * D
LOAD = 16  # bytes, the most that one instruction brings a thread
LOADS = TILE * BYTES // THREADS // LOAD
REGISTERS, SHARED = (int(H100[of].value) for of in ("registers per SM", "shared memory per SM"))
ROW, SCORES = 4 * N, 4 * N * QUERIES  # bytes of FP32
LENGTHS = [256, 512, 1024, 2048, 4096, 8192]  # of the run
CACHE = 2 * N * D * BYTES  # K and V of one head

FIRST, SECOND = ([[q * k for q, k in zip(Q[0], key, strict=True)] for key in block] for block in (K[:2], K[2:]))
ABSENT = [*(dot(Q[0], key) for key in K), 0]  # a key that does not exist scores 0
SHARES = [0.4, 0.2, 0.4]
BLENDS = [blend(SHARES[:2], V[:2]), blend(SHARES[2:], V[2:])]
OUTPUT = [sum(column) for column in zip(*BLENDS, strict=True)]

TYPED = {
    CHAPTER: [
        f"One at a time the loop goes round {N} times",
        f"{N} × {N} = {N * N:,} places for a single query",
        f"{N} ÷ {KEYS} = {STEPS} times. Over {N} places each: {STEPS} × {N} = {STEPS * N:,}",
        f"Both numbers are {KEYS} times smaller",
        f"{KEYS} × {D} = {TILE} numbers, {TILE * BYTES} bytes",
        f"For each of {THREADS} threads that is {TILE // THREADS} numbers, {TILE * BYTES // THREADS} bytes",
        f"{LOAD} bytes, {LOAD // BYTES} of these numbers. So the block takes {LOADS} loads a thread",
        f"At {LOAD // BYTES} numbers a thread they lie with {D // (LOAD // BYTES)} threads, half of one warp",
        f"the same {KEYS} keys take {KEYS * D // THREADS} loads of {BYTES} bytes",
        f"number by number: {vector(FIRST[0])} and {vector(FIRST[1])}",
        f"Summed along each row: {vector(map(sum, FIRST))}",
        f"a row that is not there: {vector(SECOND[0])} and nothing. Its scores are [{sum(SECOND[0])}, \N{MINUS SIGN}∞]",
        f"the row is {vector(ABSENT)}: {exp(1):.2f} + 1 + {exp(1):.2f} + 1 = {sum(map(exp, ABSENT)):.2f}",
        f"instead of {sum(map(exp, ABSENT[:3])):.2f}, and the shares are {percent(softmax(ABSENT))}",
        f"A key that does not exist takes {100 * softmax(ABSENT)[3]:.0f} % of the attention",
        f"The output is {100 * softmax(ABSENT)[3]:.0f} % too small",
        f"where there is no key, with {100 * softmax(ABSENT)[3]:.0f} % as the reason",
        f"shares, rounded as in chapter 1: {percent(SHARES)}",
        f"0.4 · {vector(V[0])} + 0.2 · {vector(V[1])} = {vector(BLENDS[0])}",
        f"0.4 · {vector(V[2])} = {vector(BLENDS[1])}. Added up: {vector(OUTPUT)}",
        f"{KEYS} × {D} numbers of FP32, {TILE // THREADS} of them for each of {THREADS} threads",
        f"up to 16384 scores, which is {16384 // THREADS} numbers a thread",
        f"That is {attention_flops(N, D) // (CACHE * N)} FLOP for each byte asked for",
        f"meet {QUERIES} queries while it is here: {attention_flops(N, D) // (CACHE * N // QUERIES)} FLOPs a byte",
        f"2 × {N} × {D} × {BYTES} bytes = {mib(CACHE):.0f} MiB",
        f"{N} × {mib(CACHE):.0f} MiB = {gib(N * CACHE):.0f} GiB",
        f"{N // QUERIES} × {mib(CACHE):.0f} MiB = {mib(N // QUERIES * CACHE):.0f} MiB",
        f"{N} × 4 bytes = {ROW // 2**10} KiB. An SM has {REGISTERS // 2**10} KiB of registers. One row fits",
        f"{QUERIES} × {N} × 4 bytes = {SCORES:,} bytes = {mib(SCORES):.0f} MiB",
        f"The registers hold an eighth of that: {REGISTERS // ROW} rows",
        f"The shared memory of an SM, {SHARED // 2**10} KiB, holds {SHARED // ROW}",
        f"Its uppermost {REGISTERS // ROW} rows, {REGISTERS // 2**10} KiB, are all the registers of one SM",
        "N = 61, blocks of 32. What must the last three scores",
        "The keys are numbered 0 to {}; numbers {}, {} and {} do not".format(*range(60, 2 * KEYS)),
        f"{1021} keys are {1021 // KEYS} full blocks and one of {1021 % KEYS}",
        f"A rectangle of {QUERIES} rows by {N} keys, {mib(SCORES):.0f} MiB",
        f"The single line on top is one query, {ROW // 2**10} KiB",
        f"{QUERIES} × {N} × 2 bytes = {mib(SCORES // 2):.0f} MiB, and an SM has {REGISTERS // 2**10} KiB of registers",
        f"No, it is still {['', 'one', 'two', 'three', 'four'][SCORES // 2 // REGISTERS]} times too large",
        f"a strip of {2 * REGISTERS // ROW} queries",
        f"{mib(SCORES):.0f} MiB against {REGISTERS // 2**10} KiB",
    ],
    SHEET: [
        f"N = {N}: {N} steps, {N} places each",
        f"{N * N:,} places for one query",
        f"trays of {KEYS}: {STEPS} steps, {STEPS * N:,} places",
        f"{LOADS} loads of {LOAD} bytes a thread for what took {KEYS} of {BYTES}",
        f"a key that does not exist takes {100 * softmax(ABSENT)[3]:.0f} %",
        f"{vector(BLENDS[0])} + {vector(BLENDS[1])} = {vector(OUTPUT)}",
        f"q = {vector(Q[0])} · K = {', '.join(map(vector, K))} · V = {', '.join(map(vector, V))}",
        f"| first | {vector(FIRST[0])}, {vector(FIRST[1])} | {', '.join(map(str, map(sum, FIRST)))} | 40 %, 20 % |",
        f"| 0.4 · {vector(V[0])} + 0.2 · {vector(V[1])} = {vector(BLENDS[0])} |",
        f"| second | {vector(SECOND[0])}, none | {sum(SECOND[0])}, \N{MINUS SIGN}∞ | 40 %, 0 % |",
        f"| 0.4 · {vector(V[2])} = {vector(BLENDS[1])} |",
        f"{sum(map(exp, ABSENT)):.2f} instead of {sum(map(exp, ABSENT[:3])):.2f}; {percent(softmax(ABSENT))}",
        f"The strip, {QUERIES} rows by {N}, {mib(SCORES):.0f} MiB; in it {REGISTERS // ROW} rows shaded",
        f"{mib(CACHE):.0f} MiB; once a query {gib(N * CACHE):.0f} GiB, once for {QUERIES} queries "
        f"{mib(N // QUERIES * CACHE):.0f} MiB",
        f"One row: {N} × 4 bytes = {ROW // 2**10} KiB",
        f"The strip: {QUERIES} × {N} × 4 bytes = {mib(SCORES):.0f} MiB",
        f"{REGISTERS // 2**10} KiB, {REGISTERS // ROW} rows",
        f"shared memory: {SHARED // 2**10} KiB, {SHARED // ROW} rows",
    ],
    STRIP: [
        f"{REGISTERS // ROW} rows: {REGISTERS // 2**10} KiB",
        f"{QUERIES} rows: {mib(SCORES):.0f} MiB",
        f"{QUERIES} × {N} × 4 bytes",
        f"one query: {ROW // 2**10} KiB",
    ],
}


@pytest.mark.parametrize("page, text", [(page, text) for page, texts in TYPED.items() for text in texts])
def test_a_number_worked_by_hand_is_right(page, text):
    assert text in words(page)


def test_what_is_said_of_the_small_example():
    assert vector(OUTPUT) == "[6, 4]"
    lines = [[*map(sum, FIRST)], [sum(SECOND[0]), -inf]]
    assert percent(softmax([score for line in lines for score in line])) == "42 %, 16 %, 42 %, 0 %"
    assert SCORES == 8 * REGISTERS  # an eighth
    row_and_tile = 16384 // THREADS + TILE // THREADS
    assert row_and_tile < 255 < 2 * 16384 // THREADS  # a row of twice the length would not fit by itself


@pytest.mark.parametrize("queries, asked", [(1, N), (QUERIES, N // QUERIES)])
def test_what_is_asked_for_is_what_the_library_counts(queries, asked):
    assert requested_bytes(N, D, BYTES, queries) == asked * CACHE + qkvo_bytes(N, D, BYTES) // 2


def test_the_strip_is_drawn_to_scale():
    heights = [
        float(height) for height in re.findall(r'<rect[^>]*height="([\d.]+)"', (ROOT / "docs" / STRIP).read_text())
    ]
    whole, registers, row = heights
    assert whole / registers == SCORES / REGISTERS
    assert whole / row == QUERIES


def test_the_minutes_of_the_sheet_add_up():
    assert f"{sum(minutes(SHEET))} minutes" in words(SHEET)


# What the chapter says in words of measurements.


def median(form, head_dim, n=512):
    wanted = {"form": form, "direction": "forward", "n": n, "causal": False}
    return row("prefill_speed", f"forward_{head_dim}", head_dim=head_dim, **wanted)["median"]


def test_blocks_are_faster_and_the_square_faster_still():
    assert 2 * median("key_blocks_attention", 128) < median("one_key_attention", 128)  # less than half
    gains = [median("one_key_attention", d) / median("key_blocks_attention", d) for d in (64, 128, 256)]
    assert gains == sorted(gains, reverse=True) and gains[-1] > 1  # most where a key is short
    for head_dim in (64, 128, 256):
        fused = min(median(f"sdpa_{backend}", head_dim) for backend in ("flash", "cudnn", "efficient", "math"))
        rungs = ["one_key", "key_blocks", "three_kernel"]
        ladder = [*(median(f"{rung}_attention", head_dim) for rung in rungs), median("attention", head_dim), fused]
        assert ladder == sorted(ladder, reverse=True)
        assert ladder[1] > 10 * ladder[2]  # an order of magnitude
        assert fused == median("sdpa_cudnn", head_dim)


def test_one_key_pays_by_the_step_and_a_block_by_the_number():
    steps = [median("one_key_attention", d) * d for d in (64, 128, 256)]
    assert max(steps) < 1.06 * min(steps)
    numbers = [median("key_blocks_attention", d) for d in (64, 128, 256)]
    assert max(numbers) < 1.15 * min(numbers)


def meeting(form, n):
    return row("key_blocks", "times", form=form, n=n)["one_meeting"]


def test_the_walk_over_the_row_is_32_times_shorter_and_still_there():
    one_key, blocks = ({n: meeting(f"{form}_attention", n) for n in LENGTHS} for form in ("one_key", "key_blocks"))
    assert max(blocks[n] for n in LENGTHS[:-1]) < 1.15 * min(blocks.values())  # nearly level up to 4096
    assert blocks[8192] / blocks[4096] == pytest.approx(5 / 3, rel=0.03)  # by two thirds
    assert blocks[8192] < 2 * blocks[512]  # does not even double
    walk = blocks[4096] - blocks[512]  # seven eighths of it, were the walk all that grows
    assert blocks[8192] - blocks[4096] > 3 * walk  # more than twice the walk adds
    leads = [one_key[n] / blocks[n] for n in LENGTHS]
    assert leads[0] > 4 and leads[-1] > 20 and max(leads) == leads[-1]  # the longer, the more a block is worth
    assert all(after > 0.95 * before for before, after in pairwise(leads))


def test_hbm_delivers_the_inputs_once():
    counted = row("hbm_traffic", "whole", form="key_blocks_attention")
    assert counted["times_the_least"] == pytest.approx(0.75, rel=0.05)  # Q, K and V of Q, K, V and the output
    assert counted["requested"] > 500 * counted["flushed"]
    assert counted["requested"] == row("hbm_traffic", "whole", form="one_key_attention")["requested"]
    from_l2 = 1e-3 * counted["requested"] / row("l2_speed", "sizes", size=16)["speed"]  # ms
    for caches in ("flushed", "kept"):
        taken = row("hbm_traffic", "counted", form="key_blocks_attention", caches=caches)["time"]
        assert from_l2 / taken == pytest.approx(1 / 3, rel=0.05)  # about a third
    written_squares = [row("hbm_traffic", "whole", form=form) for form in ("attention", "three_kernel_attention")]
    assert all(other["times_the_least"] > 50 for other in written_squares)  # many times the least


def test_both_programs_pass_and_the_last_block_is_not_full():
    verdicts = {row["form"]: row["verdict"] for row in table("key_blocks", "errors")}
    assert set(verdicts) == {"attention", "one_key_attention", "key_blocks_attention"}
    assert set(verdicts.values()) == {"passes"}
    used = {row["form"]: row["of_budget"] for row in table("key_blocks", "errors")}
    assert used["attention"] > 2 * max(used["one_key_attention"], used["key_blocks_attention"])  # err less


def test_the_three_kernels_share_a_key_among_64_queries():
    three_kernels = pytest.importorskip("kernels.three_kernels")
    assert three_kernels.BLOCK_Q == three_kernels.BLOCK_K == QUERIES


# What the chapter says of compiled code.


@pytest.mark.parametrize(
    "rung, widths",
    [  # the query; then the keys and values of one step
        ("one_key", [BYTES, BYTES, BYTES]),
        ("key_blocks", [BYTES, *[LOAD] * 2 * LOADS]),
    ],
)
def test_how_wide_the_loads_of_keys_and_values_are(rung, widths):
    assert elsewhere(f"widths_of_loads({rung!r}, 512, {D})") == str(widths)


def test_a_warp_holds_two_keys_of_a_block():  # 16 threads and 8 numbers a thread for each
    assert "sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1]" in elsewhere(
        f"layouts('key_blocks', 512, {D})"
    )


def test_a_longer_row_takes_more_registers():
    at_4096, at_8192 = map(int, elsewhere("*(registers('key_blocks', n, 64)[0] for n in (4096, 8192))").split())
    assert at_8192 / at_4096 == pytest.approx(4 / 3, rel=0.05)  # a third more


@pytest.mark.parametrize("head_dim", [64, 128])
def test_the_longest_row_fits_beside_the_tile(head_dim):
    used, spilled = elsewhere(f"*registers('key_blocks', 16384, {head_dim})").split()
    assert int(used) <= 255 and spilled == "0"
