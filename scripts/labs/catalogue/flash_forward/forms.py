"""Wrong forms of FlashAttention forward: other factors and other blocks in the stream, axes and heads exchanged."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from scripts.labs.catalogue.flash_forward.truth import BLOCK, INF, OutputAndLse, flash, scores_of
from scripts.labs.lab import widened

LN_2 = math.log(2)


def same(old: Tensor, new: Tensor) -> Tensor:
    return torch.ones_like(new)


def shrink(old: Tensor, new: Tensor) -> Tensor:
    return (old - new).exp()


def divided_at_the_end(blend: Tensor, total: Tensor) -> Tensor:
    return blend / total[..., None]


def stream(
    of_sum: Callable = shrink, of_blend: Callable | None = None, *, keep: Callable = torch.maximum,
    mark: Callable = lambda block, new: new, begin: float = -INF, rounded: bool = False, each_block: bool = False,
    end: Callable = divided_at_the_end,
    kept: Callable = lambda blend: blend,
) -> Callable[..., OutputAndLse]:  # fmt: skip
    """The stream of blocks with something else in one of its places.

    of_sum, of_blend: the factor of the old sum and of the old blend   keep: the new maximum, of the old and the block's
    mark: what is taken off the block's scores, of the block's maximum and the new one   begin: the maximum of nothing
    rounded: the exponentials, to FP16   each_block: whether the blend is divided after each block   end: the output
    kept: what is left of the blend after each block
    """

    def form(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
        scores = scores_of(q, k)
        maximum, total = torch.full_like(scores[..., 0], begin), torch.zeros_like(scores[..., 0])
        blend = torch.zeros_like(widened(q))
        for block, values in zip(scores.split(BLOCK, -1), v.split(BLOCK, -2), strict=True):
            largest = block.amax(-1)
            new = keep(maximum, largest)
            powers = (block - mark(largest, new)[..., None]).exp()
            total = of_sum(maximum, new) * total + powers.sum(-1)
            powers = powers.half().to(powers.dtype) if rounded else powers
            blend = (of_blend or of_sum)(maximum, new)[..., None] * blend + powers @ widened(values)
            blend = kept(blend / total[..., None] if each_block else blend)
            maximum = new
        return end(blend, total), maximum + total.log()

    return form


def in_fp32(form: Callable[..., OutputAndLse]) -> Callable[..., OutputAndLse]:
    """What overflows in FP32 does not in FP64."""
    return lambda q, k, v: tuple(each.to(q.dtype) for each in form(q.float(), k.float(), v.float()))


def again(x: Tensor) -> Tensor:
    """The first block of rows in place of each."""
    return x[..., torch.arange(x.shape[-2]) % BLOCK, :]


def not_transposed(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    """It fits where a block has as many keys as a key has numbers."""
    scores = torch.cat([q @ each for each in k.split(BLOCK, -2)], -1) / q.shape[-1] ** 0.5
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


def by_tiles(form: Callable[..., OutputAndLse]) -> Callable[..., OutputAndLse]:
    """The form of one block of queries and all keys, for each block of queries."""

    def every(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
        found = [form(each, k, v) for each in q.split(BLOCK, -2)]
        return torch.cat([out for out, _ in found], -2), torch.cat([lse for _, lse in found], -1)

    return every


def down_the_columns(of_maximum: bool, of_sum: bool) -> Callable[..., OutputAndLse]:
    """Maximum or sum of a tile along its first axis, which fits if a tile has as many rows as columns."""

    def form(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
        maximum, total, blend = -INF, 0.0, 0.0
        for block, values in zip(scores_of(q, k).split(BLOCK, -1), v.split(BLOCK, -2), strict=True):
            new = block.amax(-2 if of_maximum else -1).clamp(min=maximum)
            powers, rescale = (block - new[..., None]).exp(), (maximum - new).exp()
            total = rescale * total + powers.sum(-2 if of_sum else -1)
            blend, maximum = rescale[..., None] * blend + powers @ widened(values), new
        return blend / total[..., None], maximum + total.log()

    return by_tiles(form)


def below_the_old(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    """At the first block the old maximum is -inf, so that every exponential is infinite, and so is the sum."""
    out, lse = flash(q, k, v)
    return torch.full_like(out, torch.nan), torch.full_like(lse, INF)


def rows_as_columns(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    """Each tile of the output is stored on its side, which fits if it has as many rows as columns."""
    out, lse = flash(q, k, v)
    return torch.cat([each.mT for each in out.split(BLOCK, -2)], -2), lse


def blocks_overlap(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    """The first places of a block are its number, not its number times the block."""
    out, lse = flash(q, k, v)
    late = torch.arange(q.shape[-2]) >= BLOCK - (-q.shape[-2] // BLOCK) - 1
    return out.masked_fill(late[:, None], torch.nan), lse.masked_fill(late, torch.nan)


def block_by_block(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    pairs = zip(k.split(BLOCK, -2), v.split(BLOCK, -2), strict=True)
    return sum(flash(q, *each)[0] for each in pairs), flash(q, k, v)[1]


def first_rows_alone(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    out, lse = flash(q, k, v)
    late = torch.arange(q.shape[-2]) >= BLOCK
    return out.masked_fill(late[:, None], torch.nan), lse.masked_fill(late, torch.nan)


def first_head_alone(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    out, lse = flash(q, k, v)
    late = torch.arange(len(q)) > 0
    return out.masked_fill(late[:, None, None], torch.nan), lse.masked_fill(late[:, None], torch.nan)


def powers_of_two(logarithm: Callable) -> Callable[..., OutputAndLse]:
    def form(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
        scores = scores_of(q, k)
        powers = (scores - scores.amax(-1, keepdim=True)).exp2()
        return (powers / powers.sum(-1, keepdim=True)) @ v, scores.amax(-1) + logarithm(powers.sum(-1))

    return form


def with_lse(lse_of: Callable) -> Callable[..., OutputAndLse]:
    """The right output, with another lse, of the maximum and the sum below it."""

    def form(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
        scores = scores_of(q, k)
        largest = scores.amax(-1)
        return flash(q, k, v)[0], lse_of(largest, (scores - largest[..., None]).exp().sum(-1))

    return form


def of_blocks(form: Callable, which: slice) -> Callable[..., OutputAndLse]:
    """Attention to some of the blocks of keys alone."""
    return lambda q, k, v: form(q, k.split(BLOCK, -2)[which][0], v.split(BLOCK, -2)[which][0])


def without_last_block(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    """Of one block nothing is left, and 0 divided by 0 is not a number."""
    if k.shape[-2] == BLOCK:
        return torch.full_like(q, torch.nan), torch.full_like(q[..., 0], -INF)
    return flash(q, k[..., :-BLOCK, :], v[..., :-BLOCK, :])


def first_of(x: Tensor) -> Tensor:
    return x[:1].expand_as(x)
