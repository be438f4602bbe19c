"""What codes and scales should be, in NumPy, a block after the other; and data of very different size."""

import math

import ml_dtypes
import numpy as np
import pytest
import torch

from kernels.formats.block import FP8, FP8_BLOCKS, MXFP4, MXFP8, NVFP4
from kernels.formats.value import E2M1, E4M3, E8M0

SCHEMES = {scheme.name: scheme for scheme in (NVFP4, MXFP4, MXFP8, FP8, FP8_BLOCKS)}
SHAPES = [(1,), (15,), (16,), (17,), (3, 33), (2, 3, 257), (0,), (0, 5), (5, 0)]
ELEMENTS = {E2M1: (ml_dtypes.float4_e2m1fn, 6.0), E4M3: (ml_dtypes.float8_e4m3fn, 448.0)}
LARGEST_FP32 = torch.finfo(torch.float32).max
every_scheme = pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)


def data(*shape):
    """Rows and values of very different size, zeros of both signs and a row of zeros among them."""
    x = torch.randn(shape) * torch.randn(shape).exp() * 10 * torch.randn(*shape[:-1], 1).exp()
    flat = x.view(-1)
    flat[5::11] = 0.0
    flat[7::13] = -0.0
    if x.ndim > 1 and len(x) > 1:
        x[1] = 0.0
    return x


# The oracle: NumPy, a block after the other; FP64 wherever a result is exact there, and ml_dtypes to round.


def to_code(values, element):
    dtype, largest = ELEMENTS[element]
    return np.clip(np.float32(values), -largest, largest).astype(dtype).view(np.uint8)


def oracle(x, scheme, tensor_scale=None):
    """Bytes of codes, scales and the tensor's scale, of a tensor [..., n] of finite values."""
    rows = x.double().reshape(-1, x.shape[-1]).numpy()
    largest = ELEMENTS[scheme.element_format][1]
    if scheme.has_tensor_scale and tensor_scale is None:
        tensor_scale = (
            np.float32(np.abs(rows).max()) / np.float32(largest * (448 if scheme.scale_format == E4M3 else 1)) or 1
        )
    scale_of_tensor = np.float32(1.0 if tensor_scale is None else tensor_scale)
    all_codes, all_scales = [], []
    for row in rows:
        codes, size = [], scheme.block_size or len(row)
        for start in range(0, len(row), size):
            block = row[start : start + size]
            amax = np.float32(np.abs(block).max())
            unit = np.float32(1.0)
            if scheme.scale_format == E4M3:
                scale = to_code(amax / np.float32(6.0) / scale_of_tensor, E4M3)
                unit = np.float32(scale.view(ml_dtypes.float8_e4m3fn))
            elif scheme.scale_format == E8M0:
                power = math.frexp(amax)[1] - 1 - {6.0: 2, 448.0: 8}[largest] if amax else -127
                scale = np.uint8(max(power, -127) + 127)
                unit = np.float32(2.0 ** (int(scale) - 127))
            elif scheme.block_size:
                scale = unit = amax / np.float32(largest) if amax else np.float32(1.0)
            if scheme.block_size:
                all_scales.append(scale)
            inverse = np.float32(1.0) / scale_of_tensor / unit if unit else np.float32(0.0)
            codes += list(to_code(np.float32(block) * inverse, scheme.element_format))
        if scheme.element_format == E2M1:
            codes = [int(low) + 16 * int(high) for low, high in zip(codes[::2], [*codes[1::2], 0], strict=False)]
        all_codes += codes
    return np.uint8(all_codes), np.array(all_scales), tensor_scale


def codes_and_scales_are_right(function, scheme, x, tensor_scale=None):
    """Two verdicts on what a function like ``quantize`` gives."""
    quantized = function(x, scheme, tensor_scale=tensor_scale)
    codes, scales, expected_tensor_scale = oracle(x.cpu(), scheme, tensor_scale)
    if scheme.has_tensor_scale:
        assert np.float32(quantized.tensor_scale.cpu()) == np.float32(expected_tensor_scale)
    actual_scales = None if quantized.scales is None else quantized.scales.cpu().numpy().ravel()
    scales_are_right = actual_scales is None if not scheme.block_size else (actual_scales == scales).all()
    return bool((quantized.codes.cpu().numpy().ravel() == codes).all()), bool(scales_are_right)


# Kernels against the reference.


def bits(x):
    return x.view(torch.int32) if x.dtype == torch.float32 else x


def equal_bits(a, b):
    """Bit for bit, but for the bits of a NaN."""
    a, b = (x.cpu() for x in (a, b))
    nan = a.isnan()
    return a.shape == b.shape and nan.equal(b.isnan()) and bits(a)[~nan].equal(bits(b)[~nan])
