"""Quantises blocks of values in Triton, bit for bit as ``kernels.formats.block`` does.

Each program takes whole blocks, so it reads the values once for the scale and for the codes
that depend on it.  The KV cache uses ``load_blocks`` and ``quantize_nvfp4``, too, and quantises
each row when it's appended.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import check_no_gradient, check_runnable, why_unreadable
from kernels.formats.block import (
    FP8,
    FP8_BLOCKS,
    MXFP4,
    MXFP8,
    NVFP4,
    Quantized,
    Scheme,
    _check_and_scale,
    _emax,
)
from kernels.formats.validate import validation_error
from kernels.formats.value_triton import (
    decode_e2m1,
    decode_e4m3,
    decode_e8m0,
    encode_e2m1,
    encode_e4m3,
    encode_e8m0_floor,
)


def quantize_blocks(
    x: Tensor, scheme: Scheme, *, tensor_scale: float | Tensor | None = None
) -> Quantized:
    """Returns what ``quantize`` does, bit for bit, by a Triton kernel.

    It takes the five schemes of ``formats.block``.  If no tensor scale is given, PyTorch finds
    it first.  For n values in 16 bits the kernel reads 2·n bytes and writes n · bits a value /
    8.

    Raises what ``quantize`` does; a ValueError for another scheme, for 2^31 blocks or more, and
    if x requires a gradient; a ValueError or TypeError if a kernel can't run on x here.
    """
    tensor_scale = _check_and_scale(x, scheme, tensor_scale)
    _check_scheme_of_kernels(scheme)
    check_runnable(quantize_kernel, on_cpu="kernels.formats.block.quantize", x=x)
    check_no_gradient(instead="kernels.formats.block.quantize", x=x)
    if tensor_scale is not None and why_unreadable(tensor_scale):
        raise TypeError(f"tensor_scale is {why_unreadable(tensor_scale)}")
    columns, block_size = x.shape[-1], scheme.block_size or DEFAULT_BLOCK_SIZE
    blocks = -(-columns // block_size)  # in a row; the last one may not be full
    width = -(-columns * scheme.element_format.bits // 8)
    codes = torch.empty((*x.shape[:-1], width), dtype=torch.uint8, device=x.device)
    scales = None
    if scheme.block_size is not None:
        dtype = torch.float32 if scheme.scale_format is None else torch.uint8
        scales = torch.empty((*x.shape[:-1], blocks), dtype=dtype, device=x.device)
    if x.numel():
        constants = _constants(scheme)
        constants |= {"ELEMENT_MAX": scheme.element_format.max, "EMAX": _emax(scheme)}
        grid, all_blocks = _grid(x.shape, scheme)
        with torch.cuda.device_of(x):
            quantize_kernel[grid](
                x.contiguous(), codes, scales, tensor_scale, all_blocks, blocks, columns,
                **constants,
            )  # fmt: skip
    return Quantized(codes, scales, tensor_scale, scheme, x.shape)


def dequantize_blocks(quantized: Quantized) -> Tensor:
    """Returns what ``dequantize`` does, bit for bit, by a Triton kernel.

    Raises what ``dequantize`` does; a ValueError if codes or scales aren't contiguous, if a
    kernel can't run here, and for a scheme that ``formats.block`` doesn't have.
    """
    if not isinstance(quantized, Quantized):
        raise TypeError(f"quantized is {type(quantized).__name__}, a Quantized is wanted")
    if not isinstance(quantized.scheme, Scheme):
        raise TypeError(f"scheme is {type(quantized.scheme).__name__}, a Scheme is wanted")
    codes, scheme, shape = quantized.codes, quantized.scheme, quantized.shape
    _check_scheme_of_kernels(scheme)
    if validation_error(quantized, for_kernel=True):
        raise validation_error(quantized, for_kernel=True)
    out = torch.empty(shape, device=codes.device)
    check_runnable(dequantize_kernel, on_cpu="kernels.formats.block.dequantize", codes=out)
    if out.numel():
        blocks = -(-shape[-1] // (scheme.block_size or DEFAULT_BLOCK_SIZE))
        grid, all_blocks = _grid(shape, scheme)
        with torch.cuda.device_of(codes):
            dequantize_kernel[grid](
                codes, quantized.scales, quantized.tensor_scale, out,
                all_blocks, blocks, shape[-1], **_constants(scheme),
            )  # fmt: skip
    return out


DEFAULT_BLOCK_SIZE = 128  # if the scheme has no blocks
VALUES_PER_PROGRAM = 2048


def _grid(shape: torch.Size, scheme: Scheme) -> tuple[tuple[int], int]:
    """Returns the grid of programs, and how many blocks there are."""
    block_size = scheme.block_size or DEFAULT_BLOCK_SIZE
    all_blocks = math.prod(shape[:-1]) * -(-shape[-1] // block_size)
    if all_blocks >= 2**31 - VALUES_PER_PROGRAM:
        raise ValueError(f"x has {all_blocks} blocks, fewer than 2^31 are wanted")
    return (triton.cdiv(all_blocks, VALUES_PER_PROGRAM // block_size),), all_blocks


def _check_scheme_of_kernels(scheme: Scheme) -> None:
    if scheme not in (NVFP4, MXFP4, MXFP8, FP8, FP8_BLOCKS):
        raise ValueError(
            f"scheme {scheme.name} is none of this module's, which the kernels take: "
            "use kernels.formats.block.quantize and dequantize"
        )


def _constants(scheme: Scheme) -> dict[str, str | int | None]:
    """Returns the constants for which both kernels are compiled."""
    block_size = scheme.block_size or DEFAULT_BLOCK_SIZE
    return {
        "BLOCK": block_size,
        "TILE": VALUES_PER_PROGRAM // block_size,
        "CODES_PER_BYTE": 8 // scheme.element_format.bits,
        "SCALE_FORMAT": None
        if scheme.block_size is None
        else scheme.scale_format.name
        if scheme.scale_format
        else "FP32",
    }


@triton.jit
def amax_of_block(x):
    """Returns ``_amax`` of the last axis, FP32 -> FP32."""
    amax = tl.max(tl.abs(x), -1)
    return tl.where(amax == amax, tl.minimum(amax, 3.4028234663852886e38), 0.0)


@triton.jit
def inverse_scale(tensor_scale, decoded_scale):
    """Returns the factor for values, ``1 / tensor_scale / decoded_scale``; 0 for scale 0."""
    decoded_scale = tl.where(decoded_scale == 0.0, float("inf"), decoded_scale)
    return tl.div_rn(tl.div_rn(1.0, tensor_scale), decoded_scale)


@triton.jit
def pack_pairs(codes):
    """Returns ``pack_e2m1`` of the last axis: [..., 2n] -> [..., n], uint8."""
    shape: tl.constexpr = codes.shape[:-1] + [codes.shape[-1] // 2, 2]  # noqa: RUF005
    low, high = codes.reshape(shape).split()
    return low | (high << 4)


@triton.jit
def split_halves(x):
    """Returns the first and the last 8 of 16 values: [..., 16] -> twice [..., 8]."""
    return tl.trans(x.reshape(x.shape[:-1] + [2, 8])).split()  # noqa: RUF005


@triton.jit
def join_halves(first, second):
    """Returns two tensors joined along the last axis: twice [..., n] -> [..., 2n]."""
    joined = tl.trans(tl.join(first, second))
    return joined.reshape(joined.shape[:-2] + [2 * first.shape[-1]])  # noqa: RUF005


@triton.jit
def load_blocks(blocks, mask):
    """Returns 16 values from each pointer on, or zeros by the mask: [...] -> [..., 16].

    It loads 8 values twice, which are 16 bytes each in a 16-bit format.  So a thread gets whole
    blocks, and finds the amax of each without other threads.
    """
    pointers = tl.expand_dims(blocks, -1) + tl.arange(0, 8)
    mask = tl.expand_dims(mask, -1)
    return join_halves(tl.load(pointers, mask, 0.0), tl.load(pointers + 8, mask, 0.0))


@triton.jit
def quantize_nvfp4(x, tensor_scale):
    """Returns NVFP4 codes, [..., 8] uint8, two a byte, and scales, [...] uint8.

    x: blocks in a program's registers, [..., 16] FP32; it's fastest if they are from
    ``load_blocks``   tensor_scale: FP32
    """
    first, second = split_halves(x)
    amax = tl.maximum(amax_of_block(first), amax_of_block(second))
    scales = encode_e4m3(tl.div_rn(tl.div_rn(amax, 6.0), tensor_scale))
    inverse = tl.expand_dims(inverse_scale(tensor_scale, decode_e4m3(scales)), -1)
    first = pack_pairs(encode_e2m1(first * inverse))
    second = pack_pairs(encode_e2m1(second * inverse))
    return join_halves(first, second), scales


@triton.jit
def quantize_kernel(
    x, codes, scales, tensor_scale, all_blocks, blocks, columns,
    BLOCK: tl.constexpr, TILE: tl.constexpr, CODES_PER_BYTE: tl.constexpr,
    ELEMENT_MAX: tl.constexpr, EMAX: tl.constexpr, SCALE_FORMAT: tl.constexpr,
):  # fmt: skip
    """Reads the values of TILE blocks; writes their codes and scales.

    x, codes, scales: pointers to contiguous rows   tensor_scale: pointer or None
    all_blocks: how many there are   blocks, columns: in a row   BLOCK: values in a block
    CODES_PER_BYTE: 1 of E4M3 or 2 of E2M1   ELEMENT_MAX: the largest element
    EMAX: the exponent of the power of two at or below it
    SCALE_FORMAT: the format of scales, None if there are no blocks
    """
    block = tl.program_id(0) * TILE + tl.arange(0, TILE)
    row = (block // blocks).to(tl.int64)[:, None]  # 64 bits, so big offsets don't overflow
    first = (block % blocks)[:, None] * BLOCK
    column, byte = (
        first + tl.arange(0, BLOCK),
        first // CODES_PER_BYTE + tl.arange(0, BLOCK // CODES_PER_BYTE),
    )
    width = tl.cdiv(columns, CODES_PER_BYTE)
    mask = block < all_blocks
    values = tl.load(x + row * columns + column, mask[:, None] & (column < columns), 0.0)
    values = values.to(tl.float32)
    tensor_scale_value = 1.0 if tensor_scale is None else tl.load(tensor_scale)

    if SCALE_FORMAT == "E4M3":
        encoded, scale = quantize_nvfp4(values, tensor_scale_value)
    else:
        if SCALE_FORMAT is None:
            inverse = tl.div_rn(1.0, tensor_scale_value)
        else:
            amax = amax_of_block(values)
            if SCALE_FORMAT == "E8M0":
                exponent = encode_e8m0_floor(amax).to(tl.int32) - EMAX
                scale = tl.maximum(exponent, 0).to(tl.uint8)
                decoded_scale = decode_e8m0(scale)
            else:
                scale = tl.maximum(tl.div_rn(amax, ELEMENT_MAX), 2.0**-117)
                scale = tl.where(amax == 0.0, 1.0, scale)
                decoded_scale = scale
            inverse = inverse_scale(tensor_scale_value, decoded_scale)[:, None]
        if CODES_PER_BYTE == 2:
            encoded = pack_pairs(encode_e2m1(values * inverse))
        else:
            encoded = encode_e4m3(values * inverse)

    tl.store(codes + row * width + byte, encoded, mask[:, None] & (byte < width))
    if SCALE_FORMAT is not None:
        tl.store(scales + block, scale, mask)


@triton.jit
def dequantize_kernel(
    codes, scales, tensor_scale, out, all_blocks, blocks, columns,
    BLOCK: tl.constexpr, TILE: tl.constexpr, CODES_PER_BYTE: tl.constexpr,
    SCALE_FORMAT: tl.constexpr,
):  # fmt: skip
    """Reads the codes and scales of TILE blocks; writes their values.

    out: pointer to contiguous FP32 rows   the rest: as in ``quantize_kernel``
    """
    block = tl.program_id(0) * TILE + tl.arange(0, TILE)
    row = (block // blocks).to(tl.int64)[:, None]
    first = (block % blocks)[:, None] * BLOCK
    column, byte = (
        first + tl.arange(0, BLOCK),
        first // CODES_PER_BYTE + tl.arange(0, BLOCK // CODES_PER_BYTE),
    )
    width = tl.cdiv(columns, CODES_PER_BYTE)
    mask = block < all_blocks
    encoded = tl.load(codes + row * width + byte, mask[:, None] & (byte < width), 0)
    if CODES_PER_BYTE == 2:
        low, high = decode_e2m1(encoded & 0xF), decode_e2m1(encoded >> 4)
        values = tl.join(low, high).reshape(TILE, BLOCK)
    else:
        values = decode_e4m3(encoded)

    combined_scale = 1.0 if tensor_scale is None else tl.load(tensor_scale)
    if SCALE_FORMAT is not None:
        scale = tl.load(scales + block, mask, 0)
        if SCALE_FORMAT == "E8M0":
            scale = decode_e8m0(scale)
        elif SCALE_FORMAT == "E4M3":
            scale = decode_e4m3(scale)
        combined_scale = (scale * combined_scale)[:, None]
    tl.store(
        out + row * columns + column,
        values * combined_scale,
        mask[:, None] & (column < columns),
    )
