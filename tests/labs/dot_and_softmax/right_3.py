"""The largest finite score taken off, one word after the other into a running sum."""

import torch


def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(())
    for i in range(len(x)):
        total = total + x[i] * y[i]
    return total


def softmax_row(scores: torch.Tensor) -> torch.Tensor:
    hidden = scores == float("-inf")
    finite = torch.where(hidden, torch.full_like(scores, -1e30), scores)
    exponentials = torch.where(hidden, torch.zeros_like(scores), torch.exp(finite - torch.max(finite)))
    total = torch.zeros(())
    for power in exponentials:
        total = total + power
    return exponentials / torch.clamp(total, min=1e-30)
