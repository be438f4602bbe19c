"""What people get wrong of the backward pass, part by part."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scripts.labs.catalogue.backward.truth import INF, dk_of, dq_of, dscores_of, dv_of, scores_of, weights_of
from scripts.labs.lab import Mistake, widened

BLOCK_Q, BLOCK_K = 16, 32  # as the start file has them
LSE = "flash-attention#one-number-a-row"
BY_HAND = "flash-attention#backward-by-hand"
CAUSAL = "flash-attention#causal-half-the-tiles"
SCALE = "three-matmuls#why-the-scores-are-divided-by-d"


def blind(lse: Tensor) -> Tensor:
    """The weights of queries that see nothing, as they come if nobody asks: exp(score - (-inf))."""
    return torch.where(lse == -INF, INF, 0.0)[:, None]


def first_blocks(x: Tensor) -> Tensor:
    """The rows of the blocks that are full."""
    return x[: len(x) // BLOCK_Q * BLOCK_Q]


def last_block(x: Tensor) -> Tensor:
    """The rows of the last block, which may not be full."""
    return x[(len(x) - 1) // BLOCK_Q * BLOCK_Q :]


def rounded(tile: Tensor) -> Tensor:
    return tile.half().to(tile.dtype)


def rounded_as(tile: Tensor, table: Tensor) -> Tensor:
    """``tile`` in FP16 if every number of the table is one of FP16, as those of an FP16 table are."""
    return rounded(tile) if (table.half() == table).all() else tile


def dv_from(form):
    """A mistake of the weights: ``form`` makes them of q, k, lse, scale and causal."""
    return lambda q, k, lse, dout, scale, causal: form(q, k, lse, scale, causal).T @ widened(dout)


def dk_and_dq_from(form):
    """A mistake of dscores, of weights, dweights and delta: what becomes of dq, and of dk."""

    def dscores(q, k, v, dout, lse, delta, scale, causal):
        dweights = widened(dout) @ widened(v).T
        return form(weights_of(q, k, lse, scale, causal), dweights, delta[:, None])

    return (
        lambda **given: dscores(**given) @ widened(given["k"]) * given["scale"],
        lambda **given: dscores(**given).T @ widened(given["q"]) * given["scale"],
    )


def backwards(q, k, lse, scale, causal) -> Tensor:
    """Weights with the causal mask the other way round."""
    weights = weights_of(q, k, lse, scale, False)
    return weights.triu() if causal else weights


NOT_CAUSAL = "Causal makes no difference: the weight of a key that lies in the query's future must be 0 here as well."
OTHER_WAY = "The causal mask is the wrong way round: here rows and columns may have changed places, and it must, too."
SAW_NOTHING = (
    "A query that saw no key has lse -inf, and exp(score - (-inf)) is infinite. Its weights are 0: ask for it, or let "
    "its lse be +inf before you subtract."
)
LAST_QUERIES = "The last queries, which do not fill a block, are left out: round the number of blocks up, and mask."
ADDED_UP = "Only the last block of queries counts: each turn of the loop must add to what the earlier ones left."
NO_LSE = "The weights are exp(score), not divided by anything: take lse off the score first."
ROUNDED = "The tile between the two products was rounded to FP16: let it stay in FP32, and widen what you load."
ROUNDED_AS_INPUTS = (
    "The tile between the two products was rounded to the FP16 of the inputs: widen what you load, and let the tile "
    "stay in FP32."
)
NO_DELTA = "delta is never taken off: dscores = weights ∘ (dweights - delta)."
BRACKETS = "delta is taken off after the weights were multiplied in: subtract it first, then multiply."

NOT_ITSELF = "A query does not see the key of its own number, and it should: key <= query."
FIRST_QUERIES = "Each turn of the loop reads the first block of queries again: the places do not move with it."


def first_again(x: Tensor) -> Tensor:
    """The first block of rows in place of each; a last block that is not full is that much of the first."""
    return x[torch.arange(len(x)) % BLOCK_Q]


def strictly(weights: Tensor, causal: bool) -> Tensor:
    return weights.tril(-1) if causal else weights


DV = (
    Mistake(
        "times-queries",
        "weightsᵀ is multiplied by the queries, and dout is wanted.",
        BY_HAND,
        lambda q, k, lse, dout, scale, causal: weights_of(q, k, lse, scale, causal).T @ widened(q),
    ),
    Mistake(
        "not-itself",
        NOT_ITSELF,
        CAUSAL,
        dv_from(lambda q, k, lse, scale, causal: strictly(weights_of(q, k, lse, scale, causal), causal)),
    ),
    Mistake(
        "first-queries-again",
        FIRST_QUERIES,
        BY_HAND,
        lambda **given: dv_of(**given | {each: first_again(given[each]) for each in ("q", "lse", "dout")}),
    ),
    Mistake("no-lse", NO_LSE, LSE, dv_from(lambda q, k, lse, scale, causal: scores_of(q, k, scale).exp())),
    Mistake(
        "own-softmax",
        "Each query's weights are divided by their own sum down the column: queries and keys have changed places.",
        LSE,
        dv_from(lambda q, k, lse, scale, causal: scores_of(q, k, scale).softmax(0)),
    ),
    Mistake(
        "scores-not-scaled",
        "The scores are not scaled: lse was computed from scale · (q · k).",
        SCALE,
        dv_from(lambda q, k, lse, scale, causal: weights_of(q, k, lse, 1.0, causal)),
    ),
    Mistake(
        "base-two",
        "The weights are powers of 2: use tl.exp, or multiply scores and lse by log₂ e before tl.exp2.",
        LSE,
        dv_from(lambda q, k, lse, scale, causal: weights_of(q, k, lse, scale, causal) ** math.log(2)),
    ),
    Mistake(
        "not-transposed",
        "It is weights · dout, what the forward pass does with values. Backwards each key adds up over the queries.",
        BY_HAND,
        lambda q, k, lse, dout, scale, causal: weights_of(q, k, lse, scale, causal) @ widened(dout),
    ),
    Mistake(
        "last-queries-missing",
        LAST_QUERIES,
        BY_HAND,
        lambda **given: dv_of(**given | {each: first_blocks(given[each]) for each in ("q", "lse", "dout")}),
    ),
    Mistake(
        "never-added-up",
        ADDED_UP,
        BY_HAND,
        lambda **given: dv_of(**given | {each: last_block(given[each]) for each in ("q", "lse", "dout")}),
    ),
    Mistake(
        "not-causal",
        NOT_CAUSAL,
        CAUSAL,
        dv_from(lambda q, k, lse, scale, causal: weights_of(q, k, lse, scale, False)),
    ),
    Mistake("causal-backwards", OTHER_WAY, CAUSAL, dv_from(backwards)),
    Mistake(
        "saw-nothing",
        SAW_NOTHING,
        LSE,
        dv_from(lambda q, k, lse, scale, causal: weights_of(q, k, lse, scale, causal) + blind(lse)),
    ),
    Mistake(
        "rounded",
        ROUNDED,
        BY_HAND,
        dv_from(lambda q, k, lse, scale, causal: rounded(weights_of(q, k, lse, scale, causal))),
    ),
    Mistake(
        "rounded-as-inputs",
        ROUNDED_AS_INPUTS,
        BY_HAND,
        dv_from(lambda q, k, lse, scale, causal: rounded_as(weights_of(q, k, lse, scale, causal), q)),
    ),
)


def down_the_columns(out: Tensor, dout: Tensor) -> Tensor:
    """It fits where a block has as many rows as columns; a last block that is not full counts zeros."""
    products = widened(out) * widened(dout)
    products = torch.nn.functional.pad(products, (0, 0, 0, -len(products) % BLOCK_Q))
    return torch.cat([each.sum(0) for each in products.split(BLOCK_Q)])[: len(out)]


DELTA = (
    Mistake(
        "columns",
        "The products are summed down the columns of the tile, and a row has its sum: axis 1.",
        BY_HAND,
        down_the_columns,
    ),
    Mistake("mean", "It is the mean of the products, not their sum.", BY_HAND, lambda out, dout: (out * dout).mean(1)),
    Mistake("out-alone", "It is the sum of out: dout is never multiplied in.", BY_HAND, lambda out, dout: out.sum(1)),
    Mistake("dout-alone", "It is the sum of dout: out is never multiplied in.", BY_HAND, lambda out, dout: dout.sum(1)),
    Mistake(
        "dout-twice", "It is the sum of dout times dout.", BY_HAND, lambda out, dout: widened(dout).square().sum(1)
    ),
    Mistake("out-twice", "It is the sum of out times out.", BY_HAND, lambda out, dout: widened(out).square().sum(1)),
    Mistake(
        "product-of-sums",
        "It is the sum of out times the sum of dout.",
        BY_HAND,
        lambda out, dout: out.sum(1) * dout.sum(1),
    ),
    Mistake(
        "rounded",
        "The products are rounded to FP16 before they are added up: widen both tables first.",
        BY_HAND,
        lambda out, dout: (out.half() * dout.half()).to(widened(out).dtype).sum(1),
    ),
)

NO_DELTA_FORMS = dk_and_dq_from(lambda weights, dweights, delta: weights * dweights)
PLUS_FORMS = dk_and_dq_from(lambda weights, dweights, delta: weights * (dweights + delta))
BRACKETS_FORMS = dk_and_dq_from(lambda weights, dweights, delta: weights * dweights - delta)
NO_WEIGHTS_FORMS = dk_and_dq_from(lambda weights, dweights, delta: dweights - delta)
ROUNDED_FORMS = dk_and_dq_from(lambda weights, dweights, delta: rounded(weights * (dweights - delta)))


def without_lse(q, k, v, dout, lse, delta, scale, causal) -> Tensor:
    return scores_of(q, k, scale).exp() * (widened(dout) @ widened(v).T - delta[:, None])


def saw_nothing(**given) -> Tensor:
    return dscores_of(**given) + blind(given["lse"]) * (
        widened(given["dout"]) @ widened(given["v"]).T - given["delta"][:, None]
    )


def backwards_dscores(**given) -> Tensor:
    dscores = dscores_of(**given | {"causal": False})
    return dscores.triu() if given["causal"] else dscores


def last_keys_alone(**given) -> Tensor:
    dscores = dscores_of(**given)
    keys = torch.arange(dscores.shape[1]) // BLOCK_K
    return dscores.masked_fill(keys < keys[-1], 0)


DQ = (
    Mistake("no-delta", NO_DELTA, BY_HAND, NO_DELTA_FORMS[0]),
    Mistake("delta-added", "delta is added, and must be taken off.", BY_HAND, PLUS_FORMS[0]),
    Mistake("brackets", BRACKETS, BY_HAND, BRACKETS_FORMS[0]),
    Mistake("no-weights", "dweights - delta is never multiplied by the weights.", BY_HAND, NO_WEIGHTS_FORMS[0]),
    Mistake("no-lse", NO_LSE, LSE, lambda **given: without_lse(**given) @ widened(given["k"]) * given["scale"]),
    Mistake(
        "not-scaled",
        "The sum is not scaled: scores were scaled forwards, so the gradient is scaled once more at the end.",
        SCALE,
        lambda **given: dscores_of(**given) @ widened(given["k"]),
    ),
    Mistake(
        "scaled-twice",
        "The sum is scaled twice: once at the end is enough.",
        SCALE,
        lambda **given: dq_of(**given) * given["scale"],
    ),
    Mistake(
        "blend-of-values",
        "dscores is multiplied by the values, and the keys are wanted.",
        BY_HAND,
        lambda **given: dscores_of(**given) @ widened(given["v"]) * given["scale"],
    ),
    Mistake(
        "keys-for-values",
        "dweights is dout times the keys, and the values are wanted: dweights = dout · vᵀ.",
        BY_HAND,
        lambda **given: dq_of(**given | {"v": given["k"]}),
    ),
    Mistake(
        "never-added-up",
        "Only the last block of keys counts: each turn of the loop must add to what the earlier ones left.",
        BY_HAND,
        lambda **given: last_keys_alone(**given) @ widened(given["k"]) * given["scale"],
    ),
    Mistake(
        "not-itself",
        NOT_ITSELF,
        CAUSAL,
        lambda **given: strictly(dscores_of(**given), given["causal"]) @ widened(given["k"]) * given["scale"],
    ),
    Mistake("not-causal", NOT_CAUSAL, CAUSAL, lambda **given: dq_of(**given | {"causal": False})),
    Mistake(
        "causal-backwards",
        OTHER_WAY,
        CAUSAL,
        lambda **given: backwards_dscores(**given) @ widened(given["k"]) * given["scale"],
    ),
    Mistake(
        "saw-nothing",
        SAW_NOTHING,
        LSE,
        lambda **given: saw_nothing(**given) @ widened(given["k"]) * given["scale"],
    ),
    Mistake("rounded", ROUNDED, BY_HAND, ROUNDED_FORMS[0]),
    Mistake(
        "rounded-as-inputs",
        ROUNDED_AS_INPUTS,
        BY_HAND,
        lambda **given: rounded_as(dscores_of(**given), given["q"]) @ widened(given["k"]) * given["scale"],
    ),
)

DK = (
    Mistake("no-delta", NO_DELTA, BY_HAND, NO_DELTA_FORMS[1]),
    Mistake("delta-added", "delta is added, and must be taken off.", BY_HAND, PLUS_FORMS[1]),
    Mistake("brackets", BRACKETS, BY_HAND, BRACKETS_FORMS[1]),
    Mistake("no-weights", "dweights - delta is never multiplied by the weights.", BY_HAND, NO_WEIGHTS_FORMS[1]),
    Mistake(
        "not-transposed",
        "It is dscores · q: for a key the sum goes over the queries, so dscores has to be transposed.",
        BY_HAND,
        lambda **given: dscores_of(**given) @ widened(given["q"]) * given["scale"],
    ),
    Mistake(
        "times-keys",
        "dscoresᵀ is multiplied by the keys, and the queries are wanted.",
        BY_HAND,
        lambda **given: dscores_of(**given).T @ widened(given["k"]) * given["scale"],
    ),
    Mistake(
        "not-scaled",
        "The sum is not scaled: scores were scaled forwards, so the gradient is scaled once more at the end.",
        SCALE,
        lambda **given: dscores_of(**given).T @ widened(given["q"]),
    ),
    Mistake(
        "last-queries-missing",
        LAST_QUERIES,
        BY_HAND,
        lambda **given: dk_of(**given | {each: first_blocks(given[each]) for each in ("q", "dout", "lse", "delta")}),
    ),
    Mistake(
        "never-added-up",
        ADDED_UP,
        BY_HAND,
        lambda **given: dk_of(**given | {each: last_block(given[each]) for each in ("q", "dout", "lse", "delta")}),
    ),
    Mistake(
        "keys-for-values",
        "dweights is dout times the keys, and the values are wanted: dweights = dout · vᵀ.",
        BY_HAND,
        lambda **given: dk_of(**given | {"v": given["k"]}),
    ),
    Mistake(
        "times-dout",
        "dscoresᵀ is multiplied by dout, and the queries are wanted.",
        BY_HAND,
        lambda **given: dscores_of(**given).T @ widened(given["dout"]) * given["scale"],
    ),
    Mistake(
        "first-queries-again",
        FIRST_QUERIES,
        BY_HAND,
        lambda **given: dk_of(**given | {each: first_again(given[each]) for each in ("q", "dout", "lse", "delta")}),
    ),
    Mistake(
        "not-itself",
        NOT_ITSELF,
        CAUSAL,
        lambda **given: strictly(dscores_of(**given), given["causal"]).T @ widened(given["q"]) * given["scale"],
    ),
    Mistake("not-causal", NOT_CAUSAL, CAUSAL, lambda **given: dk_of(**given | {"causal": False})),
    Mistake(
        "causal-backwards",
        OTHER_WAY,
        CAUSAL,
        lambda **given: backwards_dscores(**given).T @ widened(given["q"]) * given["scale"],
    ),
    Mistake(
        "saw-nothing",
        SAW_NOTHING,
        LSE,
        lambda **given: saw_nothing(**given).T @ widened(given["q"]) * given["scale"],
    ),
    Mistake("rounded", ROUNDED, BY_HAND, ROUNDED_FORMS[1]),
    Mistake(
        "rounded-as-inputs",
        ROUNDED_AS_INPUTS,
        BY_HAND,
        lambda **given: rounded_as(dscores_of(**given), given["q"]).T @ widened(given["q"]) * given["scale"],
    ),
)
