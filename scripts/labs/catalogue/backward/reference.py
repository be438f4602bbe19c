"""The reference of each part of the backward pass, and the scale that its errors are measured against."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.lab import widen

INF = float("inf")


def visible(scores: Tensor, causal: bool) -> Tensor:
    """[seq_q, seq_k]: which query sees which key."""
    ones = torch.ones_like(scores, dtype=torch.bool)
    return ones.tril() if causal else ones


def scores_of(q: Tensor, k: Tensor, scale: float) -> Tensor:
    return widen(q) @ widen(k).T * scale


def weights_of(q, k, lse, scale, causal) -> Tensor:
    lse = lse.masked_fill(lse == -INF, INF)[:, None]
    scores = scores_of(q, k, scale)
    return (scores - lse).exp().masked_fill(~visible(scores, causal), 0)


def dscores_of(q, k, v, dout, lse, delta, scale, causal) -> Tensor:
    return weights_of(q, k, lse, scale, causal) * (widen(dout) @ widen(v).T - delta[:, None])


def dv_of(q, k, lse, dout, scale, causal) -> Tensor:
    return weights_of(q, k, lse, scale, causal).T @ widen(dout)


def delta_of(out, dout) -> Tensor:
    return (widen(out) * widen(dout)).sum(1)


def dq_of(**inputs) -> Tensor:
    return dscores_of(**inputs) @ widen(inputs["k"]) * inputs["scale"]


def dk_of(**inputs) -> Tensor:
    return dscores_of(**inputs).T @ widen(inputs["q"]) * inputs["scale"]


# By what an error is measured: terms cancel, so by the root of the sum of their squares.


def error_scale_of_dv(q, k, lse, dout, scale, causal) -> Tensor:
    return (weights_of(q, k, lse, scale, causal).square().T @ dout.square()).sqrt()


def error_scale_of_delta(out, dout) -> Tensor:
    return (out * dout).square().sum(1).sqrt()


def error_scale_of_dscores(q, k, v, dout, lse, delta, scale, causal) -> Tensor:
    dweights = (dout.square() @ v.square().T).sqrt()
    return weights_of(q, k, lse, scale, causal) * (dweights + delta.abs()[:, None])


def error_scale_of_dq(**inputs) -> Tensor:
    return (error_scale_of_dscores(**inputs).square() @ inputs["k"].square()).sqrt() * inputs["scale"]


def error_scale_of_dk(**inputs) -> Tensor:
    return (error_scale_of_dscores(**inputs).square().T @ inputs["q"].square()).sqrt() * inputs["scale"]
