"""Codes and scales are those of an oracle in NumPy, bit for bit, and Triton's kernels give the same."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.formats.block import FP8, FP8_BLOCKS, MXFP4, MXFP8, NVFP4, Scheme, dequantize, quantize
from kernels.formats.block_triton import quantize_blocks
from kernels.formats.value import E2M1, E4M3, E5M2, E8M0
from tests.kernels.formats.block_oracle import (
    SCHEMES,
    SHAPES,
    codes_and_scales_are_right,
    data,
    every_scheme,
)

hypothesis_settings = settings(deadline=None, derandomize=True, max_examples=40)


@every_scheme
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if math.prod(shape)], ids=str)
@pytest.mark.parametrize("given_scale", [False, True])
def test_codes_and_scales_are_the_oracles(scheme, shape, given_scale):
    tensor_scale = 0.0371 if given_scale and scheme.has_tensor_scale else None
    assert codes_and_scales_are_right(quantize, scheme, data(*shape), tensor_scale) == (True, True)


@every_scheme
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_many_values_of_every_dtype(scheme, dtype):
    assert codes_and_scales_are_right(quantize, scheme, data(40, 160).to(dtype)) == (True, True)


# One block by hand, as on the board.

BOARD = [4.5, -2.25, 0.0, 0.9375, 1.3125, 3.75, 0.1875, -0.5625, 1.0, -0.1, 2.0, 0.3, -4.4, 3.0, -1.5, 0.75]


def test_a_block_of_nvfp4_by_hand():
    """Tensor scale 0.5: amax 4.5 / 6 / 0.5 = 1.5, in E4M3 0 0111 100, so that a code is worth 0.75."""
    quantized = quantize(torch.tensor(BOARD), NVFP4, tensor_scale=0.5)
    assert quantized.scales.tolist() == [0b0_0111_100] == [0x3C]
    quotients = [6, -3, 0, 1.25, 1.75, 5, 0.25, -0.75, 1.33, -0.13, 2.67, 0.4, -5.87, 4, -2, 1]
    assert [round(value / 0.75, 2) for value in BOARD] == quotients
    rounded = [6, -3, 0, 1, 2, 4, 0, -1, 1.5, -0.0, 3, 0.5, -6, 4, -2, 1]  # 1.25 … -0.75: ties, to the even code
    codes = [0x7, 0xD, 0x0, 0x2, 0x4, 0x6, 0x0, 0xA, 0x3, 0x8, 0x5, 0x1, 0xF, 0x6, 0xC, 0x2]
    assert [low | high << 4 for low, high in zip(codes[::2], codes[1::2], strict=True)] == quantized.codes.tolist()
    assert bytes(quantized.codes.tolist()).hex(" ").upper() == "D7 20 64 A0 83 15 6F 2C"
    assert dequantize(quantized).tolist() == [0.75 * value for value in rounded]
    assert quantized.codes.numel() + quantized.scales.numel() == 9  # bytes, and the tensor's scale


# Wrong versions, which the oracle must tell from right ones.


def wrong_scale_as_it_was(x, scheme, tensor_scale=None):
    """Rounds codes against the scale before that was rounded."""
    right = quantize(x, scheme, tensor_scale=tensor_scale)
    amax = x.reshape(-1, 16).abs().amax(-1, keepdim=True)
    values = x.reshape(-1, 16) * (6 / amax)
    codes = quantize(values, Scheme("codes", E2M1, None, None, True), tensor_scale=1.0).codes
    return right.__class__(codes.reshape(right.codes.shape), right.scales, right.tensor_scale, scheme, x.shape)


def wrong_high_nibble_first(x, scheme, tensor_scale=None):
    right = quantize(x, scheme, tensor_scale=tensor_scale)
    swapped = right.codes >> 4 | right.codes << 4
    return right.__class__(swapped, right.scales, right.tensor_scale, scheme, x.shape)


def wrong_nearest_power(x, scheme, tensor_scale=None):
    """E8M0 rounded to the nearest power of two and not down; codes that fit."""
    amax = x.reshape(-1, scheme.block_size).abs().amax(-1, keepdim=True)
    exponent = amax.log2().round() - {E2M1: 2, E4M3: 8}[scheme.element_format]
    whole = Scheme("codes", scheme.element_format, None, None, True)
    codes = quantize(x.reshape(-1, scheme.block_size) * 2.0**-exponent, whole, tensor_scale=1.0).codes
    right = quantize(x, scheme)
    scales = (exponent + 127).to(torch.uint8).reshape(right.scales.shape)
    return right.__class__(codes.reshape(right.codes.shape), scales, None, scheme, x.shape)


def wrong_inverted_tensor_scale(x, scheme, tensor_scale=None):
    """Some tools store 1 / tensor scale: taken for the scale itself."""
    right = quantize(x, scheme, tensor_scale=tensor_scale)
    wrong = quantize(x, scheme, tensor_scale=1 / right.tensor_scale)
    return right.__class__(wrong.codes, wrong.scales, right.tensor_scale, scheme, x.shape)


@pytest.mark.parametrize(
    "wrong, scheme, verdict",
    [
        (quantize, NVFP4, (True, True)),
        (wrong_scale_as_it_was, NVFP4, (False, True)),
        (wrong_high_nibble_first, NVFP4, (False, True)),
        (wrong_high_nibble_first, MXFP4, (False, True)),
        (wrong_nearest_power, MXFP4, (False, False)),
        (wrong_nearest_power, MXFP8, (False, False)),
        (wrong_inverted_tensor_scale, NVFP4, (False, False)),
        (wrong_inverted_tensor_scale, FP8, (False, True)),
    ],
)
def test_a_wrong_version_is_told_from_a_right_one(wrong, scheme, verdict):
    assert codes_and_scales_are_right(wrong, scheme, torch.randn(32, 160)) == verdict


# What the docstrings promise.


@every_scheme
def test_zeros(scheme):
    quantized = quantize(torch.tensor([0.0, -0.0] * 64), scheme)
    minus = 0x80 if scheme.element_format == E2M1 else [0, 0x80]
    assert quantized.codes.tolist() == ([minus] * 64 if scheme.element_format == E2M1 else minus * 64)
    assert quantized.tensor_scale is None or quantized.tensor_scale == 1
    if scheme.block_size:
        assert quantized.scales.eq(1.0 if scheme is FP8_BLOCKS else 0).all()
    values = dequantize(quantized)
    assert values.eq(0).all() and values.signbit().tolist() == [False, True] * 64


@every_scheme
@pytest.mark.parametrize("value", [1.0, -3.3, 5e-30, 7e30])
def test_all_alike(scheme, value):
    quantized = quantize(torch.full((128,), value), scheme)
    assert len(set(quantized.codes.tolist())) == 1
    values = dequantize(quantized)
    if scheme.scale_format == E8M0:
        largest = {E2M1: 6.0, E4M3: 448.0}[scheme.element_format]
        most = {E2M1: 0.26, E4M3: 0.13}[scheme.element_format]  # 8 clipped to 6, 512 to 448
        assert (values / value - 1).abs().max() < most
        assert values.abs().max() <= largest * 2.0 ** (int(quantized.scales.max()) - 127)
    else:
        largest = {E2M1: 0x77, E4M3: 0x7E}[scheme.element_format] | (
            {E2M1: 0x88, E4M3: 0x80}[scheme.element_format] * (value < 0)
        )
        assert quantized.codes[0] == largest
        torch.testing.assert_close(values, torch.full((128,), value), rtol=2**-22, atol=0)


def test_small_blocks_and_small_tensors():
    """An NVFP4 scale of at most half of E4M3's smallest number, 2^-10, is 0; FP32 scales stop at 2^-117."""
    x = torch.zeros(2, 16)
    x[0, 0], x[1, 0] = 448.0 * 1024, 1.0
    assert quantize(x, NVFP4).scales.tolist() == [[0x7E], [0]]
    assert dequantize(quantize(x, NVFP4))[1].eq(0).all()
    x[1, 0] = 1.001
    assert quantize(x, NVFP4).scales.tolist() == [[0x7E], [1]]
    for scheme in (NVFP4, FP8):
        assert quantize(torch.full((16,), 1e-40), scheme).tensor_scale == 2.0**-117
        assert dequantize(quantize(torch.full((16,), 1e-40), scheme)).eq(0).all()
    assert quantize(torch.full((16,), 1e-40), FP8_BLOCKS).scales == 2.0**-117
    torch.testing.assert_close(
        dequantize(quantize(torch.full((32,), 3e-38), MXFP4)), torch.full((32,), 3e-38), rtol=0.2, atol=0
    )


@every_scheme
def test_infinity_and_nan(scheme):
    x = torch.ones(2, 160)
    x[0, 3], x[0, 4], x[1, 5] = torch.inf, -torch.inf, torch.nan
    quantized = quantize(x, scheme, tensor_scale=0.25 if scheme.has_tensor_scale else None)
    values = dequantize(quantized)
    assert values[0, 3] == -values[0, 4] and values[0, 3] > 100 * values[0, -1] > 0
    assert values[0, 3].isfinite() and values[1, 6] == values[1, -1] and values[1, 6] > 0
    if scheme.element_format == E4M3:
        assert values[1, 5].isnan()
    else:
        assert values[1, 5] == 6 * values[1, 6] / quantized_one(scheme)
    assert quantize(torch.full((16,), torch.nan), NVFP4).scales.eq(0).all()


def quantized_one(scheme):
    """What 1 is coded as in a block of ones: 4 in MXFP4, 6 in NVFP4 with a scale that fits."""
    return {"MXFP4": 4.0, "NVFP4": 6.0}[scheme.name]


def test_the_last_block_has_the_scale_of_its_values():
    x = torch.tensor([6.0] * 16 + [0.75])
    quantized = quantize(x, NVFP4, tensor_scale=1.0)
    assert quantized.scales.tolist() == [0x38, 0x20] and quantized.codes.tolist() == [0x77] * 8 + [0x07]
    assert dequantize(quantized).equal(x)


def test_ties_that_a_reciprocal_turns():
    """18.75 / 15 is 1.25, a tie that goes to 1; 18.75 · (1 / 15) is a little more in FP32, and goes to 1.5."""
    x = torch.tensor([90.0, 18.75, 22.5])
    quantized = quantize(x, NVFP4, tensor_scale=1.0)
    assert dequantize(quantized).tolist() == [90.0, 22.5, 22.5]
    assert dequantize(quantize(x[:2] / 15 * 8, NVFP4, tensor_scale=1.0)).tolist() == [48.0, 8.0]


# Sizes are counted.


@every_scheme
def test_bits_a_value_are_counted(scheme):
    quantized = quantize(torch.randn(64, 1024), scheme)
    bits_a_value = {"NVFP4": 4.5, "MXFP4": 4.25, "MXFP8": 8.25, "FP8": 8.0, "FP8_BLOCKS": 8.25}[scheme.name]
    extra = 32 / 65536 if scheme.has_tensor_scale else 0.0
    assert quantized.bits_per_value == bits_a_value + extra
    assert quantized.bytes == (bits_a_value + extra) * 65536 / 8
    assert math.isnan(quantize(torch.zeros(3, 0), scheme).bits_per_value)
    if scheme is NVFP4:
        assert round(16 / bits_a_value, 2) == 3.56


def test_error_of_gaussian_values():
    x = torch.randn(256, 256)
    error = {name: float((dequantize(quantize(x, s)) - x).norm() / x.norm()) for name, s in SCHEMES.items()}
    assert 0.094 < error["NVFP4"] < 0.096 and 0.114 < error["MXFP4"] < 0.116 and 0.025 < error["FP8"] < 0.027
    e5m2 = dequantize(quantize(x, FP8._replace(element_format=E5M2)))
    assert 0.052 < float((e5m2 - x).norm() / x.norm()) < 0.054


# Properties.


FLOATS = st.floats(-3e4, 3e4, width=32) | st.floats(-1.0, 1.0, width=16)
ROWS = st.lists(FLOATS, min_size=1, max_size=70).map(torch.tensor)


@every_scheme
@hypothesis_settings
@given(st.lists(FLOATS, min_size=1, max_size=16).map(torch.tensor))
def test_monotone_and_symmetric(scheme, x):
    x = x.sort().values
    quantized, mirrored = quantize(x, scheme), quantize(-x, scheme)
    assert (dequantize(quantized).diff() >= 0).all()
    assert dequantize(mirrored).equal(-dequantize(quantized))
    assert quantized.scales is None or mirrored.scales.equal(quantized.scales)


@every_scheme
@hypothesis_settings
@given(ROWS, st.integers(-40, 40))
def test_powers_of_two_pass_through(scheme, x, exponent):
    """A tensor times a power of two has the same codes, as long as nothing leaves FP32."""
    x = x.where(x.abs() > 1e-3, 0.0)
    assert quantize(x * 2.0**exponent, scheme).codes.equal(quantize(x, scheme).codes)


# Bad input.


@pytest.mark.parametrize("function", [quantize, quantize_blocks])
@pytest.mark.parametrize(
    "x, scheme, options, error, words",
    [
        ([1.0], NVFP4, {}, TypeError, "x is list"),
        (torch.zeros(16, dtype=torch.float64), NVFP4, {}, TypeError, r"x is torch\.float64"),
        (torch.zeros(16, dtype=torch.int32), NVFP4, {}, TypeError, r"x is torch\.int32"),
        (torch.tensor(1.0), NVFP4, {}, ValueError, "x has 0 dimensions"),
        (torch.zeros(16), "NVFP4", {}, TypeError, "scheme is str"),
        (torch.zeros(16), NVFP4._replace(element_format=None), {}, TypeError, "scheme NVFP4 has elements in NoneType"),
        (torch.zeros(16), MXFP4._replace(scale_format="E8M0"), {}, TypeError, "scheme MXFP4 has scales in str"),
        (torch.zeros(16), FP8._replace(has_tensor_scale=False), {}, ValueError, "scheme FP8 has no blocks"),
        (torch.zeros(16), MXFP4._replace(block_size=0), {}, ValueError, "scheme MXFP4 has blocks of 0"),
        (torch.zeros(16), MXFP4._replace(scale_format=E5M2), {}, ValueError, "scheme MXFP4 has scales in E5M2"),
        (torch.zeros(16), MXFP4._replace(has_tensor_scale=True), {}, ValueError, "scheme MXFP4 has a tensor scale"),
        (torch.zeros(16), MXFP4, {"tensor_scale": 1.0}, ValueError, "tensor_scale is given, scheme MXFP4 has none"),
        (torch.zeros(16), NVFP4, {"tensor_scale": "1"}, TypeError, "tensor_scale is str"),
        (torch.zeros(16), NVFP4, {"tensor_scale": True}, TypeError, "tensor_scale is bool"),
        (torch.zeros(16), NVFP4, {"tensor_scale": 0.0}, ValueError, r"tensor_scale is 0\.0"),
        (torch.zeros(16), NVFP4, {"tensor_scale": -1}, ValueError, "tensor_scale is -1"),
        (torch.zeros(16), NVFP4, {"tensor_scale": 2.0**-118}, ValueError, "tensor_scale is 3.*, 2\\^-117 to 2\\^117"),
        (torch.zeros(16), NVFP4, {"tensor_scale": 2.0**118}, ValueError, "tensor_scale is 3.*, 2\\^-117 to 2\\^117"),
        (torch.zeros(16), FP8, {"tensor_scale": math.nan}, ValueError, "tensor_scale is nan"),
        (torch.zeros(16), FP8, {"tensor_scale": math.inf}, ValueError, "tensor_scale is inf"),
        (torch.zeros(16), FP8, {"tensor_scale": torch.ones((), dtype=torch.float64)}, TypeError, r"is torch\.float64"),
        (torch.zeros(16), FP8, {"tensor_scale": torch.ones(1)}, ValueError, "tensor_scale has 1 dimensions"),
    ],
)
def test_bad_input_is_named(function, x, scheme, options, error, words):
    with pytest.raises(error, match=words):
        function(x, scheme, **options)


@pytest.mark.parametrize("function", [quantize, quantize_blocks])
@pytest.mark.parametrize("scheme", [NVFP4, FP8])
@pytest.mark.parametrize("scale", [2.0**-117, 2.0**117])
def test_the_first_and_the_last_scale_of_a_tensor_are_taken(scale, scheme, function, device):
    quantized = function(6 * scale * torch.ones(1, 16, device=device), scheme, tensor_scale=scale)
    assert quantized.tensor_scale == scale and dequantize(quantized).eq(6 * scale).all()


@pytest.mark.parametrize("function", [quantize, quantize_blocks])
def test_a_given_scale_comes_without_its_gradient(function, device):
    scale = torch.tensor(0.5, device=device, requires_grad=True)
    quantized = function(torch.ones(1, 16, device=device), NVFP4, tensor_scale=scale)
    assert not quantized.tensor_scale.requires_grad
    assert not dequantize(quantized).requires_grad


def test_dequantize_names_a_scheme_without_elements():
    quantized = quantize(torch.zeros(16), NVFP4)
    with pytest.raises(TypeError, match="scheme NVFP4 has elements in NoneType, a Format is wanted"):
        dequantize(dataclasses.replace(quantized, scheme=NVFP4._replace(element_format=None)))


@pytest.mark.parametrize("block", [1, 3, 8, 64])
def test_the_reference_takes_any_block(block):
    for scheme in (NVFP4, MXFP8, FP8_BLOCKS):
        scheme = scheme._replace(block_size=block)
        assert codes_and_scales_are_right(quantize, scheme, data(7, 33)) == (True, True)
