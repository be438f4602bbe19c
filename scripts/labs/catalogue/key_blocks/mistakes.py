"""What people get wrong of blocks of keys."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.catalogue.key_blocks.truth import BLOCK, attention, scores_of
from scripts.labs.lab import Mistake

REPEATED = "blocks-of-keys#the-query-repeated-the-products-summed"
KERNEL = "blocks-of-keys#the-kernel"
SOFTMAX = "three-matmuls#softmax-turns-a-row-into-shares"
SCALE = "three-matmuls#why-the-scores-are-divided-by-d"
PROGRAM = "first-kernel#one-head-in-twenty-lines"
OVERFLOW = "online-softmax#you-arent-waiting-for-the-sum"


def blocks(x: Tensor) -> tuple[Tensor, ...]:
    return x.split(BLOCK)


def padded(x: Tensor) -> Tensor:
    return torch.cat([x, x.new_zeros(-len(x) % BLOCK, x.shape[1])])


def whole(x: Tensor) -> Tensor:
    """The full blocks alone."""
    return x[: len(x) // BLOCK * BLOCK]


def again(x: Tensor) -> Tensor:
    """The first block in place of each."""
    return x[torch.arange(len(x)) % BLOCK]


def wrong_axis(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The products summed down the columns, which fits if a block has as many keys as a key has numbers."""
    scores = torch.cat([q * each.sum(0) for each in blocks(padded(k))], 1)[:, : len(k)]
    return (scores / q.shape[1] ** 0.5).softmax(-1) @ v


def values_along_rows(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The same slip in the second loop."""
    shares = scores_of(q, k).softmax(-1).split(BLOCK, 1)
    return sum(share * each.sum(1) for share, each in zip(shares, blocks(v), strict=True))


def block_by_block(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return sum(attention(q, *each) for each in zip(blocks(k), blocks(v), strict=True))


def not_divided(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = scores_of(q, k)
    return (scores - scores.amax(-1, keepdim=True)).exp() @ v


def without_maximum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    powers = scores_of(q, k).float().exp()
    return ((powers / powers.sum(-1, keepdim=True)) @ v.float()).double()


def maxima_of_blocks(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Each block's exponentials are taken below its own maximum, and divided by the sum of all."""
    powers = [(each - each.amax(1, keepdim=True)).exp() for each in scores_of(q, k).split(BLOCK, 1)]
    powers = torch.cat(powers, 1)
    return powers / powers.sum(1, keepdim=True) @ v


def values_of_last_block(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scores_of(q, k).softmax(-1).split(BLOCK, 1)[-1] @ blocks(v)[-1]


def hidden_at_minus_1000(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Places without a key have a finite score, and values of 0."""
    scores = torch.nn.functional.pad(scores_of(q, k), (0, -len(k) % BLOCK), value=-1000.0)
    return scores.softmax(-1) @ padded(v)


def from_zero(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = scores_of(q, k).float()
    powers = (scores - scores.amax(-1, keepdim=True).clamp(min=0)).exp()
    return ((powers / powers.sum(-1, keepdim=True)) @ v.float()).double()


MISTAKES = (
    Mistake(
        "no-scale",
        "The scores are not divided by √d: multiply them by scale.",
        SCALE,
        lambda q, k, v: attention(q * q.shape[1] ** 0.5, k, v),
    ),
    Mistake(
        "scaled-twice",
        "The scores are divided by √d twice.",
        SCALE,
        lambda q, k, v: attention(q / q.shape[1] ** 0.5, k, v),
    ),
    Mistake(
        "keys-blended",
        "The shares blend the keys, and the values are wanted.",
        KERNEL,
        lambda q, k, v: attention(q, k, k),
    ),
    Mistake("not-divided", "The exponentials are never divided by their sum.", SOFTMAX, not_divided),
    Mistake(
        "wrong-axis",
        "The products are summed down the columns of the tile, and a score is the sum along its row: axis 1.",
        REPEATED,
        wrong_axis,
    ),
    Mistake(
        "values-along-rows",
        "The values are summed along the rows of the tile, and the output is summed down its columns: axis 0.",
        REPEATED,
        values_along_rows,
    ),
    Mistake(
        "shares-in-fp16",
        "The shares are rounded to FP16 before they meet the values: keep all arithmetic in FP32.",
        SOFTMAX,
        lambda q, k, v: scores_of(q, k).softmax(-1).half().to(v.dtype) @ v,
    ),
    Mistake("copies-the-query", "The output is the query itself.", SOFTMAX, lambda q, k, v: q),
    Mistake(
        "equal-shares",
        "Every key has the same share: the output is the plain mean of the values.",
        SOFTMAX,
        lambda q, k, v: v.mean(0).expand_as(q),
    ),
    Mistake(
        "powers-of-two",
        "These are powers of 2, and powers of e are wanted: with tl.exp2, multiply the scores by log₂ e as well.",
        SOFTMAX,
        lambda q, k, v: attention(q * 0.6931471805599453, k, v),
    ),
    Mistake(
        "first-query",
        "Every program works on the first query: ask tl.program_id(0) which one is its own.",
        PROGRAM,
        lambda q, k, v: attention(q[:1], k, v).expand_as(q),
    ),
    Mistake(
        "first-program-only",
        "Only the first row of the output is written: where a program stores depends on its number.",
        PROGRAM,
        lambda q, k, v: attention(q, k, v).masked_fill(torch.arange(len(q))[:, None] > 0, torch.nan),
    ),
    Mistake(
        "all-write-the-first-row",
        "Every program stores its output in the first row: go to the row of its own query.",
        PROGRAM,
        lambda q, k, v: torch.cat([attention(q[-1:], k, v), torch.full_like(q[1:], torch.nan)]),
    ),
    Mistake(
        "first-block-only",
        "Only the first block of keys is seen: there is no loop, or the places do not move with it.",
        KERNEL,
        lambda q, k, v: attention(q, k[:BLOCK], v[:BLOCK]),
    ),
    Mistake(
        "last-block-only",
        "Only the last block of keys is seen: the scores of a block replace those of the blocks before it, while "
        "each should fill a line of its own.",
        KERNEL,
        lambda q, k, v: attention(q, blocks(k)[-1], blocks(v)[-1]),
    ),
    Mistake(
        "same-keys",
        "Each turn of the first loop reads the first block of keys again.",
        KERNEL,
        lambda q, k, v: attention(q, again(k), v),
    ),
    Mistake(
        "same-values",
        "Each turn of the second loop reads the first block of values again.",
        KERNEL,
        lambda q, k, v: attention(q, k, again(v)),
    ),
    Mistake(
        "values-of-last-block",
        "Only the last block of values is blended: each turn of the second loop has to add to what is there.",
        KERNEL,
        values_of_last_block,
    ),
    Mistake(
        "maximum-a-block",
        "Each block has its own maximum taken off, but the sum is that of the row: e^(score - maximum) compares scores "
        "only below one maximum.",
        "blocks-of-keys#the-cure-and-what-it-breaks",
        maxima_of_blocks,
    ),
    Mistake(
        "output-in-fp16",
        "The output is rounded to FP16 before it is stored.",
        KERNEL,
        lambda q, k, v: attention(q, k, v).half().to(q.dtype),
    ),
    Mistake(
        "softmax-a-block",
        "Softmax is taken of each block by itself, so the shares of each block add up to 1, and those of the row to "
        "the number of blocks.",
        "blocks-of-keys#the-cure-and-what-it-breaks",
        block_by_block,
    ),
    Mistake(
        "last-block-missing",
        "The keys of the last block, which is not full, are missing.",
        REPEATED,
        lambda q, k, v: attention(q, whole(k), whole(v)),
    ),
    Mistake(
        "last-key-missing",
        "The last key is missing: the mask is one too short.",
        REPEATED,
        lambda q, k, v: attention(q, k[:-1], v[:-1]),
    ),
    Mistake(
        "padding-counts",
        "In the last block, places without a key count as keys whose score is 0, and e⁰ is 1. Their score has to be "
        "minus infinity.",
        REPEATED,
        lambda q, k, v: attention(q, padded(k), padded(v)),
    ),
    Mistake(
        "hidden-is-finite",
        "Places without a key have a score that is a number. Where the real scores lie further below, those places "
        "take all the shares: their score has to be minus infinity.",
        REPEATED,
        hidden_at_minus_1000,
    ),
    Mistake(
        "overflow",
        "The maximum is not taken off first: e to the power of a large score is infinite in FP32, and of a very "
        "negative one 0.",
        OVERFLOW,
        without_maximum,
    ),
    Mistake(
        "maximum-from-zero",
        "The maximum is never below 0 or another number, where it begins or which hidden places hold. Where all scores "
        "lie far below, every exponential is 0, and 0 is divided by 0.",
        "online-softmax#two-states-become-one",
        from_zero,
    ),
)
