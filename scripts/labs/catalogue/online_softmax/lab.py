"""Online softmax: maxima that move and that stay, states and blocks of which nothing was seen, scores that overflow."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.lab import SEEDS, Case, Mistake, Part, normal

SO_FAR = "online-softmax#use-the-maximum-so-far"
CARRY = "online-softmax#carry-the-values-along"
MERGE = "online-softmax#empty-update-merge"
WHY = "online-softmax#why-nothing-is-lost-in-three-lines"
INF = float("inf")
Four = tuple[Tensor, Tensor, Tensor]


def exp_below(score: Tensor, maximum: Tensor) -> Tensor:
    return torch.where(score == -INF, 0.0, (score - maximum).exp())


def empty(rows: int, d: int) -> Four:
    return torch.full((rows,), -INF), torch.zeros(rows), torch.zeros(rows, d)


def block_state(scores: Tensor, values: Tensor) -> Four:
    maximum = scores.amax(1)
    powers = exp_below(scores, maximum[:, None])
    return maximum, powers.sum(1), powers @ values


def update(running_max: Tensor, running_sum: Tensor, accumulator: Tensor, scores: Tensor, values: Tensor) -> Four:
    return merge(running_max, running_sum, accumulator, *block_state(scores, values))


def merge(max_a, sum_a, accumulator_a, max_b, sum_b, accumulator_b) -> Four:
    new_max = torch.maximum(max_a, max_b)
    factor_a, factor_b = exp_below(max_a, new_max), exp_below(max_b, new_max)
    blend = factor_a[:, None] * accumulator_a + factor_b[:, None] * accumulator_b
    return new_max, factor_a * sum_a + factor_b * sum_b, blend


def finish(running_max: Tensor, running_sum: Tensor, accumulator: Tensor) -> tuple[Tensor, Tensor]:
    divisor = torch.where(running_sum > 0, running_sum, 1.0)
    return accumulator / divisor[:, None], running_max + running_sum.log()


# The cases.


def empties():
    yield Case("4 rows", {"rows": 4, "d": 3})
    yield Case("a single row", {"rows": 1, "d": 8})


def six_words() -> tuple[Tensor, Tensor]:
    """Chapter 7's: the scores, and a value for each."""
    return torch.tensor([[1.0, 0.0, 2.0, 1.0, 0.0, 2.0]]), torch.tensor([[10.0, 0.0]] * 3 + [[0.0, 10.0]] * 3)


def state_of(scores: Tensor, values: Tensor) -> Four:
    return tuple(each.float() for each in block_state(scores.double(), values.double()))


def updating(name: str, state: Four, scores: Tensor, values: Tensor, layouts=None) -> Case:
    names = ("running_max", "running_sum", "accumulator", "scores", "values")
    return Case(name, dict(zip(names, (*state, scores, values), strict=True)), layouts=layouts or {})


def updates():
    scores, values = six_words()
    first = state_of(scores[:, :2], values[:2])
    yield updating("by hand, chapter 7: [2, 1] after [1, 0]", first, scores[:, 2:4], values[2:4])
    second = state_of(scores[:, :4], values[:4])
    yield updating("by hand, chapter 7: [0, 2] after [1, 0, 2, 1]", second, scores[:, 4:], values[4:])
    for seed in SEEDS:
        for width in (1, 4, 7):
            before, now, values = drawn(seed, width)
            yield updating(f"5 rows, a block of {width}, seed {seed}", before, now, values)
    before, now, values = drawn(1, 4)
    apart = {"scores": "transposed", "values": "rows apart", "accumulator": "every second"}
    yield updating("tables that are not contiguous", before, now, values, apart)
    large = state_of(torch.tensor([[9000.0, 9990.0], [-9000.0, -9990.0]]), normal(1, 2, 3))
    yield updating("large scores", large, torch.tensor([[9991.0, 9989.0], [-9001.0, -9000.5]]), normal(2, 2, 3))
    yield updating("the first block", empty(5, 3), now, values)
    hidden = now.clone()
    hidden[0, 1:] = hidden[2] = -INF
    yield updating("some scores hidden, and all in row 2", before, hidden, values)
    yield updating("the same block as the first", empty(5, 3), hidden, values)


def drawn(seed: int, width: int) -> tuple[Four, Tensor, Tensor]:
    """A state of five rows, a block of scores, and its values."""
    before = state_of(normal(seed, 5, 6) * 3, normal(seed + 10, 6, 3))
    return before, normal(seed + 20, 5, width) * 3, normal(seed + 30, width, 3)


def merging(name: str, a: Four, b: Four, layouts=None) -> Case:
    names = ("max_a", "sum_a", "accumulator_a", "max_b", "sum_b", "accumulator_b")
    return Case(name, dict(zip(names, (*a, *b), strict=True)), layouts=layouts or {})


def merges():
    scores, values = six_words()
    one, other = state_of(scores[:, :2], values[:2]), state_of(scores[:, 2:], values[2:])
    there, back = ([torch.cat(pair) for pair in zip(*pair, strict=True)] for pair in ((one, other), (other, one)))
    yield merging("by hand, chapter 7: [1, 0] and [2, 1, 0, 2], and in row 1 the other way round", there, back)
    for seed in SEEDS:
        a, b = (state_of(normal(seed + more, 5, 6) * 3, normal(seed + more + 1, 6, 3)) for more in (0, 50))
        yield merging(f"5 rows, seed {seed}", a, b)
    yield merging(
        "tables that are not contiguous", a, b, {"accumulator_a": "transposed", "accumulator_b": "rows apart"}
    )
    far = state_of(torch.tensor([[10000.0, 9999.0], [-10000.0, -9999.0]]), normal(1, 2, 3))
    near = state_of(torch.tensor([[9998.0, 9000.0], [10000.0, 9000.0]]), normal(2, 2, 3))
    yield merging("large scores", far, near)
    yield merging("the first has read nothing", empty(5, 3), b)
    yield merging("the second has read nothing", a, empty(5, 3))
    yield merging("neither has read anything", empty(5, 3), empty(5, 3))


def finishes():
    names = ("running_max", "running_sum", "accumulator")
    yield Case("by hand, chapter 7: all six scores", dict(zip(names, state_of(*six_words()), strict=True)))
    for seed in SEEDS:
        state = state_of(normal(seed, 5, 9) * 3, normal(seed + 10, 9, 3))
        yield Case(f"5 rows, seed {seed}", dict(zip(names, state, strict=True)), layouts={"accumulator": "transposed"})
    large = state_of(torch.tensor([[10000.0, 9999.0], [-10000.0, -9999.0]]), normal(1, 2, 3))
    yield Case("large scores", dict(zip(names, large, strict=True)))
    both = [torch.cat(pair) for pair in zip(large, empty(2, 3), strict=True)]
    yield Case("two rows that have seen nothing", dict(zip(names, both, strict=True)))


# What an error is measured by: each number by itself, but a blend by its terms' sizes.


def size_of_update(running_max, running_sum, accumulator, scores, values) -> Four:
    found = update(running_max, running_sum, accumulator.abs(), scores, values.abs())
    return torch.zeros_like(running_max), found[1], found[2]


def size_of_merge(max_a, sum_a, accumulator_a, max_b, sum_b, accumulator_b) -> Four:
    found = merge(max_a, sum_a, accumulator_a.abs(), max_b, sum_b, accumulator_b.abs())
    return torch.zeros_like(max_a), found[1], found[2]


def size_of_finish(running_max, running_sum, accumulator) -> tuple[Tensor, Tensor]:
    terms = running_max.abs() + running_sum.log().abs()
    return torch.zeros_like(accumulator), terms.masked_fill(running_sum == 0, 0)


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
        "online-softmax#what-overflows",
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
        "online-softmax#what-overflows",
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

STATE = ("running_max", "running_sum", "accumulator")
PARTS = (
    Part("empty", empty, empties, EMPTY_MISTAKES, exact=True, results=STATE),
    Part("update", update, updates, UPDATE_MISTAKES, size=size_of_update, steps=8, results=STATE),
    Part("merge", merge, merges, MERGE_MISTAKES, size=size_of_merge, steps=8, results=STATE),
    Part("finish", finish, finishes, FINISH_MISTAKES, size=size_of_finish, steps=8, results=("the output", "the lse")),
)
