# ruff: noqa: RUF001  (multiplication signs, as the page has them)
"""*The balloon* and its sheet: every number worked by hand is right, and so is all that words say of the records."""

import re
from math import ceil, isqrt, sqrt

import pytest

from kernels.bench.cost import eager_peak_bytes, fused_peak_bytes, gb, gib, mib, qkvo_bytes, square_bytes
from scripts import records
from tests.docs.by_hand import ROOT, minutes, table, value, words

CHAPTER = "chapters/balloon.md"
SHEET = "whiteboard/balloon.md"
DRAWING = "assets/drawings/balloon.svg"

N, D, FP32, SLICES = 4096, 64, 4, 32 * 32
ROW, SQUARE = qkvo_bytes(N, D, FP32) // 4, square_bytes(N, FP32)
ROWS, SQUARES = SLICES * ROW, SLICES * SQUARE
CARD = value("hbm")
LLAMA = {"n": 131_072, "element_bytes": 2, "heads": 32}
BLOCK_OF_QUERIES, BLOCK_OF_KEYS = 64, 128  # of PyTorch's flash backend, as its rule counts them, head_dim 128


def parts(n):
    """Into how many parts PyTorch's flash backend cuts n keys of one head: the fewest that fill the GPU nearly best."""
    query_blocks, places = ceil(n / BLOCK_OF_QUERIES), 2 * int(value("sms"))
    if query_blocks >= 0.8 * places:
        return 1
    key_blocks = ceil(n / BLOCK_OF_KEYS)
    filled = {}
    for count in range(1, min(128, places, key_blocks) + 1):
        if count == 1 or ceil(key_blocks / count) != ceil(key_blocks / (count - 1)):
            waves = query_blocks * count / places
            filled[count] = waves / ceil(waves)
    return min(count for count, share in filled.items() if share >= 0.85 * max(filled.values()))


def kept_by_parts(n):
    return parts(n) * n * (128 + 1) * 4 if parts(n) > 1 else 0


DOUBLED = [1024, 2048, 4096, 8192, 16384]
TYPED = {
    CHAPTER: [
        # one number by hand
        f"{2**12} = 2¹², {2**6} = 2⁶, 4 bytes = 2²",
        f"2¹² · 2⁶ · 2² = 2²⁰ bytes = {mib(ROW):.0f} MiB",
        f"2¹² · 2¹² · 2² = 2²⁶ bytes = {mib(SQUARE):.0f} MiB",
        f"The ratio is {SQUARE // ROW}, which is N/d = {N}/{D}",
        f"{SLICES} = 2¹⁰ of both: {gib(ROWS):.0f} GiB and {gib(SQUARES):.0f} GiB",
        f"| 32×32×4096×64 | {SLICES * N * D:,} | {gib(ROWS):.0f} | {gb(ROWS):.2f} |",
        f"| scores | 32×32×4096×4096 | {SLICES * N * N:,} | {gib(SQUARES):.0f} | {gb(SQUARES):.1f} |",
        f"| shares | 32×32×4096×4096 | {SLICES * N * N:,} | {gib(SQUARES):.0f} | {gb(SQUARES):.1f} |",
        f"That makes {gib(2 * SQUARES):.0f} GiB, or {gb(2 * SQUARES):.1f} GB",
        f"takes in {gib(3 * ROWS):.0f} GiB and hands out {gib(ROWS):.0f}. A card with {gb(CARD):.0f} GB cannot do it",
        f"the square is as large as {64 * D // D} tables like Q",
        f"{2**20:,} words, about a million. One square of one head in FP32 takes {square_bytes(2**20, 4) >> 40} TiB",
        # peaks
        f"2¹³ · 2¹³ · 2 = 2²⁷ bytes = {mib(square_bytes(8192, 2)):.0f} MiB",
        f"2¹³ · 2⁷ · 2 = 2²¹ bytes = {mib(8192 * 128 * 2):.0f} MiB",
        f"Two squares and one output: {mib(eager_peak_bytes(8192, 128, 2)):.0f} MiB",
        f"FlashAttention: {mib(8192 * 128 * 2):.0f} MiB for the output, and "
        f"8192 · 4 bytes = {8192 * 4 // 1024} KiB for the log-sum-exp: {mib(fused_peak_bytes(8192, 128, 2)):.2f} MiB. "
        f"{eager_peak_bytes(8192, 128, 2) / fused_peak_bytes(8192, 128, 2):.0f} times less",
        f"a card that calls itself one of {gb(CARD):.0f} GB. (It has 79.2 GiB, which is "
        f"{gb(79.2 * 2**30):.1f} GB, and two squares in BF16 take 4N² bytes: arithmetic says "
        f"{round(sqrt(79.2 * 2**30 / 4), -3):,.0f} words",
        # the flash backend
        f"blocks of {BLOCK_OF_QUERIES}. These make {1024 // BLOCK_OF_QUERIES}",
        f"the GPU has {value('sms')} SMs",
        f"With {parts(1024)} parts: 8 · 1024 · 129 · 4 = {kept_by_parts(1024):,} bytes = "
        f"{mib(kept_by_parts(1024)):.2f} MiB",
        f"add {mib(fused_peak_bytes(1024, 128, 2)):.2f} MiB: "
        f"{mib(kept_by_parts(1024) + fused_peak_bytes(1024, 128, 2)):.2f} MiB together",
        "it comes to {}, {}, {}, {} and {} parts, for $N$ from 1024 to 16,384".format(*map(parts, DOUBLED)),
        f"never more than {mib(max(map(kept_by_parts, DOUBLED))):.1f} MiB here",
        # training, production, cures
        f"four squares of {mib(square_bytes(65536, 2)):.0f} MiB and two tables of {mib(65536 * 128 * 2):.0f} MiB",
        f"one square is {gib(square_bytes(131_072, 2)):.0f} GiB",
        f"the 32 squares of one layer are {square_bytes(**LLAMA) >> 40} TiB",
        f"would take {ceil(2 * square_bytes(**LLAMA) / CARD)} cards of {gb(CARD):.0f} GB",
        f"FlashAttention holds {mib(fused_peak_bytes(head_dim=128, **LLAMA)):.0f} MiB",
        f"where 4096 words fitted, {isqrt(2 * 4096**2)} do",
        f"strip takes {mib(128 * 8192 * 2):.0f} MiB, where the square takes {mib(square_bytes(8192, 2)):.0f} MiB",
        f"each kernel is launched {8192 // 128} times",
        f"√32 = {sqrt(32):.1f} in N",
        "at every N the same amount, less than 2 KiB",  # as the record says, below
        # the teaching note, what one can teach now, questions
        f"2¹² · 2¹² · 2², hold it until somebody says {mib(SQUARE):.0f} MiB",
        f"in powers of two: {mib(ROW):.0f} MiB against {mib(SQUARE):.0f} MiB, "
        f"{gib(ROWS):.0f} GiB against {gib(SQUARES):.0f} GiB",
        f"4² = {4**2}",
        f"32 · 64 = {32 * 64}",
        f"about {sqrt(2):.1f} N",
        f"the card would need {4**2} times the memory",
    ],
    SHEET: [
        f"2²⁰ = {mib(ROW):.0f} MiB, 2²⁶ = {mib(SQUARE):.0f} MiB",
        f"One GiB becomes {gib(SQUARES):.0f} GiB. That is {gb(SQUARES):.1f} GB",
        f"| Q, K, V, O, each | {mib(ROW):.0f} MiB | {gib(ROWS):.0f} GiB | {gb(ROWS):.2f} |",
        f"| one square | {mib(SQUARE):.0f} MiB | {gib(SQUARES):.0f} GiB | {gb(SQUARES):.1f} |",
        f"| peak: two squares and O | {mib(eager_peak_bytes(N, D, FP32)):.0f} MiB | "
        f"{gib(eager_peak_bytes(N, D, FP32, SLICES)):.0f} GiB | {gb(eager_peak_bytes(N, D, FP32, SLICES)):.1f} |",
        f"N = 8192 takes {mib(eager_peak_bytes(8192, 128, 2)):.0f} MiB, "
        f"FlashAttention {mib(fused_peak_bytes(8192, 128, 2)):.2f} MiB",
        f"one square: {square_bytes(2**20, 2) >> 40} TiB in BF16, {square_bytes(2**20, 4) >> 40} TiB in FP32",
        f"{gb(CARD):.0f} GB: a little below {round(sqrt(79.2 * 2**30 / 4), -3):,.0f} words",
        "how long a sentence a card of 8, 16, 24 or 80 GB can hold",
        f'√2 = {sqrt(2):.2f} times the words. "One head at a time." √32 = {sqrt(32):.1f} times',
    ],
}


@pytest.mark.parametrize("page, text", [(page, text) for page, texts in TYPED.items() for text in texts])
def test_a_number_worked_by_hand_is_right(page, text):
    assert text in words(page)


def test_the_minutes_of_the_sheet_add_up():
    assert f"{sum(minutes(SHEET))} minutes" in words(SHEET)


def test_the_drawing_is_to_scale():
    text = (ROOT / "docs" / DRAWING).read_text()
    sides = [(int(w), int(h)) for w, h in re.findall(r'<rect [^>]*?width="(\d+)" height="(\d+)"', text)]
    sliver, square, shares, output = sides
    assert sliver == output and square == shares and square[0] == square[1] == sliver[1] == 8 * sliver[0]
    assert "N = 8d" in words(DRAWING)


def rows(name):
    return {(row["form"], row["n"]): row for row in table("prefill_memory", name)}


@pytest.fixture
def forward():
    return rows("forward")


def peak(row):
    """In bytes."""
    return round(row["peak"] * 2**20)


def test_what_is_said_of_the_record_to_the_byte(forward):
    for (form, _), row in forward.items():
        if form in ("attention", "three_kernel_attention", "flash_attention") and not row["out_of_memory"]:
            assert row["peak"] == row["expected"]
    assert forward["attention", 131_072]["peak"] and forward["attention", 262_144]["out_of_memory"]
    assert forward["three_kernel_attention", 262_144]["out_of_memory"]


def test_the_cards_of_the_demo_are_those_of_the_snippet():
    assert list(dict.fromkeys(row["card"] for row in table("balloon", "cards"))) == [8, 16, 24, 80]


def test_what_is_said_of_the_sentences():
    measured = {row["sentences"]: row for row in table("balloon", "sentences")}
    assert list(measured) == [1, 2, 4, 8, 16, 32] and measured[16]["peak"] and measured[32]["out_of_memory"]
    for count, row in measured.items():
        assert row["expected"] == gib(eager_peak_bytes(N, D, FP32, 32, count))
        output = gib(qkvo_bytes(N, D, FP32, 32, count) / 4)
        assert row["fused"] == output * (1 + 1 / 64)  # a sixty-fourth of the output for the log-sum-exp


def test_what_is_said_of_the_limit():
    tried = table("balloon", "limit")
    fits, fails = [[row["n"] for row in tried if bool(row["peak"]) is fitted] for fitted in (True, False)]
    assert min(fails) - max(fits) == 1024 == tried[-1]["gap"] and max(fits) == tried[-1]["longest"]
    (printed,) = [output.text for output in records.read("prefill_memory").outputs["measure"] if "text" in output]
    assert "79.2 GiB on this GPU" in printed  # the same card
    gpus = {records.read(name).provenance["gpu"] for name in ("balloon", "prefill_memory")}
    assert len(gpus) == 1 and "80GB" in gpus.pop()
    assert all(row["peak"] == row["expected"] for row in tried if row["peak"])  # to the byte
    assert all(row["fused"] for row in tried) and 262_144 in fails
    assert 0.95 < max(fits) / sqrt(79.2 * 2**30 / 4) < 1  # what CUDA keeps, and Q, K, V and the output


def test_what_is_said_of_the_backends(forward):
    over = {peak(row) - n * 128 * 2 for (form, n), row in forward.items() if form == "sdpa_cudnn"}
    assert len(over) == 1 and max(over) < 2048
    for (form, n), row in forward.items():
        if form == "sdpa_flash":
            assert peak(row) == fused_peak_bytes(n, 128, 2) + kept_by_parts(n) + 1024
        if form == "sdpa_efficient":
            assert peak(row) == n * 128 * 2
    assert forward["sdpa_flash", 1024]["peak"] > forward["attention", 1024]["peak"]


def test_what_is_said_of_training(forward):
    training = rows("training")
    for (form, n), row in training.items():
        if form == "attention" and not row["out_of_memory"]:
            assert peak(row) == 4 * square_bytes(n, 2) + 2 * n * 128 * 2
    assert training["attention", 65_536]["peak"] and training["attention", 131_072]["out_of_memory"]
    assert forward["attention", 131_072]["peak"]  # the forward pass alone
