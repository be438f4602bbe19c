"""Row by row and score by score, in plain numbers."""

import math

import torch


def empty(rows: int, d: int):
    return torch.tensor([-math.inf] * rows), torch.tensor([0.0] * rows), torch.tensor([[0.0] * d] * rows)


def update(running_max, running_sum, accumulator, scores, values):
    found = []
    for row in range(len(scores)):
        maximum, total, blend = running_max[row].item(), running_sum[row].item(), accumulator[row].clone()
        for score, value in zip(scores[row].tolist(), values, strict=True):
            if score == -math.inf:
                continue
            if score > maximum:
                factor = math.exp(maximum - score)
                maximum, total, blend = score, total * factor, blend * factor
            total += math.exp(score - maximum)
            blend = blend + math.exp(score - maximum) * value
        found.append((maximum, total, blend))
    return stacked(found)


def stacked(found):
    maxima, sums, blends = zip(*found, strict=True)
    return torch.tensor(maxima), torch.tensor(sums), torch.stack(blends)


def merge(max_a, sum_a, accumulator_a, max_b, sum_b, accumulator_b):
    found = []
    for row in range(len(max_a)):
        a, b = (
            (max_a[row].item(), sum_a[row].item(), accumulator_a[row]),
            (max_b[row].item(), sum_b[row].item(), accumulator_b[row]),
        )
        low, high = (a, b) if a[0] < b[0] else (b, a)
        factor = math.exp(low[0] - high[0]) if low[1] else 0.0
        found.append((high[0], high[1] + factor * low[1], high[2] + factor * low[2]))
    return stacked(found)


def finish(running_max, running_sum, accumulator):
    out = torch.nan_to_num(accumulator / running_sum[:, None], nan=0.0)
    return out, torch.tensor(
        [m + math.log(s) if s else -math.inf for m, s in zip(running_max, running_sum, strict=True)]
    )
