"""The reference of attention under a causal mask, and the scale that its errors are measured against."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.catalogue.roundings_from_scores import TILED_KERNEL_ROUNDINGS, output_roundings
from scripts.labs.lab import widen

INF = float("inf")
OutputAndLse = tuple[Tensor, Tensor]


def query_and_key(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers of the queries, upright, and those of the keys."""
    return torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])


def visible(q: Tensor, k: Tensor, is_causal: bool) -> Tensor:
    query, key = query_and_key(q, k)
    return (key <= query) if is_causal else (key >= 0).expand(len(query), -1)


def scores_of(q: Tensor, k: Tensor) -> Tensor:
    return widen(q) @ widen(k).mT / q.shape[-1] ** 0.5


def attention(
    scores: Tensor, v: Tensor, hidden: Tensor, without_keys: tuple[float, float] = (0.0, -INF)
) -> OutputAndLse:
    """without_keys: the output and the lse of a query that sees no key."""
    scores = scores.masked_fill(hidden, -INF)
    empty = hidden.expand_as(scores).all(-1)
    out = scores.softmax(-1).to(v.dtype) @ v
    return out.masked_fill(empty[..., None], without_keys[0]), scores.logsumexp(-1).masked_fill(empty, without_keys[1])


def flash(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> OutputAndLse:
    return attention(scores_of(q, k), v, ~visible(q, k, is_causal))


def error_scale(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> OutputAndLse:
    """Values may cancel, and so may the products of a score."""
    products = scores_of(q.abs(), k.abs())
    largest = products.amax(-1) if products.shape[-1] else torch.zeros_like(products.sum(-1))
    return flash(q, k, v.abs(), is_causal)[0], largest


def roundings(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> tuple[Tensor, float]:
    """Roundings that the output and lse are granted."""
    scores = scores_of(q, k).masked_fill(~visible(q, k, is_causal), -INF)
    return output_roundings(scores, scores_of(q.abs(), k.abs()), TILED_KERNEL_ROUNDINGS), TILED_KERNEL_ROUNDINGS
