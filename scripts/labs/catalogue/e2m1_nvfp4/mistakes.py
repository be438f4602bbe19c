"""What people get wrong of E2M1 and its codes, function by function."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from scripts.labs.catalogue.e2m1_nvfp4.truth import MARKS, decode_of, encode_of, middles, numbers, round_half_even
from scripts.labs.lab import Mistake

FIELDS = "number-formats#sign-exponent-mantissa"
FIFTEEN = "number-formats#fifteen-numbers"
BLOCKS = "number-formats#one-block-of-nvfp4"


def up(size: Tensor) -> Tensor:
    return sum((size >= middle).int() for middle in middles())


def down(size: Tensor) -> Tensor:
    return sum((size > middle).int() for middle in middles())


def odd(size: Tensor) -> Tensor:
    ways = [(size > middle) if i % 2 else (size >= middle) for i, middle in enumerate(middles())]
    return sum(way.int() for way in ways)


def cut(size: Tensor) -> Tensor:
    return sum((size >= mark).int() for mark in MARKS[1:])


def without_sign(x: Tensor) -> Tensor:
    return round_half_even(x.float().abs()).to(torch.uint8)


def complement(x: Tensor) -> Tensor:
    code = round_half_even(x.float().abs())
    return (torch.where(x < 0, -code, code) % 16).to(torch.uint8)


def sign_lost_at_zero(x: Tensor) -> Tensor:
    codes = encode_of(x)
    return codes.masked_fill(codes == 8, 0)


ENCODE = (
    Mistake(
        "ties-up",
        "A number in the middle between two goes away from 0. The even code is wanted, so that half of them go down.",
        FIFTEEN,
        partial(encode_of, between=up),
    ),
    Mistake(
        "ties-down",
        "A number in the middle between two goes towards 0, as an argmin over the distances has it. It should go to "
        "the even code.",
        FIFTEEN,
        partial(encode_of, between=down),
    ),
    Mistake(
        "ties-to-odd",
        "A number in the middle goes to the odd code, and the even one is wanted.",
        FIFTEEN,
        partial(encode_of, between=odd),
    ),
    Mistake(
        "cut", "Numbers are cut off, not rounded: the nearest is wanted.", FIFTEEN, partial(encode_of, between=cut)
    ),
    Mistake(
        "even-steps",
        "The marks lie one half apart everywhere: from 2 on they lie 1 apart, and from 4 on 2.",
        FIELDS,
        partial(encode_of, between=lambda size: (2 * size).round().clamp(max=7)),
    ),
    Mistake("no-sign", "The sign is lost: it is the highest of the four bits.", FIELDS, without_sign),
    Mistake(
        "complement",
        "Negative codes count in two's complement. The sign is a bit of its own: 8 more, and the rest as without it.",
        FIELDS,
        complement,
    ),
    Mistake(
        "sign-lost-at-zero",
        "A small negative number becomes the code 0, and -0, the code 8, is wanted.",
        FIFTEEN,
        sign_lost_at_zero,
    ),
    Mistake(
        "sign-by-comparison",
        "-0 is not less than 0, but it has a sign: torch.signbit(x) tells, and x < 0 does not.",
        FIFTEEN,
        lambda x: encode_of(torch.where(x == 0, 0.0, x)),
    ),
)


def without_minus_zero(codes: Tensor) -> Tensor:
    return decode_of(codes.masked_fill(codes == 8, 0))


def looked_up(*marks: float):
    return lambda codes: numbers(marks)[codes.long()]


DECODE = (
    Mistake(
        "no-subnormals",
        "Codes 0 and 1 are read with a leading 1. Where the exponent field is 0 there is none: they are 0 and 0.5.",
        FIELDS,
        looked_up(0.5, 0.75, 1, 1.5, 2, 3, 4, 6),
    ),
    Mistake(
        "no-bias",
        "Every number is twice as large: the bias of E2M1, which is 1, is never taken off.",
        FIELDS,
        looked_up(0, 1, 2, 3, 4, 6, 8, 12),
    ),
    Mistake(
        "even-steps",
        "The marks lie one half apart everywhere, as if the code were a whole number.",
        FIELDS,
        looked_up(0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5),
    ),
    Mistake("no-sign", "The sign is lost: codes from 8 on are negative.", FIELDS, lambda codes: decode_of(codes & 7)),
    Mistake(
        "complement",
        "Codes from 8 on are read as two's complement. They are those from 0 on with a minus.",
        FIELDS,
        lambda codes: torch.where(codes < 8, decode_of(codes), -decode_of((16 - codes.int()).clamp(max=7))),
    ),
    Mistake(
        "minus-zero",
        "Code 8 is -0, and 0 stands there. A list of whole numbers has no -0: write 0.0 for its first number, or put "
        "the sign on last, by a product with -1.0.",
        FIFTEEN,
        without_minus_zero,
    ),
)


def halves(codes: Tensor) -> Tensor:
    low, high = codes.chunk(2, -1)
    return low | high << 4


PACK = (
    Mistake(
        "high-first",
        "The first code stands in the high half of its byte, and the low half is wanted.",
        BLOCKS,
        lambda codes: codes[..., ::2] << 4 | codes[..., 1::2],
    ),
    Mistake(
        "halves",
        "The codes of the first half of a row meet those of the second. Neighbours share a byte: 0 and 1, 2 and 3.",
        BLOCKS,
        halves,
    ),
    Mistake(
        "not-shifted", "The second code is never shifted.", BLOCKS, lambda codes: codes[..., ::2] | codes[..., 1::2]
    ),
    Mistake(
        "by-three",
        "The second code is shifted by three bits, and a code has four.",
        BLOCKS,
        lambda codes: codes[..., ::2] | codes[..., 1::2] << 3,
    ),
    Mistake("first-alone", "Only every second code is there.", BLOCKS, lambda codes: codes[..., ::2]),
)
