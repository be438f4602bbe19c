"""Inside a Triton kernel every number converts to the same code, and every code to the same number, bit for bit."""

import pytest
import torch
import triton
import triton.language as tl

from kernels.formats import value_triton
from kernels.formats.value import (
    E2M1,
    E4M3,
    E5M2,
    E8M0,
    decode,
    representable_numbers,
)
from tests.kernels.formats.value_oracle import (
    FORMATS,
    cases,
    codes_of,
    each_format,
    same_numbers,
)

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")  # numpy, of NaN


# The same inside a Triton kernel.


@triton.jit
def apply(inputs, outputs, n, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(outputs + i, FUNCTION(tl.load(inputs + i, i < n)), i < n)


def apply_on_device(device, function, x):
    """A device function of every element, by a kernel: FP32 -> uint8 or uint8 -> FP32; the result on the CPU."""
    x = x.to(device).contiguous()
    out = torch.empty(x.shape, dtype=torch.uint8 if x.is_floating_point() else torch.float32, device=device)
    block = 1024 if device.type == "cuda" else 2**17
    apply[(triton.cdiv(x.numel(), block),)](x, out, x.numel(), FUNCTION=function, BLOCK=block)
    return out.cpu()


def encoder_of(format):
    return getattr(value_triton, "encode_e8m0_floor" if format == E8M0 else f"encode_{format.name.lower()}")


def decoder_of(format):
    return getattr(value_triton, f"decode_{format.name.lower()}")


def fp32_cases(format):
    """Every case that FP32 has: numbers and their codes."""
    found = [(x.float(), expected) for x, expected in cases(format).values() if x.dtype != torch.float64]
    return (torch.cat(x) for x in zip(*found, strict=True))


@each_format(FORMATS)
def test_the_device_function_encodes_bit_for_bit(format, device):
    x, expected = fp32_cases(format)
    assert apply_on_device(device, encoder_of(format), x).equal(expected)


@each_format(FORMATS)
def test_the_device_function_decodes_bit_for_bit(format, device):
    assert same_numbers(apply_on_device(device, decoder_of(format), codes_of(format)), representable_numbers(format))


@triton.jit
def line_rounded_twice(x):
    """encode_e2m1 with the middle line wrong: the sum with 2 rounds, and then again beside 2^23."""
    x = tl.where(x < 6.0, x, 6.0)
    magnitude = tl.minimum(tl.abs(x), 6.0)
    to_4 = (magnitude + 2.0) + 8388608.0
    lines = tl.minimum(tl.minimum(magnitude * 2.0 + 8388608.0, to_4), magnitude * 0.5 + 8388612.0)
    return (lines.to(tl.uint32, bitcast=True) | ((x.to(tl.uint32, bitcast=True) >> 28) & 8)).to(tl.uint8)


@triton.jit
def by_way_of_fp32_subnormals(x):
    """encode_e2m1 with its subnormal numbers laid over FP32's, where the last bit of x is lost."""
    bits = (tl.minimum(tl.abs(x), 6.0) * 2.0**-126).to(tl.uint32, bitcast=True)
    code = (bits + 0x1FFFFF + ((bits >> 22) & 1)) >> 22
    return (code | ((x.to(tl.uint32, bitcast=True) >> 28) & 8)).to(tl.uint8)


@triton.jit
def unsigned(x):
    return value_triton.encode_e2m1(tl.abs(x))


@pytest.mark.parametrize("function", [line_rounded_twice, by_way_of_fp32_subnormals, unsigned])
def test_a_wrong_device_function_is_rejected(function, device):
    x, expected = fp32_cases(E2M1)
    assert not apply_on_device(device, function, x).equal(expected)


@triton.jit
def to_e4m3_in_hardware(x):
    return x.to(tl.float8e4nv).to(tl.uint8, bitcast=True)


@triton.jit
def to_e5m2_in_hardware(x):
    return x.to(tl.float8e5).to(tl.uint8, bitcast=True)


@triton.jit
def from_e4m3_in_hardware(code):
    return code.to(tl.float8e4nv, bitcast=True).to(tl.float32)


@triton.jit
def from_e5m2_in_hardware(code):
    return code.to(tl.float8e5, bitcast=True).to(tl.float32)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "format, encoder, decoder",
    [(E4M3, to_e4m3_in_hardware, from_e4m3_in_hardware), (E5M2, to_e5m2_in_hardware, from_e5m2_in_hardware)],
    ids=["E4M3", "E5M2"],
)
def test_the_gpu_converts_the_same(format, encoder, decoder, device):
    """Hopper's own conversions saturate too; of NaN only that it stays NaN is asked."""
    x, expected = fp32_cases(format)
    assert apply_on_device(device, encoder, x).equal(expected)
    nan = torch.full((4,), torch.nan)
    assert decode(apply_on_device(device, encoder, nan), format).isnan().all()
    assert same_numbers(apply_on_device(device, decoder, codes_of(format)), representable_numbers(format))
