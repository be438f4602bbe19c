"""Wrong implementations of lab 12's E2M1 codes, each with what its author is told, function by function."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.e2m1_nvfp4.reference import (
    MAGNITUDES,
    decode,
    encode,
    midpoints,
    round_half_even,
    signed_values,
)
from scripts.labs.lab import Mistake


def ties_up(size: Tensor) -> Tensor:
    return sum((size >= midpoint).int() for midpoint in midpoints())


def ties_down(size: Tensor) -> Tensor:
    return sum((size > midpoint).int() for midpoint in midpoints())


def truncated(size: Tensor) -> Tensor:
    return sum((size >= magnitude).int() for magnitude in MAGNITUDES[1:])


def no_sign(x: Tensor) -> Tensor:
    return round_half_even(x.float().abs()).to(torch.uint8)


def complement(x: Tensor) -> Tensor:
    code = round_half_even(x.float().abs())
    return (torch.where(x < 0, -code, code) % 16).to(torch.uint8)


def sign_lost_at_zero(x: Tensor) -> Tensor:
    codes = encode(x)
    return codes.masked_fill(codes == 8, 0)


ENCODE_MISTAKES = (
    Mistake(
        "ties-up",
        "A number in the middle between two goes away from 0. The even code is wanted, so that half of them go down.",
        headings.E2M1,
        partial(encode, rounded_by=ties_up),
    ),
    Mistake(
        "ties-down",
        "A number in the middle between two goes towards 0, as an argmin over the distances has it. It should go to "
        "the even code.",
        headings.E2M1,
        partial(encode, rounded_by=ties_down),
    ),
    Mistake(
        "truncated",
        "Numbers are cut off, not rounded: the nearest is wanted.",
        headings.E2M1,
        partial(encode, rounded_by=truncated),
    ),
    Mistake(
        "even-steps",
        "The marks lie one half apart everywhere: from 2 on they lie 1 apart, and from 4 on 2.",
        headings.BIT_FIELDS,
        partial(encode, rounded_by=lambda size: (2 * size).round().clamp(max=7)),
    ),
    Mistake("no-sign", "The sign is lost: it is the highest of the four bits.", headings.BIT_FIELDS, no_sign),
    Mistake(
        "complement",
        "Negative codes count in two's complement. The sign is a bit of its own: 8 more, and the rest as without it.",
        headings.BIT_FIELDS,
        complement,
    ),
    Mistake(
        "sign-lost-at-zero",
        "A small negative number becomes the code 0, and -0, the code 8, is wanted.",
        headings.E2M1,
        sign_lost_at_zero,
    ),
    Mistake(
        "sign-by-comparison",
        "-0 is not less than 0, but it has a sign: torch.signbit(x) tells, and x < 0 does not.",
        headings.E2M1,
        lambda x: encode(torch.where(x == 0, 0.0, x)),
    ),
)


def without_minus_zero(codes: Tensor) -> Tensor:
    return decode(codes.masked_fill(codes == 8, 0))


def decode_from(*magnitudes: float):
    return lambda codes: signed_values(magnitudes)[codes.long()]


DECODE_MISTAKES = (
    Mistake(
        "no-subnormals",
        "Codes 0 and 1 are read with a leading 1. Where the exponent field is 0 there is none: they are 0 and 0.5.",
        headings.BIT_FIELDS,
        decode_from(0.5, 0.75, 1, 1.5, 2, 3, 4, 6),
    ),
    Mistake(
        "no-bias",
        "Every number is twice as large: the bias of E2M1, which is 1, is never taken off.",
        headings.BIT_FIELDS,
        decode_from(0, 1, 2, 3, 4, 6, 8, 12),
    ),
    Mistake(
        "no-sign",
        "The sign is lost: codes from 8 on are negative.",
        headings.BIT_FIELDS,
        lambda codes: decode(codes & 7),
    ),
    Mistake(
        "without-minus-zero",
        "Code 8 is -0, and 0 stands there. A list of whole numbers has no -0: write 0.0 for its first number, or put "
        "the sign on last, by a product with -1.0.",
        headings.E2M1,
        without_minus_zero,
    ),
)


def halves(codes: Tensor) -> Tensor:
    low, high = codes.chunk(2, -1)
    return low | high << 4


PACK_MISTAKES = (
    Mistake(
        "high-first",
        "The first code stands in the high half of its byte, and the low half is wanted.",
        headings.NVFP4,
        lambda codes: codes[..., ::2] << 4 | codes[..., 1::2],
    ),
    Mistake(
        "halves",
        "The codes of the first half of a row meet those of the second. Neighbours share a byte: 0 and 1, 2 and 3.",
        headings.NVFP4,
        halves,
    ),
    Mistake(
        "not-shifted",
        "The second code is never shifted.",
        headings.NVFP4,
        lambda codes: codes[..., ::2] | codes[..., 1::2],
    ),
)
