"""Sheet 11: a cache of Llama 3 8B in 16 bits, a page table, and what two programs find in four tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LAYERS, KV_HEADS, HEAD_DIM, BYTES = 32, 8, 128, 2
LONG_TOKENS = 131072
PAGES, PAGE_TOKENS, PAGE_TABLE, TOKENS = 8, 16, (6, 1, 2), 33

QUERY = (1, 1)
KEYS = ((0, 0), (1, 0), (1, 1), (0, 1))
VALUES = ((9, 0), (0, 9), (9, 0), (0, 9))


@dataclass(frozen=True)
class Partial:
    """What one program finds in its tokens, in powers of 2."""

    scores: list[int]
    terms: list[float]
    maximum: int
    total: float
    blend: list[float]

    @property
    def output(self) -> list[float]:
        return [number / self.total for number in self.blend]


def partial_of(begin: int, end: int, reference: int | None = None) -> Partial:
    """Attention over these tokens, with terms measured from ``reference``, or else from their own maximum."""
    scores = [sum(q * k for q, k in zip(QUERY, key, strict=True)) for key in KEYS[begin:end]]
    top = max(scores)
    terms = [2.0 ** (score - (top if reference is None else reference)) for score in scores]
    blend = [sum(t * v[i] for t, v in zip(terms, VALUES[begin:end], strict=True)) for i in (0, 1)]
    return Partial(scores, terms, top, sum(terms), blend)


def rescaled_sums(one: Partial, other: Partial) -> list[float]:
    """What the two parts' sums are worth at the larger maximum."""
    top = max(one.maximum, other.maximum)
    return [each.total * 2.0 ** (each.maximum - top) for each in (one, other)]


def vector_text(numbers: Sequence[float]) -> str:
    return "[" + ", ".join(f"{number:g}" for number in numbers) + "]"
