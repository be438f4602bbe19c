"""The reference of attention with a mask."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.lab import widen

INF = float("inf")


def visible(q: Tensor, k: Tensor, causal: bool, key_lengths: Tensor) -> Tensor:
    """Of each query and key whether the one may see the other: [batch, 1, N_q, N_k]."""
    keys = torch.arange(k.shape[-2])
    is_word = keys < key_lengths[:, None, None, None]
    return is_word & (~causal_hidden(q, k) if causal else True)


def causal_hidden(q: Tensor, k: Tensor, shift: int = 0) -> Tensor:
    """Of each query i and key j whether j > i + shift."""
    return torch.arange(k.shape[-2]) > torch.arange(q.shape[-2])[:, None] + shift


def masked_attention(
    q: Tensor, k: Tensor, v: Tensor, visible_keys: Tensor, weight_without_keys: float = 0.0, **scores_options
) -> Tensor:
    """Attention where ``visible_keys`` is True.

    weight_without_keys: what a weight is where no key is visible
    """
    weights = torch.softmax(scores_of(q, k, **scores_options).masked_fill(~visible_keys, -INF), -1).nan_to_num(
        nan=weight_without_keys
    )
    return weights.to(v.dtype) @ v


def scores_of(q: Tensor, k: Tensor, divisor: float | None = None) -> Tensor:
    scores = widen(q) @ widen(k).mT
    return scores / (q.shape[-1] ** 0.5 if divisor is None else divisor)


def attention(q, k, v, causal, key_lengths) -> Tensor:
    return (masked_attention(widen(q), widen(k), widen(v), visible(q, k, causal, key_lengths))).to(q.dtype)


def three_lines(q, k, v, causal, key_lengths) -> Tensor:
    """The three lines as they are typed, each of which rounds to the dtype of q: the baseline."""
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~visible(q, k, causal, key_lengths), -INF)
    return torch.softmax(scores, -1).nan_to_num(nan=0.0) @ v
