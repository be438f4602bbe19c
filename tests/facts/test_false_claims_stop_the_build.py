"""Makes claims of our pages false, and sees that the build refuses each.

A claim is a fact in words, a measured number, or the result of an equation.  One is changed as a careless editor might:
"ahead" becomes "behind", a number is typed where a value was quoted, a digit of a result is another.  Pages that begin
with ``numbers: unchecked`` are left out, since the build does not check what they type.
"""

import random
import re
from collections.abc import Iterator

import pytest

from scripts import facts, records
from scripts.facts.equations import equations
from scripts.facts.paragraphs import paragraphs
from scripts.facts.unchecked_pages import is_unchecked
from scripts.site.fences import Fences
from scripts.site.fences.page import FenceError, PageContext

DOCS = records.ROOT / "docs"
TEXTS = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
PAGES = {page: text for page, text in TEXTS.items() if not is_unchecked(text)}
READER = records.Reader()
FENCES = Fences(READER, READER, {})
VALUE = re.compile(r"`#!value\s[^`]+`(?: ?[A-Za-z%/]+)?")
UNITS = ("ms", "µs", "TB/s", "TFLOP/s", "GHz", "times as fast")
OPPOSITES = {
    "ahead": "behind",
    "half": "a third",
    "two thirds": "half",
    "agree": "differ",
    "byte": "bit",
    "all": "most",
}


def build_stops(page: str, text: str) -> bool:
    """Whether the build stops at a page, by what it does to a page before and while it renders it."""
    typed = PageContext(text=text, source=page)
    FENCES.set_page(typed)
    try:
        typed.check_numbers()
        typed.stop_at_errors()
        for _, words, name in facts.marks(text):
            FENCES.fact(name, words)
    except FenceError:
        return True
    return False


def false_facts(text: str, draw: random.Random) -> Iterator[str]:
    """The page, each time with one number or word of a fact changed."""
    for mark, _, _ in facts.marks(text):
        begin, words, end = text[: mark.start(1)], mark[1], text[mark.end(1) :]
        for number in re.finditer(r"\d+", words):
            yield f"{begin}{words[: number.start()]}{int(number[0]) + draw.choice((-1, 1))}{words[number.end() :]}{end}"
        for word, other in OPPOSITES.items():
            if re.search(rf"\b{word}\b", words):
                yield begin + re.sub(rf"\b{word}\b", other, words) + end


def typed_numbers(text: str, draw: random.Random) -> Iterator[str]:
    """The page, each time with a made-up number in place of a quoted value."""
    for value in VALUE.finditer(text):
        before = text[: value.start()]
        if before.rpartition("\n")[2].lstrip().startswith("live") or "key=" in before[-40:]:
            continue  # the state of a piece
        number = f"{draw.uniform(0.2, 90):.{draw.randrange(3)}f} {draw.choice(UNITS)}"
        yield before + number + text[value.end() :]


def false_results(text: str, draw: random.Random) -> Iterator[str]:
    """The page, each time with another last digit in the result of an equation."""
    lines = text.splitlines(keepends=True)
    for paragraph in paragraphs(text):
        start = sum(map(len, lines[: paragraph.line - 1]))
        for equation in equations(paragraph.text):
            for begin, end in equation.results:
                digits = re.match(r"[\d.,]*\d", paragraph.text[begin:end])[0]
                place = re.compile(rf"[=≈]\s*[*$]*({re.escape(digits)})").search(text, start)
                if place:
                    last = str((int(digits[-1]) + draw.randrange(1, 10)) % 10)
                    yield text[: place.end(1) - 1] + last + text[place.end(1) :]


@pytest.mark.parametrize(
    "falsified, tried, at_least_refused",
    [(false_facts, 30, 30), (typed_numbers, 30, 30), (false_results, 40, 36)],
    ids=["words of facts", "typed measurements", "results of equations"],
)
def test_a_false_claim_stops_the_build(falsified, tried, at_least_refused):
    draw = random.Random(7)
    false_pages = [(page, changed) for page, text in PAGES.items() for changed in falsified(text, draw)]
    chosen = draw.sample(false_pages, tried)
    missed = [(page, changed) for page, changed in chosen if not build_stops(page, changed)]
    assert tried - len(missed) >= at_least_refused, "\n".join(difference(*each) for each in missed)


def test_another_number_in_the_sentence_of_a_fact_stops_it():
    page = "chapters/first-kernel/bottleneck.md"
    text = PAGES[page]
    changed = re.sub(r"8192( words it's [^.]*\{fact=a_pair_in_a_long_row\})", r"4096\1", text)
    assert changed != text and build_stops(page, changed)


def difference(page: str, changed: str) -> str:
    old, new = TEXTS[page], changed
    at = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)  # one is longer
    return f"{page}: {old[at - 40 : at + 20]!r} became {new[at - 40 : at + 20]!r}"
