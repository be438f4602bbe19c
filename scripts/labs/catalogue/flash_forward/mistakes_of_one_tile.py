"""What people get wrong of a tile, of its scores, its sums and its lse, before any stream."""

from __future__ import annotations

import torch

from scripts.labs.catalogue.flash_forward.forms import (
    LN_2,
    below_the_old,
    down_the_columns,
    in_fp32,
    not_transposed,
    powers_of_two,
    rows_as_columns,
    stream,
    with_lse,
)
from scripts.labs.catalogue.flash_forward.truth import flash
from scripts.labs.lab import Mistake

TILES = "flash-attention#three-words-tile-by-tile"
KERNEL = "flash-attention#the-kernel"
ONE_NUMBER = "flash-attention#one-number-a-row"
SO_FAR = "online-softmax#use-the-largest-so-far"
SCALE = "three-matmuls#why-the-scores-are-divided-by-d"

TWO = "These are powers of 2, and powers of e are wanted: with tl.exp2, multiply the scores by log₂ e as well."
OF_ONE_TILE = (
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
)
