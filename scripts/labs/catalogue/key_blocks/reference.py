"""The reference of attention, and the scale that its errors are measured against."""

from __future__ import annotations

from torch import Tensor

from scripts.labs.catalogue.roundings_from_scores import TILED_KERNEL_ROUNDINGS, output_roundings
from scripts.labs.lab import widen

BLOCK = 16  # as the start file has it


def scaled_scores(q: Tensor, k: Tensor) -> Tensor:
    """q·k / √d, FP64: [N_q, N_k]."""
    return widen(q) @ widen(k).T / q.shape[1] ** 0.5


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled_scores(q, k).softmax(-1) @ widen(v)


def error_scale(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The values may cancel, so an error is measured by the blend of their sizes."""
    return attention(q, k, v.abs())


def roundings(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Roundings that the output is granted."""
    return output_roundings(scaled_scores(q, k), scaled_scores(q.abs(), k.abs()), TILED_KERNEL_ROUNDINGS)
