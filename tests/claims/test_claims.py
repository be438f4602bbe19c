"""What words on a page claim, ``[in every setting]{claim=name}``, is computed by the check of that name.

A check is a public function in tests/chapters/NAME/claims.py.  Its docstring says in numbers what it
asserts.  A check with parameters is given the numbers that are typed in the words, in their order, so that the page
alone holds them: ``at most [1.07]{claim=spread}`` calls ``spread(Decimal("1.07"))``.  The numbers in the words of a
check without parameters stand in its docstring, in the same order.

Words that turn a sentence when another is put in their place, *faster*, *every*, *half*, *cuDNN*, stand last in the
docstring, as they stand in the words: ``In words: less, half.``; where a claim is put into words more than once, with a
semicolon between, and a dash where none turns them.
"""

import importlib
import inspect
import re
from decimal import Decimal

import pytest

from scripts import records
from scripts.records import ROOT
from tests.docs.pages import COUNTS
from tests.docs.turning import turning

DOCS = ROOT / "docs"
EARLIER = records.Reader(earlier=True)
PARTS = {None: (0, 1), " and a half": (Decimal("0.5"), 1), " and a quarter": (Decimal("0.25"), 1), " tenths": (0, 10)}
FENCE = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]+`")
DIGITS = r"(?<![\w.])(?<![A-Za-z]-)(?:\d[\d,]*(?:\.\d+)?|\.\d+)"
NUMBER = re.compile(rf"({DIGITS}|\b(?:{'|'.join(COUNTS)})\b)({'|'.join(filter(None, PARTS))})?", re.IGNORECASE)


NO_CLAIM = re.compile(r"[Cc]hapter \d+|[\d.]+ \w+(?=<!-- =)")  # numbers that others compute


def checks():
    """name -> the check."""
    chapters = sorted(path.parent.name for path in ROOT.glob("tests/chapters/*/claims.py"))
    found = {}
    for name in ("claims.corrections", *(f"chapters.{chapter}.claims" for chapter in chapters)):
        module = importlib.import_module(f"tests.{name}")
        for name, check in inspect.getmembers(module, inspect.isfunction):
            if check.__module__ == module.__name__ and not name.startswith("_"):
                assert name not in found, f"two checks are named {name}"
                found[name] = check
    return found


def spans(markdown):
    """(start and end of the words, name) of each claim in a text in Markdown, but for those that code shows."""
    text = FENCE.sub(lambda fence: " " * len(fence[0]), markdown)
    text = CODE.sub(lambda code: " " * len(code[0]) if "{claim=" in code[0] else code[0], text)
    for mark in re.finditer(r"\]\{claim=(\w+)\}", text):
        depth, start = 1, mark.start()
        while depth:
            start -= 1
            assert start >= 0, f"no bracket opens the words of {mark[1]}"
            depth += {"]": 1, "[": -1}.get(text[start], 0)
        yield start + 1, mark.start(), mark[1]


def marks(markdown):
    """(words, name) of each claim in a text in Markdown."""
    for start, end, name in spans(markdown):
        yield " ".join(markdown[start:end].split()), name


def places(words):
    """Where numbers stand in words, but those of code, values and addresses of links."""
    return NUMBER.finditer(re.sub(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->", lambda part: " " * len(part[0]), words))


def typed(words):
    """The numbers that stand there."""
    for number, part in (place.groups() for place in places(words)):
        more, divisor = PARTS[part]
        yield (Decimal(COUNTS.get(number.lower()) or number.replace(",", "")) + more) / divisor


def told(words, docstring):
    """Whether the numbers of the words stand in the docstring, in the same order; those of chapters are not meant."""
    rest = typed(docstring)
    return all(number in rest for number in typed(NO_CLAIM.sub("", words)))


def turned(words):
    """The words that turn these, as a docstring has them; a dash if none does."""
    return ", ".join(word.lower() for _, word in turning(words)) or "-"


def in_words(docstring):
    """What a docstring says of the words: of each mark those that turn it."""
    _, _, said = " ".join(docstring.split()).partition("In words: ")
    return (said or "-").removesuffix(".").split("; ")


def holds(name, words):
    """Computes a claim.

    Raises:
        AssertionError: if it does not hold, or its words have other numbers than its check, or are turned by others.
    """
    check = CHECKS[name]
    said = turned(words)
    assert said in in_words(check.__doc__), (
        f"{words!r} is turned by other words than {name} is: if it holds, say in its docstring, 'In words: {said}.'"
    )
    if inspect.signature(check).parameters:
        return check(*typed(words))
    assert told(words, check.__doc__), f"the numbers in {words!r} are not those of {name}: {check.__doc__}"
    return check()


PAGES = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
CLAIMS = [(name, page, words) for page, text in PAGES.items() for words, name in marks(text)]
CHECKS = checks()


@pytest.mark.parametrize("name, page, words", CLAIMS, ids=[f"{page}: {name}" for name, page, _ in CLAIMS])
def test_a_claim_holds(name, page, words):
    assert name in CHECKS, f"{page} claims {name}: {words!r}, and no check has that name"
    with EARLIER.noting():  # as the page does
        holds(name, words)


def test_each_check_is_claimed_and_says_what_it_asserts():
    assert set(CHECKS) - {name for name, _, _ in CLAIMS} == set()
    assert [name for name, check in CHECKS.items() if not check.__doc__] == []


def test_words_with_numbers():
    text = "A [[chapter 4](c.md) says **1,007**]{claim=one}, [in FP8 `#!value a.b.c .1f` to three\n and .5]{claim=two}."
    found = {name: list(typed(words)) for words, name in marks(text)}
    assert found == {"one": [Decimal("4"), Decimal("1007")], "two": [Decimal("3"), Decimal("0.5")]}


@pytest.mark.parametrize(
    "words, docstring, agree",
    [
        ("at N = 1024 they lose", "At N = 1024 it takes 1.1 times as long.", True),
        ("at N = 2048 they lose", "At N = 1024 it takes 1.1 times as long.", False),
        ("more than **five** times", "It takes 5 to 6 times as long.", True),
        ("more than six times, at five", "It takes 5 to 6 times as long.", False),
        ("two and a half times", "It takes 2.5 times as long.", True),
        ("two and a half times", "It takes 2 times as long.", False),
        ("nine tenths", "0.9 of a copy's speed", True),
        ("that of chapter 7", "That of another chapter.", True),
    ],
)
def test_the_numbers_of_a_check_without_parameters_stand_in_its_docstring(words, docstring, agree):
    assert told(words, docstring) == agree
