"""By the bits: an exponent, and steps along its stretch; products by a reciprocal."""

import torch


def encode(x: torch.Tensor) -> torch.Tensor:
    size = x.abs().clamp(max=6.0)
    exponent = torch.frexp(size.clamp(min=1.0))[1] - 1
    steps = torch.round(torch.ldexp(size, 1 - exponent))  # half to even
    code = steps.int() + 2 * exponent.int()
    return torch.where(torch.signbit(x), code + 8, code).to(torch.uint8)


def decode(codes: torch.Tensor) -> torch.Tensor:
    sign, exponent, mantissa = codes >> 3, codes.int() >> 1 & 3, codes & 1
    normal = (1 + mantissa / 2) * 2.0 ** (exponent - 1)
    size = torch.where(exponent == 0, mantissa / 2, normal)
    return torch.where(sign == 1, -size, size)


def pack(codes: torch.Tensor) -> torch.Tensor:
    low, high = codes.unflatten(-1, (-1, 2)).unbind(-1)
    return low + 16 * high


def quantize(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    tensor_scale = x.abs().amax() / 448 / 6
    tensor_scale = torch.where(tensor_scale == 0, torch.ones_like(tensor_scale), tensor_scale)
    rows, columns = x.shape
    blocks = x.reshape(rows, columns // 16, 16)
    scales = (blocks.abs().amax(-1) / tensor_scale / 6).clamp(max=448).to(torch.float8_e4m3fn)
    stored = scales.float()
    inverse = torch.where(stored > 0, 1 / tensor_scale / stored, 0.0)
    codes = encode(blocks * inverse[:, :, None])
    return pack(codes.reshape(rows, columns)), scales.view(torch.uint8), tensor_scale


def dequantize(packed: torch.Tensor, scales: torch.Tensor, tensor_scale: torch.Tensor) -> torch.Tensor:
    rows, bytes = packed.shape
    x = torch.empty(rows, 2 * bytes, device=packed.device)
    x[:, 0::2], x[:, 1::2] = decode(packed & 15), decode(packed >> 4)
    blocks = x.reshape(rows, -1, 16) * scales.view(torch.float8_e4m3fn).float()[:, :, None]
    return blocks.reshape(rows, -1) * tensor_scale
