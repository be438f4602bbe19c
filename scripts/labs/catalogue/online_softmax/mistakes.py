"""What people get wrong of the empty state and of an update."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.catalogue.online_softmax.truth import Four, block_state, empty, exp_below, merge, update
from scripts.labs.lab import Mistake

SO_FAR = "online-softmax#use-the-largest-so-far"
CARRY = "online-softmax#attention-never-asks-for-the-shares"
MERGE = "online-softmax#two-states-become-one"
WHY = "online-softmax#nothing-gets-lost-in-three-lines"


# The mistakes: of an update, what becomes of the old state and of the block is put in differently.


def updated(of_sum, of_blend=None, of_block=None, kept=None):
    """An update with another factor for the old sum, the old blend and the block, or with another maximum kept.

    Each is a function of the old maximum, the block's and the larger of both.
    """
    of_blend, of_block = of_blend or of_sum, of_block or below(1)

    def form(running_max, running_sum, accumulator, scores, values):
        block_max, block_sum, block_blend = block_state(scores, values)
        maxima = running_max, block_max, torch.maximum(running_max, block_max)
        total = of_sum(*maxima) * running_sum + of_block(*maxima) * block_sum
        blend = of_blend(*maxima)[:, None] * accumulator + of_block(*maxima)[:, None] * block_blend
        return (kept(*maxima) if kept else maxima[2]), total, blend

    return form


def below(which: int):
    return lambda *maxima: exp_below(maxima[which], maxima[2])


def one(*maxima: Tensor) -> Tensor:
    return torch.ones_like(maxima[2])


def upside_down(old: Tensor, block: Tensor, new: Tensor) -> Tensor:
    return (new - old).exp()


def unguarded_update(running_max, running_sum, accumulator, scores, values) -> Four:
    new_max = torch.maximum(running_max, scores.amax(1))
    powers, factor = (scores - new_max[:, None]).exp(), (running_max - new_max).exp()
    return new_max, factor * running_sum + powers.sum(1), factor[:, None] * accumulator + powers @ values


def unguarded_block(running_max, running_sum, accumulator, scores, values) -> Four:
    """The block's own exponentials are NaN where all of a row is hidden."""
    block_max = scores.amax(1)
    powers = (scores - block_max[:, None]).exp()
    return merge(running_max, running_sum, accumulator, block_max, powers.sum(1), powers @ values)


def base_two(running_max, running_sum, accumulator, scores, values) -> Four:
    new_max = torch.maximum(running_max, scores.amax(1))
    powers, factor = (scores - new_max[:, None]).exp2(), (running_max - new_max).exp2()
    return new_max, factor * running_sum + powers.sum(1), factor[:, None] * accumulator + powers @ values


def in_fp16(running_max, running_sum, accumulator, scores, values) -> Four:
    new_max = torch.maximum(running_max, scores.amax(1))
    powers, factor = exp_below(scores, new_max[:, None]).half().to(scores.dtype), exp_below(running_max, new_max)
    return new_max, factor * running_sum + powers.sum(1), factor[:, None] * accumulator + powers @ values


def with_one_maximum(running_max, running_sum, accumulator, scores, values) -> Four:
    """The block's largest score of any row is taken for that of every row."""
    new_max = torch.maximum(running_max, scores.amax())
    powers, factor = exp_below(scores, new_max[:, None]), exp_below(running_max, new_max)
    return new_max, factor * running_sum + powers.sum(1), factor[:, None] * accumulator + powers @ values


def overflowing(running_max, running_sum, accumulator, scores, values) -> Four:
    """The sums are brought to plain exponentials and back, in FP32."""
    new_max = torch.maximum(running_max, scores.amax(1))
    there, powers, back = (each.float().exp() for each in (running_max, scores, -new_max))
    total, blend = there * running_sum.float() + powers.sum(1), there[:, None] * accumulator.float()
    found = new_max, total * back, (blend + powers @ values.float()) * back[:, None]
    return tuple(each.to(scores.dtype) for each in found)


def divided(form):
    def early(*state):
        maximum, total, blend = form(*state)
        return maximum, total, blend / total[:, None]

    return lambda **inputs: early(*inputs.values())


FORGOTTEN = (
    "Your sums are not rescaled when the maximum moves: what was added up below the old maximum is worth "
    "e^(old - new) of it below the new one, the sum as well as the accumulator."
)
BOTH = "The {} is not rescaled when the maximum moves, although the {} is: one factor is for both."
UPSIDE_DOWN = "The factor is upside down: it is e^(old - new), which is never above 1."
NOT_A_NUMBER = (
    "Minus infinity minus minus infinity is not a number: where {}, take something finite off, or say that the "
    "exponential is 0."
)
EARLY = "The accumulator is divided by the sum already: a state keeps it undivided, and divides once, at the very end."

SWAPPED = (
    "The sum and the maximum have changed places: a state is the maximum, the sum, the accumulator, in this order."
)


def swapped(form):
    def exchanged(*state):
        maximum, total, blend = form(*state)
        return total, maximum, blend

    return lambda **inputs: exchanged(*inputs.values())


def block_divided(running_max, running_sum, accumulator, scores, values) -> Four:
    block_max, block_sum, block_blend = block_state(scores, values)
    divided_blend = block_blend / block_sum[:, None].clamp(min=1)
    return merge(running_max, running_sum, accumulator, block_max, block_sum, divided_blend)


def means(running_max, running_sum, accumulator, scores, values) -> Four:
    block_max, block_sum, block_blend = block_state(scores, values)
    return merge(running_max, running_sum, accumulator, block_max, block_sum / scores.shape[1], block_blend)


def both_in_fp16(running_max, running_sum, accumulator, scores, values) -> Four:
    block_max, block_sum, _ = block_state(scores, values)
    powers = exp_below(scores, block_max[:, None])
    blend = (powers.half() @ values.half()).to(powers.dtype)
    return merge(running_max, running_sum, accumulator, block_max, block_sum, blend)


EMPTY_MISTAKES = (
    Mistake("swapped", SWAPPED, MERGE, swapped(empty)),
    Mistake(
        "maximum-finite",
        "The maximum of nothing is a very negative number. It has to be minus infinity, which is below every score "
        "and says that nothing was read.",
        MERGE,
        lambda rows, d: (torch.full((rows,), -1e30), *empty(rows, d)[1:]),
    ),
    Mistake(
        "maximum-finite-9",
        "The maximum of nothing is a very negative number. It has to be minus infinity, which is below every score "
        "and says that nothing was read.",
        MERGE,
        lambda rows, d: (torch.full((rows,), -1e9), *empty(rows, d)[1:]),
    ),
    Mistake(
        "maximum-zero",
        "The maximum of nothing is taken for 0: where all scores of a row are negative, 0 would stay, although it is "
        "no score of the row.",
        MERGE,
        lambda rows, d: (torch.zeros(rows), *empty(rows, d)[1:]),
    ),
    Mistake(
        "sum-one",
        "The sum of nothing is taken for 1.",
        MERGE,
        lambda rows, d: (empty(rows, d)[0], torch.ones(rows), torch.zeros(rows, d)),
    ),
)
UPDATE_MISTAKES = (
    Mistake("swapped", SWAPPED, SO_FAR, swapped(update)),
    Mistake(
        "block-divided",
        "The block's part of the accumulator is divided by the block's sum: a state keeps it undivided.",
        CARRY,
        block_divided,
    ),
    Mistake(
        "means",
        "The mean of the block's exponentials is added, and their sum is wanted.",
        SO_FAR,
        means,
    ),
    Mistake(
        "plain-exponentials",
        "The block's exponentials are taken of the scores as they are: take the new maximum off first.",
        SO_FAR,
        updated(below(0), of_block=lambda old, block, new: block.exp()),
    ),
    Mistake("both-in-fp16", "Exponentials and values meet in FP16: keep a state in FP32.", WHY, both_in_fp16),
    Mistake("not-rescaled", FORGOTTEN, SO_FAR, updated(one)),
    Mistake("sum-not-rescaled", BOTH.format("sum", "accumulator"), CARRY, updated(one, below(0))),
    Mistake("accumulator-not-rescaled", BOTH.format("accumulator", "sum"), CARRY, updated(below(0), one)),
    Mistake("upside-down", UPSIDE_DOWN, SO_FAR, updated(upside_down)),
    Mistake(
        "block-not-rescaled",
        "The new exponentials are taken below the maximum of their own block, and then join sums that are taken below "
        "the larger maximum.",
        WHY,
        updated(below(0), of_block=one),
    ),
    Mistake(
        "block-maximum",
        "The maximum that you keep is that of the last block, not that of all scores so far.",
        SO_FAR,
        updated(lambda old, block, new: (old - block).exp(), of_block=one, kept=lambda old, block, new: block),
    ),
    Mistake(
        "old-maximum",
        "The maximum never moves: the larger of the old one and the block's is wanted.",
        SO_FAR,
        updated(one, of_block=lambda old, block, new: (block - old).exp(), kept=lambda old, block, new: old),
    ),
    Mistake(
        "block-alone",
        "This is the state of the block alone: what was read before is forgotten.",
        SO_FAR,
        lambda running_max, running_sum, accumulator, scores, values: block_state(scores, values),
    ),
    Mistake("divided-early", EARLY, CARRY, divided(update)),
    Mistake(
        "nothing-changes",
        "The state comes back as it was: the block is never added.",
        SO_FAR,
        lambda running_max, running_sum, accumulator, scores, values: (running_max, running_sum, accumulator),
    ),
    Mistake(
        "one-maximum",
        "The maximum of the block is taken over all rows, and each row has its own: scores.amax(1).",
        SO_FAR,
        with_one_maximum,
    ),
    Mistake(
        "overflow",
        "The exponentials are taken of the scores as they are, with no maximum taken off: e to the power of a large "
        "score is infinite in FP32.",
        "online-softmax#you-arent-waiting-for-the-sum",
        overflowing,
    ),
    Mistake("base-two", "These are powers of 2, and powers of e are wanted.", SO_FAR, base_two),
    Mistake("in-fp16", "The exponentials are rounded to FP16: keep a state in FP32.", WHY, in_fp16),
    Mistake(
        "hidden-block",
        NOT_A_NUMBER.format("a block hides all its scores from a row"),
        MERGE,
        unguarded_block,
    ),
    Mistake(
        "nothing-seen",
        NOT_A_NUMBER.format("neither the rows so far nor the block have shown a score"),
        MERGE,
        unguarded_update,
    ),
)
