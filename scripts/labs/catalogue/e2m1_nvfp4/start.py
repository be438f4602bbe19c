"""Four bits a number: E2M1 codes, two to a byte, and the scales of NVFP4."""

import torch


def encode(x: torch.Tensor) -> torch.Tensor:
    """The E2M1 code of the nearest number, 0 to 15: a bit of sign, two of exponent,
    one of mantissa.

    x: any shape, FP32, finite   returns: the same shape, uint8

    The codes 0 to 7 stand for 0, 0.5, 1, 1.5, 2, 3, 4, 6, and 8 more is the same
    with a minus.  A number in the middle between two goes to the even code.  What
    lies beyond 6 becomes 6.  The sign is that of x, also where x becomes 0: -0.1
    and -0.0 have the code 8.
    """
    raise NotImplementedError("write me")


def decode(codes: torch.Tensor) -> torch.Tensor:
    """The number that each code stands for.

    codes: any shape, uint8, 0 to 15   returns: the same shape, FP32; code 8 is -0.0
    """
    raise NotImplementedError("write me")


def pack(codes: torch.Tensor) -> torch.Tensor:
    """Two codes to a byte, the first in the low half: [..., n] -> [..., n/2].

    codes: uint8, 0 to 15; n is even   returns: uint8
    """
    raise NotImplementedError("write me")


def quantize(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The NVFP4 of a table: (packed, scales, tensor_scale).

    x: [rows, n], FP32, finite; n is a multiple of 16
    packed: [rows, n/2], uint8, as ``pack`` makes them
    scales: [rows, n/16], uint8, a byte of E4M3 for each 16 numbers side by side
    tensor_scale: FP32, one number (a tensor of no dimensions)

        tensor_scale = largest magnitude of x / (448 · 6), or 1 if x is all zeros
        scale = largest magnitude of the block / 6 / tensor_scale, rounded to E4M3
        code = encode(number / (scale · tensor_scale)), of the scale as rounded

    number.to(torch.float8_e4m3fn) rounds to E4M3, .view(torch.uint8) shows its
    bytes.  A block of zeros has scale 0, and a block whose scale rounds to 0 has
    codes of 0, with the signs of its numbers.
    """
    raise NotImplementedError("write me")


def dequantize(
    packed: torch.Tensor, scales: torch.Tensor, tensor_scale: torch.Tensor
) -> torch.Tensor:  # fmt: skip
    """The numbers again, code · scale · tensor_scale: [rows, n], FP32.

    A code of 8 is -0.0 again.
    packed: [rows, n/2], uint8   scales: [rows, n/16], uint8, bytes of E4M3
    tensor_scale: FP32, one number (a tensor of no dimensions)
    """
    raise NotImplementedError("write me")
