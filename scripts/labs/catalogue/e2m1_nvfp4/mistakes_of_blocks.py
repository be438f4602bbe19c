"""Wrong implementations of lab 12's NVFP4 blocks and scales, each with what its author is told."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.e2m1_nvfp4.reference import (
    BLOCK,
    decode,
    dequantize,
    encode,
    pack,
    quantize,
    round_half_even,
    unpack,
)
from scripts.labs.lab import Mistake


def one_scale_per_row(x: Tensor) -> tuple[Tensor, ...]:
    """One scale for all blocks of a row."""
    return quantize(x, block=x.shape[-1])


def unguarded(x: Tensor, tensor: bool, sign=torch.signbit) -> tuple[Tensor, ...]:
    """What 0 / 0 and x / 0 make of tables and blocks of zeros.

    tensor: whether it is the tensor's scale that is unguarded, and not those of the blocks
    sign: what is taken for negative, of numbers and of NaN
    """
    blocks = x.float().unflatten(-1, (-1, BLOCK))
    tensor_scale = x.float().abs().amax() / (448 * 6)
    if not tensor:
        tensor_scale = torch.where(tensor_scale == 0, 1.0, tensor_scale)
    scales = (blocks.abs().amax(-1) / 6 / tensor_scale).to(torch.float8_e4m3fn)
    unit = scales.float()[..., None]
    numbers = blocks / tensor_scale / (torch.where(unit == 0, 1.0, unit) if tensor else unit)
    codes = round_half_even(numbers.abs()) + 8 * sign(numbers)
    return pack(codes.to(torch.uint8).flatten(-2)), scales.view(torch.uint8), tensor_scale


def zero_block_not_scaled(x: Tensor) -> tuple[Tensor, ...]:
    """A block with the scale 0 is not divided by the tensor's either."""
    packed, scales, tensor_scale = quantize(x)
    undivided = pack(encode(x)).unflatten(-1, (-1, BLOCK // 2))
    packed = torch.where(scales[..., None] == 0, undivided, packed.unflatten(-1, (-1, BLOCK // 2)))
    return packed.flatten(-2), scales, tensor_scale


def sign_lost(x: Tensor) -> tuple[Tensor, ...]:
    packed, scales, tensor_scale = quantize(x)
    return packed & 0x77, scales, tensor_scale


def scale_not_divided(x: Tensor) -> tuple[Tensor, ...]:
    """The scales of blocks are made as if there were no tensor scale, and it is returned all the same."""
    packed, scales, _ = quantize(x, tensor_divisor=None)
    return packed, scales, quantize(x)[2]


def high_first(x: Tensor) -> tuple[Tensor, ...]:
    packed, scales, tensor_scale = quantize(x)
    return packed << 4 | packed >> 4, scales, tensor_scale


ZERO_TENSOR = "A table of zeros is divided by its own largest magnitude: 0 / 0 is NaN. Its tensor scale is 1."
ZERO_SCALE = (
    "A block has the scale 0, and its numbers are divided by it: 0 / 0 is NaN, and x / 0 is infinite and becomes 6. "
    "Ask for a scale of 0 before you divide."
)
QUANTIZE_MISTAKES = (
    Mistake(
        "exact-scale",
        "The codes are taken against the scale before it was rounded. Whoever reads them has the rounded one: divide "
        "by what is stored.",
        headings.NVFP4,
        partial(quantize, rounds=False),
    ),
    Mistake(
        "largest-not-magnitude",
        "The scale comes from the largest number, and the largest magnitude is wanted: -5 is louder than 4.",
        headings.BLOCK_SCALES,
        partial(quantize, largest=lambda x: x),
    ),
    Mistake(
        "no-tensor-scale",
        "The tensor's scale is 1. Then large blocks want a scale beyond 448, where E4M3 ends.",
        headings.NVFP4,
        partial(quantize, tensor_divisor=None),
    ),
    Mistake(
        "reach-448",
        "The tensor's scale is the largest magnitude over 448. It is over 448 · 6, so that the largest scale of "
        "a block is 448.",
        headings.NVFP4,
        partial(quantize, tensor_divisor=448),
    ),
    Mistake(
        "scale-not-divided",
        "The scale of a block is its largest magnitude over 6 alone: it is over the tensor's scale, too, since whoever "
        "reads it multiplies by both.",
        headings.NVFP4,
        scale_not_divided,
    ),
    Mistake(
        "sign-lost",
        "The signs are lost: encode takes the quotients with their signs, not their magnitudes.",
        headings.NVFP4,
        sign_lost,
    ),
    Mistake(
        "one-scale-per-row",
        "All blocks of a row share one scale: each 16 numbers have their own.",
        headings.BLOCK_SCALES,
        one_scale_per_row,
    ),
    Mistake("high-first", "The bytes are packed with the first code in the high half.", headings.NVFP4, high_first),
    Mistake(
        "zero-block-not-scaled",
        "Where a block's scale is 0, its numbers are divided by 1 alone: divide by the tensor's scale all the same, "
        "and all become 0.",
        headings.NVFP4,
        zero_block_not_scaled,
    ),
    Mistake("zero-tensor", ZERO_TENSOR, headings.NVFP4, partial(unguarded, tensor=True)),
    Mistake("zero-tensor", ZERO_TENSOR, headings.NVFP4, partial(unguarded, tensor=True, sign=lambda x: x < 0)),
    Mistake("zero-scale", ZERO_SCALE, headings.NVFP4, partial(unguarded, tensor=False)),
    Mistake("zero-scale", ZERO_SCALE, headings.NVFP4, partial(unguarded, tensor=False, sign=lambda x: x < 0)),
)


def scaled_by(implementation):
    """``implementation``: of the scales and the tensor's scale what a code is multiplied by."""

    def wrong(packed, scales, tensor_scale):
        unit = implementation(scales.view(torch.float8_e4m3fn).to(tensor_scale.dtype), tensor_scale)
        return decode(unpack(packed)).to(unit.dtype) * unit.repeat_interleave(BLOCK, -1)

    return wrong


DEQUANTIZE_MISTAKES = (
    Mistake(
        "high-first",
        "The high half of each byte is read first: the first code stands in the low half.",
        headings.NVFP4,
        partial(dequantize, unpack=lambda packed: unpack(packed << 4 | packed >> 4)),
    ),
    Mistake(
        "halves",
        "All low halves come first and then all high ones: the two codes of a byte are neighbours.",
        headings.NVFP4,
        partial(dequantize, unpack=lambda packed: torch.cat([packed & 15, packed >> 4], -1)),
    ),
    Mistake(
        "no-tensor-scale",
        "The tensor's scale is never multiplied in.",
        headings.NVFP4,
        scaled_by(lambda scales, tensor_scale: scales),
    ),
    Mistake(
        "bytes-as-numbers",
        "The bytes of the scales are taken for whole numbers: .view(torch.float8_e4m3fn) reads them as E4M3.",
        headings.BIT_FIELDS,
        lambda packed, scales, tensor_scale: (
            decode(unpack(packed)).to(tensor_scale.dtype)
            * scales.to(tensor_scale.dtype).repeat_interleave(BLOCK, -1)
            * tensor_scale
        ),
    ),
)
