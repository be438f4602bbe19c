"""Chapter 11: one query over four keys, whole and cut in two."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from scripts.chapters.worksheets import Blank, Worksheet


def worksheet(draw: random.Random) -> Worksheet | None:
    scores = [draw.randrange(4) for _ in range(4)]
    first = [draw.choice((True, False)) for _ in scores]
    total = sum(2**score for score in scores)
    halves = [part(scores[at : at + 2], first[at : at + 2], total) for at in (0, 2)]
    tops = [max(scores[at : at + 2]) for at in (0, 2)]
    if len(set(scores)) < 2 or tops[0] == tops[1] or all(first) or not any(first) or not 4 < total < 21:
        return None
    if any(number.denominator > 2 for _, _, output in halves for number in output):
        return None
    whole = part(scores, first, total)[2]
    values = ", ".join(f"[{total}, 0]" if one else f"[0, {total}]" for one in first)
    weights = [sums * 2 ** (top - max(tops)) for top, sums, _ in halves]
    return Worksheet(
        title="One query over four keys, whole and cut in two",
        given=[
            f"The scores are {', '.join(map(str, scores))}, the values {values}. In powers of 2: a score of 3 weighs "
            "2^{3}.",
            "Two programs read two keys each. Each keeps its maximum, its sum of powers below it, and its output.",
        ],
        head=["Who", "Max", "Sum", "Output"],
        rows=[
            [f"program {at}", Blank(str(top)), Blank(plain(sums)), Blank(vector(output))]
            for at, (top, sums, output) in enumerate(halves)
        ],
        questions=[
            (
                "All four keys at once: what do the powers add up to, and what is the output?",
                f"{total}, {vector(whole)}",
            ),
            ("At the larger maximum, what are the two sums?", " and ".join(map(plain, weights))),
            ("Merge the two programs: what is the output?", vector(whole)),
        ],
    )


def part(scores: Sequence[int], first: Sequence[bool], total: int) -> tuple[int, Fraction, list[Fraction]]:
    """The maximum of some keys, their sum below it, and what they would answer alone."""
    top = max(scores)
    terms = [Fraction(2) ** (score - top) for score in scores]
    share = sum((t for t, one in zip(terms, first, strict=True) if one), Fraction()) / sum(terms)
    return top, sum(terms), [share * total, (1 - share) * total]


def plain(number: Fraction) -> str:
    return f"{float(number):g}"


def vector(numbers: Sequence[Fraction]) -> str:
    return f"[{', '.join(map(plain, numbers))}]"
