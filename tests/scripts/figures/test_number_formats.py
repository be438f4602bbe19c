"""The figures of *Number formats* draw every number with its bits, and the recorded errors."""

import pytest
import torch

from kernels.bench.hardware import H100
from kernels.formats.value import E2M1, E4M3, E5M2, fields, values
from scripts import records
from scripts.figures.number_formats import error_by_block, format_values, ladder_of_formats
from scripts.figures.plot import where
from tests.scripts.figures.controls import choose, visible


@pytest.mark.parametrize("format, name", [(E2M1, "E2M1"), (E4M3, "E4M3"), (E5M2, "E5M2")])
def test_every_number_is_drawn_with_its_bits(format, name):
    (trace,) = [trace for trace in format_values.figure().data if trace.name == name]
    numbers = values(format)
    codes = {numbers[code].item(): code for code in reversed(range(2**format.bits)) if numbers[code].isfinite()}
    assert list(trace.x) == sorted(codes)
    for value, (text, bits) in zip(trace.x, trace.customdata, strict=True):
        parts = fields(torch.tensor(codes[value], dtype=torch.uint8), format)
        sign, exponent, mantissa, _ = (part.item() for part in parts)
        assert bits == f"{sign} {exponent:0{format.exponent_bits}b} {mantissa:0{format.mantissa_bits}b}"
        assert float(text) == pytest.approx(value)


def test_the_lines_of_errors_are_the_records():
    figure = error_by_block.figure()
    shown = [list(trace.y) for trace in figure.data]
    choose(figure, "Numbers", error_by_block.SHOWN)
    assert shown == [list(trace.y) for trace in figure.data]
    rows = records.table("format_error", "blocks")
    for label, (distribution, column) in error_by_block.NUMBERS.items():
        choose(figure, "Numbers", label)
        for trace, (blocks, whole, _) in zip(figure.data, error_by_block.LINES, strict=True):
            *parts, last = trace.y
            for size, drawn in zip(error_by_block.SIZES, parts, strict=True):
                (row,) = where(rows, distribution=distribution, scheme=blocks, block=size)
                assert drawn == row[column]
            wanted = where(rows, distribution=distribution, scheme=whole, block=None)
            assert [last] == ([row[column] for row in wanted] or [None])


@pytest.mark.parametrize("words", [4096, 32768, 131072])
def test_the_ladder_of_formats_is_bytes_over_bandwidth_and_ends_at_four_bits(words):
    figure = ladder_of_formats.figure()
    choose(figure, "Words", f"{words:,}")
    measured, reckoned = visible(figure)
    assert not measured.x
    numbers = 32 * 2 * 8 * 128 * words
    wanted = [1e3 * numbers * bits / 8 / H100["hbm bandwidth"].value for bits in (16, 8, 4.5, 4)]
    assert list(reckoned.x) == pytest.approx(wanted)
    assert list(reckoned.y) == ["16 bits", "FP8", "NVFP4", "the limit"] == list(figure.layout.yaxis.categoryarray)
    assert [text.split(", ")[1] for text in reckoned.text] == ["25 %", "50 %", "88.9 %", "100 %"]
