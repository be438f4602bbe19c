"""Wrong implementations of lab 9, each with what its author is told: one tile first, then loop, blocks and heads."""

from __future__ import annotations

import torch

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.flash_forward.mistakes_of_one_tile import ONE_TILE_MISTAKES
from scripts.labs.catalogue.flash_forward.reference import flash
from scripts.labs.catalogue.flash_forward.wrong_implementations import (
    blocks_overlap,
    blockwise,
    factor_one,
    first_block_repeated,
    first_head_repeated,
    in_fp32,
    last_block_missing,
    only_blocks,
    only_first_head_written,
    only_first_query_block_written,
    rescale_factor,
)
from scripts.labs.lab import Mistake

MISTAKES = (
    *ONE_TILE_MISTAKES,
    Mistake(
        "not-rescaled",
        "Your sums are not rescaled when the maximum moves: running_sum and accumulator must both be multiplied by "
        "e^(old maximum - new maximum) before the new block is added.",
        headings.RUNNING_MAX,
        blockwise(factor_one),
    ),
    Mistake(
        "sum-not-rescaled",
        "The accumulator is rescaled when the maximum moves, but the running sum is not.",
        headings.ACCUMULATOR,
        blockwise(factor_one, rescale_factor),
    ),
    Mistake(
        "accumulator-not-rescaled",
        "The running sum is rescaled when the maximum moves, but the accumulator is not.",
        headings.ACCUMULATOR,
        blockwise(rescale_factor, factor_one),
    ),
    Mistake(
        "upside-down",
        "The factor is upside down: it is e^(old maximum - new maximum), which is never above 1. At the first block, "
        "where the old maximum is minus infinity, yours is infinite, and infinity times 0 is not a number.",
        headings.RUNNING_MAX,
        blockwise(lambda old, new: (new - old).exp()),
    ),
    Mistake(
        "block-not-rescaled",
        "The exponentials of a block are taken below the block's own maximum, and then join sums that are taken below "
        "the larger maximum.",
        headings.RUNNING_MAX,
        blockwise(subtracted=lambda block, new: block),
    ),
    Mistake(
        "divided-in-the-loop",
        "The accumulator is divided in the loop, after each block, and so several times: divide once, after the loop.",
        headings.ACCUMULATOR,
        blockwise(divided_each_block=True, output_of=lambda accumulator, total: accumulator),
    ),
    Mistake(
        "divided-in-the-loop-and-after",
        "The accumulator is divided in the loop, and once more at the end: divide once, after the loop.",
        headings.ACCUMULATOR,
        blockwise(divided_each_block=True),
    ),
    Mistake(
        "first-block-only",
        "Only the first block of keys is seen: there is no loop, or the places do not move with it.",
        headings.KEY_LOOP,
        only_blocks(flash, slice(0, 1)),
    ),
    Mistake(
        "last-block-missing",
        "The last block of keys is missing: the loop ends too early.",
        headings.KEY_LOOP,
        last_block_missing,
    ),
    Mistake(
        "last-block-only",
        "Only the last block of keys is seen: what the blocks before it brought is forgotten.",
        headings.KEY_LOOP,
        only_blocks(flash, slice(-1, None)),
    ),
    Mistake(
        "first-block-twice",
        "Each turn of the loop reads the first block of keys and values again: the places do not move with it.",
        headings.KEY_LOOP,
        lambda q, k, v: flash(q, first_block_repeated(k), first_block_repeated(v)),
    ),
    Mistake(
        "same-keys",
        "Each turn of the loop reads the first block of keys again, although the values move on.",
        headings.KEY_LOOP,
        lambda q, k, v: flash(q, first_block_repeated(k), v),
    ),
    Mistake(
        "same-values",
        "Each turn of the loop reads the first block of values again, although the keys move on.",
        headings.KEY_LOOP,
        lambda q, k, v: flash(q, k, first_block_repeated(v)),
    ),
    Mistake(
        "only-first-query-block-written",
        "Every program works on the first block of queries: ask tl.program_id(0) which one is its own.",
        headings.KEY_LOOP,
        only_first_query_block_written,
    ),
    Mistake(
        "blocks-overlap",
        "A program's queries begin at its number, and they begin at its number times BLOCK_Q: the blocks overlap, and "
        "the last rows are never written.",
        headings.KEY_LOOP,
        blocks_overlap,
    ),
    Mistake(
        "same-queries",
        "Every program reads the first block of queries, although it writes the rows of its own.",
        headings.KEY_LOOP,
        lambda q, k, v: flash(first_block_repeated(q), k, v),
    ),
    Mistake(
        "only-first-head-written",
        "Every program works on the first head: ask tl.program_id(1) which one is its own.",
        headings.KEY_LOOP,
        only_first_head_written,
    ),
    Mistake(
        "keys-of-the-first-head",
        "Every head reads the keys and values of the first one.",
        headings.KEY_LOOP,
        lambda q, k, v: flash(q, first_head_repeated(k), first_head_repeated(v)),
    ),
    Mistake(
        "exponentials-in-fp16",
        "The exponentials are rounded to FP16, although the values are FP32: give tl.dot the values' own type.",
        headings.FLASH_KERNEL,
        blockwise(fp16_exponentials=True),
    ),
    Mistake(
        "overflow",
        "No maximum is taken off: e to the power of a large score is infinite in FP32, and of a very negative one 0.",
        headings.OVERFLOW,
        in_fp32(blockwise(factor_one, new_maximum=lambda old, block: torch.zeros_like(block), initial_max=0.0)),
    ),
    Mistake(
        "block-maximum",
        "The maximum that is kept is that of the last block, so it can fall, and then e^(old - new) overflows: it has "
        "to be the largest so far.",
        headings.RUNNING_MAX,
        in_fp32(blockwise(new_maximum=lambda old, block: block)),
    ),
    Mistake(
        "one-maximum",
        "One maximum is taken for the whole tile, and every query has its own. Where a query's scores lie far below, "
        "all its exponentials become 0: tl.max(scores, 1).",
        headings.RUNNING_MAX,
        in_fp32(blockwise(new_maximum=lambda old, block: torch.maximum(old, block.amax(-1, keepdim=True)))),
    ),
    Mistake(
        "maximum-from-zero",
        "The maximum begins at 0 or at another number that the scores may lie far below. Then every exponential is 0, "
        "and 0 is divided by 0: the maximum of nothing is minus infinity.",
        headings.MERGING,
        in_fp32(blockwise(initial_max=0.0)),
    ),
)
