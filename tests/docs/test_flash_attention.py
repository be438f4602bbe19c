"""Chapter 8: what was worked by hand is computed, and what is said of the records is looked up."""

# ruff: noqa: RUF001  (a multiplication sign, as print has it)

from math import e, log2, sqrt

import pytest

from kernels.bench.cost import attention_flops, eager_traffic, fused_peak_bytes, mb, mib, qkvo_bytes, requested_bytes
from scripts import records
from scripts.figures.flash_attention import tile_order
from tests.docs.by_hand import AT_THE_BOARD, K, Q, S, V, blend, dot, minutes, percent, row, table, value, vector, words

CHAPTER = "chapters/flash-attention.md"
SHEET = "whiteboard/flash-attention.md"

N, D, BLOCK_Q, BLOCK_K, BYTES = 8192, 128, 64, 128, 2
FACTOR = log2(e) / sqrt(2)  # what a dot product of two numbers is multiplied by before exp2
CACHE = 2 * N * D * BYTES  # K and V of one head
ASKED = requested_bytes(N, D, BYTES, BLOCK_Q)
ALL_ASKED = requested_bytes(N, D, BYTES, BLOCK_Q, 16, 2)  # by the 32 heads of the ladder
BLOCKS = N // BLOCK_Q
SDPA = ("sdpa_flash", "sdpa_cudnn", "sdpa_efficient", "sdpa_math")
TENSORS = ("out", "dq", "dk", "dv")
PROGRAMS = 3 * int(value("sms"))


def streamed(scores, blocks=((0, 2), (2, 3))):
    """(maximum, sum, blend) after each block of keys, with powers of 2."""
    states, maximum, total, mixed = [], None, 0, [0, 0]
    for first, stop in blocks:
        new = max(scores[first:stop]) if maximum is None else max(maximum, *scores[first:stop])
        rescale = 0 if maximum is None else 2 ** (maximum - new)
        weights = [2 ** (score - new) for score in scores[first:stop]]
        mixed = [rescale * old + more for old, more in zip(mixed, blend(weights, V[first:stop]), strict=True)]
        maximum, total = new, rescale * total + sum(weights)
        states.append((maximum, total, mixed))
    return states


STATES = [streamed(scores) for scores in S]
OUTPUT = [[x / states[-1][1] for x in states[-1][2]] for states in STATES]
LSE = [states[-1][0] + log2(states[-1][1]) for states in STATES]
CAUSAL = [[10, 0], [5, 5], OUTPUT[2]]

DOUT = [[1, 0], [0, 1], [1, 1]]
DP = [[dot(dout, v) for v in V] for dout in DOUT]
DELTA = [dot(dout, out) for dout, out in zip(DOUT, OUTPUT, strict=True)]
ABOVE = [[dp - delta for dp in row] for row, delta in zip(DP, DELTA, strict=True)]
DS = [[p * x for p, x in zip(*rows, strict=True)] for rows in zip(AT_THE_BOARD, ABOVE, strict=True)]
DV = [blend(shares, DOUT) for shares in zip(*AT_THE_BOARD, strict=True)]
DS_K = [blend(row, K) for row in DS]
DS_Q = [blend(column, Q) for column in zip(*DS, strict=True)]


def plain(numbers):
    """1.5 and not 1.50, with the minus sign of print."""
    return ", ".join(f"{round(number, 9) + 0:g}".replace("-", "\N{MINUS SIGN}") for number in numbers)


def bracketed(numbers):
    return f"[{plain(numbers)}]"


CAUSAL_TILES = 64 * 65 // 2
EAGER = sum(read + written for _, read, written in eager_traffic(N, D, BYTES))

TYPED = {
    CHAPTER: [
        f"Chapter 1 ended at {', '.join(map(bracketed, OUTPUT[:2]))} and {bracketed(OUTPUT[2])}",
        f"this factor is {log2(e):.4f} ÷ {sqrt(2):.4f} = {FACTOR:.2f}",
        f"Chapter 1's {percent(AT_THE_BOARD[0])} is just that: 2, 1 and 2, of 5",
        # forward
        f"Sum {plain([STATES[0][0][1]])}, blend 1 · [10, 0] + ½ · [0, 10] = {bracketed(STATES[0][0][2])}",
        f"Sum {plain([STATES[0][1][1]])}, blend [10, 5] + [5, 5] = {bracketed(STATES[0][1][2])}. "
        f"Divide: {bracketed(OUTPUT[0])}",
        f"First block: 1 and 1. Maximum 1, sum {STATES[1][0][1]:g}, blend {bracketed(STATES[1][0][2])}",
        f"Sum ½ · 2 + 1 = {STATES[1][1][1]:g}, blend ½ · [10, 10] + [5, 5] = {bracketed(STATES[1][1][2])}. "
        f"Divide: {bracketed(OUTPUT[1])}",
        f"0 and 1: sum {STATES[2][0][1]:g}, blend {bracketed(STATES[2][0][2])}. Then 1: sum {STATES[2][1][1]:g}, "
        f"blend {bracketed(STATES[2][1][2])}. Divide: {bracketed(OUTPUT[2])}",
        f"[10, 5] makes {sum(STATES[0][0][2]):g}, and the sum is {STATES[0][0][1]:g}",
        # sizes
        f"{BLOCK_Q} × {BLOCK_K} × 4 bytes = {BLOCK_Q * BLOCK_K * 4 // 2**10} KiB",
        f"{BLOCK_Q} × {N} × 4 bytes = {mib(BLOCK_Q * N * 4):.0f} MiB. It is {N // BLOCK_K} times smaller",
        f"{BLOCK_Q} × {D} × 4 bytes = {BLOCK_Q * D * 4 // 2**10} KiB, too",
        f"which has {value('registers per SM') / 2**10:.0f} KiB",
        f"{BLOCK_K} × {D} × {BYTES} bytes = {BLOCK_K * D * BYTES // 2**10} KiB of its shared memory",
        f"at $N = {N}$ that is {mib(N * D * BYTES):.0f} MiB and {N * 4 // 2**10} KiB",
        # causal
        f"Query 1 sees key 1 alone: {bracketed(CAUSAL[0])}. Query 2 sees two keys of equal weight: "
        f"{bracketed(CAUSAL[1])}. Query 3 sees all: {bracketed(CAUSAL[2])}",
        f"64 · 65 ÷ 2 = {CAUSAL_TILES} of {64 * 64}, {100 * CAUSAL_TILES / 64**2:.0f} %",
        f"with {CAUSAL_TILES} of {64 * 64}",
        # bytes
        f"K and V are {mib(CACHE):.0f} MiB. In blocks of {BLOCK_Q} there are {N} ÷ {BLOCK_Q} = {BLOCKS} blocks",
        f"{BLOCKS} × {mib(CACHE):.0f} MiB = {mib(BLOCKS * CACHE):.0f} MiB asked for. Q and the output are "
        f"{mib(2 * N * D * BYTES):.0f} MiB more, once: {mib(ASKED):.0f} MiB = {mb(ASKED):.1f} MB",
        f"move {mb(EAGER):.1f} MB through HBM (chapter 4). The least is {mb(qkvo_bytes(N, D, BYTES)):.1f} MB",
        f"4 · {N}² · {D} FLOP ÷ {mb(ASKED):.1f} MB = {attention_flops(N, D) / ASKED:.1f} FLOP, nearly the {BLOCK_Q}",
        f"{mb(ASKED):.0f} MB is not so much less than {mb(EAGER):.0f}",
        f"It holds {mib(value('l2')):.0f} MiB. On {value('sms')} SMs with three programs each, {PROGRAMS} programs",
        f"{PROGRAMS} ÷ {BLOCKS} = {PROGRAMS / BLOCKS:.1f} heads, whose K and V are some {3 * mib(CACHE):.0f} MiB",
        f"32 × {mb(ASKED):.1f} MB = {mb(ALL_ASKED) / 1e3:.1f} GB asked for",
        f"HBM gives at most {value('hbm bandwidth') / 1e12:.2f} TB/s",
        "*more* than L2 gave there for 16 MiB",
        f"{BLOCKS} programs where {PROGRAMS} would fit",
        f"{mib(BLOCKS * CACHE):.0f} MiB asked for, 6 MB through HBM",
        # lse
        f"lse = 2 + log₂ 2 = {LSE[1]:g}",
        f"{percent(AT_THE_BOARD[1])}. Any one",
        f"lse = 1 + log₂ 2.5 = {LSE[0]:.2f}",
        f"$2^{{-{LSE[0] - 1:.2f}}}$ = {100 * 2 ** (1 - LSE[0]):.0f} %, "
        f"$2^{{-{LSE[0]:.2f}}}$ = {100 * 2 ** -LSE[0]:.0f} %, {100 * 2 ** (1 - LSE[0]):.0f} %",
        # backward
        f"Let $dO$ be {', '.join(map(bracketed, DOUT))}",
        f"dP = [1, 0] · each value = {bracketed(DP[0])}. D = [1, 0] · [6, 4] = {DELTA[0]:g}. So dP − D = "
        f"{bracketed(ABOVE[0])}, times 0.4, 0.2, 0.4: dS = {bracketed(DS[0])}",
        f"dP = {bracketed(DP[1])}, D = {DELTA[1]:g}. {bracketed(ABOVE[1])} times 0.25, 0.25, 0.5: "
        f"dS = {bracketed(DS[1])}",
        f"dP = {bracketed(DP[2])}, D = {DELTA[2]:g}: dS = {bracketed(DS[2])}",
        f"0.4 · [1, 0] + 0.25 · [0, 1] + 0.2 · [1, 1] = {bracketed(DV[0])}. Key 2: {bracketed(DV[1])}. "
        f"Key 3: {bracketed(DV[2])}",
        f"they add up to {bracketed(map(sum, zip(*DV, strict=True)))}",
        f"1.6 · [1, 0] − 1.2 · [0, 1] − 0.4 · [1, 1] = {bracketed(DS_K[0])}. Query 2: {bracketed(DS_K[1])}. "
        f"Query 3: {bracketed(DS_K[2])}",
        f"1.6 · [1, 0] − 1.25 · [1, 1] = {bracketed(DS_Q[0])}. Key 2: −1.2 · [1, 0] + 1.25 · [1, 1] = "
        f"{bracketed(DS_Q[1])}. Key 3: {bracketed(DS_Q[2])}",
        f"the first row of dQ is [{DS_K[0][0] / sqrt(2):.2f}, −{-DS_K[0][1] / sqrt(2):.2f}]",
        f"a backward pass that closes: {bracketed(DS[0])}",
    ],
    SHEET: [
        f"({log2(e):.4f} ÷ √2 = {FACTOR:.2f}, call it 1)",
        f"The tile, {BLOCK_Q * BLOCK_K * 4 // 2**10} KiB, in the strip, {mib(BLOCK_Q * N * 4):.0f} MiB",
        f"64 blocks: {CAUSAL_TILES} of {64 * 64}",
        f"K and V, {mib(CACHE):.0f} MiB, {BLOCKS} arrows",
        f"{mib(BLOCKS * CACHE):.0f} MiB asked for, 6 MB through HBM",
        f"Query 2: lse = 2 + log₂ 2 = {LSE[1]:g}",
        f"Q = {', '.join(map(vector, Q))} · K = {', '.join(map(vector, K))} · V = {', '.join(map(vector, V))}",
        f"Causal: {', '.join(map(bracketed, CAUSAL))}; three tiles of four",
        f"dO = {', '.join(map(bracketed, DOUT))}",
        f"the first row of dQ is [{DS_K[0][0] / sqrt(2):.2f}, −{-DS_K[0][1] / sqrt(2):.2f}]",
        f"dV adds up to {bracketed(map(sum, zip(*DV, strict=True)))}",
        f"{N} ÷ {BLOCK_Q} = {BLOCKS} times",
    ],
    "assets/drawings/streaming.svg": ["no square"],
}


@pytest.mark.parametrize("page, text", [(page, text) for page, texts in TYPED.items() for text in texts])
def test_a_number_worked_by_hand_is_right(page, text):
    assert text in words(page)


@pytest.mark.parametrize("query", range(3))
def test_the_keys_on_the_sheet(query):
    forward = [f"query {query + 1}", " ".join(map(str, S[query]))]
    forward += [f"{maximum}, {total:g}, {bracketed(mixed)}" for maximum, total, mixed in STATES[query]]
    forward += [bracketed(OUTPUT[query]), f"{LSE[query]:.3g}"]
    assert f"| {' | '.join(forward)} |" in words(SHEET)
    backward = [f"row {query + 1}", plain(DP[query]), f"{DELTA[query]:g}"]
    backward += [plain(row[query]) for row in (ABOVE, DS, DS_K, DS_Q, DV)]
    assert f"| {' | '.join(backward)} |" in words(SHEET)


def test_the_minutes_of_the_sheet_add_up():
    assert f"{sum(minutes(SHEET))} minutes" in words(SHEET)


def test_what_is_said_of_the_small_example():
    for states, shares, output in zip(STATES, AT_THE_BOARD, OUTPUT, strict=True):
        assert output == pytest.approx(blend(shares, V))  # powers of 2 are the rounded shares of chapter 1
        assert all(sum(mixed) == pytest.approx(10 * total) for _, total, mixed in states)  # the room's check
    assert all(sum(row) == pytest.approx(0) for row in DS)
    at = tile_order.visits("queries", True)
    assert len(at) == 36 and max(at.values()) == tile_order.BLOCKS
    assert fused_peak_bytes(N, D, BYTES) == N * D * BYTES + 4 * N


def speeds(direction, head_dim, causal=False):
    """(form, N) -> the row of the record."""
    rows = table("prefill_speed", f"{direction}_{head_dim}")
    return {(row["form"], row["n"]): row for row in rows if row["causal"] == causal}


def ratios(of, to, direction, head_dim, causal=False):
    """N -> how many times as long ``of`` takes as ``to``."""
    found = speeds(direction, head_dim, causal)
    lengths = [n for form, n in found if form == of and (to, n) in found]
    return {n: found[of, n]["median"] / found[to, n]["median"] for n in lengths}


def test_what_words_say_of_causal():
    full, causal = (
        speeds("forward", 128, is_causal)["flash_attention", 16384]["median"] for is_causal in (False, True)
    )
    assert 0.5 < causal / full < 0.6  # more than half of the time is left
    full, causal = (speeds("forward", 128, is_causal)["attention", 16384]["median"] for is_causal in (False, True))
    assert causal > full  # dearer


def test_what_words_say_of_the_traffic():
    whole = row("hbm_traffic", "whole", form="flash_attention")
    assert whole["requested"] == pytest.approx(mb(ASKED)) and round(whole["flushed"]) == 6
    assert whole["flushed"] == pytest.approx(mb(3 * N * D * BYTES), rel=0.02)  # Q, K and V, once
    seconds = 1e-3 * speeds("forward", 128)["flash_attention", N]["median"]
    assert 2.5 < ALL_ASKED / seconds / value("hbm bandwidth") < 3
    of_the_read = 1e12 * row("l2_speed", "sizes", size=16)["speed"]
    assert 1.15 < ALL_ASKED / seconds / of_the_read < 1.25  # a fifth more
    ridge = value("bf16 peak") / value("hbm bandwidth")
    for form in ("one_key_attention", "key_blocks_attention"):
        counted = row("hbm_traffic", "whole", form=form)
        assert 2 < attention_flops(counted["n"], D) / 1e6 / counted["flushed"] / ridge < 2.5
    assert attention_flops(N, D) / 1e6 / whole["flushed"] > 10 * ridge  # far right


def test_the_three_lines_are_faster_at_the_longest_rows():
    for head_dim in (128, 256):
        found = speeds("forward", head_dim)
        assert found["attention", 16384]["speed"] > 1.4 * found["attention", 8192]["speed"]
    short, long = (row("roofline", "softmax", row=n) for n in (8192, 16384))
    assert short["kernel"] != long["kernel"] and 0.45 < long["time"] / short["time"] < 0.55


@pytest.mark.parametrize("head_dim, least, most", [(64, 6, 12), (128, 3, 8), (256, 2, 4)])
def test_how_many_times_as_fast_as_the_three_lines(head_dim, least, most):
    full = ratios("attention", "flash_attention", "forward", head_dim)
    assert all(least < times < most for times in full.values()) and len(full) >= 5
    causal = ratios("attention", "flash_attention", "forward", head_dim, True)
    assert all(causal[n] > 2 * full[n] for n in full)  # far more


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_where_ours_is_slower(head_dim, causal):
    for direction in ("forward", "backward"):
        found = speeds(direction, head_dim, causal)
        assert all(row["ratio"] == 1 for (form, _), row in found.items() if form == "sdpa_cudnn")  # the fastest
        ahead = [n for (form, n), row in found.items() if form == "flash_attention" and row["ratio"] > 1]
        assert not ahead if direction == "forward" or head_dim == 256 else all(n <= 2048 for n in ahead)
    assert all(times > 1 for times in ratios("sdpa_flash", "flash_attention", "forward", head_dim, causal).values())
    math = [row for (form, _), row in speeds("forward", head_dim, causal).items() if form == "sdpa_math"]
    assert math and all(row["ratio"] < 1 / 20 for row in math)


def test_the_worst_backward_pass():
    assert all(times < 1 for times in ratios("attention", "flash_attention", "backward", 256).values())
    assert all(times > 1 for times in ratios("attention", "flash_attention", "backward", 256, True).values())
    against_two = ratios("sdpa_flash", "flash_attention", "backward", 256)
    assert all((times < 1) == (n >= 1024) for n, times in against_two.items())
    ours = [
        row["ratio"] for d in (64, 128, 256) for (form, _), row in speeds("backward", d).items() if "flash_a" in form
    ]
    assert min(ours) == min(row["ratio"] for (form, _), row in speeds("backward", 256).items() if "flash_a" in form)


def test_what_words_say_of_memory():
    for n in (8192, 65536, 131072):
        ours, theirs = (row("prefill_memory", "training", form=form, n=n) for form in ("flash_attention", "sdpa_cudnn"))
        assert abs(ours["peak"] / theirs["peak"] - 2 / 3) < 0.01
        assert theirs["peak"] - ours["peak"] == pytest.approx(mib(n * D * 4), rel=0.02)  # one dQ in FP32
    for found in table("prefill_memory", "forward"):
        if found["form"] in ("sdpa_cudnn", "sdpa_efficient") and found["n"] >= 4096:
            assert found["peak"] == pytest.approx(mib(found["n"] * D * BYTES), rel=0.002)  # no lse
        if found["form"] == "sdpa_flash":
            assert (found["peak"] > 2 * found["expected"]) == (found["n"] <= 8192)  # more at small N


def test_what_words_say_of_the_errors():
    errors = table("flash_attention", "errors")
    assert len(errors) == 8 and all(row["flash"] <= row["three_lines"] for row in errors)
    assert {row["causal"] for row in errors} == {True, False} and {row["tensor"] for row in errors} == {*TENSORS}
    assert all(row["verdict"] == "within the budget" for row in errors)
    assert "without the last 16 keys: REJECTED" in str(records.read("flash_attention").outputs["correct"])
    lines, flash = (row("flash_first", "errors", form=form) for form in ("attention", "flash_attention"))
    assert flash["largest"] < lines["largest"] and flash["mean"] < lines["mean"]


def test_what_words_say_of_the_backends():
    asked = {row["backend"]: row for row in table("sdpa_backends", "asked")}
    assert asked["sdpa_math"]["launched"] > 10 and asked["sdpa_flash"]["launched"] == 1
    named = {"sdpa_flash": "pytorch_flash", "sdpa_cudnn": "cudnn", "sdpa_efficient": "fmha_cutlass"}
    assert all(part in asked[backend]["last"] for backend, part in named.items())
    assert "flash" in asked["sdpa_cudnn"]["last"]
    refused = {(row["case"], row["backend"]) for row in table("sdpa_backends", "refused")}
    assert {case for case, name in refused if name == "sdpa_flash"} >= {"FP32", "d = 512", "a mask"}
    assert ("a mask", "sdpa_cudnn") not in refused and ("FP32", "sdpa_efficient") not in refused
    assert ("4 heads of K and V", "sdpa_efficient") in refused
    assert ("a mask, and is_causal", "sdpa_math") in refused and ("a mask, and is_causal", "sdpa_cudnn") not in refused
    for found in table("sdpa_backends", "chosen"):
        able = [backend for backend in ("sdpa_cudnn", "sdpa_efficient") if (found["case"], backend) not in refused]
        assert found["chosen"] == able[0]
        times = {backend: found[backend] for backend in SDPA if found[backend] is not None}
        assert min(times, key=times.get) == found["chosen"]  # the fastest of those that could
        assert set(SDPA) - set(times) == {backend for case, backend in refused if case == found["case"]}  # None
    chosen = {found["case"]: found for found in table("sdpa_backends", "chosen")}
    assert len(chosen) == 9 and "in nine cases of nine" in words(SHEET) and "in all nine cases" in words(CHAPTER)
    assert 1.9 < chosen["a mask"]["sdpa_cudnn"] / chosen["plain"]["sdpa_cudnn"] < 2.1
    assert ("512 queries, causal", "sdpa_flash") in refused
    assert ("a mask, and is_causal", "sdpa_efficient") not in refused
