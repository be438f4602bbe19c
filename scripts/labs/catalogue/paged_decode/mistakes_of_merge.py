"""Wrong implementations of lab 13's merge, each with what its author is told."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.paged_decode.reference import merge_pieces
from scripts.labs.lab import Mistake


def merge_with_weights(implementation, lse=None):
    """A merge: ``implementation`` makes the weights of the pieces of their lse; ``lse``, what stands for all."""

    def wrong(part_out: Tensor, part_lse: Tensor) -> tuple[Tensor, Tensor]:
        weights = implementation(part_lse)
        right = merge_pieces(part_out, part_lse)[1]
        return (weights[..., None] * part_out).sum(1), lse(part_lse) if lse else right

    return wrong


def softmax_weights(part_lse: Tensor) -> Tensor:
    return part_lse.softmax(1).nan_to_num(nan=0.0)


def overflowing_weights(part_lse: Tensor) -> Tensor:
    """In FP32, where they overflow; a sequence without tokens is right."""
    powers = part_lse.float().exp()
    has_no_tokens = (part_lse == -torch.inf).all(1, keepdim=True)
    return (powers / powers.sum(1, keepdim=True).masked_fill(has_no_tokens, 1.0)).to(part_lse.dtype)


def undivided_weights(part_lse: Tensor) -> Tensor:
    return (part_lse - part_lse.amax(1, keepdim=True)).exp()


def log_of_sum_of_powers(part_lse: Tensor) -> Tensor:
    return part_lse.float().exp().sum(1).log().to(part_lse.dtype)


def empty_sequence_lse_nan(part_out: Tensor, part_lse: Tensor) -> tuple[Tensor, Tensor]:
    """The output is put right, and the lse is NaN."""
    out, lse = merge_pieces(part_out, part_lse)
    return out, lse.masked_fill(lse == -torch.inf, torch.nan)


EMPTY_SEQUENCE = (
    "The largest lse of a sequence without tokens is -inf, and -inf - (-inf) is NaN: take off 0 there. The sum of its "
    "weights is then 0, and 0 / 0 is NaN, too: divide by 1."
)
MERGE_MISTAKES = (
    Mistake(
        "averaged",
        "The pieces are averaged: each counts by its share of the sum, which is exp of its lse.",
        headings.SPLIT,
        merge_with_weights(lambda part_lse: torch.full_like(part_lse, 1 / part_lse.shape[1])),
    ),
    Mistake(
        "not-divided",
        "The weights are not divided by their sum.",
        headings.MERGING,
        merge_with_weights(undivided_weights),
    ),
    Mistake(
        "base-two",
        "The weights are powers of 2, and the lse are natural logarithms: powers of e are wanted.",
        headings.MERGING,
        merge_with_weights(lambda part_lse: softmax_weights(part_lse * math.log(2))),
    ),
    Mistake(
        "lse-is-maximum",
        "The lse of all is the largest lse: the logarithm of the sum of the weights belongs to it.",
        headings.MERGING,
        merge_with_weights(softmax_weights, lambda part_lse: part_lse.amax(1)),
    ),
    Mistake(
        "overflow",
        "exp(lse) overflows, or is 0 for all: take the largest lse off first.",
        headings.OVERFLOW,
        merge_with_weights(overflowing_weights, log_of_sum_of_powers),
    ),
    Mistake(
        "empty-sequence", EMPTY_SEQUENCE, headings.MERGING, merge_with_weights(lambda part_lse: part_lse.softmax(1))
    ),
    Mistake(
        "empty-sequence",
        EMPTY_SEQUENCE,
        headings.MERGING,
        merge_with_weights(
            lambda part_lse: part_lse.softmax(1), lambda part_lse: part_lse.logsumexp(1) + 0 * part_lse.amax(1)
        ),
    ),
    Mistake("empty-sequence", EMPTY_SEQUENCE, headings.MERGING, empty_sequence_lse_nan),
)
