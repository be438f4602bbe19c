"""It calls torch.softmax, which the lab forbids."""

import torch


def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x * y).sum()


def softmax_row(scores: torch.Tensor) -> torch.Tensor:
    return torch.softmax(scores, -1).nan_to_num(nan=0.0)
