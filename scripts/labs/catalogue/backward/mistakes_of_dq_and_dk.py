"""What people get wrong of dQ and of dK, which share dscores."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.backward.mistakes import (
    FIRST_QUERIES,
    LAST_QUERIES,
    MASK_REVERSED,
    NO_LSE,
    NOT_CAUSAL,
    NOT_ITSELF,
    ONLY_LAST_BLOCK,
    ROUNDED,
    ROUNDED_AS_INPUTS,
    SAW_NOTHING,
    diagonal_masked,
    first_block_repeated,
    full_blocks,
    last_block,
    rounded,
    rounded_as,
    weights_of_masked_queries,
)
from scripts.labs.catalogue.backward.truth import dk_of, dq_of, dscores_of, scores_of, weights_of
from scripts.labs.lab import Mistake, widen

BLOCK_K = 32  # as the start file has it


def dk_and_dq_from(implementation):
    """A mistake of dscores, of weights, dweights and delta: what becomes of dq, and of dk."""

    def dscores(q, k, v, dout, lse, delta, scale, causal):
        dweights = widen(dout) @ widen(v).T
        return implementation(weights_of(q, k, lse, scale, causal), dweights, delta[:, None])

    return (
        lambda **given: dscores(**given) @ widen(given["k"]) * given["scale"],
        lambda **given: dscores(**given).T @ widen(given["q"]) * given["scale"],
    )


NO_DELTA = "delta is never taken off: dscores = weights ∘ (dweights - delta)."
BRACKETS = "delta is taken off after the weights were multiplied in: subtract it first, then multiply."

NO_DELTA_FORMS = dk_and_dq_from(lambda weights, dweights, delta: weights * dweights)
PLUS_FORMS = dk_and_dq_from(lambda weights, dweights, delta: weights * (dweights + delta))
BRACKETS_FORMS = dk_and_dq_from(lambda weights, dweights, delta: weights * dweights - delta)
NO_WEIGHTS_FORMS = dk_and_dq_from(lambda weights, dweights, delta: dweights - delta)
ROUNDED_FORMS = dk_and_dq_from(lambda weights, dweights, delta: rounded(weights * (dweights - delta)))


def without_lse(q, k, v, dout, lse, delta, scale, causal) -> Tensor:
    return scores_of(q, k, scale).exp() * (widen(dout) @ widen(v).T - delta[:, None])


def saw_nothing(**given) -> Tensor:
    return dscores_of(**given) + weights_of_masked_queries(given["lse"]) * (
        widen(given["dout"]) @ widen(given["v"]).T - given["delta"][:, None]
    )


def mask_reversed_dscores(**given) -> Tensor:
    dscores = dscores_of(**given | {"causal": False})
    return dscores.triu() if given["causal"] else dscores


def last_keys_alone(**given) -> Tensor:
    dscores = dscores_of(**given)
    keys = torch.arange(dscores.shape[1]) // BLOCK_K
    return dscores.masked_fill(keys < keys[-1], 0)


DQ_MISTAKES = (
    Mistake("no-delta", NO_DELTA, headings.BACKWARD, NO_DELTA_FORMS[0]),
    Mistake("delta-added", "delta is added, and must be taken off.", headings.BACKWARD, PLUS_FORMS[0]),
    Mistake("brackets", BRACKETS, headings.BACKWARD, BRACKETS_FORMS[0]),
    Mistake(
        "no-weights", "dweights - delta is never multiplied by the weights.", headings.BACKWARD, NO_WEIGHTS_FORMS[0]
    ),
    Mistake("no-lse", NO_LSE, headings.LSE, lambda **given: without_lse(**given) @ widen(given["k"]) * given["scale"]),
    Mistake(
        "not-scaled",
        "The sum is not scaled: scores were scaled forwards, so the gradient is scaled once more at the end.",
        headings.SCALE,
        lambda **given: dscores_of(**given) @ widen(given["k"]),
    ),
    Mistake(
        "scaled-twice",
        "The sum is scaled twice: once at the end is enough.",
        headings.SCALE,
        lambda **given: dq_of(**given) * given["scale"],
    ),
    Mistake(
        "blend-of-values",
        "dscores is multiplied by the values, and the keys are wanted.",
        headings.BACKWARD,
        lambda **given: dscores_of(**given) @ widen(given["v"]) * given["scale"],
    ),
    Mistake(
        "keys-for-values",
        "dweights is dout times the keys, and the values are wanted: dweights = dout · vᵀ.",
        headings.BACKWARD,
        lambda **given: dq_of(**given | {"v": given["k"]}),
    ),
    Mistake(
        "never-added-up",
        "Only the last block of keys counts: each turn of the loop must add to what the earlier ones left.",
        headings.BACKWARD,
        lambda **given: last_keys_alone(**given) @ widen(given["k"]) * given["scale"],
    ),
    Mistake(
        "not-itself",
        NOT_ITSELF,
        headings.CAUSAL_TILES,
        lambda **given: diagonal_masked(dscores_of(**given), given["causal"]) @ widen(given["k"]) * given["scale"],
    ),
    Mistake("not-causal", NOT_CAUSAL, headings.CAUSAL_TILES, lambda **given: dq_of(**given | {"causal": False})),
    Mistake(
        "causal-backwards",
        MASK_REVERSED,
        headings.CAUSAL_TILES,
        lambda **given: mask_reversed_dscores(**given) @ widen(given["k"]) * given["scale"],
    ),
    Mistake(
        "saw-nothing",
        SAW_NOTHING,
        headings.LSE,
        lambda **given: saw_nothing(**given) @ widen(given["k"]) * given["scale"],
    ),
    Mistake("rounded", ROUNDED, headings.BACKWARD, ROUNDED_FORMS[0]),
    Mistake(
        "rounded-as-inputs",
        ROUNDED_AS_INPUTS,
        headings.BACKWARD,
        lambda **given: rounded_as(dscores_of(**given), given["q"]) @ widen(given["k"]) * given["scale"],
    ),
)

DK_MISTAKES = (
    Mistake("no-delta", NO_DELTA, headings.BACKWARD, NO_DELTA_FORMS[1]),
    Mistake("delta-added", "delta is added, and must be taken off.", headings.BACKWARD, PLUS_FORMS[1]),
    Mistake("brackets", BRACKETS, headings.BACKWARD, BRACKETS_FORMS[1]),
    Mistake(
        "no-weights", "dweights - delta is never multiplied by the weights.", headings.BACKWARD, NO_WEIGHTS_FORMS[1]
    ),
    Mistake(
        "not-transposed",
        "It is dscores · q: for a key the sum goes over the queries, so dscores has to be transposed.",
        headings.BACKWARD,
        lambda **given: dscores_of(**given) @ widen(given["q"]) * given["scale"],
    ),
    Mistake(
        "times-keys",
        "dscoresᵀ is multiplied by the keys, and the queries are wanted.",
        headings.BACKWARD,
        lambda **given: dscores_of(**given).T @ widen(given["k"]) * given["scale"],
    ),
    Mistake(
        "not-scaled",
        "The sum is not scaled: scores were scaled forwards, so the gradient is scaled once more at the end.",
        headings.SCALE,
        lambda **given: dscores_of(**given).T @ widen(given["q"]),
    ),
    Mistake(
        "last-queries-missing",
        LAST_QUERIES,
        headings.BACKWARD,
        lambda **given: dk_of(**given | {each: full_blocks(given[each]) for each in ("q", "dout", "lse", "delta")}),
    ),
    Mistake(
        "never-added-up",
        ONLY_LAST_BLOCK,
        headings.BACKWARD,
        lambda **given: dk_of(**given | {each: last_block(given[each]) for each in ("q", "dout", "lse", "delta")}),
    ),
    Mistake(
        "keys-for-values",
        "dweights is dout times the keys, and the values are wanted: dweights = dout · vᵀ.",
        headings.BACKWARD,
        lambda **given: dk_of(**given | {"v": given["k"]}),
    ),
    Mistake(
        "times-dout",
        "dscoresᵀ is multiplied by dout, and the queries are wanted.",
        headings.BACKWARD,
        lambda **given: dscores_of(**given).T @ widen(given["dout"]) * given["scale"],
    ),
    Mistake(
        "first-queries-again",
        FIRST_QUERIES,
        headings.BACKWARD,
        lambda **given: dk_of(
            **given | {each: first_block_repeated(given[each]) for each in ("q", "dout", "lse", "delta")}
        ),
    ),
    Mistake(
        "not-itself",
        NOT_ITSELF,
        headings.CAUSAL_TILES,
        lambda **given: diagonal_masked(dscores_of(**given), given["causal"]).T @ widen(given["q"]) * given["scale"],
    ),
    Mistake("not-causal", NOT_CAUSAL, headings.CAUSAL_TILES, lambda **given: dk_of(**given | {"causal": False})),
    Mistake(
        "causal-backwards",
        MASK_REVERSED,
        headings.CAUSAL_TILES,
        lambda **given: mask_reversed_dscores(**given).T @ widen(given["q"]) * given["scale"],
    ),
    Mistake(
        "saw-nothing",
        SAW_NOTHING,
        headings.LSE,
        lambda **given: saw_nothing(**given).T @ widen(given["q"]) * given["scale"],
    ),
    Mistake("rounded", ROUNDED, headings.BACKWARD, ROUNDED_FORMS[1]),
    Mistake(
        "rounded-as-inputs",
        ROUNDED_AS_INPUTS,
        headings.BACKWARD,
        lambda **given: rounded_as(dscores_of(**given), given["q"]).T @ widen(given["q"]) * given["scale"],
    ),
)
