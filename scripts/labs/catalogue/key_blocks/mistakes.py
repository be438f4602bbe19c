"""Wrong implementations of lab 7, each with what its author is told."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.key_blocks.reference import BLOCK, attention, scaled_scores
from scripts.labs.lab import Mistake


def blocks(x: Tensor) -> tuple[Tensor, ...]:
    return x.split(BLOCK)


def padded(x: Tensor) -> Tensor:
    return torch.cat([x, x.new_zeros(-len(x) % BLOCK, x.shape[1])])


def full_blocks(x: Tensor) -> Tensor:
    """The full blocks alone."""
    return x[: len(x) // BLOCK * BLOCK]


def first_block_repeated(x: Tensor) -> Tensor:
    """Every block replaced by the first."""
    return x[torch.arange(len(x)) % BLOCK]


def wrong_axis(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Each tile of products is summed down its columns instead of along its rows.

    The shapes only match where BLOCK is the head_dim: a column sum for each key.
    """
    scores = torch.cat([q * keys.sum(0) for keys in blocks(padded(k))], 1)[:, : len(k)]
    return (scores / q.shape[1] ** 0.5).softmax(-1) @ v


def softmax_per_block(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return sum(attention(q, keys, values) for keys, values in zip(blocks(k), blocks(v), strict=True))


def not_divided(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = scaled_scores(q, k)
    return (scores - scores.amax(-1, keepdim=True)).exp() @ v


def without_maximum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    exponentials = scaled_scores(q, k).float().exp()
    return ((exponentials / exponentials.sum(-1, keepdim=True)) @ v.float()).double()


def maximum_per_block(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Each block's exponentials are taken below its own maximum, and divided by the sum of all."""
    exponentials = [(scores - scores.amax(1, keepdim=True)).exp() for scores in scaled_scores(q, k).split(BLOCK, 1)]
    exponentials = torch.cat(exponentials, 1)
    return exponentials / exponentials.sum(1, keepdim=True) @ v


def values_of_last_block(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled_scores(q, k).softmax(-1).split(BLOCK, 1)[-1] @ blocks(v)[-1]


def padding_score_finite(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Places without a key have a finite score, and values of 0."""
    scores = torch.nn.functional.pad(scaled_scores(q, k), (0, -len(k) % BLOCK), value=-1000.0)
    return scores.softmax(-1) @ padded(v)


def maximum_from_zero(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = scaled_scores(q, k).float()
    exponentials = (scores - scores.amax(-1, keepdim=True).clamp(min=0)).exp()
    return ((exponentials / exponentials.sum(-1, keepdim=True)) @ v.float()).double()


MISTAKES = (
    Mistake(
        "no-scale",
        "The scores are not divided by √d: multiply them by scale.",
        headings.SCALE,
        lambda q, k, v: attention(q * q.shape[1] ** 0.5, k, v),
    ),
    Mistake("not-divided", "The exponentials are never divided by their sum.", headings.SOFTMAX, not_divided),
    Mistake(
        "wrong-axis",
        "The products are summed down the columns of the tile, and a score is the sum along its row: axis 1.",
        headings.BLOCK_OF_SCORES,
        wrong_axis,
    ),
    Mistake(
        "shares-in-fp16",
        "The shares are rounded to FP16 before they meet the values: keep all arithmetic in FP32.",
        headings.SOFTMAX,
        lambda q, k, v: scaled_scores(q, k).softmax(-1).half().to(v.dtype) @ v,
    ),
    Mistake(
        "powers-of-two",
        "These are powers of 2, and powers of e are wanted: with tl.exp2, multiply the scores by log₂ e as well.",
        headings.SOFTMAX,
        lambda q, k, v: attention(q * math.log(2), k, v),
    ),
    Mistake(
        "first-query",
        "Every program works on the first query: ask tl.program_id(0) which one is its own.",
        headings.ONE_HEAD,
        lambda q, k, v: attention(q[:1], k, v).expand_as(q),
    ),
    Mistake(
        "first-program-only",
        "Only the first row of the output is written: where a program stores depends on its number.",
        headings.ONE_HEAD,
        lambda q, k, v: attention(q, k, v).masked_fill(torch.arange(len(q))[:, None] > 0, torch.nan),
    ),
    Mistake(
        "first-block-only",
        "Only the first block of keys is seen: there is no loop, or the places do not move with it.",
        headings.BLOCK_KERNEL,
        lambda q, k, v: attention(q, k[:BLOCK], v[:BLOCK]),
    ),
    Mistake(
        "last-block-only",
        "Only the last block of keys is seen: the scores of a block replace those of the blocks before it, while "
        "each should fill a line of its own.",
        headings.BLOCK_KERNEL,
        lambda q, k, v: attention(q, blocks(k)[-1], blocks(v)[-1]),
    ),
    Mistake(
        "same-keys",
        "Each turn of the first loop reads the first block of keys again.",
        headings.BLOCK_KERNEL,
        lambda q, k, v: attention(q, first_block_repeated(k), v),
    ),
    Mistake(
        "same-values",
        "Each turn of the second loop reads the first block of values again.",
        headings.BLOCK_KERNEL,
        lambda q, k, v: attention(q, k, first_block_repeated(v)),
    ),
    Mistake(
        "values-of-last-block",
        "Only the last block of values is blended: each turn of the second loop has to add to what is there.",
        headings.BLOCK_KERNEL,
        values_of_last_block,
    ),
    Mistake(
        "maximum-per-block",
        "Each block has its own maximum taken off, but the sum is that of the row: e^(score - maximum) compares scores "
        "only below one maximum.",
        headings.SOFTMAX_PER_BLOCK,
        maximum_per_block,
    ),
    Mistake(
        "softmax-per-block",
        "Softmax is taken of each block by itself, so the shares of each block add up to 1, and those of the row to "
        "the number of blocks.",
        headings.SOFTMAX_PER_BLOCK,
        softmax_per_block,
    ),
    Mistake(
        "last-block-missing",
        "The keys of the last block, which is not full, are missing.",
        headings.BLOCK_OF_SCORES,
        lambda q, k, v: attention(q, full_blocks(k), full_blocks(v)),
    ),
    Mistake(
        "last-key-missing",
        "The last key is missing: the mask is one too short.",
        headings.BLOCK_OF_SCORES,
        lambda q, k, v: attention(q, k[:-1], v[:-1]),
    ),
    Mistake(
        "padding-counts",
        "In the last block, places without a key count as keys whose score is 0, and e⁰ is 1. Their score has to be "
        "minus infinity.",
        headings.BLOCK_OF_SCORES,
        lambda q, k, v: attention(q, padded(k), padded(v)),
    ),
    Mistake(
        "padding-score-finite",
        "Places without a key have a score that is a number. Where the real scores lie further below, those places "
        "take all the shares: their score has to be minus infinity.",
        headings.BLOCK_OF_SCORES,
        padding_score_finite,
    ),
    Mistake(
        "without-maximum",
        "The maximum is not taken off first: e to the power of a large score is infinite in FP32, and of a very "
        "negative one 0.",
        headings.OVERFLOW,
        without_maximum,
    ),
    Mistake(
        "maximum-from-zero",
        "The maximum is never below 0 or another number, where it begins or which hidden places hold. Where all scores "
        "lie far below, every exponential is 0, and 0 is divided by 0.",
        headings.MERGING,
        maximum_from_zero,
    ),
)
