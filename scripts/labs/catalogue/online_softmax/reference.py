"""The reference of each operation on a state: empty, update, merge, finish; and the scale of its errors."""

from __future__ import annotations

import torch
from torch import Tensor

INF = float("inf")
State = tuple[Tensor, Tensor, Tensor]


def exp_below(score: Tensor, maximum: Tensor) -> Tensor:
    return torch.where(score == -INF, 0.0, (score - maximum).exp())


def empty(rows: int, d: int) -> State:
    return torch.full((rows,), -INF), torch.zeros(rows), torch.zeros(rows, d)


def block_state(scores: Tensor, values: Tensor) -> State:
    maximum = scores.amax(1)
    exponentials = exp_below(scores, maximum[:, None])
    return maximum, exponentials.sum(1), exponentials @ values


def update(running_max: Tensor, running_sum: Tensor, accumulator: Tensor, scores: Tensor, values: Tensor) -> State:
    return merge(running_max, running_sum, accumulator, *block_state(scores, values))


def merge(max_a, sum_a, accumulator_a, max_b, sum_b, accumulator_b) -> State:
    new_max = torch.maximum(max_a, max_b)
    factor_a, factor_b = exp_below(max_a, new_max), exp_below(max_b, new_max)
    blend = factor_a[:, None] * accumulator_a + factor_b[:, None] * accumulator_b
    return new_max, factor_a * sum_a + factor_b * sum_b, blend


def finish(running_max: Tensor, running_sum: Tensor, accumulator: Tensor) -> tuple[Tensor, Tensor]:
    divisor = torch.where(running_sum > 0, running_sum, 1.0)
    return accumulator / divisor[:, None], running_max + running_sum.log()


# What an error is measured by: each number by itself, but a blend by its terms' sizes.


def error_scale_of_update(running_max, running_sum, accumulator, scores, values) -> State:
    state = update(running_max, running_sum, accumulator.abs(), scores, values.abs())
    return torch.zeros_like(running_max), state[1], state[2]


def error_scale_of_merge(max_a, sum_a, accumulator_a, max_b, sum_b, accumulator_b) -> State:
    state = merge(max_a, sum_a, accumulator_a.abs(), max_b, sum_b, accumulator_b.abs())
    return torch.zeros_like(max_a), state[1], state[2]


def error_scale_of_finish(running_max, running_sum, accumulator) -> tuple[Tensor, Tensor]:
    terms = running_max.abs() + running_sum.log().abs()
    return torch.zeros_like(accumulator), terms.masked_fill(running_sum == 0, 0)
