"""Wrong implementations of lab 11's dQ and dK, which share dscores, each with what its author is told."""

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
    only_full_blocks,
    only_last_block,
    round_to_dtype_of,
    round_to_fp16,
    weights_of_masked_queries,
)
from scripts.labs.catalogue.backward.reference import dk_of, dq_of, dscores_of, scores_of, weights_of
from scripts.labs.lab import Mistake, widen

BLOCK_K = 32  # as the start file has it


def dk_and_dq_from(implementation):
    """A mistake of dscores, of weights, dweights and delta: what becomes of dq, and of dk."""

    def dscores(q, k, v, dout, lse, delta, scale, causal):
        dweights = widen(dout) @ widen(v).T
        return implementation(weights_of(q, k, lse, scale, causal), dweights, delta[:, None])

    return (
        lambda **inputs: dscores(**inputs) @ widen(inputs["k"]) * inputs["scale"],
        lambda **inputs: dscores(**inputs).T @ widen(inputs["q"]) * inputs["scale"],
    )


NO_DELTA = "delta is never taken off: dscores = weights ∘ (dweights - delta)."
BRACKETS = "delta is taken off after the weights were multiplied in: subtract it first, then multiply."

NO_DELTA_FORMS = dk_and_dq_from(lambda weights, dweights, delta: weights * dweights)
PLUS_FORMS = dk_and_dq_from(lambda weights, dweights, delta: weights * (dweights + delta))
BRACKETS_FORMS = dk_and_dq_from(lambda weights, dweights, delta: weights * dweights - delta)
NO_WEIGHTS_FORMS = dk_and_dq_from(lambda weights, dweights, delta: dweights - delta)
ROUNDED_FORMS = dk_and_dq_from(lambda weights, dweights, delta: round_to_fp16(weights * (dweights - delta)))


def without_lse(q, k, v, dout, lse, delta, scale, causal) -> Tensor:
    return scores_of(q, k, scale).exp() * (widen(dout) @ widen(v).T - delta[:, None])


def dscores_without_empty_rows_masked(**inputs) -> Tensor:
    return dscores_of(**inputs) + weights_of_masked_queries(inputs["lse"]) * (
        widen(inputs["dout"]) @ widen(inputs["v"]).T - inputs["delta"][:, None]
    )


def mask_reversed_dscores(**inputs) -> Tensor:
    dscores = dscores_of(**inputs | {"causal": False})
    return dscores.triu() if inputs["causal"] else dscores


def dscores_of_last_keys(**inputs) -> Tensor:
    dscores = dscores_of(**inputs)
    keys = torch.arange(dscores.shape[1]) // BLOCK_K
    return dscores.masked_fill(keys < keys[-1], 0)


DQ_MISTAKES = (
    Mistake("no-delta", NO_DELTA, headings.BACKWARD, NO_DELTA_FORMS[0]),
    Mistake("delta-added", "delta is added, and must be taken off.", headings.BACKWARD, PLUS_FORMS[0]),
    Mistake("brackets", BRACKETS, headings.BACKWARD, BRACKETS_FORMS[0]),
    Mistake(
        "no-weights", "dweights - delta is never multiplied by the weights.", headings.BACKWARD, NO_WEIGHTS_FORMS[0]
    ),
    Mistake(
        "no-lse", NO_LSE, headings.LSE, lambda **inputs: without_lse(**inputs) @ widen(inputs["k"]) * inputs["scale"]
    ),
    Mistake(
        "not-scaled",
        "The sum is not scaled: scores were scaled forwards, so the gradient is scaled once more at the end.",
        headings.SCALE,
        lambda **inputs: dscores_of(**inputs) @ widen(inputs["k"]),
    ),
    Mistake(
        "scaled-twice",
        "The sum is scaled twice: once at the end is enough.",
        headings.SCALE,
        lambda **inputs: dq_of(**inputs) * inputs["scale"],
    ),
    Mistake(
        "blend-of-values",
        "dscores is multiplied by the values, and the keys are wanted.",
        headings.BACKWARD,
        lambda **inputs: dscores_of(**inputs) @ widen(inputs["v"]) * inputs["scale"],
    ),
    Mistake(
        "keys-for-values",
        "dweights is dout times the keys, and the values are wanted: dweights = dout · vᵀ.",
        headings.BACKWARD,
        lambda **inputs: dq_of(**inputs | {"v": inputs["k"]}),
    ),
    Mistake(
        "never-added-up",
        "Only the last block of keys counts: each turn of the loop must add to what the earlier ones left.",
        headings.BACKWARD,
        lambda **inputs: dscores_of_last_keys(**inputs) @ widen(inputs["k"]) * inputs["scale"],
    ),
    Mistake(
        "not-itself",
        NOT_ITSELF,
        headings.CAUSAL_TILES,
        lambda **inputs: diagonal_masked(dscores_of(**inputs), inputs["causal"]) @ widen(inputs["k"]) * inputs["scale"],
    ),
    Mistake("not-causal", NOT_CAUSAL, headings.CAUSAL_TILES, lambda **inputs: dq_of(**inputs | {"causal": False})),
    Mistake(
        "causal-backwards",
        MASK_REVERSED,
        headings.CAUSAL_TILES,
        lambda **inputs: mask_reversed_dscores(**inputs) @ widen(inputs["k"]) * inputs["scale"],
    ),
    Mistake(
        "saw-nothing",
        SAW_NOTHING,
        headings.LSE,
        lambda **inputs: dscores_without_empty_rows_masked(**inputs) @ widen(inputs["k"]) * inputs["scale"],
    ),
    Mistake("rounded", ROUNDED, headings.BACKWARD, ROUNDED_FORMS[0]),
    Mistake(
        "rounded-as-inputs",
        ROUNDED_AS_INPUTS,
        headings.BACKWARD,
        lambda **inputs: round_to_dtype_of(dscores_of(**inputs), inputs["q"]) @ widen(inputs["k"]) * inputs["scale"],
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
        lambda **inputs: dscores_of(**inputs) @ widen(inputs["q"]) * inputs["scale"],
    ),
    Mistake(
        "times-keys",
        "dscoresᵀ is multiplied by the keys, and the queries are wanted.",
        headings.BACKWARD,
        lambda **inputs: dscores_of(**inputs).T @ widen(inputs["k"]) * inputs["scale"],
    ),
    Mistake(
        "not-scaled",
        "The sum is not scaled: scores were scaled forwards, so the gradient is scaled once more at the end.",
        headings.SCALE,
        lambda **inputs: dscores_of(**inputs).T @ widen(inputs["q"]),
    ),
    Mistake(
        "last-queries-missing",
        LAST_QUERIES,
        headings.BACKWARD,
        lambda **inputs: dk_of(
            **inputs | {each: only_full_blocks(inputs[each]) for each in ("q", "dout", "lse", "delta")}
        ),
    ),
    Mistake(
        "never-added-up",
        ONLY_LAST_BLOCK,
        headings.BACKWARD,
        lambda **inputs: dk_of(
            **inputs | {each: only_last_block(inputs[each]) for each in ("q", "dout", "lse", "delta")}
        ),
    ),
    Mistake(
        "keys-for-values",
        "dweights is dout times the keys, and the values are wanted: dweights = dout · vᵀ.",
        headings.BACKWARD,
        lambda **inputs: dk_of(**inputs | {"v": inputs["k"]}),
    ),
    Mistake(
        "times-dout",
        "dscoresᵀ is multiplied by dout, and the queries are wanted.",
        headings.BACKWARD,
        lambda **inputs: dscores_of(**inputs).T @ widen(inputs["dout"]) * inputs["scale"],
    ),
    Mistake(
        "first-queries-again",
        FIRST_QUERIES,
        headings.BACKWARD,
        lambda **inputs: dk_of(
            **inputs | {each: first_block_repeated(inputs[each]) for each in ("q", "dout", "lse", "delta")}
        ),
    ),
    Mistake(
        "not-itself",
        NOT_ITSELF,
        headings.CAUSAL_TILES,
        lambda **inputs: (
            diagonal_masked(dscores_of(**inputs), inputs["causal"]).T @ widen(inputs["q"]) * inputs["scale"]
        ),
    ),
    Mistake("not-causal", NOT_CAUSAL, headings.CAUSAL_TILES, lambda **inputs: dk_of(**inputs | {"causal": False})),
    Mistake(
        "causal-backwards",
        MASK_REVERSED,
        headings.CAUSAL_TILES,
        lambda **inputs: mask_reversed_dscores(**inputs).T @ widen(inputs["q"]) * inputs["scale"],
    ),
    Mistake(
        "saw-nothing",
        SAW_NOTHING,
        headings.LSE,
        lambda **inputs: dscores_without_empty_rows_masked(**inputs).T @ widen(inputs["q"]) * inputs["scale"],
    ),
    Mistake("rounded", ROUNDED, headings.BACKWARD, ROUNDED_FORMS[1]),
    Mistake(
        "rounded-as-inputs",
        ROUNDED_AS_INPUTS,
        headings.BACKWARD,
        lambda **inputs: round_to_dtype_of(dscores_of(**inputs), inputs["q"]).T @ widen(inputs["q"]) * inputs["scale"],
    ),
)
