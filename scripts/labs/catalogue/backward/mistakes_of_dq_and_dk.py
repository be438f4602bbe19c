"""Wrong implementations of lab 11's dQ and dK, which share dscores, each with what its author is told."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.backward.mistakes import (
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
    only_full_blocks,
    only_last_block,
    round_to_dtype_of,
    round_to_fp16,
    weights_of_masked_queries,
)
from scripts.labs.catalogue.backward.reference import dk_of, dq_of, dscores_of, scores_of, weights_of
from scripts.labs.lab import Mistake, widen

BLOCK_K = 32  # as the start file has it


def dq_and_dk(name: str, message: str, heading: str, dscores: Callable[..., Tensor]) -> tuple[Mistake, Mistake]:
    """A mistake of dscores, made of the inputs by name, as it shows in dq and in dk."""
    return (
        Mistake(name, message, heading, lambda **inputs: dscores(**inputs) @ widen(inputs["k"]) * inputs["scale"]),
        Mistake(name, message, heading, lambda **inputs: dscores(**inputs).T @ widen(inputs["q"]) * inputs["scale"]),
    )


def dscores_from(implementation) -> Callable[..., Tensor]:
    """dscores as ``implementation`` makes them, of weights, dweights and delta."""

    def dscores(q, k, v, dout, lse, delta, scale, causal):
        return implementation(weights_of(q, k, lse, scale, causal), widen(dout) @ widen(v).T, delta[:, None])

    return dscores


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


def dk_of_queries(some_of: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """dk from some of the queries."""
    return lambda **inputs: dk_of(**inputs | {each: some_of(inputs[each]) for each in ("q", "dout", "lse", "delta")})


BOTH = (
    dq_and_dk(
        "no-delta",
        "delta is never taken off: dscores = weights ∘ (dweights - delta).",
        headings.BACKWARD,
        dscores_from(lambda weights, dweights, delta: weights * dweights),
    ),
    dq_and_dk(
        "delta-added",
        "delta is added, and must be taken off.",
        headings.BACKWARD,
        dscores_from(lambda weights, dweights, delta: weights * (dweights + delta)),
    ),
    dq_and_dk(
        "brackets",
        "delta is taken off after the weights were multiplied in: subtract it first, then multiply.",
        headings.BACKWARD,
        dscores_from(lambda weights, dweights, delta: weights * dweights - delta),
    ),
    dq_and_dk(
        "no-weights",
        "dweights - delta is never multiplied by the weights.",
        headings.BACKWARD,
        dscores_from(lambda weights, dweights, delta: dweights - delta),
    ),
    dq_and_dk("no-lse", NO_LSE, headings.LSE, without_lse),
    dq_and_dk(
        "not-scaled",
        "The sum is not scaled: scores were scaled forwards, so the gradient is scaled once more at the end.",
        headings.SCALE,
        lambda **inputs: dscores_of(**inputs) / inputs["scale"],
    ),
    dq_and_dk(
        "keys-for-values",
        "dweights is dout times the keys, and the values are wanted: dweights = dout · vᵀ.",
        headings.BACKWARD,
        lambda **inputs: dscores_of(**inputs | {"v": inputs["k"]}),
    ),
    dq_and_dk(
        "not-itself",
        NOT_ITSELF,
        headings.CAUSAL_TILES,
        lambda **inputs: diagonal_masked(dscores_of(**inputs), inputs["causal"]),
    ),
    dq_and_dk(
        "not-causal", NOT_CAUSAL, headings.CAUSAL_TILES, lambda **inputs: dscores_of(**inputs | {"causal": False})
    ),
    dq_and_dk("causal-backwards", MASK_REVERSED, headings.CAUSAL_TILES, mask_reversed_dscores),
    dq_and_dk("saw-nothing", SAW_NOTHING, headings.LSE, dscores_without_empty_rows_masked),
    dq_and_dk("rounded", ROUNDED, headings.BACKWARD, lambda **inputs: round_to_fp16(dscores_of(**inputs))),
    dq_and_dk(
        "rounded-as-inputs",
        ROUNDED_AS_INPUTS,
        headings.BACKWARD,
        lambda **inputs: round_to_dtype_of(dscores_of(**inputs), inputs["q"]),
    ),
)
DQ_MISTAKES = (
    *(dq for dq, _ in BOTH),
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
        "never-added-up",
        "Only the last block of keys counts: each turn of the loop must add to what the earlier ones left.",
        headings.BACKWARD,
        lambda **inputs: dscores_of_last_keys(**inputs) @ widen(inputs["k"]) * inputs["scale"],
    ),
)
DK_MISTAKES = (
    *(dk for _, dk in BOTH),
    Mistake(
        "not-transposed",
        "It is dscores · q: for a key the sum goes over the queries, so dscores has to be transposed.",
        headings.BACKWARD,
        lambda **inputs: dscores_of(**inputs) @ widen(inputs["q"]) * inputs["scale"],
    ),
    Mistake(
        "times-dout",
        "dscoresᵀ is multiplied by dout, and the queries are wanted.",
        headings.BACKWARD,
        lambda **inputs: dscores_of(**inputs).T @ widen(inputs["dout"]) * inputs["scale"],
    ),
    Mistake("last-queries-missing", LAST_QUERIES, headings.BACKWARD, dk_of_queries(only_full_blocks)),
    Mistake("never-added-up", ONLY_LAST_BLOCK, headings.BACKWARD, dk_of_queries(only_last_block)),
)
