"""Chapter 7: six scores, two at a time."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from scripts.chapters.online_softmax.board import pair
from scripts.chapters.online_softmax.worked import State, blocks, read
from scripts.chapters.worksheet import Blank, Worksheet

VALUES = ((10, 0), (0, 10))
POWERS = {power: round(math.exp(-power), 3) for power in range(4)}  # what the sheet gives, in its digits


def worksheet(draw: random.Random) -> Worksheet | None:
    scores = [draw.randrange(4) for _ in range(6)]
    values = [draw.choice(VALUES) for _ in scores]
    after, forgotten = (read(blocks(scores, values), forget) for forget in (False, True))
    moved = after[0].running_max < after[-1].running_max
    round_shares = all(abs(part - round(part, 1)) < 0.005 for part in after[-1].output)
    if not (moved and len(set(scores)) > 2 and len(set(values)) > 1 and round_shares and even(scores, values, after)):
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
            ("What is the sum, if nobody rescales?", f"{forgotten[-1].running_sum:.3f}"),
        ],
    )


def even(scores: Sequence[int], values: Sequence[Sequence[int]], exactly: list[State]) -> bool:
    """Whether a hand that rounds to the printed digits at each step comes to the digits that are exact."""
    top, total, blend = scores[0], 0.0, [0.0, 0.0]
    for at, wanted in zip((0, 2, 4), exactly, strict=True):
        new = max(top, *scores[at : at + 2])
        terms = [POWERS[new - score] for score in scores[at : at + 2]]
        total = round(total * POWERS[new - top], 3) + sum(terms)
        pairs = list(zip(terms, values[at : at + 2], strict=True))
        blend = [round(part * POWERS[new - top], 2) + sum(t * v[i] for t, v in pairs) for i, part in enumerate(blend)]
        top = new
        if f"{total:.3f}" != f"{wanted.running_sum:.3f}" or pair(blend) != pair(wanted.accumulator):
            return False
    return pair([part / round(total, 3) for part in blend]) == pair(exactly[-1].output)
