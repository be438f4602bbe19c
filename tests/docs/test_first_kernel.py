"""A first Triton kernel: the page's hand-worked numbers are what they must be, and its words agree with the records."""

from itertools import pairwise
from math import ceil, exp

import pytest

from kernels.bench.cost import mb, qkvo_bytes, requested_bytes
from tests.docs.by_hand import ROOT, K, Q, V, dot, minutes, percent, row, softmax, table, words
from tests.docs.compiled import elsewhere

CHAPTER = "chapters/first-kernel.md"
SHEET = "whiteboard/first-kernel.md"
LANES = "assets/drawings/program_lanes.svg"
SECTORS = "assets/drawings/sectors.svg"


def power_of_two(length):
    return 1 << (length - 1).bit_length()


def sectors(stride):
    """How many sectors of 32 bytes the 32 lanes of a warp touch, reading FP32 numbers that lie ``stride`` apart."""
    return len({lane * stride * 4 // 32 for lane in range(32)})


# The programs of 2 sentences, 2 heads, 3 words; d = 2.
SENTENCES, HEADS, WORDS, D, PROGRAM = 2, 2, 3, 2, 7
WORD, HEAD, SENTENCE = PROGRAM % WORDS, PROGRAM // WORDS % HEADS, PROGRAM // WORDS // HEADS
ROW_STRIDE, HEAD_STRIDE, SENTENCE_STRIDE = D, WORDS * D, HEADS * WORDS * D
OFFSET = SENTENCE * SENTENCE_STRIDE + HEAD * HEAD_STRIDE + WORD * ROW_STRIDE

# The row of program 1 of the three words, in a row of 4.
SCORES = [dot(Q[1], key) for key in K]
PLACES = power_of_two(len(K))
EXPONENTIALS = [exp(score - max(SCORES)) for score in SCORES] + [0.0] * (PLACES - len(K))
DIFFERENCES = ", ".join(f"{x:.2f}" if x % 1 else f"{x:.0f}" for x in EXPONENTIALS)
EMPTY = "\N{MINUS SIGN}∞"  # a place that no key takes
WEIGHTS = [x / sum(EXPONENTIALS) for x in EXPONENTIALS]
PADDED_WITH_0 = softmax([*SCORES, 0])
OUTPUT = [dot(WEIGHTS[:3], column) for column in zip(*V, strict=True)]

THREADS, REGISTERS, LONGEST = 4 * 32, 255, 16_384
TABLE = qkvo_bytes(1024, 128, 2) // 4
REQUESTED = requested_bytes(1024, 128, 2, block_q=1)
PROGRAMS = (16_384 // 512) * (2048 // 64) * 512
MEETINGS = PROGRAMS * 512

LENGTH, BLOCK = 2500, 1024
TAKEN = LENGTH - 2 * BLOCK  # by program 2

TYPED = {
    CHAPTER: [
        "absorb more than 99.8 % of what is asked for",  # as the record says, below
        f"A vector of {LENGTH} numbers, `BLOCK` = {BLOCK}",
        f"rounded up, makes {ceil(LENGTH / BLOCK)} programs",
        f"row 2 · 1024 = {2 * BLOCK}, and `row` is {2 * BLOCK}, …, {3 * BLOCK - 1}. The vector ends at {LENGTH - 1}",
        f"True for {TAKEN} rows and False for {BLOCK - TAKEN}",
        f"2 · 2 · 3 = {SENTENCES * HEADS * WORDS} programs, numbered 0 to {SENTENCES * HEADS * WORDS - 1}",
        f"Who is program {PROGRAM}? Word: 7 mod 3 = {WORD}. Head: 7 div 3 = {7 // 3}, and 2 mod 2 = {HEAD}",
        f"Sentence: 2 div 2 = {SENTENCE}",
        f"(1 · 2 + 0) · 3 + 1 = {(SENTENCE * HEADS + HEAD) * WORDS + WORD}",
        f"four warps of them, {THREADS}",
        f"a row {ROW_STRIDE}, a head 3 · 2 = {HEAD_STRIDE}, a sentence 2 · 6 = {SENTENCE_STRIDE}",
        f"1 · 12 + 0 · 6 + 1 · 2 = {OFFSET}. It reads numbers {OFFSET} and {OFFSET + 1}",
        f"program times d is 7 · 2 = {PROGRAM * D}",
        f"If d is 80, the row is {power_of_two(80)} long, and the last {power_of_two(80) - 80} addresses",
        f"a row of {PLACES} places, for 3 is no power of two",
        f"After key 0: [{SCORES[0]}, {EMPTY}, {EMPTY}, {EMPTY}]",
        f"After key 1: [{SCORES[0]}, {SCORES[1]}, {EMPTY}, {EMPTY}]",
        f"After key 2: [{', '.join(map(str, SCORES))}, {EMPTY}]",
        f"The maximum is {max(SCORES)}. Exponentials of the differences: {DIFFERENCES}",
        f"Together {sum(EXPONENTIALS):.2f}",
        f"Weights: {percent(WEIGHTS)}",
        f"with its values the output is [{OUTPUT[0]:.0f}, {OUTPUT[1]:.0f}]",
        f"With [1, 1, 2, 0] the weights would be {percent(PADDED_WITH_0[:3])} and {percent(PADDED_WITH_0[3:])}",
        f"and those {percent(PADDED_WITH_0[3:])} go to a word that does not exist",
        f"16,384 scores over 128 threads are {LONGEST // THREADS} a thread",
        f"32,768 would be {2 * LONGEST // THREADS} a thread, one more than there are",
        f"32 · 4 = {32 * 4} bytes wanted",
        f"128 / 32 = {sectors(1)} sectors, everything used",
        f"{sectors(2)} sectors, half used. *Stride 4:* {sectors(4)} sectors, a quarter used",
        f"{sectors(8)} sectors, {32 * sectors(8)} bytes for 128, an eighth used",
        f"Still {sectors(16)} sectors",
        f"64 of them in 16 bits are {64 * 2} bytes, {64 * 2 // 32} sectors",
        f"K takes 1024 · 128 · 2 = {TABLE:,} bytes",
        f"2 · 1024 · 262,144 = {2 * 1024 * TABLE:,} bytes. Q and the output come once, {2 * TABLE:,}",
        f"Together {mb(REQUESTED):.1f} MB, to use {mb(4 * TABLE):.2f} MB",
        f"32 sentences · 32 heads · 512 words = {PROGRAMS:,} programs. Each meets 512 keys: {MEETINGS:,} meetings",
        f"That is {(512 + 512) // (64 + 64)} to 1 for the bookkeeping: N ÷ d",
        f"(b) {2 * 16 * 1000:,}",
        f"(c) {2 * 16 * 1000 * THREADS:,}",
        f"The numbers spread over 32 · 4 · 4 = {32 * 4 * 4} bytes, which is {sectors(4)} sectors",
        f"20,000 / 128 is {ceil(20_000 / THREADS)} a thread, rounded up",
        f"the row has {power_of_two(20_000):,} places, {power_of_two(20_000) // THREADS} a thread",
        f"Q, K and V together are {mb(3 * TABLE):.2f} MB",
        f"The kernel asks for {mb(REQUESTED):.0f} MB",
    ],
    SHEET: [
        f"2 sentences, 2 heads, 3 words: {SENTENCES * HEADS * WORDS} programs",
        f"word {WORD}, head {HEAD}, sentence {SENTENCE}; reads",
        f"reads 1 · 12 + 0 · 6 + 1 · 2 = {OFFSET} and {OFFSET + 1}",
        f"mark {OFFSET} and {OFFSET + 1}",
        f"Memory as a line of {SENTENCES * HEADS * WORDS * D} numbers",
        f"→ {DIFFERENCES}, together {sum(EXPONENTIALS):.2f} → {percent(WEIGHTS)} → [{OUTPUT[0]:.0f}, {OUTPUT[1]:.0f}]",
        f"with 0 the row above is {percent(PADDED_WITH_0[:3])} and {percent(PADDED_WITH_0[3:])} to nobody",
        f"| {', '.join(str(sectors(stride)) for stride in (1, 2, 4, 8, 16))} of 32 bytes",
        f"2 · 1024 · {TABLE:,} + {2 * TABLE:,} bytes = {mb(REQUESTED):.1f} MB",
        f"32 · 32 · 512 · 512 = {MEETINGS:,}",
        f"(512 + 512) places to (64 + 64) numbers, {(512 + 512) // (64 + 64)} to 1: N ÷ d",
        f"It is the meetings, {MEETINGS / 1e6:.0f} million",
        f"16,384 / 128 = {LONGEST // THREADS}; 32,768 / 128 = {2 * LONGEST // THREADS} > {REGISTERS}",
        f"{mb(REQUESTED):.1f} MB asked for",
    ],
    LANES: [f"{SCORES[0]} place 0 {SCORES[1]} place 1 {SCORES[2]} place 2 {EMPTY} place 3", f"a row of {PLACES}"],
    SECTORS: [
        f"{8 * 1 * 4 // 32} sector fetched, {8 * 4} bytes; all {8 * 4} are used",
        f"8 sectors fetched, {8 * 32} bytes; {8 * 4} are used",
    ],
}


@pytest.mark.parametrize("page, text", [(page, text) for page, texts in TYPED.items() for text in texts])
def test_a_number_worked_by_hand_is_right(page, text):
    assert text in words(page)


def test_the_minutes_of_the_sheet_add_up():
    assert f"{sum(minutes(SHEET))} minutes" in words(SHEET)


def test_what_is_said_of_the_limits():
    kernel = (ROOT / "kernels" / "one_key.py").read_text(encoding="utf-8")
    assert f"LONGEST_ROW = {LONGEST}" in kernel and f"at most {REGISTERS} registers" in kernel
    assert LONGEST // THREADS <= REGISTERS < 2 * LONGEST // THREADS == REGISTERS + 1
    assert [sectors(1) / sectors(stride) for stride in (1, 2, 4, 8, 16, 32)] == [1, 1 / 2, 1 / 4, 1 / 8, 1 / 8, 1 / 8]
    assert exp(88.7) < (2 - 2**-23) * 2.0**127 < exp(88.73)  # above 88.7 FP32 overflows


# What the chapter says in words of measurements.


def median(form, head_dim):
    wanted = {"form": form, "direction": "forward", "n": 512, "causal": False}
    return row("prefill_speed", f"forward_{head_dim}", head_dim=head_dim, **wanted)["median"]


def test_who_never_writes_the_square_loses_to_those_who_do():
    for head_dim in (64, 128, 256):
        assert median("one_key_attention", head_dim) > 50 * median("attention", head_dim)  # badly
        fused = min(median(f"sdpa_{backend}", head_dim) for backend in ("flash", "cudnn", "efficient", "math"))
        assert median("one_key_attention", head_dim) > 200 * fused  # hundreds of times, says the figure's text
    assert median("sdpa_cudnn", 64) == min(median(f"sdpa_{name}", 64) for name in ("flash", "cudnn", "efficient"))


def test_the_length_of_the_dot_product_hardly_matters():
    times = [median("one_key_attention", head_dim) for head_dim in (64, 128, 256)]
    assert all(0.45 < after / before < 0.55 for before, after in pairwise(times))  # halved with the heads


def test_the_caches_absorb_almost_all_of_what_is_asked_for():
    counted = row("hbm_traffic", "whole", form="one_key_attention")
    assert counted["requested"] == mb(REQUESTED)
    assert counted["flushed"] == pytest.approx(mb(3 * TABLE), rel=0.03)  # Q, K and V, once
    assert counted["flushed"] < 0.002 * counted["requested"]  # more than 99.8 %
    assert counted["kept"] < 0.01 * counted["flushed"]  # next to nothing
    kernel = row("hbm_traffic", "counted", form="one_key_attention", caches="flushed")
    assert kernel["written"] < 0.01 * mb(TABLE)  # the output was still in the cache
    speed = row("coalescing", "reads", read="stride_1")["speed"]  # GB/s, so that MB over it are ms
    assert counted["flushed"] / speed < 0.5e-3 < 1e-3 * kernel["time"] * 1e3  # well under a microsecond
    from_l2 = 1e-3 * counted["requested"] / row("l2_speed", "sizes", size=16)["speed"]  # ms
    assert from_l2 < 0.1 * row("hbm_traffic", "counted", form="one_key_attention", caches="kept")["time"]
    assert from_l2 < 0.1 * kernel["time"]  # less than a tenth


def test_the_bandwidths_follow_the_sectors_up_to_8_and_then_do_not():
    to_stride_1 = {row["read"]: row["to_stride_1"] for row in table("coalescing", "reads")}
    for stride in (2, 4, 8, 16):  # in pairs, as explained, also 16
        assert to_stride_1[f"stride_{stride}"] == pytest.approx(1 / stride, rel=0.05)
    assert 0.45 < to_stride_1["stride_16"] / to_stride_1["stride_8"] < 0.55  # half as fast
    assert to_stride_1["stride_32"] < 0.95 * to_stride_1["stride_16"]  # the step that nothing explains
    assert row("coalescing", "reads", read="stride_1")["to_torch_sum"] > 0.95  # as good as PyTorch's sum


def test_the_verdict_is_as_the_chapter_reads_it():
    used = {row["form"]: row["of_budget"] for row in table("first_kernel", "errors")}
    verdicts = {row["form"]: row["verdict"] for row in table("first_kernel", "errors")}
    assert used["pytorch"] == pytest.approx(2 / 3)
    assert verdicts == {"pytorch": "passes", "one_key": "passes", "one_head_of_zeros": "REJECTED"}
    assert used["one_key"] < 1.01 * used["pytorch"] < 1 < used["one_head_of_zeros"]  # ours is no worse
    mean = {row["form"]: row["mean"] for row in table("first_kernel", "errors")}
    assert mean["one_key"] < mean["pytorch"] < mean["one_head_of_zeros"] < 0.01  # looks small


def test_bookkeeping_of_n_cubed_shows():
    rows = {row["n"]: row for row in table("first_kernel", "growth")}
    cost = {n: row["one_meeting"] for n, row in rows.items()}
    assert cost[512] == pytest.approx(cost[256], rel=0.03)  # level up to 512
    assert cost[512] < cost[1024] < cost[2048] < cost[4096]
    assert cost[8192] / cost[4096] == pytest.approx(2, rel=0.06)  # doubles with N
    assert cost[4096] > 2.2 * cost[2048]  # the step that the walk alone does not explain
    assert 9.5 < cost[8192] / cost[512] < 10  # almost ten times
    assert rows[8192]["meetings"] == 16 * rows[512]["meetings"]


def test_a_longer_row_takes_more_registers():
    used = elsewhere("*(registers('one_key', seq_k, 64)[0] for seq_k in (512, 2048, 4096, 8192))")
    at_512, at_2048, at_4096, at_8192 = map(int, used.split())
    assert 4.5 < at_8192 / at_512 < 5.7  # about five times
    assert at_8192 / at_4096 > 1.9 > 1.4 > at_4096 / at_2048  # doubles in the last step, not in the one before


def test_the_longest_row_stays_in_registers():
    used, spilled = elsewhere("*registers('one_key', 16384, 128)").split()
    assert int(used) <= REGISTERS and int(spilled) < LONGEST // THREADS  # bytes: at most a few numbers, not the row
