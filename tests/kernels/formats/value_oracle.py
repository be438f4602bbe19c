"""What a code should be: by ml_dtypes, and by a search for the nearest number in a table; and inputs that are hard."""

from functools import cache

import ml_dtypes
import numpy as np
import pytest
import torch

from kernels.formats.value import (
    E2M1,
    E4M3,
    E5M2,
    E8M0,
)

FLOATS = [E4M3, E5M2, E2M1]
FORMATS = [*FLOATS, E8M0]


ML_DTYPES = {
    "E4M3": ml_dtypes.float8_e4m3fn,
    "E5M2": ml_dtypes.float8_e5m2,
    "E2M1": ml_dtypes.float4_e2m1fn,
    "E8M0": ml_dtypes.float8_e8m0fnu,
}


TORCH_DTYPES = {"E4M3": torch.float8_e4m3fn, "E5M2": torch.float8_e5m2, "E8M0": torch.float8_e8m0fnu}


def each_format(formats):
    return pytest.mark.parametrize("format", formats, ids=lambda format: format.name)


# Oracles.


def ml_encode(x, format):
    return torch.from_numpy(x.cpu().numpy().astype(ML_DTYPES[format.name]).view(np.uint8))


def ml_values(format):
    """Every number of the format, FP64, by code."""
    codes = np.arange(2**format.bits, dtype=np.uint8)
    return torch.from_numpy(codes.view(ML_DTYPES[format.name]).astype(np.float64))


def nearest_code(x, format):
    """The code of the nearest number in the table, by distance in FP64; of two, the even one.  No NaN."""
    numbers = ml_values(format)[: format.max_code + 1]
    magnitude = x.double().cpu().abs()
    if format == E8M0:
        below = torch.searchsorted(numbers, magnitude, right=True) - 1
        return below.clamp(min=0).masked_fill(magnitude.isinf(), 0xFF).byte()
    magnitude = magnitude.clamp(max=numbers[-1])
    above = torch.searchsorted(numbers, magnitude)
    below = (above - 1).clamp(min=0)
    further_up = (numbers[above] - magnitude) - (magnitude - numbers[below])
    even = torch.where(above % 2 == 0, above, below)
    code = torch.where(further_up < 0, above, torch.where(further_up > 0, below, even))
    return (code + (x.cpu().signbit().int() << format.bits - 1)).byte()


# Inputs.


def every_16_bit_number(dtype):
    return torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(dtype)


def boundaries(format, dtype):
    """Every number, every midpoint and the end of the range, and the numbers just below and above, of both signs."""
    numbers = ml_values(format)[: format.max_code + 1]
    past_the_end = 2 * numbers[-1] - numbers[-2]
    middle = (numbers + torch.cat([numbers[1:], past_the_end[None]])) / 2
    edges = torch.tensor([0.0, torch.finfo(dtype).tiny, torch.finfo(dtype).max, torch.inf], dtype=torch.float64)
    at = torch.cat([numbers, middle, past_the_end[None], edges]).to(dtype)
    away = torch.full_like(at, torch.inf)
    beside = torch.cat([at, torch.nextafter(at, away), torch.nextafter(at, -away)])
    return torch.cat([beside, -beside])


def random_bits(n=2**14):
    x = torch.randint(-(2**31), 2**31, (n,), dtype=torch.int64, generator=torch.Generator().manual_seed(0))
    return x.to(torch.int32).view(torch.float32)


@cache
def cases(format):
    """By name: numbers without NaN, and the code that each should have."""
    inputs = {
        "every BF16": every_16_bit_number(torch.bfloat16),
        "every FP16": every_16_bit_number(torch.float16),
        "FP32 boundaries": boundaries(format, torch.float32),
        "FP64 boundaries": boundaries(format, torch.float64),
        "random FP32 bits": random_bits(),
        "random FP32 in range": random_bits().view(torch.int32).float() * (1.1 * min(format.max, 1e6) / 2**31),
    }
    inputs = {name: x[~x.isnan()] for name, x in inputs.items()}
    return {name: (x, nearest_code(x, format)) for name, x in inputs.items()}


def codes_of(format, device=None):
    return torch.arange(2**format.bits, dtype=torch.uint8, device=device)


# Decoding.


def same_numbers(actual, expected):
    """Bit for bit; any NaN is NaN."""
    actual, expected = actual.cpu().float(), expected.cpu().float()
    bits = [x.masked_fill(x.isnan(), torch.nan).view(torch.int32) for x in (actual, expected)]
    return bits[0].equal(bits[1])


# Encoding.


def encodes_wrongly(encoder, format, case="FP64 boundaries", device="cpu"):
    x, expected = cases(format)[case]
    return not encoder(x.to(device), format).cpu().equal(expected)
