"""Chapter 7: six scores, two at a time."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from scripts.chapters.online_softmax import worked
from scripts.chapters.online_softmax.worked import SCORES, State, Values, block_states, running_states, vector_text
from scripts.chapters.worksheets import Blank, Worksheet

VALUES = ((10, 0), (0, 10))
POWERS = {power: round(math.exp(-power), 3) for power in range(4)}  # what the sheet gives, in its digits


class TableLine(NamedTuple):
    """A line of the table by hand: what is left of the old state, what the pair adds, and the new state."""

    kept: State
    new: State
    state: State


def worksheet(rng: random.Random) -> Worksheet | None:
    scores = [rng.randrange(4) for _ in range(6)]
    values = [rng.choice(VALUES) for _ in scores]
    after, forgotten = (running_states(block_states(scores, values), forget) for forget in (False, True))
    fresh = sorted(scores) != sorted(SCORES)  # those are on the board
    moved = after[0].running_max < after[-1].running_max
    round_shares = all(abs(part - round(part, 1)) < 0.005 for part in after[-1].output)
    if not (
        fresh and moved and len(set(scores)) > 2 and len(set(values)) > 1 and round_shares and is_even(scores, values)
    ):
        return None
    lines = lines_by_hand(scores, values)
    last, last_forgotten = after[-1], forgotten[-1]
    return Worksheet(
        title="Online softmax, two at a time",
        given=[
            f"The scores [{', '.join(map(str, scores))}] arrive two at a time. Their values are "
            f"{', '.join(f'[{a}, {b}]' for a, b in values)}. To hand: e^{{-1}} = {POWERS[1]}, e^{{-2}} = {POWERS[2]}, "
            f"e^{{-3}} = {POWERS[3]:.3f}.",
            "Fill in the largest score so far, the factor by which sum and accumulator shrink, what the pair newly "
            "adds to the sum, and the sum and the accumulator afterwards.",
        ],
        head=["After", "Max", "Factor", "New", "Sum", "Accumulator"],
        rows=[
            [
                f"{scores[begin]}, {scores[begin + 1]}",
                Blank(f"{line.state.running_max:g}"),
                Blank(f"{line.state.factor:.3g}") if begin else "-",
                Blank(sum_of(terms_of(scores[begin : begin + 2], line.state.running_max))),
                Blank(step_text(begin > 0, *(f"{each.running_sum:.3f}" for each in line))),
                Blank(step_text(begin > 0, *(vector_text(each.accumulator) for each in line))),
            ]
            for begin, line in zip((0, 2, 4), lines, strict=True)
        ],
        questions=[
            ("What is the output?", output_text(last)),
            ("Check each line: the accumulator adds up to how many times the sum?", "10"),
            (
                "Nobody rescales. What sum and what output come out, and why does the check of question 2 not see it?",
                f"{' + '.join(f'{line.new.running_sum:.3f}' for line in lines)} = {last_forgotten.running_sum:.3f}, "
                f"{output_text(last_forgotten)}; sum and accumulator have the same wrong weights",
            ),
            (
                "One reader has the first two scores, another the last four. Which maximum and sum does each bring? "
                "And both together?",
                merge_text(scores, lines[0].state),
            ),
        ],
    )


def terms_of(scores: Sequence[int], top: float) -> list[float]:
    return [POWERS[top - score] for score in scores]


def sum_of(terms: Sequence[float]) -> str:
    """1 + 0.050 = 1.050."""
    return f"{' + '.join('1' if term == 1 else f'{term:.3f}' for term in terms)} = {sum(terms):.3f}"


def step_text(worked: bool, rescaled: str, new: str, total: str) -> str:
    return f"{rescaled} + {new} = {total}" if worked else total


def reader_sums(scores: Sequence[int], first: State) -> tuple[float, float]:
    """What the first reader's sum is worth at the second's maximum, the larger one, and the second reader's sum."""
    top = max(scores[2:])
    return round(first.running_sum * POWERS[top - first.running_max], 3), sum(terms_of(scores[2:], top))


def merge_text(scores: Sequence[int], first: State) -> str:
    top, (kept, rest) = max(scores[2:]), reader_sums(scores, first)
    return (
        f"({first.running_max:g}, {first.running_sum:.3f}); ({top}, {rest:.3f}), "
        f"with {sum_of(terms_of(scores[2:], top))}; together ({top}, {kept + rest:.3f}), with {sum_of((kept, rest))}"
    )


def output_text(state: State) -> str:
    return f"{vector_text(state.accumulator)} ÷ {state.running_sum:.3f} = {vector_text(state.output)}"


def is_even(scores: Sequence[int], values: Values) -> bool:
    """Whether we get the exact result's digits by hand, rounding to the printed digits at each step."""
    pairs = block_states(scores, values)
    tables = [
        (running_states(pairs, forget), [line.state for line in lines_by_hand(scores, values, forget)])
        for forget in (False, True)
    ]
    kept, rest = reader_sums(scores, tables[0][1][0])
    return (
        f"{rest:.3f}" == f"{worked.state_of(scores[2:], values[2:]).running_sum:.3f}"
        and f"{kept + rest:.3f}" == f"{tables[0][0][-1].running_sum:.3f}"
        and all(
            printed_digits(a) == printed_digits(b)
            for exact, rounded in tables
            for a, b in zip(exact, rounded, strict=True)
        )
        and all(vector_text(exact[-1].output) == vector_text(rounded[-1].output) for exact, rounded in tables)
    )


def printed_digits(state: State) -> tuple[str, str]:
    return f"{state.running_sum:.3f}", vector_text(state.accumulator)


def lines_by_hand(scores: Sequence[int], values: Values, forget: bool = False) -> list[TableLine]:
    """The table's lines, with each product rounded to the digits that the sheet prints."""
    lines, state = [], State(scores[0])
    for at in (0, 2, 4):
        top = max(state.running_max, *scores[at : at + 2])
        factor = 1 if forget else POWERS[top - state.running_max]
        kept = (round(state.running_sum * factor, 3), tuple(round(old * factor, 2) for old in state.accumulator))
        terms = terms_of(scores[at : at + 2], top)
        columns = zip(*values[at : at + 2], strict=True)
        new = (sum(terms), tuple(sum(map(math.prod, zip(terms, column, strict=True))) for column in columns))
        state = State(top, kept[0] + new[0], tuple(map(sum, zip(kept[1], new[1], strict=True))), factor)
        lines.append(TableLine(State(top, *kept), State(top, *new), state))
    return lines
