"""The chapter's example, once: six scores arrive in pairs, and each score brings a value.

The *By hand* boxes, the board, the demo and the worksheets have these numbers. It's plain Python, because the site is
built without torch; tests/chapters/online_softmax compares every number with the library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

SCORES = (1, 0, 2, 1, 0, 2)
VALUES = ((10, 0), (10, 0), (10, 0), (0, 10), (0, 10), (0, 10))
BLOCK = 2
ROWS, WORDS, DIM = 64, 8192, 128  # of the strip: the queries at once, the keys, the numbers of a value

Values = Sequence[Sequence[float]]


class State(NamedTuple):
    """What we keep of the scores read so far, and the factor that the last block shrank it by."""

    running_max: float = -math.inf
    running_sum: float = 0.0
    accumulator: tuple[float, ...] = (0.0, 0.0)
    factor: float = 0.0

    @property
    def output(self) -> list[float]:
        return [part / self.running_sum for part in self.accumulator]

    @property
    def lse(self) -> float:
        return self.running_max + math.log(self.running_sum)


def state_of(scores: Sequence[float], values: Values) -> State:
    """Returns the state of one block by itself."""
    top = max(scores)
    terms = [math.exp(score - top) for score in scores]
    columns = zip(*values, strict=True)
    return State(top, sum(terms), tuple(sum(map(math.prod, zip(terms, column, strict=True))) for column in columns))


def merge(one: State, other: State, forget: bool = False) -> State:
    """Returns both as one. ``forget`` leaves the old sum as it is, the classic bug."""
    top = max(one.running_max, other.running_max)
    a, b = (math.exp(part.running_max - top) for part in (one, other))
    if forget:
        a = 1.0
    accumulator = tuple(a * x + b * y for x, y in zip(one.accumulator, other.accumulator, strict=True))
    return State(top, a * one.running_sum + b * other.running_sum, accumulator, a)


def block_states(scores: Sequence[float] = SCORES, values: Values = VALUES, size: int = BLOCK) -> list[State]:
    """Returns the state of each block by itself."""
    return [state_of(scores[i : i + size], values[i : i + size]) for i in range(0, len(scores), size)]


def running_states(parts: list[State], forget: bool = False) -> list[State]:
    """Returns the state after each block."""
    return [*accumulate(parts, lambda state, part: merge(state, part, forget))]


FIRST, SECOND, THIRD = running_states(block_states())  # sums 1.368, 1.871 and 3.006
WHOLE_ROW = state_of(SCORES, VALUES)
NOT_RESCALED = running_states(block_states(), forget=True)[-1]  # output [6.12, 3.88], and it should be [5, 5]


def vector_text(numbers: Sequence[float]) -> str:
    """[15.03, 3.68], and [10, 0] without decimals."""
    shown = (f"{round(number, 2):.2f}" if round(number, 2) % 1 else f"{number:.0f}" for number in numbers)
    return f"[{', '.join(shown)}]"
