"""Online softmax: maxima that move and that stay, states and blocks of which nothing was seen, scores that overflow."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.catalogue.online_softmax.mistakes import EMPTY_MISTAKES, UPDATE_MISTAKES
from scripts.labs.catalogue.online_softmax.mistakes_of_merge import FINISH_MISTAKES, MERGE_MISTAKES
from scripts.labs.catalogue.online_softmax.truth import (
    INF,
    Four,
    block_state,
    empty,
    finish,
    merge,
    size_of_finish,
    size_of_merge,
    size_of_update,
    update,
)
from scripts.labs.lab import SEEDS, Case, Part, normal


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
    yield updating("a single score of 0, whose sum is 1", empty(1, 3), torch.zeros(1, 1), normal(1, 1, 3))


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
    yield merging("a single score of 0, whose sum is 1", state_of(torch.zeros(1, 1), normal(1, 1, 3)), empty(1, 3))


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
    one = state_of(torch.zeros(1, 1), normal(1, 1, 3))
    yield Case("a single score of 0, whose sum is 1", dict(zip(names, one, strict=True)))


STATE = ("running_max", "running_sum", "accumulator")
PARTS = (
    Part("empty", empty, empties, EMPTY_MISTAKES, exact=True, results=STATE),
    Part("update", update, updates, UPDATE_MISTAKES, size=size_of_update, steps=8, results=STATE),
    Part("merge", merge, merges, MERGE_MISTAKES, size=size_of_merge, steps=8, results=STATE),
    Part("finish", finish, finishes, FINISH_MISTAKES, size=size_of_finish, steps=4, results=("the output", "the lse")),
)
