"""Wrong implementations of FlashAttention forward: wrong factors or blocks in the loop, axes or heads exchanged."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from scripts.labs.catalogue.flash_forward.reference import BLOCK, INF, OutputAndLse, flash, scores_of
from scripts.labs.lab import widen

LN_2 = math.log(2)


def factor_one(old: Tensor, new_max: Tensor) -> Tensor:
    return torch.ones_like(new_max)


def rescale_factor(old: Tensor, new_max: Tensor) -> Tensor:
    return (old - new_max).exp()


def divided_by_sum(accumulator: Tensor, running_sum: Tensor) -> Tensor:
    return accumulator / running_sum[..., None]


def blockwise(
    sum_factor: Callable = rescale_factor,
    accumulator_factor: Callable | None = None,
    *,
    new_maximum: Callable = torch.maximum,
    initial_max: float = -INF,
    subtracted: Callable = lambda block_max, new_max: new_max,
    fp16_exponentials: bool = False,
    divided_each_block: bool = False,
    output_of: Callable = divided_by_sum,
) -> Callable[..., OutputAndLse]:
    """Attention block by block, with one thing in the loop changed.

    sum_factor, accumulator_factor: what the old sum and the old accumulator are multiplied by
    new_maximum: of the old maximum and the block's   initial_max: before any block
    subtracted: from the block's scores, a function of the block's maximum and the new one
    fp16_exponentials: whether they are rounded to FP16
    divided_each_block: whether the accumulator is divided after each block
    output_of: the output, a function of accumulator and sum
    """

    def implementation(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
        scores = scores_of(q, k)
        running_max, running_sum = torch.full_like(scores[..., 0], initial_max), torch.zeros_like(scores[..., 0])
        accumulator = torch.zeros_like(widen(q))
        for block, values in zip(scores.split(BLOCK, -1), v.split(BLOCK, -2), strict=True):
            block_max = block.amax(-1)
            new_max = new_maximum(running_max, block_max)
            exponentials = (block - subtracted(block_max, new_max)[..., None]).exp()
            running_sum = sum_factor(running_max, new_max) * running_sum + exponentials.sum(-1)
            exponentials = exponentials.half().to(exponentials.dtype) if fp16_exponentials else exponentials
            factor = (accumulator_factor or sum_factor)(running_max, new_max)
            accumulator = factor[..., None] * accumulator + exponentials @ widen(values)
            accumulator = accumulator / running_sum[..., None] if divided_each_block else accumulator
            running_max = new_max
        return output_of(accumulator, running_sum), running_max + running_sum.log()

    return implementation


def in_fp32(implementation: Callable[..., OutputAndLse]) -> Callable[..., OutputAndLse]:
    """What overflows in FP32 does not in FP64."""
    return lambda q, k, v: tuple(each.to(q.dtype) for each in implementation(q.float(), k.float(), v.float()))


def first_block_repeated(x: Tensor) -> Tensor:
    """The first block of rows in place of each."""
    return x[..., torch.arange(x.shape[-2]) % BLOCK, :]


def not_transposed(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    """The keys aren't transposed: the shapes only match where BLOCK is the head_dim."""
    scores = torch.cat([q @ each for each in k.split(BLOCK, -2)], -1) / q.shape[-1] ** 0.5
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


def per_query_block(implementation: Callable[..., OutputAndLse]) -> Callable[..., OutputAndLse]:
    """The implementation of one block of queries and all keys, for each block of queries."""

    def each_block(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
        outs_and_lses = [implementation(each, k, v) for each in q.split(BLOCK, -2)]
        return torch.cat([out for out, _ in outs_and_lses], -2), torch.cat([lse for _, lse in outs_and_lses], -1)

    return each_block


def down_the_columns(of_maximum: bool, of_sum: bool) -> Callable[..., OutputAndLse]:
    """Maximum or sum of a tile along its first axis, which fits if a tile has as many rows as columns."""

    def implementation(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
        running_max, running_sum, accumulator = -INF, 0.0, 0.0
        for block, values in zip(scores_of(q, k).split(BLOCK, -1), v.split(BLOCK, -2), strict=True):
            new_max = block.amax(-2 if of_maximum else -1).clamp(min=running_max)
            exponentials, rescale = (block - new_max[..., None]).exp(), (running_max - new_max).exp()
            running_sum = rescale * running_sum + exponentials.sum(-2 if of_sum else -1)
            accumulator, running_max = rescale[..., None] * accumulator + exponentials @ widen(values), new_max
        return accumulator / running_sum[..., None], running_max + running_sum.log()

    return per_query_block(implementation)


def old_maximum_subtracted(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    """At the first block the old maximum is -inf, so that every exponential is infinite, and so is the sum."""
    out, lse = flash(q, k, v)
    return torch.full_like(out, torch.nan), torch.full_like(lse, INF)


def blocks_overlap(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    """The first places of a block are its number, not its number times the block."""
    out, lse = flash(q, k, v)
    unwritten = torch.arange(q.shape[-2]) >= BLOCK - (-q.shape[-2] // BLOCK) - 1
    return out.masked_fill(unwritten[:, None], torch.nan), lse.masked_fill(unwritten, torch.nan)


def only_first_query_block_written(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    out, lse = flash(q, k, v)
    unwritten = torch.arange(q.shape[-2]) >= BLOCK
    return out.masked_fill(unwritten[:, None], torch.nan), lse.masked_fill(unwritten, torch.nan)


def only_first_head_written(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    out, lse = flash(q, k, v)
    unwritten = torch.arange(len(q)) > 0
    return out.masked_fill(unwritten[:, None, None], torch.nan), lse.masked_fill(unwritten[:, None], torch.nan)


def base_two(logarithm: Callable) -> Callable[..., OutputAndLse]:
    def implementation(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
        scores = scores_of(q, k)
        exponentials = (scores - scores.amax(-1, keepdim=True)).exp2()
        return (exponentials / exponentials.sum(-1, keepdim=True)) @ v, scores.amax(-1) + logarithm(
            exponentials.sum(-1)
        )

    return implementation


def with_lse(lse_of: Callable) -> Callable[..., OutputAndLse]:
    """The right output, with another lse, of the maximum and the sum below it."""

    def implementation(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
        scores = scores_of(q, k)
        block_max = scores.amax(-1)
        return flash(q, k, v)[0], lse_of(block_max, (scores - block_max[..., None]).exp().sum(-1))

    return implementation


def only_blocks(implementation: Callable, which: slice) -> Callable[..., OutputAndLse]:
    """Attention to some of the blocks of keys alone."""
    return lambda q, k, v: implementation(q, k.split(BLOCK, -2)[which][0], v.split(BLOCK, -2)[which][0])


def last_block_missing(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    """Of one block nothing is left, and 0 divided by 0 is not a number."""
    if k.shape[-2] == BLOCK:
        return torch.full_like(q, torch.nan), torch.full_like(q[..., 0], -INF)
    return flash(q, k[..., :-BLOCK, :], v[..., :-BLOCK, :])


def first_head_repeated(x: Tensor) -> Tensor:
    return x[:1].expand_as(x)
