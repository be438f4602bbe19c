"""Online softmax: maxima that move and that stay, states and blocks of which nothing was seen, scores that overflow."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.catalogue.online_softmax.mistakes import EMPTY_MISTAKES, UPDATE_MISTAKES
from scripts.labs.catalogue.online_softmax.mistakes_of_merge import FINISH_MISTAKES, MERGE_MISTAKES
from scripts.labs.catalogue.online_softmax.reference import (
    INF,
    State,
    block_state,
    empty,
    error_scale_of_finish,
    error_scale_of_merge,
    error_scale_of_update,
    finish,
    merge,
    update,
)
from scripts.labs.lab import SEEDS, Case, Task, normal


def empty_cases():
    yield Case("4 rows", {"rows": 4, "d": 3})
    yield Case("a single row", {"rows": 1, "d": 8})


def six_words() -> tuple[Tensor, Tensor]:
    """Chapter 7's: the scores, and a value for each."""
    return torch.tensor([[1.0, 0.0, 2.0, 1.0, 0.0, 2.0]]), torch.tensor([[10.0, 0.0]] * 3 + [[0.0, 10.0]] * 3)


def state_of(scores: Tensor, values: Tensor) -> State:
    return tuple(each.float() for each in block_state(scores.double(), values.double()))


def state_inputs(state: State) -> dict[str, Tensor]:
    running_max, running_sum, accumulator = state
    return {"running_max": running_max, "running_sum": running_sum, "accumulator": accumulator}


def update_case(name: str, state: State, scores: Tensor, values: Tensor, layouts=None) -> Case:
    return Case(name, state_inputs(state) | {"scores": scores, "values": values}, layouts=layouts or {})


def update_cases():
    scores, values = six_words()
    first = state_of(scores[:, :2], values[:2])
    yield update_case("by hand, chapter 7: [2, 1] after [1, 0]", first, scores[:, 2:4], values[2:4])
    second = state_of(scores[:, :4], values[:4])
    yield update_case("by hand, chapter 7: [0, 2] after [1, 0, 2, 1]", second, scores[:, 4:], values[4:])
    for seed in SEEDS:
        for width in (1, 4, 7):
            before, block_scores, values = random_state_and_block(seed, width)
            yield update_case(f"5 rows, a block of {width}, seed {seed}", before, block_scores, values)
    before, block_scores, values = random_state_and_block(1, 4)
    layouts = {"scores": "transposed", "values": "rows apart", "accumulator": "every second"}
    yield update_case("tables that are not contiguous", before, block_scores, values, layouts)
    large = state_of(torch.tensor([[9000.0, 9990.0], [-9000.0, -9990.0]]), normal(1, 2, 3))
    yield update_case("large scores", large, torch.tensor([[9991.0, 9989.0], [-9001.0, -9000.5]]), normal(2, 2, 3))
    yield update_case("the first block", empty(5, 3), block_scores, values)
    hidden = block_scores.clone()
    hidden[0, 1:] = hidden[2] = -INF
    yield update_case("some scores hidden, and all in row 2", before, hidden, values)
    yield update_case("the same block as the first", empty(5, 3), hidden, values)
    yield update_case("a single score of 0, whose sum is 1", empty(1, 3), torch.zeros(1, 1), normal(1, 1, 3))


def random_state_and_block(seed: int, width: int) -> tuple[State, Tensor, Tensor]:
    """A state of five rows, a block of scores, and its values."""
    before = state_of(normal(seed, 5, 6) * 3, normal(seed + 10, 6, 3))
    return before, normal(seed + 20, 5, width) * 3, normal(seed + 30, width, 3)


def merge_case(name: str, a: State, b: State, layouts=None) -> Case:
    (max_a, sum_a, accumulator_a), (max_b, sum_b, accumulator_b) = a, b
    inputs = {"max_a": max_a, "sum_a": sum_a, "accumulator_a": accumulator_a}
    inputs |= {"max_b": max_b, "sum_b": sum_b, "accumulator_b": accumulator_b}
    return Case(name, inputs, layouts=layouts or {})


def merge_cases():
    scores, values = six_words()
    one, other = state_of(scores[:, :2], values[:2]), state_of(scores[:, 2:], values[2:])
    one_first, other_first = (
        [torch.cat(pair) for pair in zip(*pair, strict=True)] for pair in ((one, other), (other, one))
    )
    yield merge_case(
        "by hand, chapter 7: [1, 0] and [2, 1, 0, 2], and in row 1 the other way round", one_first, other_first
    )
    for seed in SEEDS:
        a, b = (state_of(normal(seed + more, 5, 6) * 3, normal(seed + more + 1, 6, 3)) for more in (0, 50))
        yield merge_case(f"5 rows, seed {seed}", a, b)
    yield merge_case(
        "tables that are not contiguous", a, b, {"accumulator_a": "transposed", "accumulator_b": "rows apart"}
    )
    far = state_of(torch.tensor([[10000.0, 9999.0], [-10000.0, -9999.0]]), normal(1, 2, 3))
    near = state_of(torch.tensor([[9998.0, 9000.0], [10000.0, 9000.0]]), normal(2, 2, 3))
    yield merge_case("large scores", far, near)
    yield merge_case("the first has read nothing", empty(5, 3), b)
    yield merge_case("the second has read nothing", a, empty(5, 3))
    yield merge_case("neither has read anything", empty(5, 3), empty(5, 3))
    yield merge_case("a single score of 0, whose sum is 1", state_of(torch.zeros(1, 1), normal(1, 1, 3)), empty(1, 3))


def finish_cases():
    yield Case("by hand, chapter 7: all six scores", state_inputs(state_of(*six_words())))
    for seed in SEEDS:
        state = state_of(normal(seed, 5, 9) * 3, normal(seed + 10, 9, 3))
        yield Case(f"5 rows, seed {seed}", state_inputs(state), layouts={"accumulator": "transposed"})
    large = state_of(torch.tensor([[10000.0, 9999.0], [-10000.0, -9999.0]]), normal(1, 2, 3))
    yield Case("large scores", state_inputs(large))
    both = [torch.cat(pair) for pair in zip(large, empty(2, 3), strict=True)]
    yield Case("two rows that have seen nothing", state_inputs(both))
    one = state_of(torch.zeros(1, 1), normal(1, 1, 3))
    yield Case("a single score of 0, whose sum is 1", state_inputs(one))


STATE_NAMES = ("running_max", "running_sum", "accumulator")
TASKS = (
    Task("empty", empty, empty_cases, EMPTY_MISTAKES, exact=True, results=STATE_NAMES),
    Task(
        "update",
        update,
        update_cases,
        UPDATE_MISTAKES,
        error_scale=error_scale_of_update,
        roundings=8,
        results=STATE_NAMES,
    ),
    Task(
        "merge", merge, merge_cases, MERGE_MISTAKES, error_scale=error_scale_of_merge, roundings=8, results=STATE_NAMES
    ),
    Task(
        "finish",
        finish,
        finish_cases,
        FINISH_MISTAKES,
        error_scale=error_scale_of_finish,
        roundings=4,
        results=("the output", "the lse"),
    ),
)
