"""It is divided by √d."""

import torch

names = "scaled"


def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x * y).sum() / max(1, len(x)) ** 0.5


def softmax_row(scores: torch.Tensor) -> torch.Tensor:
    largest = scores.max()
    if largest == -torch.inf:  # every word is hidden
        return torch.zeros_like(scores)
    powers = torch.exp(scores - largest)
    return powers / powers.sum()
