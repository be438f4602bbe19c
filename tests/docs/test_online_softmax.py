"""Chapter 7: the drawings and the sheet's table have the states that the six scores give, block by block."""

from functools import reduce
from math import exp, inf

import pytest

from tests.docs.tables import drawn, numbers, table

SCORES = [1, 0, 2, 1, 0, 2]
VALUES = [[10, 0]] * 3 + [[0, 10]] * 3
EMPTY = (-inf, 0, [0, 0])  # maximum, sum, accumulator
POWERS = {0: "1", -1: "e⁻¹", -2: "e⁻²"}


def state(scores, values):
    """By definition: the maximum of some scores, the sum of their exponentials below it, and their blend."""
    maximum = max(scores)
    weights = [exp(score - maximum) for score in scores]
    blend = [sum(w * v for w, v in zip(weights, column, strict=True)) for column in zip(*values, strict=True)]
    return maximum, sum(weights), blend


def merge(one, other):
    maximum = max(one[0], other[0])
    factors = [exp(part[0] - maximum) for part in (one, other)]
    total = sum(factor * part[1] for factor, part in zip(factors, (one, other), strict=True))
    blend = [sum(f * part[2][i] for f, part in zip(factors, (one, other), strict=True)) for i in range(2)]
    return maximum, total, blend


BLOCKS = [state(SCORES[i : i + 2], VALUES[i : i + 2]) for i in (0, 2, 4)]
STATES = [reduce(merge, BLOCKS[:count], EMPTY) for count in (1, 2, 3)]


def test_a_state_is_what_the_definition_gives():
    for state_so_far, count in zip(STATES, (2, 4, 6), strict=True):
        maximum, total, blend = state(SCORES[:count], VALUES[:count])
        assert state_so_far == (maximum, pytest.approx(total), pytest.approx(blend))


def test_the_drawn_stream_has_the_terms_of_each_state():
    wanted = [str(score) for score in SCORES]
    for count, (maximum, total, _), factor in zip((2, 4, 6), STATES, ("× e⁻¹", "× 1", ""), strict=True):  # noqa: RUF001
        wanted += [POWERS[score - maximum] for score in SCORES[:count]] + [str(maximum), f"{total:.3f}"]
        wanted += factor.split()
    shown = drawn("online-stream").removeprefix("scores max sum block 1 block 2 block 3 ").split()
    assert shown[: len(wanted)] == wanted


def test_the_drawn_merge_has_the_states_of_both_readers():
    first, second = STATES[0], state(SCORES[2:], VALUES[2:])
    maximum, total, _ = merge(first, second)
    words = drawn("online-merge")
    for top, sum_of in (first[:2], second[:2], (maximum, total)):
        assert f"max {top}, sum {sum_of:.3f}" in words
    assert f"leaves {exp(-1) * first[1]:.3f}" in words and f"leaves {second[1]:.3f}" in words


def test_the_table_of_the_sheet():
    rows = table("whiteboard/online-softmax.md", "Accumulator")
    kept = [0, exp(-1), 1]
    for row, block, (maximum, total, blend), factor in zip(rows, (0, 2, 4), STATES, kept, strict=True):
        assert numbers(row["After"]) == SCORES[block : block + 2] and numbers(row["Max"]) == [maximum]
        assert numbers(row["Factor"]) == ([round(factor, 3)] if block else [])
        assert numbers(row["Sum"])[-1] == round(total, 3)
        assert numbers(row["Accumulator"]) == [round(part, 2) for part in blend]
        assert numbers(row["So far"]) == [round(part / total, 2) for part in blend]
