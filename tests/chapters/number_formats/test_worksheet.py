"""The key of its worksheet: codes, scales and errors are those of the library."""

import pytest
import torch

from kernels.formats.block import NVFP4, dequantize, quantize
from kernels.formats.value import E2M1, E4M3, decode, encode, fields, unpack_e2m1
from scripts.chapters import worksheets
from tests.chapters.worksheet_numbers import SEEDS, numbers, parse_bytes


@pytest.mark.parametrize("seed", [*SEEDS, *map(str, range(11, 61))])
def test_the_key_agrees_with_the_library(seed):
    sheet = worksheets.make("number-formats", seed)
    block, tensor_scale = numbers(sheet.given[0].partition("NVFP4:")[2])[:8], numbers(sheet.given[0])[-1]
    stored = quantize(torch.tensor(block + 8 * [0.0]), NVFP4, tensor_scale=tensor_scale)
    codes = unpack_e2m1(stored.codes)[:8]
    block_scale = decode(stored.scales, E4M3).item()
    for row, number, code, decoded in zip(sheet.rows, block, codes, decode(codes, E2M1).tolist(), strict=True):
        bits = fields(code, E2M1)
        assert [float(cell) for cell in row[:3]] == [
            number,
            pytest.approx(number / block_scale / tensor_scale),
            decoded,
        ]
        assert row[2].startswith("-") == (number < 0)
        assert row[3:] == [f"{bits.sign} {bits.exponent:02b} {bits.mantissa}", f"{code.item():X}"]
    scale, unit, packed, largest_error, (question, answer), (wide, narrow) = sheet.questions
    scale_code = stored.scales.item()
    assert (
        scale[1]
        == f"{block_scale:g}, {scale_code >> 7} {scale_code >> 3 & 15:04b} {scale_code & 7:03b}, {scale_code:02X}"
    )
    assert numbers(unit[1]) == [block_scale, tensor_scale, block_scale * tensor_scale]
    assert packed[1] == bytes(stored.codes[:4].tolist()).hex(" ").upper()
    errors = (dequantize(stored)[:8] - torch.tensor(block)).abs()
    assert numbers(largest_error[1]) == [block[errors.argmax()], pytest.approx(errors.max().item(), rel=1e-5)]
    number = numbers(question)[0]
    code = encode(torch.tensor(number), E4M3)
    steps, bits, value = answer.split("; ")
    assert int(bits.replace(" ", ""), 2) == code.item() and float(value) == decode(code, E4M3).item()
    power_of_2 = 2.0 ** (fields(code, E4M3).exponent.item() - E4M3.bias)
    assert numbers(steps)[0] == pytest.approx(8 * (number / power_of_2 - 1))
    small = quantize(torch.zeros(1024), NVFP4)
    bytes_per_number = (small.codes.nbytes + small.scales.nbytes) / 1024
    assert parse_bytes(narrow.split("= ")[1]) == parse_bytes(" ".join(wide.split()[3:5])) / 2 * bytes_per_number
