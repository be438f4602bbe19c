"""A page that somebody falsifies is rejected: numbers in its sentences, in its claims, and in what its values ask for.

The attacks come from the pages, drawn with a seed. A number that is given is a promise that nothing can check, and is
left out; so is a number below 10 without a unit, unless a claim has it.
"""

import random
import re
from dataclasses import replace

import pytest

from scripts import records
from scripts.site.fences import FenceError
from scripts.site.fences.values import parse
from tests.claims.test_claims import CLAIMS, NO_CLAIM, NUMBER, holds
from tests.docs.equations import equations
from tests.docs.pages import COUNTS, DOCS, blocks, value
from tests.docs.quantities import known, typed, unvouched
from tests.docs.test_rows import awaits_its_run
from tests.docs.test_sheets import STEPS, strangers
from tests.docs.test_typed_once import CHAPTERS, typed_once

PAGES = sorted({path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"references.md"})
A_PAGE = 6  # attacks of each kind; with all of them the test takes minutes, and passes
ASKED = re.compile(r"`(#!value [^`]+)`")
NO_WORDS = re.compile(rf"`[^`]*`|\]\([^)]*\)|<!--.*?-->|{NO_CLAIM.pattern}")


def faults(page, found):
    """What the checks say against a page that has these blocks."""
    for each in equations(found):
        if each.verdict == "fails" or (each.box and each.verdict == "unreadable"):
            yield f"line {each.line}: {each.text}: {each.why or each.verdict}"
    yield from map(str, unvouched(page, found))
    yield from typed_once(found) if page in CHAPTERS else []
    yield from strangers(page, found) if page in STEPS else []


def some(page, attacks):
    """A few of the attacks on a page, always the same."""
    return random.Random(page).sample(attacks, min(A_PAGE, len(attacks)))


def others(text):
    """What else could stand in place of the number with which a text begins: other numbers of as many digits."""
    word = re.match(r"[A-Za-z]*", text)[0]
    if word:
        yield from (other + text[len(word) :] for other in COUNTS if other != word.lower())
    elif at := re.search(r"[0-9]", text):
        yield from (text[: at.start()] + digit + text[at.end() :] for digit in "7395182460" if digit != at[0])


def falsified(page):
    """(what stands there, what is put there, the blocks of the page with it) of each number that is not given."""
    found = blocks(page)
    there = known(page, tuple(found))
    for each in typed(tuple(found)):
        at = next(at for at, block in enumerate(found) if block.line == each.line and each.context in block.text)
        before, behind = found[at].text[: each.start], found[at].text[each.start + len(each.text) :]
        if each.by in ("given", "quoted") or found[at].text != before + each.text + behind:
            continue
        other = next((other for other in others(each.text) if other not in there), None)
        if other:
            changed = replace(found[at], text=before + other + behind)
            yield f"{each} becomes {other}", [*found[:at], changed, *found[at + 1 :]]


@pytest.mark.parametrize("page", PAGES)
def test_a_falsified_number_is_rejected(page):
    attacks = some(page, list(falsified(page)))
    assert [said for said, found in attacks if not list(faults(page, found))] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_falsified_claim_is_rejected(page):
    passed = []
    for name, _, words in some(page, [claim for claim in CLAIMS if claim[1] == page]):
        for match in NUMBER.finditer(NO_WORDS.sub(lambda part: " " * len(part[0]), words)):
            other = next(others(match[1]))
            try:
                holds(name, words[: match.start(1)] + other + words[match.end(1) :])
            except records.Missing:
                continue
            except (AssertionError, ValueError):  # of a check that reads bits: 111 has become 711
                continue
            passed.append(f"{name}: {words}: {match[1]} becomes {other}")
    assert passed == []


@pytest.mark.parametrize("page", PAGES)
def test_a_falsified_value_is_rejected(page):
    asked = sorted(set(ASKED.findall((DOCS / page).read_text(encoding="utf-8"))))
    asked = [each for each in asked if "=" in each and not awaits_its_run(parse(each.removeprefix("#!value ")))]
    for source in some(page, asked):
        key = re.findall(r"(\w+)=", source)[-1]
        for wrong in (re.sub(rf"\b{key}=", f"{key}s=", source), re.sub(rf"\b{key}=", f"{key}=no", source)):
            with pytest.raises(FenceError):
                value(wrong)


def test_the_attacks_are_many():
    assert sum(1 for page in PAGES for _ in falsified(page)) > 1000
