"""E2M1 and NVFP4 in PyTorch.  All is computed in FP32, whatever comes in: the format says so."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

MARKS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
BLOCK = 16


def encode_of(x: Tensor, between=None) -> Tensor:
    """between: of magnitudes, which of the marks they become, if not the nearest"""
    return ((between or round_half_even)(x.float().abs()) + 8 * x.signbit()).to(torch.uint8)


def round_half_even(size: Tensor) -> Tensor:
    """How many of the seven middles lie below; one that is met counts if the code above it is even."""
    code = torch.zeros_like(size, dtype=torch.int32)
    for above, middle in enumerate(middles(), 1):
        code += (size >= middle) if above % 2 == 0 else (size > middle)
    return code


def middles() -> list[float]:
    return [(low + high) / 2 for low, high in pairwise(MARKS)]


def decode_of(codes: Tensor) -> Tensor:
    return numbers(MARKS)[codes.long()]


def numbers(marks) -> Tensor:
    return torch.tensor([*marks, *(-float(mark) for mark in marks)])


def pack_of(codes: Tensor) -> Tensor:
    return codes[..., ::2] | codes[..., 1::2] << 4


def unpack_of(packed: Tensor) -> Tensor:
    return torch.stack([packed & 15, packed >> 4], -1).flatten(-2)


def e4m3(x: Tensor) -> Tensor:
    return x.float().clamp(max=448.0).to(torch.float8_e4m3fn)


def quantize_of(x: Tensor, largest=lambda x: x.abs(), reach=448 * 6, rounds=True, block=BLOCK) -> tuple[Tensor, ...]:
    """The arguments after x make it wrong.

    largest: what the maximum is taken of   reach: by what the tensor's is divided, None for a tensor scale of 1
    rounds: whether codes meet the scale as it was rounded
    """
    blocks = x.float().unflatten(-1, (-1, block))
    whole = largest(x.float()).amax()
    tensor_scale = torch.where(whole == 0, 1.0, whole / (reach or 1)) if reach else torch.ones(())
    scale = largest(blocks).amax(-1) / 6 / tensor_scale
    scales = e4m3(scale)
    unit = scales.float() if rounds else scale
    quotients = blocks / tensor_scale / torch.where(unit == 0, 1.0, unit)[..., None]
    codes = encode_of(torch.where(unit[..., None] == 0, blocks * 0, quotients)).flatten(-2)
    return pack_of(codes), scales.view(torch.uint8).repeat_interleave(block // BLOCK, -1), tensor_scale


def dequantize_of(packed: Tensor, scales: Tensor, tensor_scale: Tensor, unpack=unpack_of) -> Tensor:
    unit = scales.view(torch.float8_e4m3fn).to(tensor_scale.dtype) * tensor_scale
    return decode_of(unpack(packed)).to(unit.dtype) * unit.repeat_interleave(BLOCK, -1)
