"""FlashAttention forward: one tile, then streams in which the maximum moves, then heads, and scores of every size."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from scripts.labs.catalogue.tiles import all_at_once
from scripts.labs.lab import SEEDS, Case, Mistake, Part, normal, widened

BLOCK = 16  # as the start file has it, of queries and of keys
STEPS = 48  # roundings of FP32, since that of a large score moves its exponential by many
INF = float("inf")
LN_2 = math.log(2)
STAY = "flash-attention#the-queries-stay-the-keys-pass"
TILES = "flash-attention#three-words-tile-by-tile"
KERNEL = "flash-attention#the-kernel"
ONE_NUMBER = "flash-attention#one-number-a-row"
SO_FAR = "online-softmax#use-the-maximum-so-far"
CARRY = "online-softmax#carry-the-values-along"
OVERFLOW = "online-softmax#what-overflows"
SCALE = "three-matmuls#why-the-scores-are-divided-by-d"
Two = tuple[Tensor, Tensor]


def cases():
    yield case("one block of queries, one block of keys", 1, 1, 16, 16)
    yield case("one block of each, large scores", 2, 1, 16, 16, times=60.0)
    for seed in SEEDS:
        yield case(f"two blocks of keys, seed {seed}", seed, 1, 16, 32)
    yield case("scores that grow from block to block", 1, 1, 16, 48, grow=3.0)
    yield case("three heads, two blocks of queries", 2, 3, 32, 32)
    yield case("d = 32", 3, 1, 16, 32, 32)
    yield case("large scores", 1, 1, 16, 48, times=60.0)
    yield case("scores near -20,000", 2, 1, 16, 32, below=True)
    yield case("FP16", 3, 1, 16, 48, times=3.0, dtype=torch.float16)
    apart = {"q": "transposed", "k": "rows apart", "v": "transposed", "out": "rows apart", "lse": "every second"}
    yield case("tables that are not contiguous", 1, 2, 16, 32, layouts=apart)
    yield case("304 keys", 2, 1, 16, 304)


def case(
    name: str, seed: int, heads: int, queries: int, keys: int, dim: int = 16, *, times: float = 1.0,
    grow: float = 1.0, below: bool = False, dtype: torch.dtype = torch.float32, layouts=None,
) -> Case:  # fmt: skip
    q, k, v = (normal(seed + 10 * i, heads, rows, dim) for i, rows in enumerate((queries, keys, keys)))
    q, k = q * times, k * grow ** (torch.arange(keys) // BLOCK)[:, None]
    if below:
        q, k = 70 + 0.03 * q, 0.03 * k - 4 * 280 / dim
    inputs = {"q": q.to(dtype), "k": k.to(dtype), "v": v.to(dtype)}
    return Case(name, inputs, {"out": torch.empty_like(inputs["q"]), "lse": torch.empty(heads, queries)}, layouts or {})


def large() -> Case:
    return case("16 heads, N = 1024, d = 64, FP16", 1, 16, 1024, 1024, 64, dtype=torch.float16)


def rung(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    from kernels.flash.call import flash_attention

    return flash_attention(q[None], k[None], v[None])


def scores_of(q: Tensor, k: Tensor) -> Tensor:
    return widened(q) @ widened(k).mT / q.shape[-1] ** 0.5


def flash(q: Tensor, k: Tensor, v: Tensor) -> Two:
    """The shares are rounded to the values' type, as tensor cores want them."""
    scores = scores_of(q, k)
    return scores.softmax(-1).to(v.dtype) @ v, scores.logsumexp(-1)


def size(q: Tensor, k: Tensor, v: Tensor) -> Two:
    """Values may cancel, and so may the products of a score."""
    largest = scores_of(q.abs(), k.abs()).amax(-1)
    return flash(q, k, v.abs())[0], largest


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
) -> Callable[..., Two]:  # fmt: skip
    """The stream of blocks with something else in one of its places.

    of_sum, of_blend: the factor of the old sum and of the old blend   keep: the new maximum, of the old and the block's
    mark: what is taken off the block's scores, of the block's maximum and the new one   begin: the maximum of nothing
    rounded: the exponentials, to FP16   each_block: whether the blend is divided after each block   end: the output
    kept: what is left of the blend after each block
    """

    def form(q: Tensor, k: Tensor, v: Tensor) -> Two:
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


def in_fp32(form: Callable[..., Two]) -> Callable[..., Two]:
    """What overflows in FP32 does not in FP64."""
    return lambda q, k, v: tuple(each.to(q.dtype) for each in form(q.float(), k.float(), v.float()))


def again(x: Tensor) -> Tensor:
    """The first block of rows in place of each."""
    return x[..., torch.arange(x.shape[-2]) % BLOCK, :]


def not_transposed(q: Tensor, k: Tensor, v: Tensor) -> Two:
    """It fits where a block has as many keys as a key has numbers."""
    scores = torch.cat([q @ each for each in k.split(BLOCK, -2)], -1) / q.shape[-1] ** 0.5
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


def by_tiles(form: Callable[..., Two]) -> Callable[..., Two]:
    """The form of one block of queries and all keys, for each block of queries."""

    def every(q: Tensor, k: Tensor, v: Tensor) -> Two:
        found = [form(each, k, v) for each in q.split(BLOCK, -2)]
        return torch.cat([out for out, _ in found], -2), torch.cat([lse for _, lse in found], -1)

    return every


def down_the_columns(of_maximum: bool, of_sum: bool) -> Callable[..., Two]:
    """Maximum or sum of a tile along its first axis, which fits if a tile has as many rows as columns."""

    def form(q: Tensor, k: Tensor, v: Tensor) -> Two:
        maximum, total, blend = -INF, 0.0, 0.0
        for block, values in zip(scores_of(q, k).split(BLOCK, -1), v.split(BLOCK, -2), strict=True):
            new = block.amax(-2 if of_maximum else -1).clamp(min=maximum)
            powers, rescale = (block - new[..., None]).exp(), (maximum - new).exp()
            total = rescale * total + powers.sum(-2 if of_sum else -1)
            blend, maximum = rescale[..., None] * blend + powers @ widened(values), new
        return blend / total[..., None], maximum + total.log()

    return by_tiles(form)


def below_the_old(q: Tensor, k: Tensor, v: Tensor) -> Two:
    """At the first block the old maximum is -inf, so that every exponential is infinite, and so is the sum."""
    out, lse = flash(q, k, v)
    return torch.full_like(out, torch.nan), torch.full_like(lse, INF)


def rows_as_columns(q: Tensor, k: Tensor, v: Tensor) -> Two:
    """Each tile of the output is stored on its side, which fits if it has as many rows as columns."""
    out, lse = flash(q, k, v)
    return torch.cat([each.mT for each in out.split(BLOCK, -2)], -2), lse


def blocks_overlap(q: Tensor, k: Tensor, v: Tensor) -> Two:
    """The first places of a block are its number, not its number times the block."""
    out, lse = flash(q, k, v)
    late = torch.arange(q.shape[-2]) >= BLOCK - (-q.shape[-2] // BLOCK) - 1
    return out.masked_fill(late[:, None], torch.nan), lse.masked_fill(late, torch.nan)


def block_by_block(q: Tensor, k: Tensor, v: Tensor) -> Two:
    pairs = zip(k.split(BLOCK, -2), v.split(BLOCK, -2), strict=True)
    return sum(flash(q, *each)[0] for each in pairs), flash(q, k, v)[1]


def first_rows_alone(q: Tensor, k: Tensor, v: Tensor) -> Two:
    out, lse = flash(q, k, v)
    late = torch.arange(q.shape[-2]) >= BLOCK
    return out.masked_fill(late[:, None], torch.nan), lse.masked_fill(late, torch.nan)


def first_head_alone(q: Tensor, k: Tensor, v: Tensor) -> Two:
    out, lse = flash(q, k, v)
    late = torch.arange(len(q)) > 0
    return out.masked_fill(late[:, None, None], torch.nan), lse.masked_fill(late[:, None], torch.nan)


def powers_of_two(logarithm: Callable) -> Callable[..., Two]:
    def form(q: Tensor, k: Tensor, v: Tensor) -> Two:
        scores = scores_of(q, k)
        powers = (scores - scores.amax(-1, keepdim=True)).exp2()
        return (powers / powers.sum(-1, keepdim=True)) @ v, scores.amax(-1) + logarithm(powers.sum(-1))

    return form


def with_lse(lse_of: Callable) -> Callable[..., Two]:
    """The right output, with another lse, of the maximum and the sum below it."""

    def form(q: Tensor, k: Tensor, v: Tensor) -> Two:
        scores = scores_of(q, k)
        largest = scores.amax(-1)
        return flash(q, k, v)[0], lse_of(largest, (scores - largest[..., None]).exp().sum(-1))

    return form


def of_blocks(form: Callable, which: slice) -> Callable[..., Two]:
    """Attention to some of the blocks of keys alone."""
    return lambda q, k, v: form(q, k.split(BLOCK, -2)[which][0], v.split(BLOCK, -2)[which][0])


def without_last_block(q: Tensor, k: Tensor, v: Tensor) -> Two:
    """Of one block nothing is left, and 0 divided by 0 is not a number."""
    if k.shape[-2] == BLOCK:
        return torch.full_like(q, torch.nan), torch.full_like(q[..., 0], -INF)
    return flash(q, k[..., :-BLOCK, :], v[..., :-BLOCK, :])


def first_of(x: Tensor) -> Tensor:
    return x[:1].expand_as(x)


TWO = "These are powers of 2, and powers of e are wanted: with tl.exp2, multiply the scores by log₂ e as well."
MISTAKES = (
    Mistake(
        "no-scale",
        "The scores are not divided by √d: multiply them by scale.",
        SCALE,
        lambda q, k, v: flash(q * q.shape[-1] ** 0.5, k, v),
    ),
    Mistake(
        "scaled-twice",
        "The scores are divided by √d twice: scale the queries or the scores, not both.",
        SCALE,
        lambda q, k, v: flash(q / q.shape[-1] ** 0.5, k, v),
    ),
    Mistake(
        "not-divided",
        "The blend is never divided by the sum: that comes once, after the loop.",
        KERNEL,
        stream(end=lambda blend, total: blend),
    ),
    Mistake(
        "not-transposed",
        "The queries are multiplied by the keys as they lie, and a score is a row of queries times a row of keys: "
        "tl.trans(keys).",
        "three-matmuls#every-query-meets-every-key",
        not_transposed,
    ),
    Mistake(
        "sum-of-columns",
        "The exponentials are summed down the columns of the tile. Each query has a sum of its own, along its row: "
        "tl.sum(exponentials, 1).",
        TILES,
        down_the_columns(False, True),
    ),
    Mistake(
        "maximum-and-sum-of-columns",
        "Maximum and sum are taken down the columns of the tile. Each query has its own, along its row: axis 1.",
        TILES,
        down_the_columns(True, True),
    ),
    Mistake(
        "maximum-of-columns",
        "The maximum is taken down the columns of the tile. Each query has a maximum of its own, along its row: "
        "tl.max(scores, 1). Where scores are small that does not show, since any number may be taken off a row.",
        TILES,
        in_fp32(down_the_columns(True, False)),
    ),
    Mistake(
        "below-the-old-maximum",
        "The exponentials are taken below the old maximum, and the new one is wanted. At the first block the old one "
        "is minus infinity, so they are all infinite.",
        SO_FAR,
        below_the_old,
    ),
    Mistake(
        "rows-as-columns",
        "The output lies on its side: rows and columns have changed places where it is stored.",
        KERNEL,
        rows_as_columns,
    ),
    Mistake("powers-of-two", TWO, TILES, powers_of_two(torch.log)),
    Mistake("powers-of-two-and-log2", TWO, TILES, powers_of_two(torch.log2)),
    Mistake(
        "lse-not-written",
        "The output is right, but lse is never written.",
        ONE_NUMBER,
        with_lse(lambda largest, total: torch.full_like(total, torch.nan)),
    ),
    Mistake(
        "lse-is-the-maximum",
        "The output is right, but lse holds the maximum alone: it is the maximum plus the logarithm of the sum.",
        ONE_NUMBER,
        with_lse(lambda largest, total: largest),
    ),
    Mistake(
        "lse-without-maximum",
        "The output is right, but lse holds the logarithm of the sum alone: the maximum belongs to it.",
        ONE_NUMBER,
        with_lse(lambda largest, total: total.log()),
    ),
    Mistake(
        "lse-without-logarithm",
        "The output is right, but to lse the sum itself is added, not its logarithm.",
        ONE_NUMBER,
        with_lse(lambda largest, total: largest + total),
    ),
    Mistake(
        "lse-in-base-two",
        "The output is right, but lse is in powers of 2, and the natural logarithm is wanted: multiply it by ln 2.",
        ONE_NUMBER,
        with_lse(lambda largest, total: (largest + total.log()) / LN_2),
    ),
    Mistake(
        "lse-of-two-bases",
        "The output is right, but of lse the maximum is in powers of 2, and the logarithm is a natural one: with "
        "tl.exp2, take tl.log2 of the sum, and multiply both by ln 2.",
        ONE_NUMBER,
        with_lse(lambda largest, total: largest / LN_2 + total.log()),
    ),
    Mistake(
        "lse-log2-of-sum",
        "The output is right, but lse has the logarithm to the base 2 of the sum, and the natural one is wanted.",
        ONE_NUMBER,
        with_lse(lambda largest, total: largest + total.log2()),
    ),
    Mistake(
        "not-rescaled",
        "Your sums are not rescaled when the maximum moves: running_sum and accumulator must both be multiplied by "
        "e^(old maximum - new maximum) before the new block is added.",
        SO_FAR,
        stream(same),
    ),
    Mistake(
        "sum-not-rescaled",
        "The accumulator is rescaled when the maximum moves, but the running sum is not.",
        CARRY,
        stream(same, shrink),
    ),
    Mistake(
        "accumulator-not-rescaled",
        "The running sum is rescaled when the maximum moves, but the accumulator is not.",
        CARRY,
        stream(shrink, same),
    ),
    Mistake(
        "upside-down",
        "The factor is upside down: it is e^(old maximum - new maximum), which is never above 1. At the first block, "
        "where the old maximum is minus infinity, yours is infinite, and infinity times 0 is not a number.",
        SO_FAR,
        stream(lambda old, new: (new - old).exp()),
    ),
    Mistake(
        "block-not-rescaled",
        "The exponentials of a block are taken below the block's own maximum, and then join sums that are taken below "
        "the larger maximum.",
        SO_FAR,
        stream(mark=lambda block, new: block),
    ),
    Mistake(
        "divided-in-the-loop",
        "The accumulator is divided in the loop, after each block, and so several times: divide once, after the loop.",
        CARRY,
        stream(each_block=True, end=lambda blend, total: blend),
    ),
    Mistake(
        "divided-in-the-loop-and-after",
        "The accumulator is divided in the loop, and once more at the end: divide once, after the loop.",
        CARRY,
        stream(each_block=True),
    ),
    Mistake(
        "softmax-a-block",
        "Softmax is taken of each block by itself, so the shares of each block add up to 1.",
        "blocks-of-keys#the-cure-and-what-it-breaks",
        block_by_block,
    ),
    Mistake(
        "first-block-only",
        "Only the first block of keys is seen: there is no loop, or the places do not move with it.",
        STAY,
        of_blocks(flash, slice(0, 1)),
    ),
    Mistake(
        "last-block-missing",
        "The last block of keys is missing: the loop ends too early.",
        STAY,
        without_last_block,
    ),
    Mistake(
        "last-block-only",
        "Only the last block of keys is seen: what the blocks before it brought is forgotten.",
        STAY,
        of_blocks(flash, slice(-1, None)),
    ),
    Mistake(
        "first-block-twice",
        "Each turn of the loop reads the first block of keys and values again: the places do not move with it.",
        STAY,
        lambda q, k, v: flash(q, again(k), again(v)),
    ),
    Mistake(
        "same-keys",
        "Each turn of the loop reads the first block of keys again, although the values move on.",
        STAY,
        lambda q, k, v: flash(q, again(k), v),
    ),
    Mistake(
        "same-values",
        "Each turn of the loop reads the first block of values again, although the keys move on.",
        STAY,
        lambda q, k, v: flash(q, k, again(v)),
    ),
    Mistake(
        "first-queries",
        "Every program works on the first block of queries: ask tl.program_id(0) which one is its own.",
        STAY,
        first_rows_alone,
    ),
    Mistake(
        "number-not-times-block",
        "A program's queries begin at its number, and they begin at its number times BLOCK_Q: the blocks overlap, and "
        "the last rows are never written.",
        STAY,
        blocks_overlap,
    ),
    Mistake(
        "same-queries",
        "Every program reads the first block of queries, although it writes the rows of its own.",
        STAY,
        lambda q, k, v: flash(again(q), k, v),
    ),
    Mistake(
        "first-head",
        "Every program works on the first head: ask tl.program_id(1) which one is its own.",
        STAY,
        first_head_alone,
    ),
    Mistake(
        "keys-of-the-first-head",
        "Every head reads the keys and values of the first one.",
        STAY,
        lambda q, k, v: flash(q, first_of(k), first_of(v)),
    ),
    Mistake(
        "values-of-the-first-head",
        "Every head reads the values of the first one.",
        STAY,
        lambda q, k, v: flash(q, k, first_of(v)),
    ),
    Mistake(
        "exponentials-in-fp16",
        "The exponentials are rounded to FP16, although the values are FP32: give tl.dot the values' own type.",
        KERNEL,
        stream(rounded=True),
    ),
    Mistake(
        "accumulator-in-fp16",
        "The accumulator is kept in FP16, and so each block's share is rounded away a little: keep it in FP32.",
        KERNEL,
        stream(kept=lambda blend: blend.half().to(blend.dtype)),
    ),
    Mistake(
        "overflow",
        "No maximum is taken off: e to the power of a large score is infinite in FP32, and of a very negative one 0.",
        OVERFLOW,
        in_fp32(stream(same, keep=lambda old, block: torch.zeros_like(block), begin=0.0)),
    ),
    Mistake(
        "block-maximum",
        "The maximum that is kept is that of the last block, so it can fall, and then e^(old - new) overflows: it has "
        "to be the largest so far.",
        SO_FAR,
        in_fp32(stream(keep=lambda old, block: block)),
    ),
    Mistake(
        "one-maximum",
        "One maximum is taken for the whole tile, and every query has its own. Where a query's scores lie far below, "
        "all its exponentials become 0: tl.max(scores, 1).",
        SO_FAR,
        in_fp32(stream(keep=lambda old, block: torch.maximum(old, block.amax(-1, keepdim=True)))),
    ),
    Mistake(
        "maximum-from-zero",
        "The maximum begins at 0 or at another number that the scores may lie far below. Then every exponential is 0, "
        "and 0 is divided by 0: the maximum of nothing is minus infinity.",
        "online-softmax#empty-update-merge",
        in_fp32(stream(begin=0.0)),
    ),
)

PARTS = (
    Part(
        "flash_forward", flash, cases, MISTAKES, size=size, steps=STEPS, look=all_at_once,
        large=large, rung="scripts.labs.catalogue.flash_forward.lab:rung",
    ),
)  # fmt: skip
