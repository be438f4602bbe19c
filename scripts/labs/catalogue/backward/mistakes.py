"""Wrong implementations of lab 11's dV and delta, each with what its author is told."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.backward.reference import INF, dv_of, scores_of, weights_of
from scripts.labs.lab import Mistake, widen

BLOCK_Q = 16  # as the start file has it


def weights_of_masked_queries(lse: Tensor) -> Tensor:
    """The weights of queries that see nothing, as they come if nobody asks: exp(score - (-inf))."""
    return torch.where(lse == -INF, INF, 0.0)[:, None]


def only_full_blocks(x: Tensor) -> Tensor:
    """The rows of the blocks that are full."""
    return x[: len(x) // BLOCK_Q * BLOCK_Q]


def only_last_block(x: Tensor) -> Tensor:
    """The rows of the last block, which may not be full."""
    return x[(len(x) - 1) // BLOCK_Q * BLOCK_Q :]


def round_to_fp16(tile: Tensor) -> Tensor:
    return tile.half().to(tile.dtype)


def round_to_dtype_of(tile: Tensor, table: Tensor) -> Tensor:
    """``tile`` in FP16 if every number of the table is one of FP16, as those of an FP16 table are."""
    return round_to_fp16(tile) if (table.half() == table).all() else tile


def dv_with_weights(implementation):
    """A mistake of the weights: ``implementation`` makes them of q, k, lse, scale and causal."""
    return lambda q, k, lse, dout, scale, causal: implementation(q, k, lse, scale, causal).T @ widen(dout)


def mask_reversed(q, k, lse, scale, causal) -> Tensor:
    """Weights with the causal mask the other way round."""
    weights = weights_of(q, k, lse, scale, False)
    return weights.triu() if causal else weights


NOT_CAUSAL = "Causal makes no difference: the weight of a key that lies in the query's future must be 0 here as well."
MASK_REVERSED = (
    "The causal mask is the wrong way round: here rows and columns may have changed places, and it must, too."
)
SAW_NOTHING = (
    "A query that saw no key has lse -inf, and exp(score - (-inf)) is infinite. Its weights are 0: ask for it, or let "
    "its lse be +inf before you subtract."
)
LAST_QUERIES = "The last queries, which do not fill a block, are left out: round the number of blocks up, and mask."
ONLY_LAST_BLOCK = "Only the last block of queries counts: each turn of the loop must add to what the earlier ones left."
NO_LSE = "The weights are exp(score), not divided by anything: take lse off the score first."
ROUNDED = "The tile between the two products was rounded to FP16: let it stay in FP32, and widen what you load."
ROUNDED_AS_INPUTS = (
    "The tile between the two products was rounded to the FP16 of the inputs: widen what you load, and let the tile "
    "stay in FP32."
)

NOT_ITSELF = "A query does not see the key of its own number, and it should: key <= query."


def diagonal_masked(weights: Tensor, causal: bool) -> Tensor:
    return weights.tril(-1) if causal else weights


DV_MISTAKES = (
    Mistake(
        "times-queries",
        "weightsᵀ is multiplied by the queries, and dout is wanted.",
        headings.BACKWARD,
        lambda q, k, lse, dout, scale, causal: weights_of(q, k, lse, scale, causal).T @ widen(q),
    ),
    Mistake(
        "not-itself",
        NOT_ITSELF,
        headings.CAUSAL_TILES,
        dv_with_weights(lambda q, k, lse, scale, causal: diagonal_masked(weights_of(q, k, lse, scale, causal), causal)),
    ),
    Mistake(
        "no-lse", NO_LSE, headings.LSE, dv_with_weights(lambda q, k, lse, scale, causal: scores_of(q, k, scale).exp())
    ),
    Mistake(
        "own-softmax",
        "Each query's weights are divided by their own sum down the column: queries and keys have changed places.",
        headings.LSE,
        dv_with_weights(lambda q, k, lse, scale, causal: scores_of(q, k, scale).softmax(0)),
    ),
    Mistake(
        "scores-not-scaled",
        "The scores are not scaled: lse was computed from scale · (q · k).",
        headings.SCALE,
        dv_with_weights(lambda q, k, lse, scale, causal: weights_of(q, k, lse, 1.0, causal)),
    ),
    Mistake(
        "base-two",
        "The weights are powers of 2: use tl.exp, or multiply scores and lse by log₂ e before tl.exp2.",
        headings.LSE,
        dv_with_weights(lambda q, k, lse, scale, causal: weights_of(q, k, lse, scale, causal) ** math.log(2)),
    ),
    Mistake(
        "not-transposed",
        "It is weights · dout, what the forward pass does with values. Backwards each key adds up over the queries.",
        headings.BACKWARD,
        lambda q, k, lse, dout, scale, causal: weights_of(q, k, lse, scale, causal) @ widen(dout),
    ),
    Mistake(
        "last-queries-missing",
        LAST_QUERIES,
        headings.BACKWARD,
        lambda **inputs: dv_of(**inputs | {each: only_full_blocks(inputs[each]) for each in ("q", "lse", "dout")}),
    ),
    Mistake(
        "never-added-up",
        ONLY_LAST_BLOCK,
        headings.BACKWARD,
        lambda **inputs: dv_of(**inputs | {each: only_last_block(inputs[each]) for each in ("q", "lse", "dout")}),
    ),
    Mistake(
        "not-causal",
        NOT_CAUSAL,
        headings.CAUSAL_TILES,
        dv_with_weights(lambda q, k, lse, scale, causal: weights_of(q, k, lse, scale, False)),
    ),
    Mistake("causal-backwards", MASK_REVERSED, headings.CAUSAL_TILES, dv_with_weights(mask_reversed)),
    Mistake(
        "saw-nothing",
        SAW_NOTHING,
        headings.LSE,
        dv_with_weights(
            lambda q, k, lse, scale, causal: weights_of(q, k, lse, scale, causal) + weights_of_masked_queries(lse)
        ),
    ),
    Mistake(
        "rounded",
        ROUNDED,
        headings.BACKWARD,
        dv_with_weights(lambda q, k, lse, scale, causal: round_to_fp16(weights_of(q, k, lse, scale, causal))),
    ),
    Mistake(
        "rounded-as-inputs",
        ROUNDED_AS_INPUTS,
        headings.BACKWARD,
        dv_with_weights(lambda q, k, lse, scale, causal: round_to_dtype_of(weights_of(q, k, lse, scale, causal), q)),
    ),
)


def down_the_columns(out: Tensor, dout: Tensor) -> Tensor:
    """It fits where a block has as many rows as columns; a last block that is not full counts zeros."""
    products = widen(out) * widen(dout)
    products = torch.nn.functional.pad(products, (0, 0, 0, -len(products) % BLOCK_Q))
    return torch.cat([each.sum(0) for each in products.split(BLOCK_Q)])[: len(out)]


DELTA_MISTAKES = (
    Mistake(
        "down-the-columns",
        "The products are summed down the columns of the tile, and a row has its sum: axis 1.",
        headings.BACKWARD,
        down_the_columns,
    ),
    Mistake(
        "rounded",
        "The products are rounded to FP16 before they are added up: widen both tables first.",
        headings.BACKWARD,
        lambda out, dout: (out.half() * dout.half()).to(widen(out).dtype).sum(1),
    ),
)
