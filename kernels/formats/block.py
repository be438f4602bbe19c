"""Quantises blocks of values with scales: NVFP4, MXFP4, MXFP8, and FP8 with FP32 scales.

Few bits hold few numbers, and a scale moves them to where the values are.  A block of values
shares one, which brings the largest of them, ``amax``, near the largest number of the format:

    scale  = amax / element max, rounded to the format of scales      one for each block
    code   = value / scale, rounded to the format of elements         one for each value
    value ≈  code · scale · tensor scale

We divide by the rounded scale, not by the exact one, so the codes make up for what the scale
lost.  An E4M3 scale is at most 448, so a tensor of any size needs an FP32 scale of its own as
well.  The range of an E8M0 scale is that of FP32.

    scheme       elements  block         scale of a block  scale of the tensor  bits a value
    NVFP4        E2M1      16            E4M3              FP32                 4.5
    MXFP4        E2M1      32            E8M0              none                 4.25
    MXFP8        E4M3      32            E8M0              none                 8.25
    FP8          E4M3      none          none              FP32                 8
    FP8_BLOCKS   E4M3      128           FP32              none                 8.25

``quantize`` and ``dequantize`` are the specification; ``block_triton`` agrees bit for bit.
Sources: NVIDIA, "Pretraining Large Language Models with NVFP4", 2025, arXiv:2509.25149; Open
Compute Project, "OCP Microscaling Formats (MX) Specification", version 1.0, 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from kernels.checks import KERNEL_DTYPES
from kernels.formats.validate import validation_error
from kernels.formats.value import (
    E2M1,
    E4M3,
    E8M0,
    Format,
    decode,
    encode,
    pack_e2m1,
    unpack_e2m1,
)

SMALLEST_SCALE = 2.0**-117  # times 2^-9, the smallest E4M3 scale, it has an FP32 reciprocal
LARGEST_SCALE = 2.0**117


class Scheme(NamedTuple):
    """The formats and scales of values, blocks and the tensor.

    element_format: of the codes
    block_size: values that share a scale, along the last axis; None if there are no blocks
    scale_format: of a block's scale; None for FP32
    has_tensor_scale: whether the tensor has an FP32 scale
    """

    name: str
    element_format: Format
    block_size: int | None
    scale_format: Format | None
    has_tensor_scale: bool


NVFP4 = Scheme("NVFP4", E2M1, 16, E4M3, True)
MXFP4 = Scheme("MXFP4", E2M1, 32, E8M0, False)
MXFP8 = Scheme("MXFP8", E4M3, 32, E8M0, False)
FP8 = Scheme("FP8", E4M3, None, None, True)
FP8_BLOCKS = Scheme("FP8_BLOCKS", E4M3, 128, None, False)


@dataclass(frozen=True)
class Quantized:
    """A tensor as codes and scales, with all that ``dequantize`` needs.

    codes: uint8, [..., n]; for E2M1 [..., ⌈n/2⌉], two a byte, the first in the low nibble
    scales: [..., ⌈n/block_size⌉], uint8 codes or FP32; None if only the tensor has a scale
    tensor_scale: FP32 without a dimension; None if only the blocks have scales
    shape: [..., n], of the original tensor
    """

    codes: Tensor
    scales: Tensor | None
    tensor_scale: Tensor | None
    scheme: Scheme
    shape: torch.Size

    @property
    def bytes(self) -> int:
        """The bytes of the codes and all scales."""
        tensors = (self.codes, self.scales, self.tensor_scale)
        return sum(x.numel() * x.element_size() for x in tensors if x is not None)

    @property
    def bits_per_value(self) -> float:
        """The bits of a value, with its part of the scales; NaN if there are no values."""
        values = math.prod(self.shape)
        return 8 * self.bytes / values if values else math.nan


def quantize(
    x: Tensor, scheme: Scheme, *, tensor_scale: float | Tensor | None = None
) -> Quantized:
    """Returns codes and scales of ``x``, [..., n], in blocks along its last axis.

    x: FP32, FP16 or BF16; all arithmetic is in FP32, and each step rounds once
    tensor_scale: a number from 2^-117 to 2^117, or an FP32 tensor without a dimension that
    holds one (we don't read it; out of range, the result is undefined); if None, it's chosen so
    that the largest value is reached, and may exceed 2^117

        tensor scale  amax of the tensor / (448 · 6) for NVFP4, amax / 448 for FP8
        scale         amax / 6 / tensor scale, rounded to E4M3, for NVFP4
                      2^(⌊log2 amax⌋ - emax), 2^emax below the largest element, for E8M0 (MX)
                      amax / 448 for FP8_BLOCKS
        code          x · (1 / tensor scale / scale), rounded to nearest, ties to even

    Divisions round correctly, as FP32's own do.  But they are slow, so we multiply a value by
    its block's reciprocal instead, as torchao does.  That of a power of two is exact.  Another
    moves a quotient by less than 2^-22 of it, so a value so close to a tie may go either way:
    18.75 in NVFP4 with scale 15 and tensor scale 1 is the tie 1.25, and becomes 1.5, not 1.

    Only zeros: a tensor gets tensor scale 1, a block scale 0 in NVFP4, 2^-127 in MX and 1 in
    FP8_BLOCKS; the codes are zeros, and keep their signs.
    Equal values: each has code ±6 in NVFP4 and ±448 in FP8 and FP8_BLOCKS; in MX, the value
    divided by a power of two.
    Small values: an NVFP4 scale of 2^-10 or less becomes 0, and so do its values.  The block's
    amax is then at most 1/458 752 of what the tensor scale reaches.  FP32 scales of a tensor or
    a block are never below 2^-117, so no reciprocal overflows; smaller values lose bits.
    Clipping: MX clips values between the largest element and the next power of two.  NVFP4 and
    FP8 clip values for which a given tensor scale is too small.
    ±inf counts as FP32's largest number in a scale; like any number that's too large, it gets
    the code of the largest element.  A scale ignores NaN, whose code is NaN, or +6 in E2M1,
    which has no NaN.
    If the last block isn't full, its scale is that of its values.  An empty tensor has no
    codes.  The result has no gradient.

    Raises a TypeError or ValueError that names the argument, also for a scheme whose blocks and
    scales don't fit each other.
    """
    tensor_scale = _check_and_scale(x, scheme, tensor_scale)
    values = x.detach().float()
    inverse = torch.ones((), device=x.device)
    if tensor_scale is not None:
        inverse = inverse / tensor_scale
    scales = None
    if scheme.block_size is not None:
        values = pad(values, (0, -x.shape[-1] % scheme.block_size)).unflatten(
            -1, (-1, scheme.block_size)
        )
        scales, decoded_scales = _block_scales(_amax(values, -1), scheme, tensor_scale)
        divisors = torch.where(decoded_scales == 0, torch.inf, decoded_scales)
        inverse = (inverse / divisors).unsqueeze(-1)
    codes = encode(values * inverse, scheme.element_format)
    if scheme.block_size is not None:
        codes = codes.flatten(-2)[..., : x.shape[-1]]
    if scheme.element_format == E2M1:
        codes = pack_e2m1(pad(codes, (0, x.shape[-1] % 2)))
    return Quantized(codes.contiguous(), scales, tensor_scale, scheme, x.shape)


def dequantize(quantized: Quantized) -> Tensor:
    """Returns the values that the codes stand for, [..., n]: code · (scale · tensor scale).

    It rounds each product to FP32.

    Raises a TypeError or ValueError that names what doesn't fit the scheme and the shape.
    """
    if not isinstance(quantized, Quantized):
        raise TypeError(f"quantized is {type(quantized).__name__}, a Quantized is wanted")
    _check_scheme(quantized.scheme)
    if validation_error(quantized):
        raise validation_error(quantized)
    codes, scheme, columns = quantized.codes, quantized.scheme, quantized.shape[-1]
    if scheme.element_format == E2M1:
        codes = unpack_e2m1(codes)[..., :columns]
    values = decode(codes, scheme.element_format)
    combined_scale = torch.ones((), device=values.device)
    if scheme.block_size is not None:
        combined_scale = quantized.scales
        if scheme.scale_format is not None:
            combined_scale = decode(combined_scale, scheme.scale_format)
        combined_scale = combined_scale.repeat_interleave(scheme.block_size, -1)[..., :columns]
    if quantized.tensor_scale is not None:
        combined_scale = combined_scale * quantized.tensor_scale
    return values * combined_scale


def _amax(values: Tensor, axis: int | None = None) -> Tensor:
    """Returns the largest magnitude, without NaN; ±inf counts as FP32's largest number."""
    magnitude = values.abs().nan_to_num(nan=0.0)
    if axis is None:
        return magnitude.amax() if magnitude.numel() else magnitude.sum()
    return magnitude.amax(axis)


def _divide(amax: Tensor, maximum: float) -> Tensor:
    """Returns amax / maximum, correctly rounded; by a number, a GPU takes its reciprocal."""
    return amax / torch.full_like(amax, maximum)


def _fp32_scale(amax: Tensor, maximum: float) -> Tensor:
    """Returns the factor by which ``maximum`` reaches amax; 1 if amax is 0."""
    return torch.where(amax == 0, 1.0, _divide(amax, maximum).clamp(min=SMALLEST_SCALE))


def _block_scales(
    amax: Tensor, scheme: Scheme, tensor_scale: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Returns the scales of blocks as stored, and the numbers that they stand for."""
    if scheme.scale_format is None:
        scales = _fp32_scale(amax, scheme.element_format.max)
        return scales, scales
    if scheme.scale_format == E8M0:
        exponent = encode(amax, E8M0).int() - _emax(scheme)
        scales = exponent.clamp(min=0).to(torch.uint8)
    else:
        scale = _divide(amax, scheme.element_format.max)
        scales = encode(
            scale if tensor_scale is None else scale / tensor_scale, scheme.scale_format
        )
    return scales, decode(scales, scheme.scale_format)


def _emax(scheme: Scheme) -> int:
    """Returns emax, where 2^emax is the power of two at or below the largest element."""
    return math.frexp(scheme.element_format.max)[1] - 1


def _check_scheme(scheme: Scheme) -> None:
    if not isinstance(scheme, Scheme):
        raise TypeError(f"scheme is {type(scheme).__name__}, a Scheme is wanted")
    if not isinstance(scheme.element_format, Format):
        raise TypeError(
            f"scheme {scheme.name} has elements in {type(scheme.element_format).__name__}, "
            "a Format is wanted"
        )
    if not isinstance(scheme.scale_format, Format | None):
        raise TypeError(
            f"scheme {scheme.name} has scales in {type(scheme.scale_format).__name__}, "
            "a Format or None is wanted"
        )
    if scheme.block_size is None:
        if scheme.scale_format is not None or not scheme.has_tensor_scale:
            raise ValueError(f"scheme {scheme.name} has no blocks: a tensor scale is wanted")
        return
    if scheme.block_size < 1:
        raise ValueError(
            f"scheme {scheme.name} has blocks of {scheme.block_size}, 1 or more is wanted"
        )
    if scheme.scale_format not in (None, E4M3, E8M0):
        raise ValueError(
            f"scheme {scheme.name} has scales in {scheme.scale_format.name}: "
            "E4M3, E8M0 or FP32 is wanted"
        )
    if scheme.has_tensor_scale and scheme.scale_format != E4M3:
        raise ValueError(
            f"scheme {scheme.name} has a tensor scale, which only E4M3 scales of blocks need"
        )


def _check_and_scale(
    x: Tensor, scheme: Scheme, tensor_scale: float | Tensor | None
) -> Tensor | None:
    """Checks the arguments; returns the tensor's scale, or None if the scheme has none."""
    if not isinstance(x, Tensor):
        raise TypeError(f"x is {type(x).__name__}, a tensor is wanted")
    if x.dtype not in KERNEL_DTYPES:
        raise TypeError(f"x is {x.dtype}, float32, float16 or bfloat16 is wanted")
    if x.ndim == 0:
        raise ValueError("x has 0 dimensions, [..., n] is wanted")
    _check_scheme(scheme)
    if not scheme.has_tensor_scale:
        if tensor_scale is not None:
            raise ValueError(f"tensor_scale is given, scheme {scheme.name} has none")
        return None
    if tensor_scale is None:
        maximum = scheme.element_format.max * (
            scheme.scale_format.max if scheme.scale_format else 1.0
        )
        return _fp32_scale(_amax(x.detach().float()), maximum)
    if isinstance(tensor_scale, Tensor):
        if tensor_scale.dtype != torch.float32:
            raise TypeError(f"tensor_scale is {tensor_scale.dtype}, torch.float32 is wanted")
        if tensor_scale.ndim or tensor_scale.device != x.device:
            raise ValueError(
                f"tensor_scale has {tensor_scale.ndim} dimensions on {tensor_scale.device}, "
                f"none on {x.device} is wanted"
            )
        return tensor_scale.detach()
    if not isinstance(tensor_scale, int | float) or isinstance(tensor_scale, bool):
        raise TypeError(
            f"tensor_scale is {type(tensor_scale).__name__}, a number or a tensor is wanted"
        )
    if not SMALLEST_SCALE <= tensor_scale <= LARGEST_SCALE:
        raise ValueError(f"tensor_scale is {tensor_scale}, 2^-117 to 2^117 is wanted")
    return torch.tensor(float(tensor_scale), dtype=torch.float32, device=x.device)
