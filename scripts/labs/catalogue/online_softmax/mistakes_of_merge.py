"""What people get wrong of a merge, and of what finishes a state."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.catalogue.online_softmax.mistakes import (
    BOTH,
    CARRY,
    EARLY,
    MERGE,
    NOT_A_NUMBER,
    SWAPPED,
    UPSIDE_DOWN,
    below,
    divided,
    one,
    swapped,
)
from scripts.labs.catalogue.online_softmax.truth import finish, merge
from scripts.labs.lab import Mistake


def merged(of_a, of_b, of_blends=None, kept=torch.maximum):
    """A merge with other factors, each a function of a's maximum, b's and the larger of both."""

    def form(max_a, sum_a, accumulator_a, max_b, sum_b, accumulator_b):
        maxima = max_a, max_b, torch.maximum(max_a, max_b)
        blend_a, blend_b = of_blends or (of_a, of_b)
        total = of_a(*maxima) * sum_a + of_b(*maxima) * sum_b
        blend = blend_a(*maxima)[:, None] * accumulator_a + blend_b(*maxima)[:, None] * accumulator_b
        return kept(max_a, max_b), total, blend

    return form


MERGE_MISTAKES = (
    Mistake("swapped", SWAPPED, MERGE, swapped(merge)),
    Mistake(
        "sums-not-rescaled",
        BOTH.format("sum", "accumulator"),
        CARRY,
        merged(one, one, (below(0), below(1))),
    ),
    Mistake(
        "not-rescaled",
        "The two states are added as they are. Bring both to the larger maximum first: each is then worth "
        "e^(its own maximum - the larger one) of what it was.",
        MERGE,
        merged(one, one),
    ),
    Mistake(
        "b-not-rescaled",
        "The second state is never rescaled. Either of the two may have the smaller maximum.",
        MERGE,
        merged(below(0), one),
    ),
    Mistake(
        "a-not-rescaled",
        "The first state is never rescaled. Either of the two may have the smaller maximum.",
        MERGE,
        merged(one, below(1)),
    ),
    Mistake(
        "factors-swapped",
        "The two factors have changed places: each state shrinks by e^(its own maximum - the larger one).",
        MERGE,
        merged(below(1), below(0)),
    ),
    Mistake(
        "accumulators-not-rescaled",
        BOTH.format("accumulator", "sum"),
        CARRY,
        merged(below(0), below(1), (one, one)),
    ),
    Mistake(
        "upside-down",
        UPSIDE_DOWN,
        MERGE,
        merged(lambda a, b, new: (new - a).exp(), lambda a, b, new: (new - b).exp()),
    ),
    Mistake(
        "maxima-added",
        "The maxima are added. They are compared, and the larger one stays.",
        MERGE,
        merged(below(0), below(1), kept=torch.add),
    ),
    Mistake("divided-early", EARLY, CARRY, divided(merge)),
    Mistake(
        "both-empty",
        NOT_A_NUMBER.format("neither reader has read anything"),
        MERGE,
        merged(lambda a, b, new: (a - new).exp(), lambda a, b, new: (b - new).exp()),
    ),
)


def outputs(running_max, running_sum, accumulator) -> Tensor:
    return finish(running_max, running_sum, accumulator)[0]


FINISH_MISTAKES = (
    Mistake(
        "divided-by-maximum",
        "The accumulator is divided by the maximum, and the sum is wanted.",
        CARRY,
        lambda running_max, running_sum, accumulator: (
            accumulator / running_max[:, None],
            running_max + running_sum.log(),
        ),
    ),
    Mistake(
        "logarithm-taken-off",
        "The logarithm of the sum is taken off the maximum, and it is to be added.",
        MERGE,
        lambda running_max, running_sum, accumulator: (
            outputs(running_max, running_sum, accumulator),
            running_max - running_sum.log(),
        ),
    ),
    Mistake(
        "not-divided",
        "The accumulator is not divided by the sum.",
        CARRY,
        lambda running_max, running_sum, accumulator: (accumulator, running_max + running_sum.log()),
    ),
    Mistake(
        "sum-alone",
        "The log-sum-exp is the logarithm of the sum alone: the maximum that was taken off has to be added again.",
        MERGE,
        lambda running_max, running_sum, accumulator: (
            outputs(running_max, running_sum, accumulator),
            running_sum.log(),
        ),
    ),
    Mistake(
        "no-logarithm",
        "The maximum and the sum are added, and it is the logarithm of the sum that belongs to the maximum.",
        MERGE,
        lambda running_max, running_sum, accumulator: (
            outputs(running_max, running_sum, accumulator),
            running_max + running_sum,
        ),
    ),
    Mistake(
        "base-two",
        "The logarithm is the one to the base 2, and the natural one is wanted.",
        MERGE,
        lambda running_max, running_sum, accumulator: (
            outputs(running_max, running_sum, accumulator),
            running_max + running_sum.log2(),
        ),
    ),
    Mistake(
        "overflow",
        "The maximum is put back before the logarithm is taken, and e to the power of a large maximum is infinite.",
        "online-softmax#you-arent-waiting-for-the-sum",
        lambda running_max, running_sum, accumulator: (
            outputs(running_max, running_sum, accumulator),
            (running_max.float().exp() * running_sum.float()).log().to(running_max.dtype),
        ),
    ),
    Mistake(
        "nothing-seen",
        "A row that has seen no score is 0 divided by 0, which is not a number.",
        MERGE,
        lambda running_max, running_sum, accumulator: (
            accumulator / running_sum[:, None],
            running_max + running_sum.log(),
        ),
    ),
)
