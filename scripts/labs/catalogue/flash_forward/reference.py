"""The reference of the forward pass, and the scale that its errors are measured against."""

from __future__ import annotations

from torch import Tensor

from scripts.labs.catalogue.roundings_from_scores import TILED_KERNEL_ROUNDINGS, output_roundings
from scripts.labs.lab import widen

BLOCK = 16  # as the start file has it, of queries and of keys
INF = float("inf")
OutputAndLse = tuple[Tensor, Tensor]


def scores_of(q: Tensor, k: Tensor) -> Tensor:
    return widen(q) @ widen(k).mT / q.shape[-1] ** 0.5


def flash(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    """The shares are rounded to the values' type, as tensor cores want them."""
    scores = scores_of(q, k)
    return scores.softmax(-1).to(v.dtype) @ v, scores.logsumexp(-1)


def error_scale(q: Tensor, k: Tensor, v: Tensor) -> OutputAndLse:
    """Values may cancel, and so may the products of a score."""
    largest = scores_of(q.abs(), k.abs()).amax(-1)
    return flash(q, k, v.abs())[0], largest


def roundings(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, float]:
    """Roundings that the output and lse are granted."""
    return output_roundings(
        scores_of(q, k), scores_of(q.abs(), k.abs()), TILED_KERNEL_ROUNDINGS
    ), TILED_KERNEL_ROUNDINGS
