"""E2M1 and NVFP4 in PyTorch.  All is computed in FP32, whatever comes in: the format says so."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
BLOCK = 16


def encode(x: Tensor, rounded_by=None) -> Tensor:
    """rounded_by: gives the code of each magnitude, if not the nearest one"""
    return ((rounded_by or round_half_even)(x.float().abs()) + 8 * x.signbit()).to(torch.uint8)


def round_half_even(size: Tensor) -> Tensor:
    """How many of the seven midpoints lie below; one that is met counts if the code above it is even."""
    code = torch.zeros_like(size, dtype=torch.int32)
    for above, midpoint in enumerate(midpoints(), 1):
        code += (size >= midpoint) if above % 2 == 0 else (size > midpoint)
    return code


def midpoints() -> list[float]:
    return [(low + high) / 2 for low, high in pairwise(MAGNITUDES)]


def decode(codes: Tensor) -> Tensor:
    return signed_values(MAGNITUDES)[codes.long()]


def signed_values(magnitudes) -> Tensor:
    return torch.tensor([*magnitudes, *(-float(magnitude) for magnitude in magnitudes)])


def pack(codes: Tensor) -> Tensor:
    return codes[..., ::2] | codes[..., 1::2] << 4


def unpack(packed: Tensor) -> Tensor:
    return torch.stack([packed & 15, packed >> 4], -1).flatten(-2)


def e4m3(x: Tensor) -> Tensor:
    return x.float().clamp(max=448.0).to(torch.float8_e4m3fn)


def quantize(
    x: Tensor, largest=lambda x: x.abs(), tensor_divisor=448 * 6, rounds=True, block=BLOCK
) -> tuple[Tensor, ...]:
    """The arguments after x make it wrong.

    largest: what the maximum is taken of
    tensor_divisor: what the tensor's maximum is divided by, None for a tensor scale of 1
    rounds: whether codes meet the scale as it was rounded
    """
    blocks = x.float().unflatten(-1, (-1, block))
    whole = largest(x.float()).amax()
    tensor_scale = torch.where(whole == 0, 1.0, whole / (tensor_divisor or 1)) if tensor_divisor else torch.ones(())
    scale = largest(blocks).amax(-1) / 6 / tensor_scale
    scales = e4m3(scale)
    unit = scales.float() if rounds else scale
    quotients = blocks / tensor_scale / torch.where(unit == 0, 1.0, unit)[..., None]
    codes = encode(torch.where(unit[..., None] == 0, blocks * 0, quotients)).flatten(-2)
    return pack(codes), scales.view(torch.uint8).repeat_interleave(block // BLOCK, -1), tensor_scale


def dequantize(packed: Tensor, scales: Tensor, tensor_scale: Tensor, unpack=unpack) -> Tensor:
    unit = scales.view(torch.float8_e4m3fn).to(tensor_scale.dtype) * tensor_scale
    return decode(unpack(packed)).to(unit.dtype) * unit.repeat_interleave(BLOCK, -1)
