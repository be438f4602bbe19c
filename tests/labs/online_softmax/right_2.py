"""The sum is one more column of the accumulator, and where the maximum is -inf, 0 is taken off."""

import torch


def empty(rows: int, d: int):
    return torch.zeros(rows) - float("inf"), torch.zeros(rows), torch.zeros(rows, d)


def rescaled(old_max, new_max, running_sum, accumulator):
    table = torch.cat([running_sum[:, None], accumulator], 1)
    safe_max = new_max.masked_fill(new_max == -float("inf"), 0.0)
    return torch.exp(old_max - safe_max)[:, None] * table


def update(running_max, running_sum, accumulator, scores, values):
    new_max = torch.maximum(running_max, scores.max(1).values)
    safe_max = new_max.masked_fill(new_max == -float("inf"), 0.0)
    ones = values.new_ones(len(values), 1)
    table = rescaled(running_max, new_max, running_sum, accumulator)
    table = table + torch.exp(scores - safe_max[:, None]) @ torch.cat([ones, values], 1)
    return new_max, table[:, 0], table[:, 1:]


def merge(max_a, sum_a, accumulator_a, max_b, sum_b, accumulator_b):
    new_max = torch.stack([max_a, max_b]).amax(0)
    table = rescaled(max_a, new_max, sum_a, accumulator_a) + rescaled(max_b, new_max, sum_b, accumulator_b)
    return new_max, table[:, 0], table[:, 1:]


def finish(running_max, running_sum, accumulator):
    out = torch.zeros_like(accumulator)
    for row in range(len(out)):
        if running_sum[row] > 0:
            out[row] = accumulator[row] / running_sum[row]
    return out, torch.where(running_sum > 0, running_max + running_sum.log(), -float("inf"))
