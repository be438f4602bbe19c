"""A page whose words somebody falsifies is rejected: words that turn a claim, comparisons, units, rows."""

import re
from itertools import pairwise

import pytest

from scripts.site.fences.values import parse
from tests.claims.test_claims import CHECKS, CLAIMS, in_words, turned
from tests.docs.test_compared import OF_SPEED, PAGES, bare, captions, markdown
from tests.docs.test_falsified import some
from tests.docs.test_rows import UNIT, VALUE, asked_twice, awaits_its_run, misread, nameless
from tests.docs.turning import OTHERS, turning


def test_a_turned_claim_is_rejected():
    passed, tried = [], 0
    for name, _, words in CLAIMS:
        for at, word in turning(words):
            for other in OTHERS[word.lower()]:
                tried += 1
                if turned(words[:at] + other + words[at + len(word) :]) in in_words(CHECKS[name].__doc__):
                    passed.append(f"{name}: {words}: {word} becomes {other}")
    assert passed == [] and tried > 2000


@pytest.mark.parametrize("page", [page for page in PAGES if "{claim=" in markdown(page)])
def test_a_comparison_whose_claim_is_taken_away_is_rejected(page):
    """Speed words alone: of other words it depends on the rest of their sentence."""
    text = markdown(page)
    marks = re.finditer(r"\[([^\[\]]*)\]\{claim=\w+\}", text)
    attacks = [(mark[0], text.replace(mark[0], mark[1])) for mark in marks if OF_SPEED.search(mark[1])]
    assert [said for said, changed in some(page, attacks) if not list(bare(changed))] == []


@pytest.mark.parametrize("page", [page for page in PAGES if any(map(OF_SPEED.search, captions(markdown(page))))])
def test_a_caption_that_says_the_contrary_is_rejected(page):
    text = markdown(page)
    for caption in filter(OF_SPEED.search, captions(text)):
        words = caption.strip()
        changed = OF_SPEED.sub(lambda word: OTHERS[word[0].lower()][0], words)
        assert list(bare(text.replace(words, changed))), changed


def units(text):
    """(what is said, the page) with another unit behind a quoted number."""
    for value in VALUE.finditer(text):
        unit = UNIT.match(text, value.end())
        if unit and not awaits_its_run(parse(value[1])):
            other = {"ms": "µs", "µs": "ms", "%": "ms", "MB": "MiB", "TB/s": "GB/s"}.get(unit[1], "MB")
            yield f"{value[1]} in {other}", text[: unit.start(1)] + other + text[unit.end(1) :]


def swapped(text):
    """(the two, the page) with two numbers of one column that change places."""
    for first, second in pairwise(VALUE.finditer(text)):
        one, two = parse(first[1]), parse(second[1])
        near = "\n\n" not in text[first.end() : second.start()] and one.snippet and two.snippet
        column = one.address.rpartition(".")[2] == two.address.rpartition(".")[2]
        near = near and not awaits_its_run(one) and not awaits_its_run(two)
        if near and column and one.selectors != two.selectors and one.selectors.keys() == two.selectors.keys():
            changed = text[: first.start()] + second[0] + text[first.end() : second.start()] + first[0]
            yield f"{first[1]} and {second[1]}", changed + text[second.end() :]


QUOTING = [page for page in PAGES if VALUE.search(markdown(page))]


@pytest.mark.parametrize("page", QUOTING)
def test_a_quoted_number_in_another_unit_is_rejected(page):
    assert [said for said, changed in some(page, list(units(markdown(page))))[:3] if not list(misread(changed))] == []


@pytest.mark.parametrize("page", QUOTING)
def test_quoted_numbers_that_change_places_are_rejected(page):
    attacks = some(page, list(swapped(markdown(page))))[:3]
    assert [said for said, changed in attacks if not [*nameless(changed), *asked_twice(changed)]] == []
