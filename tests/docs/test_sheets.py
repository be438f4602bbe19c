"""A sheet's minutes add up, and its long numbers are computed there or stand in its chapter."""

import re

import pytest

from tests.docs.arithmetic import tokens
from tests.docs.equations import equations
from tests.docs.pages import CLAIM, DOCS, VALUE, blocks
from tests.docs.tables import tables

SHEETS = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.glob("whiteboard/*.md"))
BOARDS = [sheet for sheet in SHEETS if any("Min" in rows[0] for rows in tables(sheet))]
CHAPTER = re.compile(r"\((?:\.\./)?(chapters/[\w-]+\.md)")


@pytest.mark.parametrize("sheet", BOARDS)
def test_the_minutes_add_up(sheet):
    (board,) = [rows for rows in tables(sheet) if "Min" in rows[0]]
    minutes = sum(int(row["Min"]) for row in board)
    assert f"{minutes} minutes" in (DOCS / sheet).read_text(encoding="utf-8")
    (listed,) = [row for row in index() if row["link"] == sheet.rpartition("/")[2]]
    assert int(listed["Minutes at the board"]) == minutes


def index():
    """The rows of the index of sheets, and where each leads."""
    text = (DOCS / "whiteboard" / "index.md").read_text(encoding="utf-8")
    links = re.findall(r"^\| \[.*?\]\(([\w-]+\.md)\)", text, re.MULTILINE)
    (rows,) = tables("whiteboard/index.md")
    return [row | {"link": link} for row, link in zip(rows, links, strict=True)]


def test_each_sheet_with_a_board_is_in_the_index():
    assert sorted(row["link"] for row in index()) == [sheet.rpartition("/")[2] for sheet in BOARDS]


def typed(sheet):
    """The long numbers of a sheet for which nothing vouches there: three digits or more, or a decimal point."""
    found = blocks(sheet)
    sure = {(each.line, at) for each in equations(found) if each.verdict in ("holds", "marked") for at in each.numbers}
    for block in found:
        for token in tokens(block.text):
            before = block.text[: token.start]
            quoted = before.count(CLAIM) % 2 or before.count(VALUE) % 2
            long = "." in token.text or len(token.text) > 2
            if token.kind == "number" and long and not quoted and (block.line, token.start) not in sure:
                yield token.text


@pytest.mark.parametrize("sheet", BOARDS)
def test_a_long_number_stands_in_the_chapter(sheet):
    chapters = CHAPTER.findall((DOCS / sheet).read_text(encoding="utf-8"))
    there = {token.text for chapter in chapters for block in blocks(chapter) for token in tokens(block.text)}
    assert [number for number in typed(sheet) if {number, f"0{number}"}.isdisjoint(there)] == []
