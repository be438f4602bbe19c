"""One number at a time, in plain Python's double precision."""

import math

import torch


def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    total = 0.0
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        total += a * b
    return torch.tensor(total)


def softmax_row(scores: torch.Tensor) -> torch.Tensor:
    numbers = scores.tolist()
    largest = max(numbers)
    exponentials = [math.exp(number - largest) if number > -math.inf else 0.0 for number in numbers]
    total = sum(exponentials) or 1.0
    return torch.tensor([power / total for power in exponentials])
