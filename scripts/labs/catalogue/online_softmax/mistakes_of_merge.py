"""Wrong implementations of lab 8's merge and finish, each with what its author is told."""

from __future__ import annotations

import torch

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.online_softmax.mistakes import (
    DIVIDED_EARLY,
    MAX_AND_SUM_SWAPPED,
    NOT_A_NUMBER,
    ONLY_ONE_RESCALED,
    UPSIDE_DOWN,
    divided_early,
    factor_one,
    max_and_sum_swapped,
    rescale_factor,
)
from scripts.labs.catalogue.online_softmax.reference import finish, merge
from scripts.labs.lab import Mistake


def merge_with(factor_a, factor_b, accumulator_factors=None):
    """A merge with other factors, each a function of a's maximum, b's and the larger of both."""

    def implementation(max_a, sum_a, accumulator_a, max_b, sum_b, accumulator_b):
        maxima = max_a, max_b, torch.maximum(max_a, max_b)
        blend_a, blend_b = accumulator_factors or (factor_a, factor_b)
        total = factor_a(*maxima) * sum_a + factor_b(*maxima) * sum_b
        blend = blend_a(*maxima)[:, None] * accumulator_a + blend_b(*maxima)[:, None] * accumulator_b
        return maxima[2], total, blend

    return implementation


MERGE_MISTAKES = (
    Mistake("swapped", MAX_AND_SUM_SWAPPED, headings.MERGING, max_and_sum_swapped(merge)),
    Mistake(
        "sums-not-rescaled",
        ONLY_ONE_RESCALED.format("sum", "accumulator"),
        headings.ACCUMULATOR,
        merge_with(factor_one, factor_one, (rescale_factor(0), rescale_factor(1))),
    ),
    Mistake(
        "not-rescaled",
        "The two states are added as they are. Bring both to the larger maximum first: each is then worth "
        "e^(its own maximum - the larger one) of what it was.",
        headings.MERGING,
        merge_with(factor_one, factor_one),
    ),
    Mistake(
        "b-not-rescaled",
        "The second state is never rescaled. Either of the two may have the smaller maximum.",
        headings.MERGING,
        merge_with(rescale_factor(0), factor_one),
    ),
    Mistake(
        "a-not-rescaled",
        "The first state is never rescaled. Either of the two may have the smaller maximum.",
        headings.MERGING,
        merge_with(factor_one, rescale_factor(1)),
    ),
    Mistake(
        "accumulators-not-rescaled",
        ONLY_ONE_RESCALED.format("accumulator", "sum"),
        headings.ACCUMULATOR,
        merge_with(rescale_factor(0), rescale_factor(1), (factor_one, factor_one)),
    ),
    Mistake(
        "upside-down",
        UPSIDE_DOWN,
        headings.MERGING,
        merge_with(lambda a, b, new: (new - a).exp(), lambda a, b, new: (new - b).exp()),
    ),
    Mistake("divided-early", DIVIDED_EARLY, headings.ACCUMULATOR, divided_early(merge)),
    Mistake(
        "both-empty",
        NOT_A_NUMBER.format("neither reader has read anything"),
        headings.MERGING,
        merge_with(lambda a, b, new: (a - new).exp(), lambda a, b, new: (b - new).exp()),
    ),
)


def finish_with_lse(lse):
    """A right output beside another lse, of the maximum and the sum."""

    def implementation(running_max, running_sum, accumulator):
        return finish(running_max, running_sum, accumulator)[0], lse(running_max, running_sum)

    return implementation


FINISH_MISTAKES = (
    Mistake(
        "not-divided",
        "The accumulator is not divided by the sum.",
        headings.ACCUMULATOR,
        lambda running_max, running_sum, accumulator: (accumulator, running_max + running_sum.log()),
    ),
    Mistake(
        "sum-alone",
        "The log-sum-exp is the logarithm of the sum alone: the maximum that was taken off has to be added again.",
        headings.MERGING,
        finish_with_lse(lambda maximum, total: total.log()),
    ),
    Mistake(
        "base-two",
        "The logarithm is the one to the base 2, and the natural one is wanted.",
        headings.MERGING,
        finish_with_lse(lambda maximum, total: maximum + total.log2()),
    ),
    Mistake(
        "overflowing",
        "The maximum is put back before the logarithm is taken, and e to the power of a large maximum is infinite.",
        headings.OVERFLOW,
        finish_with_lse(lambda maximum, total: (maximum.float().exp() * total.float()).log().to(maximum.dtype)),
    ),
    Mistake(
        "nothing-seen",
        "A row that has seen no score is 0 divided by 0, which is not a number.",
        headings.MERGING,
        lambda running_max, running_sum, accumulator: (
            accumulator / running_sum[:, None],
            running_max + running_sum.log(),
        ),
    ),
)
