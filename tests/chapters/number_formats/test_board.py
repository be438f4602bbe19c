"""Sheet 10: the codes, ties, scales and bytes on the board are the library's, and the errors those of the record."""

import pytest
import torch

from kernels.formats.block import NVFP4, dequantize, quantize
from kernels.formats.value import E2M1, E4M3, decode, encode, values
from scripts import records
from scripts.chapters.number_formats import board as drawn

BOARD = drawn.board()
BLOCK = quantize(torch.tensor(drawn.BLOCK), NVFP4, tensor_scale=drawn.TENSOR)
PACKED = bytes(BLOCK.codes.tolist()).hex(" ").upper().split()


def said(step: int) -> str:
    return " ".join(BOARD.read(step))


def rounded(number: float, format) -> float:
    return decode(encode(torch.tensor(number), format), format).item()


def test_the_tenth_is_the_library_s():
    code, worth = drawn.e4m3(0.1)
    assert int(code.replace(" ", ""), 2) == encode(torch.tensor(0.1), E4M3).item() and worth == rounded(0.1, E4M3)
    assert {code, f"= {worth:.7f}", f"off by {1000 * (worth - 0.1):.1f} %"} <= set(BOARD.read(2))
    assert rounded(0.1, E2M1) == 0 and "E2M1:  0.1 → 0" in BOARD.read(2)


def test_the_ruler_has_the_marks_and_sends_the_ties_to_even_codes():
    assert values(E2M1)[:8].tolist() == list(drawn.MARKS)
    assert {f"{code:03b}" for code in range(8)} | set(map(drawn.short, drawn.MARKS + tuple(drawn.TIES))) <= set(
        BOARD.read(3)
    )
    assert [drawn.MARKS[drawn.e2m1(tie)] for tie in drawn.TIES] == [rounded(tie, E2M1) for tie in drawn.TIES]


def test_the_loud_number_leaves_two_marks():
    loud = quantize(torch.tensor([drawn.LOUD, *drawn.BLOCK[1:]]), NVFP4, tensor_scale=drawn.TENSOR)
    left = {abs(number) for number in dequantize(loud).tolist()[1:]}
    assert left == {0, drawn.LOUD / 6 / 2} and f"{max(left):g}" in BOARD.read(4)


def test_the_scale_and_the_bytes():
    code, worth = drawn.scale()
    assert int(code.replace(" ", ""), 2) == BLOCK.scales.item() and worth == decode(BLOCK.scales, E4M3).item()
    assert f"{code} = {BLOCK.scales.item():X}" in BOARD.read(5) and f"7 → {rounded(7.0, E2M1):g}" in BOARD.read(5)
    assert " ".join(f"{BLOCK.scales.item():08b}"[half : half + 4] for half in (0, 4)) in BOARD.read(5)
    assert all(drawn.typed(number) in BOARD.read(5) for number in drawn.BLOCK)
    assert drawn.packed() == PACKED and set(PACKED) <= set(BOARD.read(6))
    codes = [int(digit, 16) for byte in PACKED for digit in reversed(byte)]
    assert drawn.codes() == codes
    back = decode(torch.tensor(codes, dtype=torch.uint8), E2M1).tolist()
    assert [float(drawn.taken(code)) for code in codes] == back


def test_a_number_takes_as_many_bits_as_in_the_library():
    every = 8 * (BLOCK.codes.nbytes + BLOCK.scales.nbytes) / len(drawn.BLOCK)
    assert f"{every:g} bits" in BOARD.read(7) and f"{16 / every:.2f}, not 4" in BOARD.read(7)


@pytest.mark.parametrize("distribution", ["gaussian", "outliers"])
def test_the_errors_are_those_of_the_record(distribution):
    (row,) = [
        row
        for row in records.table("format_error", "blocks")
        if (row["distribution"], row["scheme"], row["block"]) == (distribution, "NVFP4", 16)
    ]
    assert f"{row['error']:.1f} %" in BOARD.read(8) and f"{row['of_spread']:.1f} %" in BOARD.read(8)
    if distribution == "gaussian":
        assert f"{row['error']:.1f} %" in BOARD.read(9)
