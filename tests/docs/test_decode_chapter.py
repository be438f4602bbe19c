"""Chapter 11: numbers worked by hand are computed, and what words say of the records is held against them."""

# ruff: noqa: RUF001  (a minus sign and a multiplication sign, as print has them)

import re
from ast import literal_eval
from math import log2, sqrt

import pytest
import torch

from kernels.bench.cost import attention_flops, gib
from kernels.formats.value import E2M1, E4M3
from kernels.reference import attention
from kernels.serving.layouts import query_dimension, words_of
from scripts.records import ROOT
from tests.docs.by_hand import blend, dot, minutes, row, table, value, vector, words
from tests.docs.compiled import elsewhere
from tests.site.conftest import awaits

CHAPTER = "chapters/decode.md"
SHEET = "whiteboard/decode.md"
PAGES = "assets/drawings/pages.svg"
SPLIT = "assets/drawings/split.svg"

# Four tokens, in powers of 2.
QUERY = [1, 1]
KEYS = [[0, 0], [1, 0], [1, 1], [0, 1]]
VALUES = [[9, 0], [0, 9], [9, 0], [0, 9]]
SCORES = [dot(QUERY, key) for key in KEYS]
WEIGHTS = [2**score for score in SCORES]
OUTPUT = blend([weight / sum(WEIGHTS) for weight in WEIGHTS], VALUES)


def part(rows):
    """A program's maximum, sum, blend and output over these rows."""
    top = max(SCORES[rows])
    kept = [2 ** (score - top) for score in SCORES[rows]]
    blended = blend(kept, VALUES[rows])
    return top, sum(kept), blended, [x / sum(kept) for x in blended]


PARTS = [part(slice(0, 2)), part(slice(2, 4))]
TOP = max(top for top, *_ in PARTS)
RESCALED = [total * 2 ** (top - TOP) for top, total, *_ in PARTS]
SHARES = [total / sum(RESCALED) for total in RESCALED]
LSE = [top + log2(total) for top, total, *_ in PARTS]

# A layer and a cache.
W = N = 4096
REST, ATTENTION = 24 * W * W, attention_flops(1, W) * N  # FLOP; in 16 bits as many bytes
BATCH = 64
TOKEN = 2 * 32 * 8 * 128 * 2
LONG = 131072
LEAST = TOKEN * LONG / value("hbm bandwidth")
BLOCKS, PROGRAMS = LONG // 64 * 8, 4 * int(value("sms"))
SMS = int(value("sms"))
ROW = 128 * 2  # bytes of a key in 16 bits

TYPED = {
    CHAPTER: [
        f"1 + 2 + … + 1000 makes {1000 * 1001 // 2:,} rows. Keep them, and it is {1000}",
        f"The scores are {', '.join(map(str, SCORES))}.",
        f"2⁰, 2¹, 2², 2¹ = {', '.join(map(str, WEIGHTS))}, together {sum(WEIGHTS)}",
        f"[(1 + 4) · 9, (2 + 2) · 9] ÷ 9 = {vector(OUTPUT)}",
        f"each value row adds up to {sum(VALUES[0])}, so must the output",
        # small, and not
        f"At N = w = 4096: 4Nw is {ATTENTION / 1e6:.0f} million and 24w² is {REST / 1e6:.0f} million",
        f"a sixth of the rest, and so a seventh of the layer. The two are equal at N = 6w = {6 * W:,}",
        f"24w² bytes, {REST / 1e6:.0f} MB. The cache of one sequence is 2·N·w numbers: 4Nw bytes, "
        f"{ATTENTION / 1e6:.0f} MB",
        f"{BATCH} · {ATTENTION / 1e6:.0f} MB = {BATCH * ATTENTION / 1e9:.2f} GB, more than ten times the weights",
        f"The ridge is at {value('bf16 peak') / value('hbm bandwidth'):.0f} FLOP a byte",
        # the size
        f"2 · 32 · 8 · 128 numbers of 2 bytes = {TOKEN:,} bytes = {TOKEN / 2**10:.0f} KiB",
        f"8192 tokens: {gib(TOKEN * 8192):.0f} GiB. {LONG:,} tokens: {gib(TOKEN * LONG):.0f} GiB, "
        f"which is {TOKEN * LONG / 1e9:.1f} GB",
        f"At {value('hbm bandwidth') / 1e12:.2f} TB/s reading that takes {1e3 * LEAST:.2f} ms",
        f"no more than {1 / LEAST:.0f} steps a second",
        f"4.5 bits a number, block scales included, and so {TOKEN * 4.5 / 16 / 2**10:.0f} KiB: "
        f"{16 / 4.5:.2f} times less",
        f"given room for {LONG:,} tokens, {gib(TOKEN * LONG):.0f} GiB, an H100's {value('hbm') / 1e9:.0f} GB",
        # pages
        f"20 div 16 = {20 // 16}: entry 1 of its table, which is page {[6, 1, 2][20 // 16]}. "
        f"20 mod 16 = {20 % 16}: row {20 % 16} of that page",
        f"33 tokens need {-(-33 // 16)} pages, room for {3 * 16}. The last page holds one token",
        f"128 rows of {ROW} bytes for each head, side by side: {128 * ROW / 2**10:.0f} KiB",
        f"that FP8 reaches {E4M3.max:.0f} and NVFP4 6 · {E4M3.max:.0f} = {E2M1.max * E4M3.max:.0f}",
        # the split
        f"8 of the {SMS} SMs work: {100 * 8 / SMS:.0f} %",
        f"Maximum {PARTS[0][0]}, weights ½ and 1, sum {PARTS[0][1]}. Blend ½ · [9, 0] + [0, 9] = [4.5, 9]",
        f"its own output is {vector(PARTS[0][3])}",
        f"Maximum {PARTS[1][0]}, weights 1 and ½, sum {PARTS[1][1]}. Blend [9, 4.5], output {vector(PARTS[1][3])}",
        f"The larger maximum is {TOP}. Program 0's sum is worth 2¹⁻² = ½ of what it was: {RESCALED[0]}. "
        f"Together {sum(RESCALED)}",
        f"{RESCALED[0]} ÷ {sum(RESCALED)} = ⅓ and {RESCALED[1]} ÷ {sum(RESCALED)} = ⅔",
        f"⅓ · [3, 6] + ⅔ · [6, 3] = [1 + 4, 2 + 2] = {vector(OUTPUT)}",
        f"1 + log₂ 1.5 = {LSE[0]:.2f} and 2 + log₂ 1.5 = {LSE[1]:.2f}. They are 1 apart, so the weights are 1 to 2",
        "([3, 6] + [6, 3]) ÷ 2 = [4.5, 4.5]",
        f"are {LONG // 64} blocks, times 8 heads: {BLOCKS:,}. An H100 has {SMS} SMs, four programs each: {PROGRAMS}",
        f"{BLOCKS:,} = {PROGRAMS} · {BLOCKS // PROGRAMS} + {BLOCKS % PROGRAMS}. So {BLOCKS % PROGRAMS} programs have "
        f"{BLOCKS // PROGRAMS + 1} blocks and {PROGRAMS - BLOCKS % PROGRAMS} have {BLOCKS // PROGRAMS}",
        # widening and error
        f"A key of 128 numbers in FP4 is {128 // 2} bytes. Four lanes share it, {128 // 2 // 4} bytes each",
        f"√(9.5² + 9.5²) = {sqrt(2) * 9.5:.1f} %. For FP8: √(2.6² + 2.6²) = {sqrt(2) * 2.6:.1f} %",
        "A *value* in NVFP4 is off by 9.5 % (chapter 10)",
        "Values off by 9.5 % make a blend that is off by 9.5 %. Keys off by 9.5 % move each score by 0.095",
        "each weight by 9.5 %",
        "about 0.2 %, cuDNN's as ours. In FP8 it is about 4 %, in NVFP4 13 to 14 %",
        "what 14 % here mean",
        # questions
        f"- (a) {gib(TOKEN * 4096) * 2**10:.0f} MiB - (b) {gib(2 * TOKEN * 4096):.0f} GiB - "
        f"(c) {gib(16 * TOKEN * 4096):.0f} GiB",
        f"- {TOKEN / 2**10:.0f} KiB a token, {gib(TOKEN * 8192):.0f} GiB for 8192, and bytes over bandwidth",
        f"2 · 64 · 8 · 128 · 2 bytes = {2 * TOKEN / 2**10:.0f} KiB a token, and 4096 of them are 1 GiB",
    ],
    SHEET: [
        "24w² and 4Nw; below, 403 MB and 64 · 67 MB",
        f"2 · 32 · 8 · 128 · 2 B = {TOKEN / 2**10:.0f} KiB",
        f"8192 tokens are {gib(TOKEN * 8192):.0f} GiB, {LONG:,} are {gib(TOKEN * LONG):.0f}. "
        f"Divide by {value('hbm bandwidth') / 1e12:.2f} TB/s: {1e3 * LEAST:.2f} ms for one step",
        f"max 1, sum ½ + 1 = {PARTS[0][1]}, blend [4.5, 9] | {vector(PARTS[0][3])} |",
        f"max 2, sum 1 + ½ = {PARTS[1][1]}, blend [9, 4.5] | {vector(PARTS[1][3])} |",
        f"1.5 · 2¹⁻² = {RESCALED[0]}; with 1.5: {sum(RESCALED)} | ⅓ · [3, 6] + ⅔ · [6, 3] = {vector(OUTPUT)} |",
        f"24w² = {REST / 1e6:.0f} million FLOP, {REST / 1e6:.0f} MB; 4Nw: {ATTENTION / 1e6:.0f} of each | "
        f"a sixth; {BATCH} caches are {BATCH * ATTENTION / 1e9:.2f} GB |",
        f"8 heads, {SMS} SMs; {BLOCKS:,} blocks, {PROGRAMS} programs | {100 * 8 / SMS:.0f} % of SMs; "
        f"{BLOCKS // PROGRAMS} or {BLOCKS // PROGRAMS + 1} each |",
        f"The weights, from {value('bf16 peak') / value('hbm bandwidth'):.0f} sequences on",
        "3.56 times fewer bytes; 2.6 to 3.2 times as fast as cuDNN in BF16",
    ],
}

FEW, MANY, THIRD = ({"batch": 16, "heads": "32/8"}, {"batch": 16, "heads": "32/32"}, {"batch": 64, "heads": "64/8"})
LINES = {"nvfp4": "ours", "bf16": "ours", "fp8": "ours", "cudnn": "cudnn"}


def timed(format, setting):
    """GB and milliseconds of one form in one setting."""
    wanted = {"form": LINES[format], "cache": "bf16" if format == "cudnn" else format}
    found = row("decode_speed", "decode", **wanted, **setting)
    return found["read"] * found["median"], found["median"]


def line(format):
    """What one more byte costs, as TB/s, and what no byte costs, in µs: the line through two settings."""
    (few, soon), (many, late) = timed(format, FEW), timed(format, MANY)
    slope = (many - few) / (late - soon)
    return slope, 1e3 * (soon - few / slope)


if not awaits("decode_speed"):
    (FEW_GB, SOON), (MANY_GB, LATE) = timed("nvfp4", FEW), timed("nvfp4", MANY)
    AT = {format: line(format) for format in LINES}
    TYPED[CHAPTER] += [
        f"NVFP4: {FEW_GB:.3f} GB take {SOON:.4f} ms, {MANY_GB:.3f} GB take {LATE:.4f} ms. "
        f"The slope is {MANY_GB - FEW_GB:.3f} GB in {LATE - SOON:.4f} ms: {AT['nvfp4'][0]:.2f} TB/s",
        f"{SOON:.4f} − {FEW_GB:.3f} ÷ {AT['nvfp4'][0]:.2f} = {AT['nvfp4'][1] / 1e3:.3f} ms: {AT['nvfp4'][1]:.0f} µs",
        f"BF16, our kernel: {AT['bf16'][0]:.2f} TB/s and {AT['bf16'][1]:.0f} µs. "
        f"FP8: {AT['fp8'][0]:.2f} TB/s and {AT['fp8'][1]:.0f} µs. "
        f"cuDNN: {AT['cudnn'][0]:.2f} TB/s and {AT['cudnn'][1]:.0f} µs",
        f"A fixed part of {AT['bf16'][1]:.0f} to {AT['nvfp4'][1]:.0f} µs a layer, "
        f"where cuDNN has about {AT['cudnn'][1]:.0f}",
    ]


@pytest.mark.parametrize("page, text", [(page, text) for page, texts in TYPED.items() for text in texts])
def test_a_number_worked_by_hand_is_right(page, text):
    assert text in words(page)


def test_the_minutes_of_the_sheet_add_up():
    assert f"{sum(minutes(SHEET))} minutes" in words(SHEET)


def test_what_is_said_of_the_count():
    assert REST == 6 * ATTENTION and REST + ATTENTION == 7 * ATTENTION  # a sixth of the rest, a seventh of all
    assert attention_flops(1, W) * 6 * W == REST  # equal at N = 6w
    assert BATCH * ATTENTION > 10 * REST
    assert int(value("hbm") // (TOKEN * LONG)) == 4  # an H100 holds four
    assert 128 // 16 == 8  # tables of pages of 16 are eight times as long
    assert blend(SHARES, [PARTS[0][3], PARTS[1][3]]) == pytest.approx(OUTPUT) == [5, 4]
    assert blend([0.5, 0.5], [PARTS[0][3], PARTS[1][3]]) == [4.5, 4.5]
    two, four = 2 * 2 ** (3 - 3), 4 * 2 ** (1 - 3)
    assert two / (two + four) == pytest.approx(2 / 3)  # question 1
    assert 100 - (3 - 1 - 0) == 98  # question 4


def test_a_single_query_aligned_top_left_sees_the_first_word():
    q, k, v = (torch.tensor(x, dtype=torch.float64) for x in ([QUERY], KEYS, VALUES))
    options = {"scale": torch.log(torch.tensor(2.0)).item()}
    assert attention(q, k, v, **options)[0].tolist() == pytest.approx([5, 4], rel=1e-6)
    assert attention(q, k, v, is_causal=True, **options).tolist() == [[9, 0]]
    assert "then give [9, 0]" in words(CHAPTER) and "[9, 0]." in words(SHEET)


def test_which_numbers_a_lane_holds_is_what_the_query_is_read_by():
    def dimension(place):
        return query_dimension.fn(place, 128, words_of("nvfp4", 128))

    assert [dimension(place) for place in (0, 1, 8, 9)] == [0, 8, 16, 24]
    assert [dimension(16 + place) for place in (0, 1, 8, 9)] == [1, 9, 17, 25]
    lane = {dimension(16 * product + place) for product in range(8) for place in (0, 1, 8, 9)}
    assert lane == set(range(32)) and {dimension(place) for place in range(128)} == set(range(128))
    assert "its numbers 0, 8, 16, 24 there, the next time 1, 9, 17, 25" in words(CHAPTER)


def test_the_drawn_pages_are_those_of_the_snippet():
    svg = (ROOT / "docs" / PAGES).read_text()
    filled = {int(page): float(high) for page, high in re.findall(r'data-page="(\d)".*?height="([\d.]+)"', svg)}
    assert {page: high / 96 * 16 for page, high in filled.items()} == {6: 16, 1: 16, 2: 1, 5: 8}
    assert (
        "33 tokens" in words(PAGES) and "8 tokens" in words(PAGES) and words(PAGES).count("free") == 5
    )  # and the desc
    if not awaits("kv_cache"):
        last = table("kv_cache", "pages")[-1]
        assert [last["pages_0"], last["length_0"]] == ["[6, 1, 2]", 33]
        assert [last["pages_1"], last["length_1"]] == ["[5]", 8] and last["free"] == 4


def test_the_drawn_shares_are_equal():
    blocks = re.findall(r'data-block="(\w)(\d)"', (ROOT / "docs" / SPLIT).read_text())
    assert blocks == [("A", str(i)) for i in range(7)] + [("B", "0"), ("B", "1")]
    assert [len(blocks) // 3 * p + min(p, len(blocks) % 3) for p in range(4)] == [0, 3, 6, 9]  # as begin_of


@pytest.mark.skipif(awaits("decode"), reason="awaits its run: decode")
def test_the_snippet_finds_what_is_worked_by_hand():
    first, second, both = table("decode", "by_hand")
    assert [first["output"], second["output"], both["output"]] == ["3, 6", "6, 3", "5, 4"]
    assert [first["sum"], second["sum"], both["sum"]] == [1.5, 1.5, 2.25]
    assert [case["output"] for case in table("decode", "causal")] == ["5, 4", "9, 0"]


@pytest.mark.skipif(awaits("append_speed"), reason="awaits its run: append_speed")
def test_what_words_say_of_filling():
    ratio = {case["cache"]: case["ratio"] for case in table("append_speed", "append")}
    assert min(ratio["bf16"], ratio["fp8"]) > 0.9 and 0.8 < ratio["nvfp4"] < 0.85


@pytest.mark.skipif(awaits("kv_cache_size"), reason="awaits its run: kv_cache_size")
def test_what_words_say_of_sizes():
    tokens = {case["format"]: case["token"] * 32 for case in table("kv_cache_size", "formats")}
    assert [tokens[name] / 2**10 for name in ("bf16", "fp8", "nvfp4")] == [128, 64, 36]
    waste = {case["page_size"]: case["page_table"] for case in table("kv_cache_size", "last_page")}
    assert waste[16] == 8 * waste[128]


@pytest.mark.skipif(awaits("decode_speed"), reason="awaits its run: decode_speed")
def test_what_words_say_of_decode():
    rows = table("decode_speed", "decode")
    (reached,) = (case["read"] for case in table("decode_speed", "sum"))

    def of(form, cache, column):
        return [case[column] for case in rows if (case["form"], case["cache"]) == (form, cache)]

    def gains(cache):
        return [
            slow / fast for slow, fast in zip(of("portable", cache, "median"), of("ours", cache, "median"), strict=True)
        ]

    assert all(
        1 < time / peer < 1.05
        for time, peer in zip(of("ours", "bf16", "median"), of("cudnn", "bf16", "median"), strict=True)
    )
    for cache, least, most in (("fp8", 1.8, 1.9), ("nvfp4", 2.6, 3.2)):
        ratios = of("ours", cache, "ratio")
        assert [round(min(ratios), 1), round(max(ratios), 1)] == [least, most]
    assert max(of("ours", "nvfp4", "ratio")) < 16 / 4.5
    # the lines
    for format in LINES:
        slope, fixed = line(format)
        assert abs(slope / reached - 1) < 0.03
        bytes_read, spent = timed(format, THIRD)
        assert abs((fixed / 1e3 + bytes_read / slope) / spent - 1) < 0.05
    # the portable kernel
    assert max(1 / ratio for ratio in of("portable", "bf16", "ratio")) < 1.2
    times = [of("portable", cache, "median") for cache in ("bf16", "fp8", "nvfp4")]
    assert all(a < b < c for a, b, c in zip(*times, strict=True))
    assert times[2][0] / times[0][0] == pytest.approx(2, abs=0.15)
    assert of("portable", "nvfp4", "read")[0] / reached == pytest.approx(1 / 9, rel=0.05)
    assert min(gains("nvfp4")) > 6 and 1 < min(gains("bf16")) < max(gains("bf16")) < 7 / 6
    # the error
    for form in ("cudnn", "ours"):
        assert {round(error, 1) for error in of(form, "bf16", "error")} == {0.2}
    shown = {case["cache"]: case["error"] for case in table("decode", "right")}  # the cell that the page shows
    for cache, said in (("fp8", {4}), ("nvfp4", {13, 14})):
        assert {round(error) for error in (*of("ours", cache, "error"), shown[cache])} == said


def test_what_is_said_of_the_compiled_kernel():
    bf16, fp8, nvfp4 = (literal_eval(elsewhere(f"decode_instructions({name!r})")) for name in ("bf16", "fp8", "nvfp4"))
    assert bf16["multiply"] == fp8["multiply"] == nvfp4["multiply"] == 32
    assert "the same 32 instructions for a block of keys, in each format" in words(CHAPTER)
    assert [form["rewritten"] for form in (bf16, fp8, nvfp4)] == [0, 0, 2]  # keys and values
    assert [form["byte"] for form in (bf16, fp8, nvfp4)] == [0, 64, 0] and bf16["transposed"] == 8
    assert "one byte at a time, 64 such loads where BF16 has 8 wide ones" in words(CHAPTER)
    assert min(fp8["lines"], nvfp4["lines"]) > 2 * bf16["lines"]


@pytest.mark.parametrize("cache, scheme, said", [("nvfp4", "NVFP4", 9.5), ("fp8", "FP8", 2.6)])
def test_the_error_of_a_value_is_that_of_chapter_10_and_of_the_cache(cache, scheme, said):
    assert round(row("format_error", "schemes", distribution="gaussian", scheme=scheme)["error"], 1) == said
    assert abs(row("kv_cache", "formats", format=cache)["error"] - said) < 0.1
