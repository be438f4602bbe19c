"""What chapter 3 and its sheet claim in words."""

import re
from math import ceil, isqrt, sqrt

from kernels.bench import hardware
from kernels.bench.cost import eager_peak_bytes, fused_peak_bytes, gib, mib, qkvo_bytes, square_bytes
from scripts import records
from tests.claims.rows import chip, row, rows

LENGTHS = [1024, 2048, 4096, 8192, 16384]  # at which PyTorch's flash backend is looked at
BLOCK_OF_QUERIES, BLOCK_OF_KEYS = 64, 128  # of that backend, as its rule counts them, head_dim 128


def _card():
    """The bytes of the GPU's memory, as the run printed them."""
    (text,) = (output["text"] for output in records.read("prefill_memory").outputs["measure"] if "text" in output)
    return float(re.search(r"([\d.]+) GiB on this GPU", text)[1]) * 2**30


def _gpu():
    """The name of the GPU of both runs, as its driver has it."""
    (name,) = {records.read(run).provenance["gpu"] for run in ("balloon", "prefill_memory")}
    return name


def _fits():
    """How many words fit if two squares in BF16 are all that is held."""
    return sqrt(_card() / 4)


def _peaks(table, **wanted):
    """n -> the peak in bytes of each row that did not run out of memory."""
    return {
        found["n"]: round(found["peak"] * 2**20) for found in rows("prefill_memory", table, **wanted) if found["peak"]
    }


def _parts(n):
    """Into how many parts PyTorch's flash backend cuts n keys of one head: the fewest that fill the GPU nearly best."""
    query_blocks, places = ceil(n / BLOCK_OF_QUERIES), 2 * int(chip("sms"))
    if query_blocks >= 0.8 * places:
        return 1
    key_blocks = ceil(n / BLOCK_OF_KEYS)
    filled = {}
    for count in range(1, min(128, places, key_blocks) + 1):
        if count == 1 or ceil(key_blocks / count) != ceil(key_blocks / (count - 1)):
            waves = query_blocks * count / places
            filled[count] = waves / ceil(waves)
    return min(count for count, share in filled.items() if share >= 0.85 * max(filled.values()))


def _kept_by_parts(n):
    """Bytes: an output of 128 numbers and one log-sum-exp a query, in FP32, for each part."""
    return _parts(n) * n * (128 + 1) * 4 if _parts(n) > 1 else 0


def _runs_out(form, table, n):
    return row("prefill_memory", table, form=form, n=n)["out_of_memory"]


def the_long_text_does_not_fit():
    """At 262,144 words, one head of 128 numbers in BF16, the three lines run out of memory in both runs."""
    assert _runs_out("attention", "forward", 262_144)
    assert [found["peak"] for found in rows("balloon", "limit", n=262_144)] == [None]


def a_sixty_fourth_for_the_lse():
    """FlashAttention's peak is 65/64 of the output at each number of sentences, 32 included, and 16 fit unfused.

    In words: sixty-fourth.
    """
    measured = {found["sentences"]: found for found in rows("balloon", "sentences")}
    for count, found in measured.items():
        assert found["expected"] == gib(eager_peak_bytes(4096, 64, 4, 32, count))
        assert found["fused"] == gib(qkvo_bytes(4096, 64, 4, 32, count) / 4) * (1 + 1 / 64)
    assert 32 in measured and measured[16]["peak"]


def to_the_byte():
    """Each measured peak of our forms is the expected one, to the byte; so is each that was tried at the limit.

    In words: every.
    """
    for form in ("attention", "three_kernel_attention", "flash_attention"):
        for found in rows("prefill_memory", "forward", form=form, out_of_memory=False):
            assert found["peak"] == found["expected"]
    assert all(found["peak"] == found["expected"] for found in rows("balloon", "limit") if found["peak"])


def the_limit_is_tried():
    """With 1024 words more than the longest that fits, they were tried and ran out of memory.

    In words: more.
    """
    fits, fails = _tried()
    assert fails - fits == 1024 == rows("balloon", "limit")[-1]["gap"]


def fewer_still_ran():
    """1024 words before the shortest that does not fit, they were tried and ran.

    In words: fewer.
    """
    fits, fails = _tried()
    assert fits == fails - 1024


def _tried() -> tuple[int, int]:
    """The longest that fits, and the shortest that does not."""
    tried = rows("balloon", "limit")
    fits, fails = [[found["n"] for found in tried if bool(found["peak"]) is fitted] for fitted in (True, False)]
    assert max(fits) == tried[-1]["longest"]
    return max(fits), min(fails)


def flash_attention_always_fits():
    """FlashAttention has a peak at every length that was tried, 262,144 words included.

    In words: flashattention, not.
    """
    tried = rows("balloon", "limit")
    assert all(found["fused"] for found in tried) and 262_144 in [found["n"] for found in tried]


def the_card_has(size):
    """Both runs were made on GPUs of one name, on which PyTorch finds this many GiB."""
    assert f"{_card() / 2**30:.1f}" == str(size) and _gpu()


def more_than_it_is_sold_with():
    """The bytes that PyTorch finds are more than the gigabytes that the registry has for a chip of that name.

    In words: more.
    """
    assert _card() > getattr(hardware, re.search(r"[A-Z]\d{3}", _gpu())[0])["hbm"].value


def words_that_fit(size, words):
    """The root of a quarter of the card's bytes, to the thousand; the card has this many GiB. In words: all."""
    the_card_has(size)
    assert round(_fits(), -3) == words


def little_is_missing_to_the_limit():
    """The longest that fits is between 95 and 100 % of what arithmetic says.

    Less speaks of something else that held memory while the limit was run into: the GPU must be alone.
    """
    part = rows("balloon", "limit")[-1]["longest"] / _fits()
    assert 0.95 < part < 1, f"{part:.1%}: was the GPU alone? If not: python -m scripts.record balloon"


def cards_of_the_demo(*sizes):
    """These are the cards of the snippet's table."""
    assert list(dict.fromkeys(found["card"] for found in rows("balloon", "cards"))) == list(sizes)


def the_demo_says(words, measured):
    """For 80 GB and one head the snippet's table ends at so many words, below the longest that was measured to fit; and
    on our card PyTorch finds more bytes.

    In words: less.
    """
    assert row("balloon", "cards", card=80, heads=1)["longest"] == words < measured
    assert rows("balloon", "limit")[-1]["longest"] == measured
    assert _card() > 80e9


def the_cross_stands_at(words):
    """The shortest that does not fit, and was tried, has so many words; the card is an H200."""
    assert _tried()[1] == words and "H200" in records.read("balloon").provenance["gpu"]


def three_kernels_hold_as_much():
    """Three kernels have the peaks of the three lines at every length, and run out at 262,144 words, as they do.

    In words: same.
    """
    three_kernels, three_lines = (_peaks("forward", form=form) for form in ("three_kernel_attention", "attention"))
    assert three_kernels == three_lines
    assert _runs_out("attention", "forward", 262_144) and _runs_out("three_kernel_attention", "forward", 262_144)


def the_flash_backend_holds_more():
    """At 1024 words PyTorch's flash backend has a higher peak than the three lines. In words: more."""
    assert _peaks("forward", form="sdpa_flash")[1024] > _peaks("forward", form="attention")[1024]


def parts_of_the_flash_backend(*parts):
    """PyTorch's rule cuts the keys of one head into so many parts at 1024, 2048, 4096, 8192 and 16,384 words."""
    assert list(map(_parts, LENGTHS)) == list(parts)


def met_but_for_one_kib():
    """The flash backend's peak is its output, its log-sum-exp, what the parts keep, and one KiB."""
    for n, peak in _peaks("forward", form="sdpa_flash").items():
        assert peak == fused_peak_bytes(n, 128, 2) + _kept_by_parts(n) + 1024


def most_that_parts_add(most):
    """What the parts keep is this many MiB at most. In words: never, more."""
    assert f"{mib(max(map(_kept_by_parts, LENGTHS))):.1f}" == str(most)


def no_lse_without_gradient():
    """The memory-efficient backend's peak is its output alone, at every length.

    In words: memory-efficient, below, no, no.
    """
    assert all(peak == n * 128 * 2 for n, peak in _peaks("forward", form="sdpa_efficient").items())


def cudnn_holds_little_more(kib):
    """cuDNN's peak is its output and a number of bytes that is the same at every length, below so many KiB.

    In words: more, every, same, less.
    """
    (over,) = {peak - n * 128 * 2 for n, peak in _peaks("forward", form="sdpa_cudnn").items()}
    assert (kib - 1) * 1024 <= over < kib * 1024


def training_holds_four_squares():
    """In training the three lines' peak is four squares and two tables, at every length that fits."""
    for n, peak in _peaks("training", form="attention").items():
        assert peak == 4 * square_bytes(n, 2) + 2 * n * 128 * 2


def flash_training_holds_four_tables():
    """In training FlashAttention's peak is four tables and three FP32 numbers a query, at every length.

    A table of 131,072 words is 32 MiB.

    In words: fp32, each; every, fp32, each.
    """
    peaks = _peaks("training", form="flash_attention")
    assert 131_072 in peaks
    for n, peak in peaks.items():
        assert peak == 4 * n * 128 * 2 + 3 * n * 4
    assert mib(131_072 * 128 * 2) == 32


def cards_for_one_layer(cards, size):
    """Scores and shares of 32 heads of 131,072 words in BF16 take so many cards of this many GB, the last not full."""
    assert cards == ceil(2 * square_bytes(131_072, 2, heads=32) / float(size * 10**9)) and size * 10**9 == chip("hbm")


def words_at_half_the_bytes(fitted, words):
    """So many words have a square of twice the cells of 4096 words, and one more does not fit."""
    assert fitted == 4096 and words == isqrt(2 * 4096**2)
