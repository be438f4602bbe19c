"""Turns numbers into the most precise words that stay true when the run is repeated.

Each number has a class, and `margins.toml` says how far numbers of that class move between two runs. The functions
below return words that hold over that whole range. If no useful words do, they raise `NoPhrase`, which names a phrase
to try instead; if that one says nothing either, the sentence has to go. Nothing in here knows a chapter, a kernel or a
table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from math import ceil, floor, log10
from pathlib import Path
from typing import NamedTuple

MARGINS = tomllib.loads(Path(__file__).with_name("margins.toml").read_text(encoding="utf-8"))
ABOUT = 0.05  # "about half" is at most this far from half
ROUGHLY = 0.2
FRACTIONS = {1 / 100: "a hundredth", 1 / 20: "a twentieth", 1 / 10: "a tenth", 1 / 8: "an eighth", 1 / 5: "a fifth"}
FRACTIONS |= {1 / 4: "a quarter", 1 / 3: "a third", 1 / 2: "half", 2 / 3: "two thirds"}
MULTIPLES = {2: "twice", 3: "three times", 4: "four times", 5: "five times", 6: "six times", 7: "seven times"}
MULTIPLES |= {8: "eight times", 9: "nine times", 10: "ten times", 100: "a hundred times"}


class NoPhrase(ValueError):
    """Says why nothing useful can be said, and which function may say it in other words."""


class Range(NamedTuple):
    """Where a number can turn up when its run is repeated."""

    low: float
    high: float

    def divided_by(self, other: Range) -> Range:
        return Range(self.low / other.high, self.high / other.low)


def with_margin(value: float, margin_class: str) -> Range:
    """Returns the range in which a number can turn up, by the margin of its class."""
    factor = 1 + MARGINS[margin_class]["margin"]
    return Range(value / factor, value * factor)


def time_comparison(ratio: Range) -> str:
    """Returns words to put before a name: "about half the time of", "91 to 96 % of the time of", "less time than"."""
    return _comparison(ratio, "the time of", "{} time than")


def quantity_comparison(ratio: Range, of: str) -> str:
    """Returns the same for another quantity: "about half the error of", "less error than"."""
    return _comparison(ratio, f"the {of} of", f"{{}} {of} than")


def _comparison(ratio: Range, of: str, than: str) -> str:
    low, high = ratio
    if low <= 1 <= high:
        raise NoPhrase(f"{low:.3f} to {high:.3f} times as much: too close to call; range_of_ratios says any range")
    for mark, name in (FRACTIONS | MULTIPLES).items():
        if mark / (1 + ABOUT) <= low and high <= mark * (1 + ABOUT):
            return f"about {name} {of}"
    if high > 2 * low:
        return than.format("less" if high < 1 else "more")
    if high < 2:
        return f"{_span(floor(100 * low), ceil(100 * high))} % of {of}"
    return f"{_span(floor(10 * low) / 10, ceil(10 * high) / 10)} times {of}"


def fraction_of_whole(fraction: Range) -> str:
    """Returns what part of a whole something is: "about two thirds", "7 %"."""
    for mark, name in FRACTIONS.items():
        if mark / (1 + ABOUT) <= fraction.low and fraction.high <= mark * (1 + ABOUT):
            return f"about {name}"
    return f"{_span(round(100 * fraction.low), round(100 * fraction.high))} %"


def wins_and_losses(ratios: Sequence[Range], settings: str) -> str:
    """Returns in how many settings a form is sure to win or lose: "ahead in 4 of 8 row lengths, behind in 1".

    ratios: times, the form's over the other's
    """
    counts = {"ahead": sum(r.high < 1 for r in ratios), "behind": sum(r.low > 1 for r in ratios)}
    decided = [(word, count) for word, count in counts.items() if count]
    if not decided:
        raise NoPhrase(f"level in all {len(ratios)} {settings}; range_of_ratios says how far apart they get")
    (word, count), *others = decided
    many = "all" if count == len(ratios) else f"{count} of"
    return f"{word} in {many} {len(ratios)} {settings}" + "".join(f", {word} in {count}" for word, count in others)


def rough_multiple(ratio: Range) -> str:
    """Returns how many times as much something is, where one digit is enough: "roughly ten times"."""
    nearest = min(MULTIPLES, key=lambda mark: max(mark / ratio.low, ratio.high / mark))
    if nearest / (1 + ROUGHLY) <= ratio.low and ratio.high <= nearest * (1 + ROUGHLY):
        return f"roughly {MULTIPLES[nearest]}"
    known = ", ".join(map(str, MULTIPLES))
    raise NoPhrase(f"{ratio.low:.1f} to {ratio.high:.1f} times: near none of {known}; range_of_ratios says any range")


def lower_bound(ratio: Range) -> str:
    """Returns what a large multiple surely exceeds, in two digits: "more than 130 times"."""
    if ratio.low < 10:
        instead = "rough_multiple says one near a whole number, range_of_ratios any range"
        raise NoPhrase(f"{ratio.low:.2f} to {ratio.high:.2f} times: only 10 and more has a lower bound; {instead}")
    unit = 10 ** (floor(log10(ratio.low)) - 1)
    return f"more than {unit * floor(ratio.low / unit)} times"


def range_of_ratios(ratios: Sequence[Range]) -> str:
    """Returns how small and how large ratios get: "0.8 to 1.4 times"."""
    low, high = min(r.low for r in ratios), max(r.high for r in ratios)
    return f"{_span(floor(10 * low) / 10, ceil(10 * high) / 10)} times"


def agreement(pairs: Sequence[tuple[float, float]], one: str, other: str, unit: str) -> str:
    """Returns how well two counts agree: "expected and measured agree to the byte", or "agree to 0.3 %"."""
    difference = max(abs(a - b) / b for a, b in pairs)
    if difference == 0:
        return f"{one} and {other} agree to the {unit}"
    if difference < ABOUT:
        return f"{one} and {other} agree to {ceil(1000 * difference) / 10:g} %"
    instead = "quantity_comparison says which is more"
    raise NoPhrase(f"{one} and {other} differ by up to {100 * difference:.1f} %; {instead}")


def _span(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
