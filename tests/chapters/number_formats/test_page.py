"""Chapter 10, its sheet and its lab notes have, in tables, rows of bytes and drawings, what the library makes of the
board's block."""

import ast
import re
from itertools import pairwise

import pytest
import torch

from kernels.formats import block as schemes
from kernels.formats.block import NVFP4, quantize
from kernels.formats.value import E2M1, E4M3, E5M2, decode, encode, fields, values
from scripts import records
from scripts.records import ROOT
from tests.docs.pages import DOCS
from tests.docs.tables import drawn, numbers, read, table

CHAPTER, SHEET = "chapters/number-formats/index.md", "chapters/number-formats/sheet.md"
NOTES = "chapters/number-formats/notes.md"
SIXTEEN = re.compile(r"[\N{MINUS SIGN}\d.]+(?:, [\N{MINUS SIGN}\d.]+){15}")
BYTES = re.compile(r"\b(?:[0-9A-F]{2} ){3,7}[0-9A-F]{2}\b")
MARKS = values(E2M1)[:8].tolist()


def text(page):
    return " ".join(read((DOCS / page).read_text(encoding="utf-8")).split())


(BOARD,) = map(numbers, SIXTEEN.findall(text(CHAPTER)))
BLOCK = quantize(torch.tensor(BOARD), NVFP4, tensor_scale=0.5)
UNIT = decode(BLOCK.scales, E4M3).item() * 0.5
PACKED = bytes(BLOCK.codes.tolist()).hex(" ").upper()
CODES = [int(digit, 16) for byte in PACKED.split() for digit in reversed(byte)]
TAKEN = decode(torch.tensor(CODES, dtype=torch.uint8), E2M1).tolist()
TIES = [(low + high) / 2 for low, high in pairwise(MARKS)]


def bits(code):
    sign, exponent, mantissa, _ = (field.item() for field in fields(torch.tensor(code, dtype=torch.uint8), E2M1))
    return f"{sign} {exponent:02b} {mantissa}"


def test_the_block_is_that_of_the_sheet_the_snippet_and_the_library():
    assert [numbers(found) for found in SIXTEEN.findall(text(SHEET))] == [BOARD]
    cells = records.Reader().snippet("nvfp4_block").source
    first, second = re.findall(r"^numbers \+?= (\[.*\])$", cells, re.MULTILINE)
    assert ast.literal_eval(first) + ast.literal_eval(second) == BOARD
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "kernels").rglob("*.py")]
    boards = re.findall(r"^BOARD = (\[.*\])$", "\n".join(tests), re.MULTILINE)
    assert boards and all(ast.literal_eval(board) == BOARD for board in boards)


@pytest.mark.parametrize("page", [CHAPTER, SHEET])
def test_rows_of_bytes_are_of_the_block(page):
    found = BYTES.findall(text(page))
    assert PACKED in found and all(row in PACKED for row in found)
    assert set(re.findall(r"scale ([0-9A-F]{2})\b", text(page))) == {f"{BLOCK.scales.item():X}"}


def test_pairs_of_codes_make_the_bytes():
    pairs = re.findall(r"([0-9A-F]) and ([0-9A-F]) make ([0-9A-F]{2})", text(CHAPTER))
    assert [(f"{high}{low}", made) for low, high, made in pairs] == [(byte, byte) for byte in PACKED.split()[:4]]


@pytest.mark.parametrize("place", range(8))
def test_the_table_of_the_block(place):
    row = table(CHAPTER, "÷ 0.75")[place]
    quotient = BOARD[place] / UNIT
    assert numbers(row["Number"]) == [BOARD[place]]
    assert numbers(row["÷ 0.75"]) == [quotient] and ("tie" in row["÷ 0.75"]) == (abs(quotient) in TIES)
    assert numbers(row["Taken"]) == [TAKEN[place]]
    assert row["Bits"] == bits(CODES[place]) and row["Code"] == f"{CODES[place]:X}"


@pytest.mark.parametrize("place", range(16))
def test_the_key_on_the_sheet(place):
    quotients, taken, codes = (row[str(place)] for row in table(SHEET, "15"))
    assert numbers(quotients) == [round(BOARD[place] / UNIT, 2)] and numbers(taken) == [TAKEN[place]]
    assert codes == f"{CODES[place]:X}" and taken.startswith("\N{MINUS SIGN}") == (CODES[place] >= 8)


def test_the_table_of_schemes():
    names = ("NVFP4", "MXFP4", "MXFP8", "FP8", "FP8_BLOCKS")
    for row, name in zip(table(NOTES, "Bits per number"), names, strict=True):
        scheme = getattr(schemes, name)
        assert row["Elements"] == scheme.element.name and row["Block"] == str(scheme.block or "none")
        scale = scheme.scale.name if scheme.scale else "FP32" if scheme.block else "none"
        assert row["Scale of a block"] == scale
        assert row["Scale of the tensor"] == ("FP32" if scheme.tensor_scaled else "none")
        of_scale = {"none": 0, "FP32": 32}.get(scale, 8) / (scheme.block or 1)
        assert numbers(row["Bits per number"]) == [scheme.element.bits + of_scale]


def test_the_drawn_bits():
    widths = {"FP32": (8, 23), "BF16": (8, 7), "FP16": (5, 10)}
    widths |= {format.name: (format.exponent_bits, format.mantissa_bits) for format in (E5M2, E4M3, E2M1)}
    source = (DOCS / "assets" / "drawings" / "bit-fields.svg").read_text(encoding="utf-8")
    assert source.count("<rect") == sum(1 + sum(pair) for pair in widths.values())
    shown = drawn("bit-fields")
    assert all(f"{name} 1, {e}, {m}" in shown for name, (e, m) in widths.items() if name != "FP32")


def test_the_drawn_ruler():
    shown = drawn("ruler")
    ties, marks = numbers(shown.partition(" 0 000 ")[0]), shown.partition(" 0 000 ")[1:]
    assert ties == TIES
    assert numbers(" ".join(marks)) == [
        number for code, mark in enumerate(MARKS) for number in (mark, int(f"{code:b}"))
    ]


def test_the_drawn_marks():
    source = (DOCS / "assets" / "drawings" / "moved-marks.svg").read_text(encoding="utf-8")
    dots = sorted(float(x) for x in re.findall(r'<circle cx="([\d.]+)"', source))
    assert dots == pytest.approx(sorted(16 + 61 * abs(number) for number in BOARD), abs=0.1)
    marks = [float(x) for x in re.findall(r'<line x1="([\d.]+)" y1="\d+" x2="\1"', source)]
    loud = decode(quantize(torch.tensor([45.0] * 16), NVFP4, tensor_scale=0.5).scales, E4M3).item() * 0.5
    wanted = [mark * scale for scale in (1, UNIT, loud) for mark in MARKS if mark * scale <= 6]
    assert marks == pytest.approx([16 + 61 * mark for mark in wanted], abs=0.1)


def test_ties_go_where_the_ruler_shows():
    assert [decode(encode(torch.tensor(tie), E2M1), E2M1).item() for tie in TIES] == [0, 1, 1, 2, 2, 4, 4]
