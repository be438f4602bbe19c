"""Only the sums are not rescaled in a merge."""

import torch

names = "sums-not-rescaled"


def empty(rows: int, d: int):
    return torch.full((rows,), -torch.inf), torch.zeros(rows), torch.zeros(rows, d)


def exp_below(score: torch.Tensor, maximum: torch.Tensor) -> torch.Tensor:
    """e^(score - maximum), and 0 where the score is -inf, whatever the maximum is."""
    return torch.where(score == -torch.inf, 0.0, torch.exp(score - maximum))


def update(running_max, running_sum, accumulator, scores, values):
    block_max = scores.amax(1)
    powers = exp_below(scores, block_max[:, None])
    new_max = torch.maximum(running_max, block_max)
    factor, powers = exp_below(running_max, new_max), exp_below(scores, new_max[:, None])
    return new_max, factor * running_sum + powers.sum(1), factor[:, None] * accumulator + powers @ values


def merge(max_a, sum_a, accumulator_a, max_b, sum_b, accumulator_b):
    new_max = torch.maximum(max_a, max_b)
    factor_a, factor_b = exp_below(max_a, new_max), exp_below(max_b, new_max)
    new_sum = sum_a + sum_b
    return new_max, new_sum, factor_a[:, None] * accumulator_a + factor_b[:, None] * accumulator_b


def finish(running_max, running_sum, accumulator):
    seen = running_sum > 0
    out = accumulator / torch.where(seen, running_sum, 1.0)[:, None]
    return out, running_max + torch.log(running_sum)
