"""Codes are counted: how many of the seven midpoints lie below."""

import torch

MAGNITUDES = [0.0, 0.5, 1, 1.5, 2, 3, 4, 6]


def encode(x: torch.Tensor) -> torch.Tensor:
    size = x.abs()
    code = torch.zeros_like(x, dtype=torch.long)
    for midpoint in (0.25, 1.25, 2.5, 5.0):  # between an even code and the odd one above it: a tie stays below
        code += size > midpoint
    for midpoint in (0.75, 1.75, 3.5):
        code += size >= midpoint
    code = code + 8 * torch.signbit(x)
    return code.to(torch.uint8)


def decode(codes: torch.Tensor) -> torch.Tensor:
    numbers = torch.tensor(MAGNITUDES + [-magnitude for magnitude in MAGNITUDES], device=codes.device)
    return numbers[codes.long()]


def pack(codes: torch.Tensor) -> torch.Tensor:
    return codes[..., 0::2] | codes[..., 1::2] << 4


def quantize(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    largest = x.abs().max()
    tensor_scale = largest / (448 * 6) if largest > 0 else torch.tensor(1.0)
    blocks = x.unflatten(-1, (-1, 16))
    scales = (blocks.abs().amax(-1) / 6 / tensor_scale).to(torch.float8_e4m3fn)
    unit = scales.float()[..., None]
    codes = encode(blocks / tensor_scale / torch.where(unit == 0, 1.0, unit))
    return pack(codes.flatten(-2)), scales.view(torch.uint8), tensor_scale


def dequantize(packed: torch.Tensor, scales: torch.Tensor, tensor_scale: torch.Tensor) -> torch.Tensor:
    codes = torch.stack([packed & 15, packed >> 4], -1).flatten(-2)
    unit = scales.view(torch.float8_e4m3fn).float() * tensor_scale
    return decode(codes) * unit.repeat_interleave(16, -1)
