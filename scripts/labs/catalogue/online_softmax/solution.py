"""A block is made a state of its own, and to update is to merge; one guarded exponential does for all."""

import torch


def empty(rows: int, d: int):
    return torch.full((rows,), -torch.inf), torch.zeros(rows), torch.zeros(rows, d)


def exp_below(score: torch.Tensor, maximum: torch.Tensor) -> torch.Tensor:
    """e^(score - maximum), and 0 where the score is -inf, whatever the maximum is."""
    return torch.where(score == -torch.inf, 0.0, torch.exp(score - maximum))


def update(running_max, running_sum, accumulator, scores, values):
    block_max = scores.amax(1)
    exponentials = exp_below(scores, block_max[:, None])
    return merge(running_max, running_sum, accumulator, block_max, exponentials.sum(1), exponentials @ values)


def merge(max_a, sum_a, accumulator_a, max_b, sum_b, accumulator_b):
    new_max = torch.maximum(max_a, max_b)
    factor_a, factor_b = exp_below(max_a, new_max), exp_below(max_b, new_max)
    new_sum = factor_a * sum_a + factor_b * sum_b
    return new_max, new_sum, factor_a[:, None] * accumulator_a + factor_b[:, None] * accumulator_b


def finish(running_max, running_sum, accumulator):
    seen = running_sum > 0
    out = accumulator / torch.where(seen, running_sum, 1.0)[:, None]
    return out, running_max + torch.log(running_sum)
