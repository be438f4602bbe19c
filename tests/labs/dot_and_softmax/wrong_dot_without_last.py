"""The last product is missing."""

import torch

names = "last-missing"


def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x * y)[:-1].sum()


def softmax_row(scores: torch.Tensor) -> torch.Tensor:
    largest = scores.max()
    if largest == -torch.inf:  # every word is hidden
        return torch.zeros_like(scores)
    powers = torch.exp(scores - largest)
    return powers / powers.sum()
