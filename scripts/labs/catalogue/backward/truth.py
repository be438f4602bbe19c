"""What each part of the backward pass comes to, and by what an error in it is measured."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.lab import widened

INF = float("inf")


def seen(scores: Tensor, causal: bool) -> Tensor:
    """[seq_q, seq_k]: which query sees which key."""
    ones = torch.ones_like(scores, dtype=torch.bool)
    return ones.tril() if causal else ones


def scores_of(q: Tensor, k: Tensor, scale: float) -> Tensor:
    return widened(q) @ widened(k).T * scale


def weights_of(q, k, lse, scale, causal) -> Tensor:
    lse = lse.masked_fill(lse == -INF, INF)[:, None]
    scores = scores_of(q, k, scale)
    return (scores - lse).exp().masked_fill(~seen(scores, causal), 0)


def dscores_of(q, k, v, dout, lse, delta, scale, causal) -> Tensor:
    return weights_of(q, k, lse, scale, causal) * (widened(dout) @ widened(v).T - delta[:, None])


def dv_of(q, k, lse, dout, scale, causal) -> Tensor:
    return weights_of(q, k, lse, scale, causal).T @ widened(dout)


def delta_of(out, dout) -> Tensor:
    return (widened(out) * widened(dout)).sum(1)


def dq_of(**given) -> Tensor:
    return dscores_of(**given) @ widened(given["k"]) * given["scale"]


def dk_of(**given) -> Tensor:
    return dscores_of(**given).T @ widened(given["q"]) * given["scale"]


# By what an error is measured: terms cancel, so by the root of the sum of their squares.


def size_of_dv(q, k, lse, dout, scale, causal) -> Tensor:
    return (weights_of(q, k, lse, scale, causal).square().T @ dout.square()).sqrt()


def size_of_delta(out, dout) -> Tensor:
    return (out * dout).square().sum(1).sqrt()


def dscores_size(q, k, v, dout, lse, delta, scale, causal) -> Tensor:
    dweights = (dout.square() @ v.square().T).sqrt()
    return weights_of(q, k, lse, scale, causal) * (dweights + delta.abs()[:, None])


def size_of_dq(**given) -> Tensor:
    return (dscores_size(**given).square() @ given["k"].square()).sqrt() * given["scale"]


def size_of_dk(**given) -> Tensor:
    return (dscores_size(**given).square().T @ given["q"].square()).sqrt() * given["scale"]
