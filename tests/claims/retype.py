"""Types the numbers of claims anew after a record was made: ``python -m tests.claims.retype``.

A claim whose check is given the typed numbers may fail by these alone: the words are still right, and the page says 0.7
where the new record has 0.8.  Each such check is called once more with numbers that agree with whatever they are
compared with, and remember it.  If the check then passes, and passes with what was remembered, the page gets that, and
so does the check's docstring.  A claim that fails still is listed: its words must be written anew, or its check.

A number is remembered where a check compares by ``==``, as in ``rounded(found, typed) == typed``.  One that is near
another, or a bound, stays as it was typed.  Nobody has read the new sentence: read it, beside the sentences around it.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from scripts import records
from tests.claims.test_claims import CHECKS, CLAIMS, DIGITS, DOCS, NUMBER, PARTS, holds, places, spans, typed
from tests.docs.pages import COUNTS

COUNTED = {number: word for word, number in COUNTS.items()}
NO_SPAN = re.compile(rf"({DIGITS}) to \1(?![\d.,]*\d)")
FAULTS = AssertionError, LookupError, ValueError, records.RecordError  # of a check that does not hold


class Typed(Decimal):
    """A number that equals whatever it is compared with, and remembers that."""

    def __new__(cls, number: Decimal, sign: int = 1, found: list | None = None) -> Typed:
        self = super().__new__(cls, number)
        self.sign, self.found = sign, [] if found is None else found
        return self

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Typed) or not isinstance(other, int | Decimal):
            return super().__eq__(other)
        self.found.append(self.sign * other)
        return True

    __hash__ = Decimal.__hash__

    def __neg__(self) -> Typed:
        return Typed(super().__neg__(), -self.sign, self.found)


def retyped(words: str, check: Callable[..., None]) -> str:
    """Words with the numbers that a check finds.

    Raises:
        AssertionError: if other numbers do not make it true, or do not fit into these words.
    """
    numbers = [Typed(number) for number in typed(words)]
    check(*numbers)
    for place, number in reversed(list(zip(places(words), numbers, strict=True))):
        found = {Decimal(each) for each in number.found}
        if found and Decimal(number) not in found:
            assert len(found) == 1, f"{place[0]} would have to be {' and '.join(map(str, sorted(found)))}"
            words = words[: place.start()] + in_its_style(found.pop(), place) + words[place.end() :]
    if span := NO_SPAN.search(words):
        raise AssertionError(f"{span[0]} would be one number")
    return words


def in_its_style(number: Decimal, place: re.Match) -> str:
    """A number as the one is typed that stands at a place: a word for a word, with as many decimals, with its part.

    Raises:
        AssertionError: if it cannot be: below 0, or no whole number of parts.
    """
    more, divisor = PARTS[place[2]]
    number = number * divisor - more
    assert number >= 0, f"{place[0]} would have to be below 0: {number}"
    typed_before = place[1].rstrip(",")  # a comma behind a number is the sentence's
    if typed_before.lower() in COUNTS:
        assert number == int(number), f"{place[0]} would have to be {number}"
        text = COUNTED.get(int(number), str(int(number)))
        text = text.capitalize() if typed_before[0].isupper() else text
    else:
        decimals = len(typed_before.partition(".")[2])
        text = f"{number:,.{decimals}f}" if number >= 10_000 else f"{number:.{decimals}f}"
        assert Decimal(text.replace(",", "")) == number, f"{place[0]} would have to be {number}"
    return text + place[0].removeprefix(typed_before)


def retold(docstring: str, before: str, after: str) -> str:
    """A docstring that has the numbers of the words before, in their order, with those after; else as it is."""
    start = 0
    for old, new in zip(places(before), places(after), strict=True):
        old, new = old[0].rstrip(","), new[0].rstrip(",")
        there = next((at for at in NUMBER.finditer(docstring, start) if at[0].rstrip(",") == old), None)
        if there is None:
            break
        docstring = docstring[: there.start()] + new + docstring[there.start() + len(old) :]
        start = there.start() + len(new)
    return docstring


def rewrite_docstring(check: Callable, before: str, after: str) -> None:
    """Puts the numbers into the docstring of a check, in its file."""
    path = Path(inspect.getsourcefile(check))
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    (function,) = (each for each in ast.parse("".join(lines)).body if getattr(each, "name", "") == check.__name__)
    first, last = function.body[0].lineno - 1, function.body[0].end_lineno
    lines[first:last] = [retold("".join(lines[first:last]), before, after)]
    path.write_text("".join(lines), encoding="utf-8")


def anew(name: str, words: str) -> str:
    """Words whose claim holds: these, or with the numbers that its check finds.

    Raises:
        one of FAULTS: if it does not hold with any numbers.
    """
    try:
        holds(name, words)
    except records.Missing:
        return words
    except FAULTS:
        if not inspect.signature(CHECKS[name]).parameters:
            raise
        words = retyped(words, CHECKS[name])
        holds(name, words)
    return words


def main() -> int:
    left = 0
    for page in dict.fromkeys(page for _, page, _ in CLAIMS):
        text = (DOCS / page).read_text(encoding="utf-8")
        ours = {(name, words) for name, of, words in CLAIMS if of == page}
        for start, end, name in reversed(list(spans(text))):
            words = text[start:end]
            if (name, one_line(words)) not in ours:
                continue  # in code, as an example
            try:
                found = anew(name, words)
            except FAULTS as why:
                left += 1
                print("write anew", one_line(f"{page}: [{words}]{{claim={name}}}: {why}"))
                continue
            if found != words:
                print("retyped", one_line(f"{page}: [{found}]{{claim={name}}}"))
                text = text[:start] + found + text[end:]
                rewrite_docstring(CHECKS[name], words, found)
        (DOCS / page).write_text(text, encoding="utf-8")
    return 1 if left else 0


def one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
