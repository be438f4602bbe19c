"""A sheet's minutes add up, and its long numbers are computed there or stand in its chapter."""

import re

import pytest

from tests.docs.arithmetic import tokens
from tests.docs.pages import CLAIM, DOCS, VALUE, blocks
from tests.docs.quantities import results
from tests.docs.tables import tables

SHEETS = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.glob("whiteboard/*.md"))
BOARDS = [sheet for sheet in SHEETS if any("Min" in rows[0] for rows in tables(sheet))]
CHAPTER = re.compile(r"\((?:\.\./)?(chapters/[\w-]+\.md)")


@pytest.mark.parametrize("sheet", BOARDS)
def test_the_minutes_add_up(sheet):
    (board,) = [rows for rows in tables(sheet) if "Min" in rows[0]]
    announced = re.findall(r"(\d+)[- ]minutes?\b", (DOCS / sheet).read_text(encoding="utf-8").partition("| Min |")[0])
    assert announced and set(map(int, announced)) == {sum(int(row["Min"]) for row in board)}


def test_the_talk_is_announced_with_its_minutes():
    (row,) = next(iter(tables("whiteboard/index.md")))  # the build adds a row for every other sheet
    (board,) = [rows for rows in tables("whiteboard/talk.md") if "Min" in rows[0]]
    (at_home,) = re.findall(r"a talk of (\d+) minutes", (DOCS / "index.md").read_text(encoding="utf-8"))
    assert {int(at_home), int(row["Minutes at the board"])} == {sum(int(row["Min"]) for row in board)}


def test_the_square_goes_up_in_the_minute_that_the_talk_says():
    text = (DOCS / "whiteboard/talk.md").read_text(encoding="utf-8")
    before = re.findall(r"^\| (\d+) \|", text.partition("The balloon:")[0], re.MULTILINE)
    (said,) = re.findall(r"the square goes up there in minute (\d+)", text)
    assert int(said) == sum(map(int, before)) - int(before[-1])


def strangers(sheet, found):
    """The long numbers of a sheet that neither it computes nor its chapter has: three digits or more, or a point."""
    chapters = CHAPTER.findall((DOCS / sheet).read_text(encoding="utf-8"))
    there = {token.text for chapter in chapters for block in blocks(chapter) for token in tokens(block.text)}
    return [number for number in typed(found) if {number, f"0{number}"}.isdisjoint(there)]


def typed(found):
    """The long numbers of these blocks that nothing computes in them."""
    sure = set(results(found))
    for block in found:
        for token in tokens(block.text):
            before = block.text[: token.start]
            quoted = before.count(CLAIM) % 2 or before.count(VALUE) % 2
            long = "." in token.text or len(token.text) > 2
            if token.kind == "number" and long and not quoted and (block.line, token.start) not in sure:
                yield token.text


@pytest.mark.parametrize("sheet", BOARDS)
def test_a_long_number_stands_in_the_chapter(sheet):
    assert strangers(sheet, blocks(sheet)) == []
