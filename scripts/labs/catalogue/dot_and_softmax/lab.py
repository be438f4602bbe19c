"""Dot product and softmax: scores that overflow, words that are hidden, a row in which all are."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.lab import SEEDS, Case, Mistake, Task, normal

INF = float("inf")


def dot_cases():
    yield Case("worked by hand", {"x": torch.tensor([1.0, 2.0, 3.0]), "y": torch.tensor([4.0, -5.0, 6.0])})
    for seed in SEEDS:
        for length in (2, 64, 129):
            x, y = normal(seed, 2, length)
            yield Case(f"{length} numbers, seed {seed}", {"x": x, "y": y}, layouts={"y": "every second"})
    yield Case("numbers of 10⁻⁴ to 10⁴", {"x": normal(1, 9) * 1e4, "y": normal(2, 9) * 1e-4})
    yield Case("no numbers", {"x": torch.zeros(0), "y": torch.zeros(0)})


def softmax_cases():
    yield Case("worked by hand", {"scores": torch.tensor([0.0, 1.0, 3.0])})
    for seed in SEEDS:
        for length in (1, 5, 100):
            scores = normal(seed, length) * 3
            yield Case(f"{length} scores, seed {seed}", {"scores": scores}, layouts={"scores": "every second"})
    yield Case("large scores", {"scores": torch.tensor([9999.0, 10000.0, 9998.5])})
    yield Case("scores far below 0", {"scores": torch.tensor([-9999.0, -10000.0, -9998.5])})
    yield Case("scores far apart", {"scores": torch.tensor([-9000.0, 9000.0, 8999.0])})
    yield Case("some words hidden", {"scores": torch.tensor([-INF, 1.0, -INF, 2.0])})
    yield Case("every word hidden", {"scores": torch.full((4,), -INF)})


def softmax(scores: Tensor) -> Tensor:
    return torch.softmax(scores, -1).nan_to_num(nan=0.0)


def without_maximum(scores: Tensor) -> Tensor:
    exponentials = scores.float().exp()
    return (exponentials / exponentials.sum()).double()


def softmax_after_subtracting(scores: Tensor, subtracted: Tensor) -> Tensor:
    exponentials = (scores - subtracted).exp()
    return exponentials / exponentials.sum()


DOT_MISTAKES = (
    Mistake(
        "cosine",
        "It is divided by the lengths of x and y: that is the cosine of the angle between them.",
        headings.DOT_PRODUCT,
        lambda x, y: (x * y).sum() / (x.norm() * y.norm()),
    ),
    Mistake("last-missing", "The last product is missing.", headings.DOT_PRODUCT, lambda x, y: (x * y)[:-1].sum()),
    Mistake(
        "mean", "It is the mean of the products, not their sum.", headings.DOT_PRODUCT, lambda x, y: (x * y).mean()
    ),
    Mistake(
        "scaled",
        "It is divided by √d, and that belongs to the scores of attention, not to the dot product.",
        headings.SCALE,
        lambda x, y: (x * y).sum() / max(1, len(x)) ** 0.5,
    ),
)
SOFTMAX_MISTAKES = (
    Mistake(
        "without-maximum",
        "The maximum is not taken off first: e to the power of a large score is infinite in FP32, and of a very "
        "negative one 0, so that 0 is divided by 0.",
        headings.OVERFLOW,
        without_maximum,
    ),
    Mistake(
        "hidden-row",
        "A row in which every score is -inf comes to NaN: -inf minus -inf is not a number.",
        headings.OVERFLOW,
        lambda scores: torch.softmax(scores, -1),
    ),
    Mistake(
        "no-sum",
        "The powers are not divided by their sum.",
        headings.SOFTMAX,
        lambda scores: (scores - scores.amax()).exp(),
    ),
    Mistake(
        "base-two",
        "These are powers of 2, and powers of e are wanted.",
        headings.SOFTMAX,
        lambda scores: softmax(scores * math.log(2)),
    ),
    Mistake(
        "largest-size",
        "The largest size is taken off, not the maximum: below 0 the score that is farthest from 0 is the smallest.",
        headings.OVERFLOW,
        lambda scores: softmax_after_subtracting(scores.float(), scores.float().abs().amax()).double(),
    ),
    Mistake(
        "minimum",
        "What is taken off is not the maximum but a smaller number, such as the mean or the minimum: a score far above "
        "it overflows, and of a hidden word -inf is taken off.",
        headings.OVERFLOW,
        lambda scores: softmax_after_subtracting(scores.float(), scores.float().amin()).double(),
    ),
)


def error_scale_of_dot(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).square().sum().sqrt()


TASKS = (
    Task("dot", lambda x, y: (x * y).sum(), dot_cases, DOT_MISTAKES, error_scale=error_scale_of_dot, roundings=16),
    Task("softmax_row", softmax, softmax_cases, SOFTMAX_MISTAKES, roundings=8),
)
