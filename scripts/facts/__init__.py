"""Facts: what a chapter concludes from its records, in words that stay true when the runs are repeated.

A fact is a function in scripts/chapters/NAME/facts.py. It declares the table it reads and the two columns or rows that
it compares, and returns the words that a page prints: ``[about half the time of]{fact=name}``, or
``{fact=chapter.name}`` on a page of another chapter. The build compares; ``make facts`` puts today's words onto the
pages. In the text alternative of a figure, ``{fact=name}`` alone stands for the words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module, util
from pathlib import Path

from scripts import records
from scripts.facts.phrases import NoPhrase

MARK = re.compile(r"\{fact=([\w.]+)\}")
MARKED_WORDS = re.compile(rf"\[((?:[^\[\]`\n]|\n(?!\n))+)\]{MARK.pattern}")
NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?!\w|[.,]\d)")
CODE = re.compile(r"^ *```[^\n]*(\n.*?^ *```)$|(`[^`\n]*`)", re.DOTALL | re.MULTILINE)
MAX_WORDS = 12


class FactError(Exception):
    """There is no such fact, or it has nothing to say; the message names it."""


@dataclass(frozen=True)
class Fact:
    """A statement about one recorded table, whose words are computed from its rows.

    table: which it reads, ``snippet.table``
    columns: the two columns that it compares; empty if it compares rows
    key_column: the column that tells the rows apart   keys: the two that it compares, by what stands there
    value_column: the column of the number that it compares in them
    """

    name: str
    table: str
    function: Callable[[list[dict]], str]
    columns: tuple[str, ...] = ()
    key_column: str = ""
    keys: tuple[str | int, ...] = ()
    value_column: str = ""

    def __call__(self, rows: list[dict] | None = None) -> str:
        """Returns the words, from today's record or from other rows of that table.

        Raises:
            FactError: if there are no useful words, or more than twelve.
        """
        try:
            text = self.function(records.table(*self.table.split(".")) if rows is None else rows)
        except NoPhrase as error:
            raise FactError(f"fact {self.name}: {error}") from error
        if not text or len(text.split()) > MAX_WORDS:
            raise FactError(f"fact {self.name} says {text!r}: one to {MAX_WORDS} words are wanted")
        return text


def setting_error(fact: Fact, text_around: str) -> str:
    """Says which number of a sentence isn't the fact's setting, if its keys are numbers; empty if all is well.

    A key is wanted, and no other number that's as large as half of the smallest: 512 and 8192 words leave heads of 64.
    """
    if not fact.keys or not all(isinstance(key, int) for key in fact.keys):
        return ""
    numbers = {int(digits.replace(",", "")) for digits in NUMBER.findall(text_around)}
    others = sorted(number for number in numbers - {*fact.keys} if 2 * number >= min(fact.keys))
    if not others and numbers & {*fact.keys}:
        return ""
    keys = " with ".join(map(str, fact.keys))
    return f"fact {fact.name} compares {keys}, and its sentence has {', '.join(map(str, others)) or 'neither'}"


def compares(table: str, **columns_or_rows: str | tuple) -> Callable:
    """Declares what a fact compares, columns or rows: see ``Fact``.

    ``@compares("what_limits.waits", columns=("threads", "memory"))``
    ``@compares("first_kernel.growth", key_column="n", keys=(8192, 512), value_column="one_pair")``
    """
    return lambda function: Fact(function.__name__, table, function, **columns_or_rows)


def facts_of_chapter(chapter: str) -> dict[str, Fact]:
    """Returns the facts of scripts/chapters/CHAPTER/facts.py by name, none if there is no such file."""
    module = f"scripts.chapters.{chapter.replace('-', '_')}.facts"
    if not util.find_spec(module.rpartition(".")[0]) or not util.find_spec(module):
        return {}
    return {name: each for name, each in vars(import_module(module)).items() if isinstance(each, Fact)}


def find(mark: str, chapter: str) -> Fact:
    """Returns the fact that a page of a chapter means by ``name`` or ``chapter.name``.

    Raises:
        FactError: if there is none.
    """
    other, _, name = mark.rpartition(".")
    facts = facts_of_chapter(other or chapter)
    if name not in facts:
        names = ", ".join(facts) or "none"
        raise FactError(f"there is no fact {mark} in scripts/chapters/{other or chapter}/facts.py; there are: {names}")
    return facts[name]


def full_name(mark: str, chapter: str) -> str:
    """Returns ``chapter.name`` of a mark, ``name`` or ``chapter.name``, that stands in a text of a chapter."""
    return mark if "." in mark else f"{chapter.replace('-', '_')}.{mark}"


def fill(text: str, chapter: str) -> str:
    """Returns a text of a chapter with today's words in place of each ``{fact=name}``."""
    return MARK.sub(lambda mark: find(mark[1], chapter)(), text)


def chapter_of_page(page: str) -> str:
    """Returns the chapter of a page: ``balloon`` of ``chapters/balloon/notes.md``."""
    return Path(page).parent.name


def marks(markdown: str) -> Iterator[tuple[re.Match, str, str]]:
    """Yields each mark of a page that isn't inside code, with its words on one line and its name.

    A caption isn't code: it's on the first line of its fence.
    """
    code = [match.span(match.lastindex) for match in CODE.finditer(markdown)]
    for match in MARKED_WORDS.finditer(markdown):
        if not any(begin < match.end(1) + 1 < end for begin, end in code):
            yield match, " ".join(match[1].split()), match[2]


def sentence(text: str, mark: re.Match, words: str) -> str:
    """Returns the sentence or caption around a mark, on one line, with other words in its brackets."""
    before = re.split(r'[.!?]\s|"|\n\s*\n', text[: mark.start()])[-1]
    after = re.split(r'(?<=[.!?])\s|"|\n\s*\n', text[mark.end() :])[0]
    return " ".join(MARKED_WORDS.sub(r"\1", f"{before}{words}{after}").split())
