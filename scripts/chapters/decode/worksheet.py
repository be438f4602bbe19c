"""Chapter 11: one query over four keys, whole and cut in two."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from scripts.chapters.worksheets import Blank, Worksheet


def worksheet(rng: random.Random) -> Worksheet | None:
    scores = [rng.randrange(4) for _ in range(4)]
    is_left = [rng.choice((True, False)) for _ in scores]
    total = sum(2**score for score in scores)
    halves = [partial_state(scores[at : at + 2], is_left[at : at + 2], total) for at in (0, 2)]
    tops = [max(scores[at : at + 2]) for at in (0, 2)]
    if len(set(scores)) < 2 or tops[0] == tops[1] or len(set(is_left)) < 2 or not 4 < total < 21:
        return None
    if any(number.denominator > 2 for _, _, output in halves for number in output):
        return None
    output_of_all = partial_state(scores, is_left, total)[2]
    values = ", ".join(f"[{total}, 0]" if left else f"[0, {total}]" for left in is_left)
    rescaled_sums = [sums * 2 ** (top - max(tops)) for top, sums, _ in halves]
    return Worksheet(
        title="One query over four keys, whole and cut in two",
        given=[
            f"The scores are {', '.join(map(str, scores))}, the values {values}. In powers of 2: a score of 3 weighs "
            "2^{3}.",
            "Two programs read two keys each. Each keeps its maximum, its sum of powers below it, and its output.",
        ],
        head=["Who", "Max", "Sum", "Output"],
        rows=[
            [f"program {at}", Blank(str(top)), Blank(number_text(sums)), Blank(vector_text(output))]
            for at, (top, sums, output) in enumerate(halves)
        ],
        questions=[
            (
                "All four keys at once: what do the powers add up to, and what is the output?",
                f"{total}, {vector_text(output_of_all)}",
            ),
            ("At the larger maximum, what are the two sums?", " and ".join(map(number_text, rescaled_sums))),
            ("Merge the two programs: what is the output?", vector_text(output_of_all)),
        ],
    )


def partial_state(scores: Sequence[int], is_left: Sequence[bool], total: int) -> tuple[int, Fraction, list[Fraction]]:
    """The maximum of some keys, their sum measured from it, and their output by themselves.

    is_left: whether a key's value is [total, 0], not [0, total]
    """
    top = max(scores)
    terms = [Fraction(2) ** (score - top) for score in scores]
    share = sum((t for t, left in zip(terms, is_left, strict=True) if left), Fraction()) / sum(terms)
    return top, sum(terms), [share * total, (1 - share) * total]


def number_text(number: Fraction) -> str:
    return f"{float(number):g}"


def vector_text(numbers: Sequence[Fraction]) -> str:
    return f"[{', '.join(map(number_text, numbers))}]"
