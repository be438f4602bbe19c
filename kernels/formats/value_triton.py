"""Encodes and decodes one value inside a Triton kernel; ``formats.value`` is the specification.

Values are FP32 blocks and codes are uint8 blocks, of any shape.  All arithmetic is on integers
and FP32, so Triton's interpreter computes the same bits as a GPU.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def encode_e4m3(x):
    """Returns ``encode(x, E4M3)``, FP32 -> uint8."""
    return _encode(x, MAX=448.0, BIAS=7, MANTISSA_BITS=3)


@triton.jit
def encode_e5m2(x):
    """Returns ``encode(x, E5M2)``, FP32 -> uint8."""
    return _encode(x, MAX=57344.0, BIAS=15, MANTISSA_BITS=2)


@triton.jit
def _encode(x, MAX: tl.constexpr, BIAS: tl.constexpr, MANTISSA_BITS: tl.constexpr):
    """Returns codes of E4M3 or E5M2, by an addition that counts the steps.

    FP32 has 23 mantissa bits.  We add ``2^(23 - mantissa bits)`` times the power of two at or
    below x, because FP32's step there is the format's step at x: the sum rounds to it.
    """
    SMALLEST_NORMAL: tl.constexpr = 2.0 ** (1 - BIAS)
    SPARE_BITS: tl.constexpr = 23 - MANTISSA_BITS
    magnitude = tl.minimum(tl.abs(x), MAX)
    normal = tl.maximum(magnitude, SMALLEST_NORMAL)
    power_bits = normal.to(tl.uint32, bitcast=True) & 0x7F800000
    addend = power_bits.to(tl.float32, bitcast=True) * 2.0**SPARE_BITS
    rounded = magnitude + addend
    steps = rounded.to(tl.uint32, bitcast=True) - (power_bits + (SPARE_BITS << 23))
    code = steps + (power_bits >> SPARE_BITS) - ((128 - BIAS) << MANTISSA_BITS)
    sign = (x.to(tl.uint32, bitcast=True) >> 24) & 0x80
    return tl.where(x != x, 0x7F, code | sign).to(tl.uint8)


@triton.jit
def encode_e2m1(x):
    """Returns ``encode(x, E2M1)``, FP32 -> uint8, 0 to 15.

    The steps are 0.5 below 2, 1 below 4 and 2 above, so the code is the lowest of three
    straight lines, rounded to an integer.  From 2^23 on, FP32 has only integers, so each line
    rounds once, as we compute it.  Positive numbers are ordered as their bits are, and the
    least of three integers takes one instruction.
    """
    x = tl.where(x < 6.0, x, 6.0)  # NaN too
    magnitude = tl.minimum(tl.abs(x), 6.0)
    # 8388608 is 2**23.  The three lines are 2x, x + 2 and x / 2 + 4.
    code_below_2 = (magnitude * 2.0 + 8388608.0).to(tl.int32, bitcast=True)
    code_from_2 = (magnitude + 8388610.0).to(tl.int32, bitcast=True)
    code_from_4 = (magnitude * 0.5 + 8388612.0).to(tl.int32, bitcast=True)
    code = tl.minimum(tl.minimum(code_below_2, code_from_2), code_from_4)
    sign = x.to(tl.int32, bitcast=True) >> 28
    return (code | (sign & 8)).to(tl.uint8)  # the code is the low byte of 2^23 + code


@triton.jit
def encode_e8m0_floor(x):
    """Returns ``encode(x, E8M0)``, FP32 -> uint8: the exponent field."""
    return ((x.to(tl.uint32, bitcast=True) >> 23) & 0xFF).to(tl.uint8)


@triton.jit
def decode_e4m3(code):
    """Returns ``decode(code, E4M3)``, uint8 -> FP32."""
    value = _move_to_fp16(code, SIGN=0x80, MANTISSA_BITS=3).to(tl.float32) * 256.0
    return tl.where((code & 0x7F) == 0x7F, float("nan"), value)


@triton.jit
def decode_e5m2(code):
    """Returns ``decode(code, E5M2)``, uint8 -> FP32: E5M2 is the left half of FP16."""
    return _move_to_fp16(code, SIGN=0x80, MANTISSA_BITS=2).to(tl.float32)


@triton.jit
def decode_e2m1(code):
    """Returns ``decode(code, E2M1)``, uint8 of 0 to 15 -> FP32."""
    return _move_to_fp16(code, SIGN=0x8, MANTISSA_BITS=1).to(tl.float32) * 16384.0


@triton.jit
def _move_to_fp16(code, SIGN: tl.constexpr, MANTISSA_BITS: tl.constexpr):
    """Returns FP16 numbers with the fields of the codes, too small by ``2^(15 - bias)``."""
    code = code.to(tl.uint32)
    sign = (code & SIGN) * (0x8000 // SIGN)
    magnitude = (code & (SIGN - 1)) << (10 - MANTISSA_BITS)
    return (sign | magnitude).to(tl.uint16).to(tl.float16, bitcast=True)


@triton.jit
def decode_e8m0(code):
    """Returns ``decode(code, E8M0)``, uint8 -> FP32; 0 is a subnormal FP32 number, 255 NaN."""
    is_extreme = (code == 0) | (code == 255)
    bits = (code.to(tl.uint32) << 23) | tl.where(is_extreme, 0x400000, 0)
    return bits.to(tl.float32, bitcast=True)
