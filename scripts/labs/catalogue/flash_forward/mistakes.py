"""What people get wrong of FlashAttention forward: of one tile first, then of the stream, the blocks and the heads."""

from __future__ import annotations

import torch

from scripts.labs.catalogue.flash_forward.forms import (
    again,
    block_by_block,
    blocks_overlap,
    first_head_alone,
    first_of,
    first_rows_alone,
    in_fp32,
    of_blocks,
    same,
    shrink,
    stream,
    without_last_block,
)
from scripts.labs.catalogue.flash_forward.mistakes_of_one_tile import OF_ONE_TILE
from scripts.labs.catalogue.flash_forward.truth import flash
from scripts.labs.lab import Mistake

STAY = "flash-attention#the-queries-stay-the-keys-pass"
KERNEL = "flash-attention#the-kernel"
SO_FAR = "online-softmax#use-the-largest-so-far"
CARRY = "online-softmax#attention-never-asks-for-the-shares"
OVERFLOW = "online-softmax#you-arent-waiting-for-the-sum"

MISTAKES = (
    *OF_ONE_TILE,
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
        "online-softmax#two-states-become-one",
        in_fp32(stream(begin=0.0)),
    ),
)
