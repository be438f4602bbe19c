# ruff: noqa: RUF001  (multiplication signs, as the page has them)
"""Chapter 3: every number worked by hand is computed here, in plain Python, and looked for on the page."""

import re
from math import ceil, sqrt
from pathlib import Path

import pytest

from kernels.cost import eager_peak_bytes, fused_peak_bytes, gb, gib, mib, qkvo_bytes, square_bytes
from kernels.hardware import H100
from scripts import records
from tests.docs.test_by_hand import words

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = "chapters/balloon.md"
SHEET = "whiteboard/balloon.md"
DRAWING = "assets/drawings/balloon.svg"

N, D, FP32, SLICES = 4096, 64, 4, 32 * 32
ROW, SQUARE = qkvo_bytes(N, D, FP32) // 4, square_bytes(N, FP32)
ROWS, SQUARES = SLICES * ROW, SLICES * SQUARE
LLAMA = {"n": 131_072, "element_bytes": 2, "heads": 32}
BLOCK_OF_QUERIES, BLOCK_OF_KEYS = 64, 128  # of PyTorch's flash backend, as its rule counts them, head_dim 128


def parts(n):
    """Into how many parts PyTorch's flash backend cuts n keys of one head: the fewest that fill the GPU nearly best."""
    query_blocks, places = ceil(n / BLOCK_OF_QUERIES), 2 * int(H100["sms"].value)
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
        f"takes in {gib(3 * ROWS):.0f} GiB and hands out {gib(ROWS):.0f}",
        f"the square is as large as {64 * D // D} tables like Q",
        f"{2**20:,} words, about a million. One square of one head in FP32 takes {square_bytes(2**20, 4) >> 40} TiB",
        # peaks
        f"2¹³ · 2¹³ · 2 = 2²⁷ bytes = {mib(square_bytes(8192, 2)):.0f} MiB",
        f"2¹³ · 2⁷ · 2 = 2²¹ bytes = {mib(8192 * 128 * 2):.0f} MiB",
        f"Two squares and one output: {mib(eager_peak_bytes(8192, 128, 2)):.0f} MiB",
        f"8192 · 4 bytes = {8192 * 4 // 1024} KiB for the log-sum-exp: {mib(fused_peak_bytes(8192, 128, 2)):.2f} MiB. "
        f"{eager_peak_bytes(8192, 128, 2) / fused_peak_bytes(8192, 128, 2):.0f} times less",
        f"reach 80 GB at about N = {round(sqrt(80e9 / 4), -3):,.0f}",
        # the flash backend
        f"blocks of {BLOCK_OF_QUERIES}; these make {1024 // BLOCK_OF_QUERIES}",
        f"the GPU has {H100['sms'].value} SMs",
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
        f"would take {ceil(2 * square_bytes(**LLAMA) / 80e9)} cards of 80 GB",
        f"FlashAttention holds {mib(fused_peak_bytes(head_dim=128, **LLAMA)):.0f} MiB",
        f"where 4096 words fitted, {4096 * sqrt(2):.0f} do",
        # questions
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
        f"√2 = {sqrt(2):.2f} times the words",
    ],
}


@pytest.mark.parametrize("page, text", [(page, text) for page, texts in TYPED.items() for text in texts])
def test_a_number_worked_by_hand_is_right(page, text):
    assert text in words(page)


def test_the_minutes_of_the_sheet_add_up():
    minutes = [int(found) for found in re.findall(r"^\| (\d+) \|", (ROOT / "docs" / SHEET).read_text(), re.MULTILINE)]
    assert f"{sum(minutes)} minutes" in words(SHEET)


def test_the_drawing_is_to_scale():
    text = (ROOT / "docs" / DRAWING).read_text()
    sides = [(int(w), int(h)) for w, h in re.findall(r'<rect [^>]*?width="(\d+)" height="(\d+)"', text)]
    sliver, square, shares, output = sides
    assert sliver == output and square == shares and square[0] == square[1] == sliver[1] == 8 * sliver[0]
    assert "N = 8d" in words(DRAWING)


def rows(table):
    return {(row["form"], row["n"]): row for row in records.read("prefill_memory").table(table)}


@pytest.fixture
def forward():
    try:
        return rows("forward")
    except records.Missing as error:
        pytest.skip(str(error))


def peak(row):
    """In bytes."""
    return round(row["peak"] * 2**20)


def test_what_is_said_of_the_record_to_the_byte(forward):
    for (form, _), row in forward.items():
        if form in ("attention", "three_kernel_attention", "flash_attention") and not row["out_of_memory"]:
            assert row["peak"] == row["expected"]
    assert forward["attention", 131_072]["peak"] and forward["attention", 262_144]["out_of_memory"]
    assert forward["three_kernel_attention", 262_144]["out_of_memory"]
    assert 131_072 < sqrt(80e9 / 4) < (131_072 + 262_144) / 2  # near the lower end


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
    assert forward["attention", 131_072]["peak"]  # one doubling earlier
