"""Scores are clamped lest they overflow."""

import torch


def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x * y).sum()


def softmax_row(scores: torch.Tensor) -> torch.Tensor:
    largest = scores.max()
    if largest == -torch.inf:  # every word is hidden
        return torch.zeros_like(scores)
    powers = torch.exp(scores.clamp(max=80))
    return powers / powers.sum()
