"""Encodes and decodes one value in FP8 or FP4, and finds its bit fields and its neighbours.

A code consists of sign, exponent and mantissa, from left to right.  Without the sign, the next
code is the next larger number, so we encode by counting steps.  From one power of two to the
next the exponent is the same and all steps are equal: the mantissa is the number of steps from
the lower power, rounded.  If it rounds up to the next power, adding it to the code carries into
the exponent, which is what we want.  Below the smallest normal number the steps stay as they
are, down to 0: these are the subnormal numbers, with exponent field 0.

``encode`` and ``decode`` in PyTorch are the specification.  ``kernels.formats.value_triton``
does the same inside a Triton kernel, with FP32 and integers alone.  A GPU's own conversions are
faster where they exist, but Hopper has none for FP4, and Triton's interpreter computes them
wrongly.

Sources: P. Micikevicius et al., "FP8 Formats for Deep Learning", 2022, arXiv:2209.05433 (E4M3,
E5M2); Open Compute Project, "OCP Microscaling Formats (MX) Specification", version 1.0, 2023
(E2M1, E8M0).
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import torch
from torch import Tensor


class Format(NamedTuple):
    """A number format: the widths of its fields, and its special codes.

    max_code: the code of the largest finite number; a code above it, without the sign, is
        ``infinity`` or a NaN
    nan: the NaN that ``encode`` writes; None if the format has none
    """

    name: str
    bits: int
    exponent_bits: int
    mantissa_bits: int
    bias: int
    max_code: int
    infinity: int | None
    nan: int | None

    @property
    def max(self) -> float:
        """The largest finite number."""
        exponent, mantissa = divmod(self.max_code, 2**self.mantissa_bits)
        return (1 + mantissa / 2**self.mantissa_bits) * 2.0 ** (exponent - self.bias)

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number whose mantissa has a leading 1.

        Exponent field 0 is for 0 and the subnormal numbers.  Without a mantissa it's normal.
        """
        return 2.0 ** ((1 if self.mantissa_bits else 0) - self.bias)

    @property
    def smallest(self) -> float:
        """The smallest positive number."""
        return self.smallest_normal * 2.0**-self.mantissa_bits


E4M3 = Format("E4M3", 8, 4, 3, bias=7, max_code=0x7E, infinity=None, nan=0x7F)  # the FN variant


E5M2 = Format("E5M2", 8, 5, 2, bias=15, max_code=0x7B, infinity=0x7C, nan=0x7F)


E2M1 = Format("E2M1", 4, 2, 1, bias=1, max_code=0x7, infinity=None, nan=None)


E8M0 = Format("E8M0", 8, 8, 0, bias=127, max_code=0xFE, infinity=None, nan=0xFF)  # no sign


class Kind(IntEnum):
    """The kind of number that a code stands for."""

    ZERO = 0
    SUBNORMAL = 1
    NORMAL = 2
    INFINITE = 3
    NAN = 4


class Fields(NamedTuple):
    """The bit fields of codes, int32, and the ``Kind`` of each."""

    sign: Tensor
    exponent: Tensor
    mantissa: Tensor
    kind: Tensor


class Neighbours(NamedTuple):
    """The numbers of a format next to a number, FP32."""

    below: Tensor
    rounded: Tensor
    above: Tensor


def fields(codes: Tensor, format: Format) -> Fields:
    """Returns sign, exponent as stored (with its bias), mantissa and kind of each code.

    Raises:
        TypeError: if ``codes`` is not a uint8 tensor.
        ValueError: if a code has more bits than the format.
    """
    _check_codes(codes, format)
    codes = codes.int()
    unsigned = codes & (1 << format.exponent_bits + format.mantissa_bits) - 1
    exponent = unsigned >> format.mantissa_bits
    mantissa = unsigned & (1 << format.mantissa_bits) - 1
    kind = torch.full_like(codes, Kind.NORMAL)
    if format.mantissa_bits:
        kind[exponent == 0] = Kind.SUBNORMAL
        kind[unsigned == 0] = Kind.ZERO
    kind[unsigned > format.max_code] = Kind.NAN
    if format.infinity is not None:
        kind[unsigned == format.infinity] = Kind.INFINITE
    return Fields((codes != unsigned).int(), exponent, mantissa, kind)


def representable_numbers(
    format: Format, *, device: torch.device | str | None = None
) -> Tensor:
    """Returns every number of the format, FP32 ``[2**bits]``, in the order of the codes.

    normal: ``1.mantissa · 2^(exponent - bias)``; subnormal: ``0.mantissa · 2^(1 - bias)``.
    """
    _check_format(format)
    codes = torch.arange(2**format.bits, dtype=torch.uint8, device=device)
    sign, exponent, mantissa, kind = fields(codes, format)
    leading = (kind == Kind.NORMAL).int() << format.mantissa_bits
    power = exponent + (kind == Kind.SUBNORMAL) - format.bias - format.mantissa_bits
    value = (leading + mantissa) * _power_of_two(power)
    value[kind == Kind.INFINITE] = torch.inf
    value[kind == Kind.NAN] = torch.nan
    return torch.where(sign == 1, -value, value).float()


def decode(codes: Tensor, format: Format) -> Tensor:
    """Returns the number that each code stands for, exactly, in FP32, from a table.

    Raises:
        TypeError: if ``codes`` is not a uint8 tensor.
        ValueError: if a code has more bits than the format.
    """
    _check_codes(codes, format)
    return representable_numbers(format, device=codes.device)[codes.int()]


def encode(values: Tensor, format: Format) -> Tensor:
    """Returns the code of the nearest number of the format, uint8; a tie goes to the even code.

    It saturates: ±inf, and numbers beyond the largest one, become the largest number of that
    sign, also in E5M2.  -0 stays -0.  NaN of either sign becomes 0x7F in E4M3 and E5M2.  E2M1
    has no NaN, so it becomes +6, as in PTX's ``cvt.rn.satfinite.e2m1x2``.

    E8M0 holds the scales of MX.  It takes the power of two at or below a number, not the
    nearest one, which is the exponent field of an FP32 number.  It ignores the sign.  0 and
    numbers below 2^-127 become 2^-127, and numbers beyond 2^127 become 2^127.  ±inf and NaN
    become NaN.

    Raises:
        TypeError: if ``values`` is not an FP64, FP32, FP16 or BF16 tensor.
    """
    _check_values("values", values, format)
    values = values.detach().double()  # FP64 has every number of the other three
    magnitude = values.abs()
    if format == E8M0:
        code = (_exponent(magnitude) + format.bias).clamp(0, format.max_code)
        return torch.where(magnitude.isfinite(), code, format.nan).to(torch.uint8)
    nan = format.max_code if format.nan is None else format.nan
    magnitude = magnitude.nan_to_num(nan=0.0).clamp(max=format.max)
    exponent = _exponent(magnitude.clamp(min=format.smallest_normal))
    step = _power_of_two(exponent - format.mantissa_bits)
    # Counted from 0, a normal number's steps are its mantissa with the leading 1 in front, so
    # the exponent that we add is one less than the stored one: that 1 makes up for it.
    code = (magnitude / step).round().int()  # half to even
    code += (exponent - (1 - format.bias)) << format.mantissa_bits
    code += values.signbit().int() << format.bits - 1
    return torch.where(values.isnan(), nan, code).to(torch.uint8)


def neighbours(x: Tensor, format: Format) -> Neighbours:
    """Returns the finite numbers next to ``x`` on either side, and what ``encode`` makes of x.

    ``below < x < above``, even if x is a number of the format; -inf or inf if there is no such
    number.  The neighbours of NaN are NaN.

    Raises:
        TypeError: if ``x`` is not an FP64, FP32, FP16 or BF16 tensor.
    """
    _check_values("x", x, format)
    rounded = decode(encode(x, format), format)
    numbers = representable_numbers(format, device=x.device)
    infinities = torch.tensor([-torch.inf, torch.inf], device=x.device)
    numbers = torch.cat([numbers[numbers.isfinite()], infinities]).unique()  # sorted
    numbers += 0.0  # unique keeps either zero: this makes it 0
    x = x.detach().double().contiguous()
    last = len(numbers) - 1
    below = numbers[(torch.searchsorted(numbers.double(), x) - 1).clamp(0, last)]
    above = numbers[torch.searchsorted(numbers.double(), x, right=True).clamp(0, last)]
    return Neighbours(
        below.masked_fill(x.isnan(), torch.nan),
        rounded,
        above.masked_fill(x.isnan(), torch.nan),
    )


def pack_e2m1(codes: Tensor) -> Tensor:
    """Returns two E2M1 codes a byte, the first in the low nibble: ``[..., 2n] -> [..., n]``.

    Raises:
        TypeError: if ``codes`` is not a uint8 tensor.
        ValueError: if its last size is odd, or a code has more than 4 bits.
    """
    _check_codes(codes, E2M1)
    if codes.ndim == 0 or codes.shape[-1] % 2:
        raise ValueError(
            f"codes has shape {list(codes.shape)}, an even last size is wanted: two to a byte"
        )
    return codes[..., ::2] | codes[..., 1::2] << 4


def unpack_e2m1(packed: Tensor) -> Tensor:
    """Returns the two E2M1 codes of each byte, low nibble first: ``[..., n] -> [..., 2n]``.

    Raises:
        TypeError: if ``packed`` is not a uint8 tensor.
        ValueError: if it has no dimension.
    """
    _check_bytes("packed", packed)
    if packed.ndim == 0:
        raise ValueError("packed has 0 dimensions, [..., bytes] is wanted")
    return torch.stack([packed & 0xF, packed >> 4], -1).flatten(-2)


def _exponent(magnitude: Tensor) -> Tensor:
    """Returns floor(log2) of positive FP64 numbers, int32, from their bits."""
    return ((magnitude.view(torch.int64) >> 52) - 1023).int()


def _power_of_two(exponent: Tensor) -> Tensor:
    """Returns 2^exponent in FP64, made of bits, so it's exact on every device."""
    return ((exponent.long() + 1023) << 52).view(torch.float64)


def _check_format(format: Format) -> None:
    if not isinstance(format, Format):
        raise TypeError(f"format is {type(format).__name__}, one of this module is wanted")
    if format.bits > 8:
        raise ValueError(f"format {format.name} has {format.bits} bits, at most 8 is wanted")


def _check_bytes(name: str, codes: Tensor) -> None:
    if not isinstance(codes, Tensor):
        raise TypeError(f"{name} is {type(codes).__name__}, a tensor is wanted")
    if codes.dtype != torch.uint8:
        raise TypeError(f"{name} is {codes.dtype}, torch.uint8 is wanted")


def _check_codes(codes: Tensor, format: Format) -> None:
    _check_format(format)
    _check_bytes("codes", codes)
    if format.bits < 8 and codes.numel() and (highest := int(codes.max())) >> format.bits:
        raise ValueError(
            f"codes has {highest}, {format.name} has {format.bits} bits: "
            f"0 to {2**format.bits - 1} is wanted"
        )


def _check_values(name: str, values: Tensor, format: Format) -> None:
    _check_format(format)
    if not isinstance(values, Tensor):
        raise TypeError(f"{name} is {type(values).__name__}, a tensor is wanted")
    if values.dtype not in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        raise TypeError(
            f"{name} is {values.dtype}, float64, float32, float16 or bfloat16 is wanted"
        )
