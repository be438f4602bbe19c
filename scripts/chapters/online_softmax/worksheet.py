"""Chapter 7: six scores, two at a time."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from scripts.chapters.online_softmax.board import pair
from scripts.chapters.online_softmax.worked import SCORES, State, block_states, running_states, state_of
from scripts.chapters.worksheets import Blank, Worksheet

VALUES = ((10, 0), (0, 10))
POWERS = {power: round(math.exp(-power), 3) for power in range(4)}  # what the sheet gives, in its digits


def worksheet(draw: random.Random) -> Worksheet | None:
    scores = [draw.randrange(4) for _ in range(6)]
    values = [draw.choice(VALUES) for _ in scores]
    after, forgotten = (running_states(block_states(scores, values), forget) for forget in (False, True))
    readers = [state_of(scores[:2], values[:2]), state_of(scores[2:], values[2:]), after[-1]]
    fresh = sorted(scores) != sorted(SCORES)  # those are on the board
    moved = after[0].running_max < after[-1].running_max
    round_shares = all(abs(part - round(part, 1)) < 0.005 for part in after[-1].output)
    if not (
        fresh and moved and len(set(scores)) > 2 and len(set(values)) > 1 and round_shares and even(scores, values)
    ):
        return None
    steps = zip((0, 2, 4), [State(), *after], after, strict=False)
    return Worksheet(
        title="Online softmax, two at a time",
        given=[
            f"The scores [{', '.join(map(str, scores))}] arrive two at a time. Their values are "
            f"{', '.join(f'[{a}, {b}]' for a, b in values)}. To hand: e^{{-1}} = {POWERS[1]}, e^{{-2}} = {POWERS[2]}, "
            f"e^{{-3}} = {POWERS[3]:.3f}.",
            "Fill in the largest score so far, the factor by which sum and accumulator shrink, and both afterwards.",
        ],
        head=["After", "Max", "Factor", "Sum", "Accumulator"],
        rows=[
            [
                f"{scores[at]}, {scores[at + 1]}",
                Blank(f"{state.running_max:g}"),
                Blank(f"{POWERS[state.running_max - before.running_max]:.3g}") if at else "-",
                Blank(f"{state.running_sum:.3f}"),
                Blank(pair(state.accumulator)),
            ]
            for at, before, state in steps
        ],
        questions=[
            ("What is the output?", pair(after[-1].output)),
            ("Check each line: the accumulator adds up to how many times the sum?", "10"),
            (
                "Nobody rescales. What sum and what output come out, and why does the check of question 2 not see it?",
                f"{forgotten[-1].running_sum:.3f}, {pair(forgotten[-1].output)}; sum and accumulator have "
                "the same wrong weights",
            ),
            (
                "One reader has the first two scores, another the last four. Which maximum and sum does each bring? "
                "And both together?",
                "{} and {}, together {}".format(*(f"({s.running_max:g}, {s.running_sum:.3f})" for s in readers)),
            ),
        ],
    )


def even(scores: Sequence[int], values: Sequence[Sequence[int]]) -> bool:
    """Whether a hand that rounds to the printed digits at each step comes to the digits that are exact."""
    pairs, last_four = block_states(scores, values), sum(POWERS[max(scores[2:]) - score] for score in scores[2:])
    tables = [(running_states(pairs, forget), by_hand(scores, values, forget)) for forget in (False, True)]
    return (
        f"{last_four:.3f}" == f"{state_of(scores[2:], values[2:]).running_sum:.3f}"
        and all(printed(a) == printed(b) for exact, rounded in tables for a, b in zip(exact, rounded, strict=True))
        and all(pair(exact[-1].output) == pair(rounded[-1].output) for exact, rounded in tables)
    )


def printed(state: State) -> tuple[str, str]:
    return f"{state.running_sum:.3f}", pair(state.accumulator)


def by_hand(scores: Sequence[int], values: Sequence[Sequence[int]], forget: bool) -> list[State]:
    """The state after each pair, where each product is rounded to the digits that the sheet prints."""
    states, top, total, accumulator = [], scores[0], 0.0, [0.0, 0.0]
    for at in (0, 2, 4):
        new = max(top, *scores[at : at + 2])
        factor, top = 1 if forget else POWERS[new - top], new
        terms = [POWERS[new - score] for score in scores[at : at + 2]]
        total = round(total * factor, 3) + sum(terms)
        brought = zip(*values[at : at + 2], strict=True)
        accumulator = [
            round(old * factor, 2) + sum(map(math.prod, zip(terms, column, strict=True)))
            for old, column in zip(accumulator, brought, strict=True)
        ]
        states.append(State(top, total, tuple(accumulator), factor))
    return states
