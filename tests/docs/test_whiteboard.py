"""The minutes of a sheet's board sequence add up to what the sheet and the list of sheets say."""

import re

import pytest

from tests.docs.pages import DOCS

SHEETS = sorted(path for path in (DOCS / "whiteboard").glob("*.md") if path.stem not in ("index", "all"))


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda path: path.stem)
def test_the_minutes_add_up(sheet):
    text = sheet.read_text(encoding="utf-8")
    planned = [int(minutes) for minutes in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)]
    announced = re.findall(r"(\d+)[- ]minutes?\b", text.partition("| Min |")[0])
    (listed,) = re.findall(rf"\({sheet.name}\)[^\n]*?\| (\d+) \|", (DOCS / "whiteboard/index.md").read_text("utf-8"))
    assert announced and {*map(int, announced), int(listed)} == {sum(planned)}


def test_the_square_goes_up_in_the_minute_that_the_talk_says():
    text = (DOCS / "whiteboard/talk.md").read_text(encoding="utf-8")
    before = re.findall(r"^\| (\d+) \|", text.partition("The balloon:")[0], re.MULTILINE)
    (said,) = re.findall(r"the square goes up there in minute (\d+)", text)
    assert int(said) == sum(map(int, before)) - int(before[-1])
