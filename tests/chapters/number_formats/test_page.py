"""Chapter 10's drawings have what the library makes of the board's block."""

import re
from itertools import pairwise

import pytest
import torch

from kernels.formats.block import NVFP4, quantize
from kernels.formats.value import E2M1, E4M3, E5M2, decode, encode, representable_numbers
from scripts.chapters.number_formats import worked
from tests.docs.page_text import DOCS, drawing_text, numbers

MARKS = representable_numbers(E2M1)[:8].tolist()
BOARD_NUMBERS = worked.BLOCK
BLOCK = quantize(torch.tensor(BOARD_NUMBERS), NVFP4, tensor_scale=0.5)
STORED_ONE = decode(BLOCK.scales, E4M3).item() * 0.5
TIES = [(low + high) / 2 for low, high in pairwise(MARKS)]


def test_the_drawn_bit_fields_have_each_formats_widths():
    widths = {"FP32": (8, 23), "BF16": (8, 7), "FP16": (5, 10)}
    widths |= {format.name: (format.exponent_bits, format.mantissa_bits) for format in (E5M2, E4M3, E2M1)}
    source = (DOCS / "assets" / "drawings" / "number-formats-bit-fields.svg").read_text(encoding="utf-8")
    assert source.count("<rect") == sum(1 + sum(pair) for pair in widths.values())
    text = drawing_text("number-formats-bit-fields")
    assert all(f"{name} 1, {e}, {m}" in text for name, (e, m) in widths.items() if name != "FP32")


def test_the_drawn_ruler_has_every_value_of_e2m1_and_every_tie():
    text = drawing_text("number-formats-ruler")
    ties, marks = numbers(text.partition(" 0 000 ")[0]), text.partition(" 0 000 ")[1:]
    assert ties == TIES
    assert numbers(" ".join(marks)) == [
        number for code, mark in enumerate(MARKS) for number in (mark, int(f"{code:b}"))
    ]


def test_the_drawn_marks_are_to_scale():
    source = (DOCS / "assets" / "drawings" / "number-formats-scaled-marks.svg").read_text(encoding="utf-8")
    dots = sorted(float(x) for x in re.findall(r'<circle cx="([\d.]+)"', source))
    assert dots == pytest.approx(sorted(16 + 61 * abs(number) for number in BOARD_NUMBERS), abs=0.1)
    marks = [float(x) for x in re.findall(r'<line x1="([\d.]+)" y1="\d+" x2="\1"', source)]
    largest_unit = decode(quantize(torch.tensor([45.0] * 16), NVFP4, tensor_scale=0.5).scales, E4M3).item() * 0.5
    expected = [mark * scale for scale in (1, STORED_ONE, largest_unit) for mark in MARKS if mark * scale <= 6]
    assert marks == pytest.approx([16 + 61 * mark for mark in expected], abs=0.1)


def test_ties_go_where_the_ruler_shows():
    assert [decode(encode(torch.tensor(tie), E2M1), E2M1).item() for tie in TIES] == [0, 1, 1, 2, 2, 4, 4]
