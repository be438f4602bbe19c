"""Wrong implementations of lab 2, attention with a mask, each with what its author is told."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.three_matmuls.reference import (
    INF,
    attention,
    causal_hidden,
    masked_attention,
    scores_of,
    visible,
)
from scripts.labs.lab import Mistake


def softmax_over_columns(q, k, v, causal, key_lengths) -> Tensor:
    scores = scores_of(q, k).masked_fill(~visible(q, k, causal, key_lengths), -INF)
    return torch.softmax(scores, -2).nan_to_num(nan=0.0) @ v


def masked_after_softmax(q, k, v, causal, key_lengths) -> Tensor:
    return (torch.softmax(scores_of(q, k), -1) * visible(q, k, causal, key_lengths)) @ v


def scores_times_mask(q, k, v, causal, key_lengths) -> Tensor:
    return torch.softmax(scores_of(q, k) * visible(q, k, causal, key_lengths), -1) @ v


def masked_with_large_negative(q, k, v, causal, key_lengths) -> Tensor:
    """A large negative number in place of -inf."""
    return torch.softmax(scores_of(q, k).masked_fill(~visible(q, k, causal, key_lengths), -1e9), -1) @ v


def padding_not_masked(q, k, v, causal, key_lengths) -> Tensor:
    return masked_attention(q, k, v, visible(q, k, causal, torch.full_like(key_lengths, k.shape[-2])))


def lengths_mask_queries(q, k, v, causal, key_lengths) -> Tensor:
    """The lengths hide queries, not keys."""
    hidden = torch.arange(q.shape[-2]) >= key_lengths[:, None, None]
    return padding_not_masked(q, k, v, causal, key_lengths).masked_fill(hidden[..., None], 0.0)


def keys_reshaped(q, k, v, causal, key_lengths) -> Tensor:
    """Kᵀ by a change of shape."""
    return masked_attention(
        q, k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]).mT, v, visible(q, k, causal, key_lengths)
    )


def without_maximum(q, k, v, causal, key_lengths) -> Tensor:
    """A softmax by hand, in FP32, which does not take the maximum off."""
    exponentials = scores_of(q.float(), k.float()).masked_fill(~visible(q, k, causal, key_lengths), -INF).exp()
    weights = exponentials / exponentials.sum(-1, keepdim=True)
    return (weights.masked_fill(exponentials.sum(-1, keepdim=True) == 0, 0.0) @ v.float()).double()


def with_causal_mask(hidden: Callable) -> Callable:
    """The implementation whose causal mask hides other keys, and nothing else is changed.

    hidden: of q and k, True where a key is hidden
    """

    def implementation(q, k, v, causal, key_lengths) -> Tensor:
        visible_keys = visible(q, k, False, key_lengths)
        return masked_attention(q, k, v, visible_keys & ~hidden(q, k) if causal else visible_keys)

    return implementation


def with_lengths(changed: Callable) -> Callable:
    """The implementation whose lengths are others."""
    return lambda q, k, v, causal, key_lengths: masked_attention(
        q, k, v, visible(q, k, causal, changed(key_lengths, k))
    )


def with_scores(**scores_options) -> Callable:
    return lambda q, k, v, causal, key_lengths: masked_attention(
        q, k, v, visible(q, k, causal, key_lengths), **scores_options
    )


MISTAKES = (
    Mistake(
        "no-scale",
        "The scores are not divided by √d.",
        headings.SCALE,
        with_scores(divisor=1.0),
    ),
    Mistake(
        "scale-is-d",
        "The scores are divided by d, and √d is wanted.",
        headings.SCALE,
        lambda q, k, v, causal, key_lengths: with_scores(divisor=float(q.shape[-1]))(q, k, v, causal, key_lengths),
    ),
    Mistake(
        "all-heads-wide",
        "The scores are divided by the root of the width of all heads: d is the width of one, q.shape[-1].",
        headings.SCALE,
        lambda q, k, v, causal, key_lengths: with_scores(divisor=(q.shape[1] * q.shape[-1]) ** 0.5)(
            q, k, v, causal, key_lengths
        ),
    ),
    Mistake(
        "softmax-over-columns",
        "Softmax runs down the columns: a row belongs to the word that asks, so it is dim=-1.",
        headings.SOFTMAX,
        softmax_over_columns,
    ),
    Mistake(
        "keys-reshaped",
        "The table of keys got another shape without being turned: Kᵀ exchanges two axes, as .mT or .transpose(-2, -1) "
        "do, and .view or .reshape do not.",
        headings.SCORES,
        keys_reshaped,
    ),
    Mistake(
        "keys-blended",
        "The shares blend the keys, and the values are wanted.",
        headings.OUTPUT,
        lambda q, k, v, causal, key_lengths: attention(q, k, k, causal, key_lengths),
    ),
    Mistake(
        "not-causal",
        "The causal mask does nothing: each query sees the keys that come after it.",
        headings.MASKS,
        with_causal_mask(lambda q, k: torch.zeros(q.shape[-2], k.shape[-2], dtype=torch.bool)),
    ),
    Mistake(
        "always-causal",
        "The causal mask is there even when causal is False.",
        headings.MASKS,
        lambda q, k, v, causal, key_lengths: attention(q, k, v, True, key_lengths),
    ),
    Mistake(
        "upside-down",
        "The causal mask is upside down: a query sees the keys after it, and not those before.",
        headings.MASKS,
        with_causal_mask(lambda q, k: torch.arange(k.shape[-2]) < torch.arange(q.shape[-2])[:, None]),
    ),
    Mistake(
        "inverted",
        "The causal mask hides what may be seen, and shows what may not: in which of the two is it True?",
        headings.MASKS,
        with_causal_mask(lambda q, k: ~causal_hidden(q, k)),
    ),
    Mistake(
        "not-itself",
        "Query i does not see key i: the causal mask hides the diagonal as well.",
        headings.MASKS,
        with_causal_mask(lambda q, k: causal_hidden(q, k, -1)),
    ),
    Mistake(
        "one-too-far",
        "Query i sees key i + 1 as well: the causal mask begins one place too late.",
        headings.MASKS,
        with_causal_mask(lambda q, k: causal_hidden(q, k, 1)),
    ),
    Mistake(
        "from-the-end",
        "The causal mask is aligned at the last query and the last key. Here query i sees keys 0 to i, however many "
        "keys there are.",
        headings.MASKS,
        with_causal_mask(lambda q, k: causal_hidden(q, k, k.shape[-2] - q.shape[-2])),
    ),
    Mistake(
        "masked-after-softmax",
        "The shares are set to 0 after softmax, so those that are left no longer add up to 1: hide the scores.",
        headings.MASKS,
        masked_after_softmax,
    ),
    Mistake(
        "scores-times-mask",
        "A hidden score becomes 0, and e to the power of 0 is 1: it has to become -inf.",
        headings.MASKS,
        scores_times_mask,
    ),
    Mistake(
        "padding-not-masked",
        "key_lengths is not used: the filling behind a sequence's last word is seen as if it were words.",
        headings.MASKS,
        padding_not_masked,
    ),
    Mistake(
        "lengths-mask-queries",
        "key_lengths hides rows, which are queries. Filling is keys, so it hides columns.",
        headings.MASKS,
        lengths_mask_queries,
    ),
    Mistake(
        "one-length-for-all",
        "Every sequence has the length of the first one: key_lengths has one for each.",
        headings.MASKS,
        with_lengths(lambda lengths, k: lengths[:1].expand_as(lengths)),
    ),
    Mistake(
        "one-key-too-many",
        "One key too many is seen: of n words the last has number n - 1.",
        headings.MASKS,
        with_lengths(lambda lengths, k: lengths + 1),
    ),
    Mistake(
        "one-key-too-few",
        "The last word of each sequence is hidden: of n words the last has number n - 1.",
        headings.MASKS,
        with_lengths(lambda lengths, k: lengths - 1),
    ),
    Mistake(
        "hidden-row",
        "A query that sees no key comes to NaN, 0 divided by 0: its shares have to become 0.",
        headings.MASKS,
        with_scores(weight_without_keys=float("nan")),
    ),
    Mistake(
        "masked-with-large-negative",
        "A hidden score becomes a large negative number and not -inf. A query that sees no key then shares itself out "
        "equally among all that is hidden.",
        headings.MASKS,
        masked_with_large_negative,
    ),
    Mistake(
        "without-maximum",
        "A softmax by hand, and the maximum is not taken off first: e to the power of a large score is infinite.",
        headings.OVERFLOW,
        without_maximum,
    ),
)
