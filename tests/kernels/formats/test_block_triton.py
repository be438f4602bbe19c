"""Triton's kernels quantise and dequantise blocks as the reference does, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from kernels.formats.block import FP8, FP8_BLOCKS, NVFP4, Quantized, dequantize, quantize
from kernels.formats.block_triton import (
    VALUES_PER_PROGRAM,
    _grid,
    dequantize_blocks,
    load_blocks,
    quantize_blocks,
    quantize_nvfp4,
)
from kernels.formats.value import E4M3
from tests.kernels.formats.block_oracle import (
    LARGEST_FP32,
    SHAPES,
    codes_and_scales_are_right,
    data,
    equal_bits,
    every_scheme,
    to_code,
)
from tests.kernels.memory import ON_CPU, between_zeros, reads_outside, recorded_reads, room_for


def assert_kernels_agree(x, scheme, tensor_scale=None, device="cpu"):
    expected = quantize(x, scheme, tensor_scale=tensor_scale)
    for function in (quantize, quantize_blocks):  # the reference is the same on every device
        actual = function(x.to(device), scheme, tensor_scale=tensor_scale)
        assert actual.scheme == scheme and actual.shape == x.shape
        assert equal_bits(actual.codes, expected.codes)
        for name in ("scales", "tensor_scale"):
            actual_scale, expected_scale = getattr(actual, name), getattr(expected, name)
            assert (actual_scale is None and expected_scale is None) or equal_bits(actual_scale, expected_scale)
        for decoder in (dequantize, dequantize_blocks):
            values = decoder(actual)
            assert values.dtype == torch.float32 and equal_bits(values, dequantize(expected))


SPECIAL = [torch.inf, -torch.inf, torch.nan, 1e-40, -1e-45, 1e38, -LARGEST_FP32, 2.0**-126, 0.0, -0.0]
DTYPES = [torch.float32, torch.float16, pytest.param(torch.bfloat16, marks=pytest.mark.gpu)]


@every_scheme
@pytest.mark.parametrize("shape", [*SHAPES, (5, 1030)], ids=str)
def test_kernels_are_the_reference_bit_for_bit(scheme, shape, device):
    assert_kernels_agree(data(*shape), scheme, device=device)


@every_scheme
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_kernels_take_every_dtype_strides_and_a_given_scale(scheme, dtype, device):
    x = data(48, 80).to(dtype).t()
    tensor_scale = torch.tensor(0.0371) if scheme.has_tensor_scale else None
    expected = quantize(x, scheme, tensor_scale=tensor_scale)
    actual = quantize_blocks(
        x.to(device), scheme, tensor_scale=None if tensor_scale is None else tensor_scale.to(device)
    )
    assert equal_bits(actual.codes, expected.codes)
    assert scheme.block_size is None or equal_bits(actual.scales, expected.scales)


@every_scheme
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("tensor_scale", [None, 2.0**-117, 2.0**117])
def test_kernels_agree_on_special_values(scheme, tensor_scale, device):
    x = data(len(SPECIAL) + 2, 150)
    for row, value in enumerate(SPECIAL):
        x[row, 3] = value  # in a block with others
        x[row, 128:144] = value  # a block of nothing else
    x[-1] *= 1e-38
    assert_kernels_agree(x, scheme, tensor_scale if scheme.has_tensor_scale else None, device)


def near_ties(tensor_scale):
    """Blocks whose scale is a tie in E4M3, or off by one or two units in the last place; values likewise in E2M1."""
    scales = torch.arange(0x7F, dtype=torch.uint8).view(torch.float8_e4m3fn).double()
    neighbours = torch.arange(-2, 3, dtype=torch.int32)
    whole = torch.tensor(tensor_scale).double()  # FP32's number
    amax = (3 * (scales[:-1] + scales[1:]) * whole).float()
    amax = (amax.view(torch.int32)[:, None] + neighbours).view(torch.float32).flatten()
    unit = np.float32(to_code(amax.numpy() / np.float32(6) / np.float32(tensor_scale), E4M3).view("float8_e4m3fn"))
    ties = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0], dtype=torch.float64)
    values = (ties * (torch.tensor(unit).double() * whole)[:, None]).float()
    lower, upper = values.nextafter(values * 0), values.nextafter(values * 2)
    return torch.cat([amax[:, None], values, -lower, upper[:, :1]], -1)


@pytest.mark.parametrize("tensor_scale", [1.0, 0.0371])
def test_near_ties(tensor_scale, device):
    x = near_ties(tensor_scale)
    x = torch.cat([x, x.roll(1, -1)], -1)[:, : 16 + 14]  # a last block that is not full
    assert codes_and_scales_are_right(quantize, NVFP4, x, tensor_scale) == (True, True)
    assert_kernels_agree(x, NVFP4, tensor_scale, device)
    for scheme in (FP8, FP8_BLOCKS):
        assert codes_and_scales_are_right(quantize, scheme, x) == (True, True)
        assert_kernels_agree(x, scheme, device=device)


@triton.jit
def device_function_kernel(x, codes, scales, tensor_scale, rows, ROWS: tl.constexpr, BLOCKS: tl.constexpr):
    row = tl.arange(0, ROWS)[:, None]
    block = row * BLOCKS + tl.arange(0, BLOCKS)[None, :]
    packed, scale = quantize_nvfp4(load_blocks(x + 16 * block, row + 0 * block < rows).to(tl.float32), tensor_scale)
    tl.store(codes + 8 * block[:, :, None] + tl.arange(0, 8), packed)
    tl.store(scales + block, scale)


def test_the_device_function_does_rows_of_blocks(device):
    x = data(4, 32)
    codes = torch.full((4, 16), 0xAA, dtype=torch.uint8, device=device)
    scales = torch.full((4, 2), 0xAA, dtype=torch.uint8, device=device)
    device_function_kernel[(1,)](x.to(device), codes, scales, 0.0371, 3, ROWS=4, BLOCKS=2)
    x[3] = 0.0  # beyond the rows: nothing is read, zeros are quantised
    expected = quantize(x, NVFP4, tensor_scale=0.0371)
    assert equal_bits(codes, expected.codes) and equal_bits(scales, expected.scales)


@ON_CPU
@every_scheme
def test_nothing_is_read_beside_the_codes(scheme):
    """Of a last row whose last block is not full."""
    x = data(3, 2 * (scheme.block_size or 128) + 6)
    quantized = quantize(x, scheme)
    quantized = replace(quantized, codes=between_zeros(quantized.codes))
    with recorded_reads() as addresses:
        values = dequantize_blocks(quantized)
    assert equal_bits(values, dequantize(quantized)) and reads_outside(addresses, quantized.codes) == 0


@ON_CPU
@every_scheme
def test_nothing_is_read_beside_the_values(scheme):
    x = between_zeros(data(3, 2 * (scheme.block_size or 128) + 6))
    with recorded_reads() as addresses:
        quantize_blocks(x, scheme)
    assert reads_outside(addresses, x) == 0


def test_as_many_blocks_as_32_bits_can_count():
    """A program counts a whole tile beyond the first of its blocks."""
    most = 2**31 - 1 - VALUES_PER_PROGRAM
    assert _grid(torch.Size([most, 16]), NVFP4)[1] == most
    for shape, scheme in (([most + 1, 16], NVFP4), ([2**32, 16], NVFP4), ([2**31, 1], FP8), ([2**16, 2**20], NVFP4)):
        with pytest.raises(ValueError, match=r"x has \d+ blocks, fewer than 2\^31 are wanted"):
            _grid(torch.Size(shape), scheme)


@pytest.mark.large
@pytest.mark.gpu
@every_scheme
def test_values_beyond_2_to_the_31(scheme, device):
    room_for(8)
    x = torch.empty(2**17 + 2, 2**14, device=device, dtype=torch.float16).normal_()
    assert x.numel() > 2**31
    whole = 0.0371 if scheme.has_tensor_scale else None
    actual, expected = (quantize_blocks(rows, scheme, tensor_scale=whole) for rows in (x, x[-3:].clone()))
    assert equal_bits(actual.codes[-3:], expected.codes)
    assert scheme.block_size is None or equal_bits(actual.scales[-3:], expected.scales)


@pytest.mark.large
@pytest.mark.gpu
def test_codes_of_more_than_2_to_the_31_values(device):
    room_for(11)
    codes = torch.randint(256, (2**17 + 2, 2**13), device=device, dtype=torch.uint8)
    scales = torch.randint(0x7F, (2**17 + 2, 2**10), device=device, dtype=torch.uint8)
    whole = torch.tensor(0.0371, device=device)
    actual = dequantize_blocks(Quantized(codes, scales, whole, NVFP4, torch.Size([2**17 + 2, 2**14])))
    last = Quantized(codes[-3:].clone(), scales[-3:].clone(), whole, NVFP4, torch.Size([3, 2**14]))
    assert actual.numel() > 2**31 and equal_bits(actual[-3:], dequantize(last))


def test_what_the_kernels_refuse(device):
    with pytest.raises(ValueError, match="x requires a gradient"):
        quantize_blocks(torch.zeros(16, requires_grad=True, device=device), NVFP4)
    other = NVFP4._replace(name="NVFP4 of 8", block_size=8)
    with pytest.raises(ValueError, match="scheme NVFP4 of 8 is none of this module's"):
        quantize_blocks(torch.zeros(16, device=device), other)
    with pytest.raises(ValueError, match="scheme NVFP4 of 8 is none of this module's"):
        dequantize_blocks(quantize(torch.zeros(16, device=device), other))
