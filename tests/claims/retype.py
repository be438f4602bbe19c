"""Updates the numbers of claims after a record was made: ``python -m tests.claims.retype``.

A claim whose check is given the typed numbers may fail by these alone: the words still hold, and the page says 0.7
where the new record has 0.8.  Each such check is called again with numbers that equal whatever they are compared with,
and remember it.  If the check then passes, and passes with what was remembered, the page gets that, and so does the
check's docstring.  Of every other claim that fails it is said where: its words must be written anew, or its check.

A number is remembered where a check compares by ``==``, as in ``rounded(found, typed) == typed``.  One by which a check
chooses its rows stays, and so does one that is near another, or a bound.  Nobody has read the new sentences: read them,
beside the sentences around them.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from scripts import records
from tests.claims.test_claims import CHECKS, CLAIMS, DOCS, PARTS, holds, places, spans, typed
from tests.docs.pages import COUNTS

COUNTED = {number: word for word, number in COUNTS.items()}


class Typed(Decimal):
    """A number that remembers what it is compared with, and equals it if it is to agree.

    found: what it was compared with   sign: -1 for one that was turned round, which shares what is found
    """

    def __new__(cls, number: Decimal, agrees: bool, sign: int = 1, found: list | None = None) -> Typed:
        self = super().__new__(cls, number)
        self.agrees, self.sign, self.found = agrees, sign, [] if found is None else found
        return self

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Typed) or not isinstance(other, int | Decimal):
            return super().__eq__(other)  # two typed numbers say nothing of a record, nor do texts
        self.found.append(Decimal(self.sign * other))
        return self.agrees or super().__eq__(other)

    __hash__ = Decimal.__hash__

    def __neg__(self) -> Typed:
        return Typed(super().__neg__(), self.agrees, -self.sign, self.found)


def renumbered(words: str, check: Callable[..., None]) -> str:
    """Words with the numbers that a check finds.

    Raises:
        AssertionError: if other numbers do not make it true, or do not fit into these words.
    """
    before = list(typed(words))
    free: set[int] = set()  # the places of numbers that are wrong
    while True:  # one may come after the other, since a check goes on only where what it has compared agrees
        tried = [Typed(number, at in free) for at, number in enumerate(before)]
        with suppress(Exception):
            check(*tried)
        wrong = {at for at, number in enumerate(before) if tried[at].found and number not in tried[at].found}
        if wrong <= free:
            break
        free |= wrong
    numbers = [Typed(number, agrees=True) if at in free else number for at, number in enumerate(before)]
    check(*numbers)
    after = [the_only(number) if at in free else number for at, number in enumerate(numbers)]
    for old, new in zip(pairwise(before), pairwise(after), strict=True):
        assert new[0] != new[1] or old[0] == old[1], f"{old[0]} and {old[1]} would both have to be {new[0]}"
    return with_numbers(words, after)


def the_only(number: Typed) -> Decimal:
    """What a number has to be."""
    found = set(number.found)
    assert len(found) == 1, f"{Decimal(number)} would have to be {' and '.join(map(str, sorted(found)))}"
    return found.pop()


def with_numbers(words: str, numbers: list[Decimal]) -> str:
    """Words with other numbers at their places, as many; those that are right are left as they are typed."""
    for place, old, new in reversed(list(zip(places(words), typed(words), numbers, strict=True))):
        if new != old:
            words = words[: place.start()] + in_its_style(new, place) + words[place.end() :]
    return words


def in_its_style(number: Decimal, place: re.Match) -> str:
    """A number as the one is typed that stands at a place: a word for a word, with as many decimals, with its part.

    Raises:
        AssertionError: if it cannot be: below 0, no whole number of parts, or no word for more than one.
    """
    more, divisor = PARTS[place[2]]
    count = number * divisor - more
    typed_before = place[1].rstrip(",")  # a comma behind a number is the sentence's
    wrong = f"{place[0]} would have to be {number}"
    assert count >= 0 and (divisor == 1 or count < divisor), wrong
    if typed_before.lower() in COUNTS:
        assert count == int(count) and count > 1, wrong
        text = COUNTED.get(int(count), str(int(count)))
        text = text.capitalize() if typed_before[0].isupper() else text
    else:
        decimals = len(typed_before.partition(".")[2])
        text = f"{count:,.{decimals}f}" if count >= 10_000 else f"{count:.{decimals}f}"
        assert Decimal(text.replace(",", "")) == count, wrong
    return text + place[0].removeprefix(typed_before)


def renumbered_docstring(docstring: str, before: str, after: str) -> str:
    """A docstring that has the numbers of the words before, in their order, with those after; else as it is."""
    wanted, numbers = list(zip(typed(before), typed(after), strict=True)), list(typed(docstring))
    at = -1
    for old, new in wanted:
        if old not in numbers[at + 1 :]:
            return docstring
        at = numbers.index(old, at + 1)
        numbers[at] = new
    try:
        return with_numbers(docstring, numbers)
    except AssertionError:  # they do not fit into its words
        return docstring


def rewrite_docstring(check: Callable, changes: list[tuple[str, str]]) -> bool:
    """Puts the numbers of words, before and after, into the docstring of their check, in its file.

    False if it may have old ones still.
    """
    path = Path(inspect.getsourcefile(check))
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    (function,) = (each for each in ast.parse("".join(lines)).body if getattr(each, "name", "") == check.__name__)
    first, last = function.body[0].lineno - 1, function.body[0].end_lineno
    docstring = "".join(lines[first:last])
    for before, after in changes:
        if (anew := renumbered_docstring(docstring, before, after)) != docstring:
            path.write_text("".join([*lines[:first], anew, *lines[last:]]), encoding="utf-8")
            return True
    pairs = [pair for before, after in changes for pair in zip(typed(before), typed(after), strict=True)]
    return {old for old, new in pairs if old != new}.isdisjoint(typed(docstring))


def holding(name: str, words: str) -> str:
    """Words whose claim holds: these, or with the numbers that its check finds.

    Raises:
        RecordError: if a record of which they speak is missing or stale.
        Exception: what the check raised, if it does not hold with any numbers.
    """
    try:
        holds(name, words)
    except Exception:
        if not inspect.signature(CHECKS[name]).parameters:
            raise
        words = renumbered(words, CHECKS[name])
        holds(name, words)
    return words


def main() -> int:
    """1 if words must be written anew, else 0."""
    changes: dict[str, list[tuple[str, str]]] = {}  # of each check: words before, and after
    left, waiting = 0, set()
    for page in dict.fromkeys(page for _, page, _ in CLAIMS):
        text = before = (DOCS / page).read_text(encoding="utf-8")
        updated = []
        for start, end, name in reversed(list(spans(text))):
            words = one_line(text[start:end])
            try:
                found = holding(name, words)
            except records.RecordError as why:
                waiting.add(str(why).partition(":")[0])
            except Exception as why:
                left += 1
                why = str(why) or traceback.extract_tb(why.__traceback__)[-1].line
                print(f"write anew {page}: [{words}]{{claim={name}}}: {one_line(why)}")
            else:
                if found != words:
                    print(f"updated {page}: [{found}]{{claim={name}}}")
                    changes.setdefault(name, []).append((words, found))
                    text = text[:start] + found + text[end:]
                    updated.append((words, found, name))
        if text != before:
            (DOCS / page).write_text(text, encoding="utf-8")
        for words, found, name in updated:
            for number in still_beside(words, found, around(text, text.index(f"[{found}]{{claim={name}}}"))):
                print(f"{number} stands on {page} still, beside {name}")
    for name, of in changes.items():
        if not rewrite_docstring(CHECKS[name], of):
            print(f"see whether the docstring of {name} still says what it asserts")
    for record in sorted(waiting):
        print(f"not looked at: {record}")
    return 1 if left else 0


def around(text: str, start: int) -> str:
    """The paragraph that has this place."""
    return text[text.rfind("\n\n", 0, start) + 1 :].partition("\n\n")[0]


def still_beside(before: str, after: str, paragraph: str) -> list[str]:
    """Numbers of three digits or more that words no longer have, and the paragraph around them has."""
    old, new = ([place[1].rstrip(",") for place in places(words)] for words in (before, after))
    gone = [number for number in dict.fromkeys(old) if number not in new and sum(map(str.isdigit, number)) > 2]
    return [number for number in gone if re.search(rf"(?<![\d.,]){re.escape(number)}(?!\d|[.,]\d)", paragraph)]


def one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
