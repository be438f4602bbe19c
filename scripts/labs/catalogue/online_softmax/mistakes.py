"""Wrong implementations of lab 8's empty state and update, each with what its author is told."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.online_softmax.reference import State, block_state, empty, exp_below, merge, update
from scripts.labs.lab import Mistake


def update_with(sum_factor, accumulator_factor=None, block_factor=None, new_maximum=None):
    """An update with another factor for the old sum, the old accumulator and the block, or with another maximum.

    Each is a function of the old maximum, the block's and the larger of both.
    """
    accumulator_factor, block_factor = accumulator_factor or sum_factor, block_factor or rescale_factor(1)

    def implementation(running_max, running_sum, accumulator, scores, values):
        block_max, block_sum, block_blend = block_state(scores, values)
        maxima = running_max, block_max, torch.maximum(running_max, block_max)
        total = sum_factor(*maxima) * running_sum + block_factor(*maxima) * block_sum
        blend = accumulator_factor(*maxima)[:, None] * accumulator + block_factor(*maxima)[:, None] * block_blend
        return (new_maximum(*maxima) if new_maximum else maxima[2]), total, blend

    return implementation


def rescale_factor(which: int):
    return lambda *maxima: exp_below(maxima[which], maxima[2])


def factor_one(*maxima: Tensor) -> Tensor:
    return torch.ones_like(maxima[2])


def upside_down(old: Tensor, block: Tensor, new: Tensor) -> Tensor:
    return (new - old).exp()


def unguarded_update(running_max, running_sum, accumulator, scores, values) -> State:
    new_max = torch.maximum(running_max, scores.amax(1))
    exponentials, factor = (scores - new_max[:, None]).exp(), (running_max - new_max).exp()
    return new_max, factor * running_sum + exponentials.sum(1), factor[:, None] * accumulator + exponentials @ values


def unguarded_block(running_max, running_sum, accumulator, scores, values) -> State:
    """The block's own exponentials are NaN where all of a row is hidden."""
    block_max = scores.amax(1)
    exponentials = (scores - block_max[:, None]).exp()
    return merge(running_max, running_sum, accumulator, block_max, exponentials.sum(1), exponentials @ values)


def base_two(running_max, running_sum, accumulator, scores, values) -> State:
    new_max = torch.maximum(running_max, scores.amax(1))
    exponentials, factor = (scores - new_max[:, None]).exp2(), (running_max - new_max).exp2()
    return new_max, factor * running_sum + exponentials.sum(1), factor[:, None] * accumulator + exponentials @ values


def in_fp16(running_max, running_sum, accumulator, scores, values) -> State:
    new_max = torch.maximum(running_max, scores.amax(1))
    exponentials, factor = exp_below(scores, new_max[:, None]).half().to(scores.dtype), exp_below(running_max, new_max)
    return new_max, factor * running_sum + exponentials.sum(1), factor[:, None] * accumulator + exponentials @ values


def one_maximum_for_all_rows(running_max, running_sum, accumulator, scores, values) -> State:
    """The block's largest score of any row is taken for that of every row."""
    new_max = torch.maximum(running_max, scores.amax())
    exponentials, factor = exp_below(scores, new_max[:, None]), exp_below(running_max, new_max)
    return new_max, factor * running_sum + exponentials.sum(1), factor[:, None] * accumulator + exponentials @ values


def overflowing(running_max, running_sum, accumulator, scores, values) -> State:
    """The sums are brought to plain exponentials and back, in FP32."""
    new_max = torch.maximum(running_max, scores.amax(1))
    old_factor, exponentials, new_factor = (each.float().exp() for each in (running_max, scores, -new_max))
    total, blend = old_factor * running_sum.float() + exponentials.sum(1), old_factor[:, None] * accumulator.float()
    state = new_max, total * new_factor, (blend + exponentials @ values.float()) * new_factor[:, None]
    return tuple(each.to(scores.dtype) for each in state)


def divided_early(implementation):
    def implementation_divided(*state):
        maximum, total, blend = implementation(*state)
        return maximum, total, blend / total[:, None]

    return lambda **inputs: implementation_divided(*inputs.values())


NOT_RESCALED = (
    "Your sums are not rescaled when the maximum moves: what was added up below the old maximum is worth "
    "e^(old - new) of it below the new one, the sum as well as the accumulator."
)
ONLY_ONE_RESCALED = "The {} is not rescaled when the maximum moves, although the {} is: one factor is for both."
UPSIDE_DOWN = "The factor is upside down: it is e^(old - new), which is never above 1."
NOT_A_NUMBER = (
    "Minus infinity minus minus infinity is not a number: where {}, take something finite off, or say that the "
    "exponential is 0."
)
DIVIDED_EARLY = (
    "The accumulator is divided by the sum already: a state keeps it undivided, and divides once, at the very end."
)

MAX_AND_SUM_SWAPPED = (
    "The sum and the maximum have changed places: a state is the maximum, the sum, the accumulator, in this order."
)


def max_and_sum_swapped(implementation):
    def implementation_swapped(*state):
        maximum, total, blend = implementation(*state)
        return total, maximum, blend

    return lambda **inputs: implementation_swapped(*inputs.values())


def block_divided_early(running_max, running_sum, accumulator, scores, values) -> State:
    block_max, block_sum, block_blend = block_state(scores, values)
    divided_blend = block_blend / block_sum[:, None].clamp(min=1)
    return merge(running_max, running_sum, accumulator, block_max, block_sum, divided_blend)


EMPTY_MISTAKES = (
    Mistake("swapped", MAX_AND_SUM_SWAPPED, headings.MERGING, max_and_sum_swapped(empty)),
    Mistake(
        "maximum-zero",
        "The maximum of nothing is taken for 0: where all scores of a row are negative, 0 would stay, although it is "
        "no score of the row.",
        headings.MERGING,
        lambda rows, d: (torch.zeros(rows), *empty(rows, d)[1:]),
    ),
)
UPDATE_MISTAKES = (
    Mistake("swapped", MAX_AND_SUM_SWAPPED, headings.RUNNING_MAX, max_and_sum_swapped(update)),
    Mistake(
        "block-divided-early",
        "The block's part of the accumulator is divided by the block's sum: a state keeps it undivided.",
        headings.ACCUMULATOR,
        block_divided_early,
    ),
    Mistake(
        "plain-exponentials",
        "The block's exponentials are taken of the scores as they are: take the new maximum off first.",
        headings.RUNNING_MAX,
        update_with(rescale_factor(0), block_factor=lambda old, block, new: block.exp()),
    ),
    Mistake("not-rescaled", NOT_RESCALED, headings.RUNNING_MAX, update_with(factor_one)),
    Mistake(
        "sum-not-rescaled",
        ONLY_ONE_RESCALED.format("sum", "accumulator"),
        headings.ACCUMULATOR,
        update_with(factor_one, rescale_factor(0)),
    ),
    Mistake(
        "accumulator-not-rescaled",
        ONLY_ONE_RESCALED.format("accumulator", "sum"),
        headings.ACCUMULATOR,
        update_with(rescale_factor(0), factor_one),
    ),
    Mistake("upside-down", UPSIDE_DOWN, headings.RUNNING_MAX, update_with(upside_down)),
    Mistake(
        "block-not-rescaled",
        "The new exponentials are taken below the maximum of their own block, and then join sums that are taken below "
        "the larger maximum.",
        headings.RESCALING,
        update_with(rescale_factor(0), block_factor=factor_one),
    ),
    Mistake(
        "block-maximum",
        "The maximum that you keep is that of the last block, not that of all scores so far.",
        headings.RUNNING_MAX,
        update_with(
            lambda old, block, new: (old - block).exp(),
            block_factor=factor_one,
            new_maximum=lambda old, block, new: block,
        ),
    ),
    Mistake(
        "block-alone",
        "This is the state of the block alone: what was read before is forgotten.",
        headings.RUNNING_MAX,
        lambda running_max, running_sum, accumulator, scores, values: block_state(scores, values),
    ),
    Mistake("divided-early", DIVIDED_EARLY, headings.ACCUMULATOR, divided_early(update)),
    Mistake(
        "one-maximum-for-all-rows",
        "The maximum of the block is taken over all rows, and each row has its own: scores.amax(1).",
        headings.RUNNING_MAX,
        one_maximum_for_all_rows,
    ),
    Mistake(
        "overflowing",
        "The exponentials are taken of the scores as they are, with no maximum taken off: e to the power of a large "
        "score is infinite in FP32.",
        headings.OVERFLOW,
        overflowing,
    ),
    Mistake("base-two", "These are powers of 2, and powers of e are wanted.", headings.RUNNING_MAX, base_two),
    Mistake("in-fp16", "The exponentials are rounded to FP16: keep a state in FP32.", headings.RESCALING, in_fp16),
    Mistake(
        "unguarded-block",
        NOT_A_NUMBER.format("a block hides all its scores from a row"),
        headings.MERGING,
        unguarded_block,
    ),
    Mistake(
        "unguarded-update",
        NOT_A_NUMBER.format("neither the rows so far nor the block have shown a score"),
        headings.MERGING,
        unguarded_update,
    ),
)
