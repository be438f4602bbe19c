"""A row in which every word is hidden gets even shares."""

import torch


def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x * y).sum()


def softmax_row(scores: torch.Tensor) -> torch.Tensor:
    largest = scores.max()
    if largest == -torch.inf:  # every word is hidden
        return torch.full_like(scores, 1 / len(scores))
    powers = torch.exp(scores - largest)
    return powers / powers.sum()
