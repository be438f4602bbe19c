"""Wrong implementations of lab 9 that show in a single tile: in its scores, its sums or its lse."""

from __future__ import annotations

import torch

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.flash_forward.reference import flash
from scripts.labs.catalogue.flash_forward.wrong_implementations import (
    LN_2,
    base_two,
    blockwise,
    down_the_columns,
    in_fp32,
    not_transposed,
    old_maximum_subtracted,
    with_lse,
)
from scripts.labs.lab import Mistake

BASE_TWO = "These are powers of 2, and powers of e are wanted: with tl.exp2, multiply the scores by log₂ e as well."
ONE_TILE_MISTAKES = (
    Mistake(
        "no-scale",
        "The scores are not divided by √d: multiply them by scale.",
        headings.SCALE,
        lambda q, k, v: flash(q * q.shape[-1] ** 0.5, k, v),
    ),
    Mistake(
        "not-divided",
        "The blend is never divided by the sum: that comes once, after the loop.",
        headings.FLASH_KERNEL,
        blockwise(output_of=lambda accumulator, total: accumulator),
    ),
    Mistake(
        "not-transposed",
        "The queries are multiplied by the keys as they lie, and a score is a row of queries times a row of keys: "
        "tl.trans(keys).",
        headings.SCORES,
        not_transposed,
    ),
    Mistake(
        "sum-of-columns",
        "The exponentials are summed down the columns of the tile. Each query has a sum of its own, along its row: "
        "tl.sum(exponentials, 1).",
        headings.TILES,
        down_the_columns(False, True),
    ),
    Mistake(
        "maximum-and-sum-of-columns",
        "Maximum and sum are taken down the columns of the tile. Each query has its own, along its row: axis 1.",
        headings.TILES,
        down_the_columns(True, True),
    ),
    Mistake(
        "maximum-of-columns",
        "The maximum is taken down the columns of the tile. Each query has a maximum of its own, along its row: "
        "tl.max(scores, 1). Where scores are small that does not show, since any number may be taken off a row.",
        headings.TILES,
        in_fp32(down_the_columns(True, False)),
    ),
    Mistake(
        "old-maximum-subtracted",
        "The exponentials are taken below the old maximum, and the new one is wanted. At the first block the old one "
        "is minus infinity, so they are all infinite.",
        headings.RUNNING_MAX,
        old_maximum_subtracted,
    ),
    Mistake("powers-of-two", BASE_TWO, headings.TILES, base_two(torch.log)),
    Mistake("powers-of-two-and-log2", BASE_TWO, headings.TILES, base_two(torch.log2)),
    Mistake(
        "lse-not-written",
        "The output is right, but lse is never written.",
        headings.LSE,
        with_lse(lambda largest, total: torch.full_like(total, torch.nan)),
    ),
    Mistake(
        "lse-is-the-maximum",
        "The output is right, but lse holds the maximum alone: it is the maximum plus the logarithm of the sum.",
        headings.LSE,
        with_lse(lambda largest, total: largest),
    ),
    Mistake(
        "lse-without-maximum",
        "The output is right, but lse holds the logarithm of the sum alone: the maximum belongs to it.",
        headings.LSE,
        with_lse(lambda largest, total: total.log()),
    ),
    Mistake(
        "lse-in-base-two",
        "The output is right, but lse is in powers of 2, and the natural logarithm is wanted: multiply it by ln 2.",
        headings.LSE,
        with_lse(lambda largest, total: (largest + total.log()) / LN_2),
    ),
    Mistake(
        "lse-of-two-bases",
        "The output is right, but of lse the maximum is in powers of 2, and the logarithm is a natural one: with "
        "tl.exp2, take tl.log2 of the sum, and multiply both by ln 2.",
        headings.LSE,
        with_lse(lambda largest, total: largest / LN_2 + total.log()),
    ),
    Mistake(
        "lse-log2-of-sum",
        "The output is right, but lse has the logarithm to the base 2 of the sum, and the natural one is wanted.",
        headings.LSE,
        with_lse(lambda largest, total: largest + total.log2()),
    ),
)
