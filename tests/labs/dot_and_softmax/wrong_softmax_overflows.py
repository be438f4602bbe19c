"""The maximum is not taken off."""

import torch

names = "overflow"


def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x * y).sum()


def softmax_row(scores: torch.Tensor) -> torch.Tensor:
    powers = torch.exp(scores)
    return powers / powers.sum()
