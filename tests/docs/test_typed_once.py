"""A long number that a chapter has only once is computed, quoted or claimed there, or said to be given.

A slip of the pen in a number that a page repeats leaves a number that stands there once.
"""

import re
from collections import Counter

import pytest

from tests.docs.arithmetic import tokens
from tests.docs.pages import CLAIM, DOCS, VALUE, blocks
from tests.docs.quantities import GIVEN, results

MARK = re.compile(r"<!-- = (.*?) -->")
GIVEN_HERE = re.compile(rf"(?: \w+)?{GIVEN}")  # also behind a unit
CHAPTERS = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.glob("chapters/*.md"))


def typed_once(found):
    """The numbers of three digits or more, or with a point, that stand here once and that nothing vouches for."""
    computed = set(results(found))
    numbers = [(block, token) for block in found for token in tokens(block.text) if token.kind == "number"]
    inside = [token.text for block in found for mark in MARK.findall(block.text) for token in tokens(mark)]
    times = Counter([token.text for _, token in numbers] + inside)
    for block, token in numbers:
        before, behind = block.text[: token.start], block.text[token.end :]
        marked = before.count(CLAIM) % 2 or before.count(VALUE) % 2 or GIVEN_HERE.match(behind)
        name = before[-1:].isalpha() or re.match(r"\.\d", behind)  # H100, version 3.6.0
        power = re.search(r"\^\{[^}]*$", before)  # a formula holds no mark
        long = not name and not power and ("." in token.text or len(re.sub(r"\D", "", token.text)) > 2)
        if long and times[token.text] == 1 and not marked and (block.line, token.start) not in computed:
            yield f"line {block.line}: {before[-30:]}{token.text}{behind[:20]}"


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_long_number_that_stands_once_is_vouched_for(page):
    assert list(typed_once(blocks(page))) == []
