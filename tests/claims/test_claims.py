"""What words on a page claim, ``[in every setting]{claim=name}``, is computed by the check of that name.

A check is a public function in a module beside this file, one module a chapter.  Its docstring says in numbers what it
asserts.  A check with parameters is given the numbers that are typed in the words, in their order, so that the page
alone holds them: ``at most [1.07]{claim=spread}`` calls ``spread(Decimal("1.07"))``.
"""

import importlib
import inspect
import re
from decimal import Decimal
from pathlib import Path

import pytest

from scripts import records
from scripts.records import ROOT

DOCS = ROOT / "docs"
COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
COUNTS |= {"eleven": 11, "twelve": 12}
FENCE = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]+`")
NUMBER = re.compile(rf"(?<![\w.])(?:\d[\d,]*(?:\.\d+)?|\.\d+)|\b(?:{'|'.join(COUNTS)})\b", re.IGNORECASE)


def checks():
    """name -> the check."""
    stems = {path.stem for path in Path(__file__).parent.glob("*.py")} - {"compiled", "rows", "test_claims"}
    found = {}
    for module in (importlib.import_module(f"tests.claims.{stem}") for stem in sorted(stems)):
        for name, check in inspect.getmembers(module, inspect.isfunction):
            if check.__module__ == module.__name__ and not name.startswith("_"):
                assert name not in found, f"two checks are named {name}"
                found[name] = check
    return found


def marks(markdown):
    """(words, name) of each claim in a text in Markdown."""
    text = CODE.sub(lambda code: "" if "{claim=" in code[0] else code[0], FENCE.sub("", markdown))
    for mark in re.finditer(r"\]\{claim=(\w+)\}", text):
        depth, start = 1, mark.start()
        while depth:
            start -= 1
            assert start >= 0, f"no bracket opens the words of {mark[1]}"
            depth += {"]": 1, "[": -1}.get(text[start], 0)
        yield " ".join(text[start + 1 : mark.start()].split()), mark[1]


def typed(words):
    """The numbers that stand in words, but those of code, values and addresses of links."""
    text = re.sub(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->", " ", words)
    for number in NUMBER.findall(text):
        yield Decimal(COUNTS.get(number.lower()) or number.replace(",", ""))


PAGES = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
CLAIMS = [(name, page, words) for page, text in PAGES.items() for words, name in marks(text)]
CHECKS = checks()


@pytest.mark.parametrize("name, page, words", CLAIMS, ids=[f"{page}: {name}" for name, page, _ in CLAIMS])
def test_a_claim_holds(name, page, words):
    assert name in CHECKS, f"{page} claims {name}: {words!r}, and no check has that name"
    numbers = list(typed(words)) if inspect.signature(CHECKS[name]).parameters else []
    try:
        CHECKS[name](*numbers)
    except records.Missing as error:
        pytest.skip(str(error))


def test_each_check_is_claimed_and_says_what_it_asserts():
    assert set(CHECKS) - {name for name, _, _ in CLAIMS} == set()
    assert [name for name, check in CHECKS.items() if not check.__doc__] == []


def test_words_with_numbers():
    text = "A [[chapter 4](c.md) says **1,007**]{claim=one}, [in FP8 `#!value a.b.c .1f` to three\n and .5]{claim=two}."
    found = {name: list(typed(words)) for words, name in marks(text)}
    assert found == {"one": [Decimal("4"), Decimal("1007")], "two": [Decimal("3"), Decimal("0.5")]}
