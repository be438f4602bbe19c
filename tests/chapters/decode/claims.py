"""What chapter 11 and its sheet claim in words.  Of the compiled kernel and its lanes it needs torch and Triton."""

from ast import literal_eval
from functools import cache

from kernels.bench.cost import attention_flops
from scripts import records
from tests.claims.rows import chip, chip_of, close, rounded, row, rows

W = 4096
REST, ATTENTION = 24 * W * W, attention_flops(1, W) * W  # FLOP of a token; in 16 bits as many bytes
FORMATS = ("bf16", "fp8", "nvfp4")
H100_RUN = {  # milliseconds of 16 sequences, 32/8 heads: decode_speed on an H100 80GB HBM3, 21 November 2026
    ("cudnn", "bf16"): 0.1771,
    ("ours", "bf16"): 0.1848,
    ("ours", "fp8"): 0.1012,
    ("ours", "nvfp4"): 0.06888,
    ("portable", "bf16"): 0.2089,
    ("portable", "fp8"): 0.2488,
    ("portable", "nvfp4"): 0.4442,
}


def _form(name, cache, **wanted):
    """The rows of one kernel and one cache, in the order of the four settings."""
    return rows("decode_speed", "decode", form=name, cache=cache, **wanted)


def _column(name, cache, key):
    return [found[key] for found in _form(name, cache)]


def _sum_reaches():
    """TB/s of a plain sum in the same run."""
    return row("decode_speed", "sum")["read"]


# Arithmetic.


def a_sixth_of_the_rest():
    """At N = w = 4096 attention's FLOP and bytes are 4 to 24, 1/6 of the rest; at 6w the two are equal.

    In words: sixth.
    """
    assert 6 * ATTENTION == REST and 7 * ATTENTION == REST + ATTENTION


def more_than_sixteen_times_the_weights():
    """100 caches are more than sixteen times, 16 times, the weights of a layer. In words: more."""
    assert 100 * ATTENTION > 16 * REST


def longer_than_the_arithmetic():
    """With 32/8 heads and 131,072 tokens cuDNN takes 50 to 60 times as long as one query's FLOP at the peak.

    In words: more, long.
    """
    seconds = attention_flops(1, 128, heads=32) * 131072 / chip_of("decode_speed", "bf16 peak")
    (found,) = _form("cudnn", "bf16", batch=1, heads="32/8", n=131072)
    assert 50 < found["median"] / (1e3 * seconds) < 60


def decode_was_timed_on_an_h200():
    """The runs of this chapter with times in them were made on an H200."""
    timed = ("decode_speed", "page_size", "append_speed")
    assert {records.read(name).provenance["gpu"] for name in timed} == {"NVIDIA H200"}


def a_gpu_holds(caches):
    """Of the cache of 131,072 tokens an H100's 80 GB hold 4."""
    assert chip("hbm") // (2 * 32 * 8 * 128 * 2 * 131072) == caches


# The cache.


def a_single_query_sees_the_first_word():
    """The four tokens give [5, 4] without a mask and [9, 0] with is_causal, which sees key 0 alone.

    In words: -; first.
    """
    assert row("decode", "causal", mask="none")["output"] == "5, 4"
    causal = row("decode", "causal", mask="is_causal")
    assert (causal["output"], causal["sees"]) == ("9, 0", "0")


def tables_are_eight_times_as_long():
    """Page tables of pages of 16 are 8 times as large as those of pages of 128. In words: long."""
    tables = {found["page_size"]: found["page_table"] for found in rows("kv_cache_size", "last_page")}
    assert tables[16] == 8 * tables[128]


def _pages(kernel, cache, tokens):
    """The row of the run on page sizes."""
    return row("page_size", "page_size", kernel=kernel, cache=cache, tokens_a_page=tokens)


def fp8_is_ahead_with_small_pages():
    """NVFP4 takes less time than FP8 with pages of 64, by at most 1/20, and longer with smaller ones, 32 and 16.

    In words: nvfp4, ahead, fp8, less, twentieth, smaller, behind; ahead, fp8, less, twentieth, smaller, behind.
    """
    behind = {tokens: _pages("ours", "nvfp4", tokens)["median"] / _pages("ours", "fp8", tokens)["median"]
              for tokens in (16, 32, 64, 128)}  # fmt: skip
    assert behind[128] < 0.95 < behind[64] < 1 and behind[32] > 1.02 and behind[16] > 1.02


def portable_minds_no_page(percent):
    """No page size costs the portable kernel more than 2 % in any format. In words: no, more."""
    assert percent - 1 < max(found["more"] for found in rows("page_size", "page_size", kernel="portable")) <= percent


def _cost(tokens, typed):
    found = [_pages("ours", format, tokens)["more"] for format in ("bf16", "nvfp4")]
    assert [rounded(number, like) for number, like in zip(found, typed, strict=True)] == list(typed)


def pages_of_16_cost(*percents):
    """Pages of 16 cost the kernel for Hopper 14 % in BF16 and 74 % in NVFP4, against pages of 128.

    In words: bf16, nvfp4.
    """
    _cost(16, percents)


def pages_of_64_cost(*percents):
    """Pages of 64 cost the kernel for Hopper 1.5 % in BF16 and 10 % in NVFP4, against pages of 128."""
    _cost(64, percents)


def pages_of_64_cost_little(percent):
    """Pages of 64 cost the kernel for Hopper at most 2 % in BF16 and in FP8. In words: most, bf16, fp8."""
    assert percent - 1 < max(_pages("ours", cache, 64)["high"] for cache in ("bf16", "fp8")) <= percent


def ahead_with_pages_of_16(tokens):
    """With pages of 16 our kernel takes less time than the portable one in each format. In words: ahead, every."""
    assert all(_pages("ours", c, tokens)["median"] < _pages("portable", c, tokens)["median"] for c in FORMATS)


def pages_of_16_add(*microseconds):
    """Against pages of 128, pages of 16 add 18 µs to a step in BF16, 10 in FP8 and 49 in NVFP4, with our kernel.

    In words: bf16, fp8, nvfp4.
    """
    for format, typed in zip(FORMATS, microseconds, strict=True):
        few, many = (_pages("ours", format, tokens)["median"] for tokens in (16, 128))
        assert rounded(1e3 * (few - many), typed) == typed


def filling_moves(*percents):
    """Filling a cache moves 92 % of a copy's rate in BF16, 86 % in FP8 and 62 % in NVFP4.

    In words: bf16, fp8, nvfp4.
    """
    found = [100 * row("append_speed", "append", cache=cache)["ratio"] for cache in FORMATS]
    assert [rounded(number, like) for number, like in zip(found, percents, strict=True)] == list(percents)


def filling_nvfp4_takes_longer_than_fp8():
    """Filling an NVFP4 cache takes longer than filling one in FP8. In words: nvfp4, longer, fp8."""
    fp8, nvfp4 = (row("append_speed", "append", cache=cache)["median"] for cache in ("fp8", "nvfp4"))
    assert nvfp4 > fp8


def both_programs_find():
    """Of the snippet's 4 tokens 2 programs find what is worked out by hand, each alone and both together."""
    found = rows("decode", "by_hand")
    assert [part["output"] for part in found] == ["3, 6", "6, 3", "5, 4"]
    assert [part["sum"] for part in found] == [1.5, 1.5, 2.25]


# Speed.


def bf16_is_level_with_cudnn():
    """In BF16 our kernel takes longer than cuDNN in all four settings, by less than 1/20.

    In words: most, twentieth, behind, cudnn; bf16, level, cudnn, faster, less, twentieth;
    twentieth, longer, cudnn, all.
    """
    ours, cudnn = _column("ours", "bf16", "median"), _column("cudnn", "bf16", "median")
    assert len(ours) == 4
    assert all(1 < time / peer < 1.05 for time, peer in zip(ours, cudnn, strict=True))


def never_as_much_faster_as_smaller(times):
    """In NVFP4 our kernel is less than 3.56 times as fast as cuDNN in BF16, in every setting: fewer bytes.

    In words: not.
    """
    smaller = row("kv_cache_size", "formats", format="nvfp4")["smaller"]
    assert rounded(smaller, times) == times > max(_column("ours", "nvfp4", "ratio"))


def _nvfp4_gains_on(cache, least, most):
    pairs = zip(_column("ours", cache, "median"), _column("ours", "nvfp4", "median"), strict=True)
    gains = [slow / fast for slow, fast in pairs]
    assert (rounded(min(gains), least), rounded(max(gains), most)) == (least, most)


def nvfp4_against_itself(least, most):
    """In NVFP4 our kernel is 2.0 to 2.3 times as fast as itself in BF16, over the four settings.

    In words: fast, bf16.
    """
    _nvfp4_gains_on("bf16", least, most)


def nvfp4_against_fp8(least, most):
    """In NVFP4 our kernel is 1.13 to 1.19 times as fast as itself in FP8, over the four settings.

    In words: only, fast.
    """
    _nvfp4_gains_on("fp8", least, most)


def _bill(cache):
    """How many times fewer bytes than in BF16, milliseconds and error of our kernel in the setting of the table."""
    (found,) = _form("ours", cache, batch=16, heads="32/8", n=8192)
    return row("kv_cache_size", "formats", format=cache)["smaller"], found["median"], found["error"]


def _bill_is(cache, typed):
    assert tuple(rounded(number, like) for number, like in zip(_bill(cache), typed, strict=True)) == typed


def the_bill_of_bf16(*typed):
    """BF16: 1 time fewer bytes, 0.130 ms, 0.22 %."""
    _bill_is("bf16", typed)


def the_bill_of_fp8(*typed):
    """FP8: 2 times fewer bytes, 0.074 ms, 4.0 %."""
    _bill_is("fp8", typed)


def the_bill_of_nvfp4(*typed):
    """NVFP4: 3.56 times fewer bytes, 0.066 ms, 13.5 %."""
    _bill_is("nvfp4", typed)


def the_bytes_of_the_bills(*typed):
    """In the setting of the table BF16 reads 537 MB, FP8 268 and NVFP4 151."""
    found = [_form("ours", cache, batch=16, heads="32/8", n=8192)[0] for cache in FORMATS]
    numbers = [1e3 * each["read"] * each["median"] for each in found]
    assert [rounded(number, like) for number, like in zip(numbers, typed, strict=True)] == list(typed)


def nvfp4_against_cudnn(least, most):
    """In NVFP4 our kernel is 1.89 to 2.27 times as fast as cuDNN in BF16, over the four settings.

    In words: fast, cudnn, bf16.
    """
    ratios = _column("ours", "nvfp4", "ratio")
    assert (rounded(min(ratios), least), rounded(max(ratios), most)) == (least, most)


LINES = {"nvfp4": ("ours", "nvfp4"), "bf16": ("ours", "bf16"), "fp8": ("ours", "fp8"), "cudnn": ("cudnn", "bf16")}


def _timed(line, **setting):
    """GB and milliseconds of one line in one setting: keys and values of heads of 128 numbers."""
    (found,) = _form(*LINES[line], **setting)
    bits = {"fp8": 8, "nvfp4": 4.5}.get(line, 16)
    heads = int(found["heads"].split("/")[1])
    return 2 * found["batch"] * heads * found["n"] * 128 * bits / 8 / 1e9, found["median"]


def _slope_and_start(line):
    """What one more byte costs, as TB/s, and what no byte costs, in µs: the line through two settings."""
    (few, soon), (many, late) = (_timed(line, batch=16, heads=heads) for heads in ("32/8", "32/32"))
    slope = (many - few) / (late - soon)
    return slope, 1e3 * (soon - few / slope)


def _line_is(line, typed):
    for number, like in zip(_slope_and_start(line), typed, strict=True):
        assert rounded(number, like) == like


def the_slope_of_nvfp4(gigabytes, milliseconds, slope):
    """In NVFP4 0.453 GB more take 0.1460 ms more: 3.10 TB/s."""
    (few, soon), (many, late) = (_timed("nvfp4", batch=16, heads=heads) for heads in ("32/8", "32/32"))
    assert rounded(many - few, gigabytes) == gigabytes and rounded(late - soon, milliseconds) == milliseconds
    assert rounded(_slope_and_start("nvfp4")[0], slope) == slope


def the_start_of_nvfp4(microseconds):
    """The line of NVFP4 begins at 17 µs."""
    assert rounded(_slope_and_start("nvfp4")[1], microseconds) == microseconds


def the_line_of_bf16(*typed):
    """The line of our kernel in BF16 has the slope 4.49 TB/s and begins at 10 µs."""
    _line_is("bf16", typed)


def the_line_of_fp8(*typed):
    """The line of FP8 has the slope 4.52 TB/s and begins at 15 µs."""
    _line_is("fp8", typed)


def the_line_of_cudnn(*typed):
    """The line of cuDNN has the slope 4.53 TB/s and begins at 6 µs."""
    _line_is("cudnn", typed)


def the_fixed_parts(*microseconds):
    """Our lines begin at 10 µs in BF16, 15 in FP8 and 17 in NVFP4. In words: bf16, fp8, nvfp4; -."""
    starts = [_slope_and_start(line)[1] for line in FORMATS]
    assert FORMATS == ("bf16", "fp8", "nvfp4") and len(starts) == len(microseconds)
    assert all(rounded(start, like) == like for start, like in zip(starts, microseconds, strict=True))


def cudnns_fixed_part(microseconds):
    """cuDNN's line begins at 6 µs. In words: cudnn."""
    assert rounded(_slope_and_start("cudnn")[1], microseconds) == microseconds


def one_more_byte_costs_the_same():
    """The slopes of our lines in BF16 and in FP8 are cuDNN's to 1 %.

    In words: bf16, fp8, more, same, cudnn.
    """
    slopes = {line: _slope_and_start(line)[0] for line in LINES}
    assert all(close(slopes[line], slopes["cudnn"], 0.01) for line in ("bf16", "fp8"))


def these_slopes_reach(percent):
    """The slopes of cuDNN's line and of ours in BF16 and FP8 are 94 % of the maker's bandwidth."""
    maker = chip_of("decode_speed", "hbm bandwidth")
    found = [_slope_and_start(line)[0] * 1e12 / maker for line in ("cudnn", "bf16", "fp8")]
    assert {rounded(100 * part, percent) for part in found} == {percent}


def slopes_above_a_sum(least, most):
    """These three slopes are 4 to 5 % above what a sum reads. In words: above, reads."""
    found = [100 * (_slope_and_start(line)[0] / _sum_reaches() - 1) for line in ("bf16", "fp8", "cudnn")]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def nvfp4_reads_at_a_lower_rate(*slopes):
    """The slope of NVFP4's line, 3.10 TB/s, is 0.29 to 0.36 below that of BF16, 4.49.

    In words: nvfp4, third, below, bf16; third, below, bf16.
    """
    nvfp4, bf16 = (_slope_and_start(line)[0] for line in ("nvfp4", "bf16"))
    assert all(rounded(found, like) == like for found, like in zip((nvfp4, bf16), slopes, strict=False))
    assert 0.29 < 1 - nvfp4 / bf16 < 0.36


# The same run on an H100, whose SMs are those of the H200, with a memory of 3.35 TB/s.


def _gained_on_the_h100(*forms):
    """How many times as long each took there."""
    return [H100_RUN[form] / _form(*form, batch=16, heads="32/8", n=8192)[0]["median"] for form in forms]


def _gained_is(typed, *forms):
    assert [rounded(n, like) for n, like in zip(_gained_on_the_h100(*forms), typed, strict=True)] == list(typed)


def memory_gained(*times):
    """cuDNN is 1.42 times as fast as on the H100, our kernel in BF16 1.42 times and in FP8 1.36.

    In words: cudnn, fast, bf16, fp8.
    """
    _gained_is(times, ("cudnn", "bf16"), ("ours", "bf16"), ("ours", "fp8"))


def memory_gained_nvfp4(times):
    """In NVFP4 our kernel is 1.05 times as fast as on the H100. In words: nvfp4, fast; fast."""
    _gained_is((times,), ("ours", "nvfp4"))


def memory_gained_the_portable_kernel(times):
    """In BF16 the portable kernel is 1.24 times as fast as on the H100. In words: fast, bf16."""
    _gained_is((times,), ("portable", "bf16"))


def memory_gained_it_nothing():
    """In FP8 and NVFP4 the portable kernel takes as long as on the H100, or up to 3 % longer.

    In words: fp8, nvfp4, nothing.
    """
    assert all(0.97 < gain <= 1 for gain in _gained_on_the_h100(("portable", "fp8"), ("portable", "nvfp4")))


def a_third_setting_keeps_to_the_lines():
    """Each of the four lines foretells the time at 64/8 heads to 1/20. In words: every, twentieth."""
    for line in LINES:
        slope, start = _slope_and_start(line)
        read, spent = _timed(line, batch=64, heads="64/8")
        assert close(start / 1e3 + read / slope, spent, 0.05)


def _of_the_limit(name, cache):
    """With 16 sequences of 8192 tokens and 32/8 heads: the part that a time is of the limit of its own bytes, in %."""
    (found,) = _form(name, cache, batch=16, heads="32/8", n=8192)
    return 100 * found["read"] * 1e12 / chip_of("decode_speed", "hbm bandwidth")


def cudnn_reaches_of_its_limit(percent):
    """cuDNN reaches 90 % of the limit of its bytes. In words: cudnn."""
    assert rounded(_of_the_limit("cudnn", "bf16"), percent) == percent


def hopper_reaches_of_its_limit(*percents):
    """The kernel for Hopper reaches 86 % in BF16, 75 % in FP8 and 48 % in NVFP4. In words: bf16, fp8, nvfp4; -."""
    assert (
        tuple(
            rounded(_of_the_limit("ours", cache), each)
            for cache, each in zip(("bf16", "fp8", "nvfp4"), percents, strict=True)
        )
        == percents
    )


def portable_reaches_of_its_limit(percent):
    """The portable kernel reaches 7 % of it in NVFP4."""
    assert rounded(_of_the_limit("portable", "nvfp4"), percent) == percent


def the_fixed_part_is_half_of_the_loss():
    """Where its line begins is 0.45 to 0.55 of what our kernel takes beyond the limit in NVFP4.

    In words: half, nvfp4.
    """
    (found,) = _form("ours", "nvfp4", batch=16, heads="32/8", n=8192)
    beyond = found["median"] * (1 - _of_the_limit("ours", "nvfp4") / 100)
    assert 0.45 < _slope_and_start("nvfp4")[1] / 1e3 / beyond < 0.55


# The portable kernel.


def portable_bf16_takes_longer(least, most):
    """In BF16 the portable kernel takes 32 to 37 % longer than cuDNN, over the four settings.

    In words: bf16, longer, cudnn.
    """
    found = [100 * (1 / ratio - 1) for ratio in _column("portable", "bf16", "ratio")]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def portable_is_slower_with_fewer_bytes():
    """In every setting the portable kernel takes longer in FP8 than in BF16, and longer still in NVFP4.

    In words: fp8, slower, bf16; slower, before; slower, nvfp4.
    """
    times = [_column("portable", cache, "median") for cache in FORMATS]
    assert all(bf16 < fp8 < nvfp4 for bf16, fp8, nvfp4 in zip(*times, strict=True))


def more_time_for_fewer_bytes(times):
    """With 16 sequences and 32/8 heads the portable kernel takes 2.7 times as long in NVFP4 as in BF16.

    In words: less, third.
    """
    bf16, nvfp4 = (_form("portable", cache, batch=16, heads="32/8")[0]["median"] for cache in ("bf16", "nvfp4"))
    assert rounded(nvfp4 / bf16, times) == times


def a_thirteenth_of_a_sum():
    """There it reads 1/13 of what a sum reads, to 5 %. In words: reads."""
    assert close(_form("portable", "nvfp4", batch=16, heads="32/8")[0]["read"], _sum_reaches() / 13, 0.05)


def _gained_from_portable(cache):
    pairs = zip(_column("portable", cache, "median"), _column("ours", cache, "median"), strict=True)
    return [slow / fast for slow, fast in pairs]


def nvfp4_gains_six_times():
    """In NVFP4 the kernel for Hopper is more than 6 times as fast as the portable one in every setting.

    In words: nvfp4, gains, more.
    """
    assert min(_gained_from_portable("nvfp4")) > 6


def bf16_gains_a_third():
    """In BF16 the kernel for Hopper is 1.25 to 4/3 times as fast as the portable one in every setting.

    In words: gains, less, third.
    """
    assert all(1.25 < gain < 4 / 3 for gain in _gained_from_portable("bf16"))


@cache
def _instructions():
    """What decode_kernel is compiled to in each format."""
    from tests.claims.compiled import elsewhere

    return literal_eval(elsewhere(f"[decode_instructions(name) for name in {FORMATS}]"))


def made_with_triton(version):
    """The runs of decode and of the Hopper kernel were made with this version of Triton, to its second place."""
    ran = {records.read(name).provenance["triton"] for name in ("decode_speed", "hopper_speed", "hopper_steps")}
    assert {each.rpartition(".")[0] for each in ran} == {str(version)}


def the_same_instructions(count):
    """For a block of keys the compiled kernel multiplies with 32 instructions in each format. In words: same."""
    assert {found["multiply"] for found in _instructions()} == {count}


def nvfp4_is_rewritten():
    """In NVFP4 two widened tiles, of keys and values, go from registers to shared memory; in BF16 and FP8 none.

    In words: nvfp4, read, written, read.
    """
    assert [found["rewritten"] for found in _instructions()] == [0, 0, 2]


def fp8_loads_single_bytes(fp8, bf16):
    """FP8's compiled kernel has 64 loads of single bytes, others have none; BF16's has 8 wide transposing loads.

    In words: bf16.
    """
    found = _instructions()
    assert [each["byte"] for each in found] == [0, fp8, 0] and found[0]["transposed"] == bf16


def compiled_it_is_twice_as_long():
    """In FP8 and NVFP4 the compiled kernel has more than twice as many lines as in BF16.

    In words: more, twice, long, bf16.
    """
    bf16, fp8, nvfp4 = (found["lines"] for found in _instructions())
    assert min(fp8, nvfp4) > 2 * bf16


def a_lane_holds(*numbers):
    """In places 0, 1, 8 and 9 lane 0 puts its numbers 0, 8, 16 and 24, in the second product 1, 9, 17 and 25."""
    from kernels.serving.layouts import query_dimension, words_of

    def dimension(place):
        return query_dimension.fn(place, 128, words_of("nvfp4", 128))

    assert [dimension(16 * product + place) for product in (0, 1) for place in (0, 1, 8, 9)] == list(numbers)
    lane = {dimension(16 * product + place) for product in range(8) for place in (0, 1, 8, 9)}
    assert lane == set(range(32)) and {dimension(place) for place in range(128)} == set(range(128))


# Errors.


def _errors(cache):
    """Of our kernel in all settings, and of the run that the page shows."""
    return [*_column("ours", cache, "error"), row("decode", "right", cache=cache)["error"]]


def bf16_is_off_by(percent):
    """In BF16 cuDNN's output and ours are off by 0.2 % in every setting. In words: cudnn."""
    found = [error for name in ("cudnn", "ours") for error in _column(name, "bf16", "error")]
    assert {rounded(error, percent) for error in found} == {percent}


def fp8_is_off_by(percent):
    """In FP8 outputs are off by 4 % in every setting."""
    assert {rounded(error, percent) for error in _errors("fp8")} == {percent}


def nvfp4_is_off_by(least, most):
    """In NVFP4 outputs are off by 13 to 14 %: the least is between the two, the most is 14 in whole per cent."""
    found = _errors("nvfp4")
    assert least <= min(found) < most == rounded(max(found), most)


def _value_is_off(scheme, cache, percent):
    gaussian = row("format_error", "schemes", distribution="gaussian", scheme=scheme)["error"]
    assert rounded(gaussian, percent) == percent
    assert abs(row("kv_cache", "formats", format=cache)["error"] - float(percent)) < 0.1


def an_nvfp4_value_is_off_by(percent):
    """Gaussian values in NVFP4 are off by 9.5 %, and those of the cache by as much to 0.1 %. In words: nvfp4."""
    _value_is_off("NVFP4", "nvfp4", percent)


def nvfp4_is_off_by_up_to(most):
    """In NVFP4 outputs are off by 14 % at most, over all settings."""
    assert rounded(max(_errors("nvfp4")), most) == most


def an_fp8_value_is_off_by(*percent):
    """Gaussian values in FP8 are off by 2.6 %, and those of the cache by as much to 0.1 %."""
    for typed in percent:
        _value_is_off("FP8", "fp8", typed)
