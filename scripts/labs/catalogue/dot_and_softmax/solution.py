"""Whole rows at once, with the maximum taken off."""

import torch


def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x * y).sum()


def softmax_row(scores: torch.Tensor) -> torch.Tensor:
    largest = scores.max()
    if largest == -torch.inf:  # every word is hidden
        return torch.zeros_like(scores)
    exponentials = torch.exp(scores - largest)
    return exponentials / exponentials.sum()
