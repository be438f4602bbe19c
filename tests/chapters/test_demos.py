"""Each sheet has a demo: its point first, then few lines, and every number of it stands on the board or in the key."""

import re
import time

import pytest
from mkdocs.exceptions import PluginError

from scripts import run
from scripts.chapters import demo
from scripts.records import ROOT
from scripts.site.pages import sheets
from scripts.site.pages.demos import MARK, SECONDS, fill_times

CHAPTERS = demo.chapters()
NAMES = [*CHAPTERS]
MAX_LINES, MAX_WIDTH = 15, 80
CPU_SECONDS = 15  # all demos together
VECTOR = re.compile(r"\[[^\[\]]*\]")
NUMBER = re.compile(r"(?<![\w.,])(?:[0-9A-F]{2}(?!\w)|-?\d+(?:,\d{3})+(?:\.\d+)?|-?\d*\.?\d+)")  # a byte is one, too


def numbers(text: str) -> set[str]:
    """The vectors of a text, and the numbers outside of them, as they are written."""
    text = text.replace("\N{MINUS SIGN}", "-")
    return {"".join(found.split()) for found in VECTOR.findall(text)} | set(NUMBER.findall(VECTOR.sub(" ", text)))


def sheet(name: str) -> str:
    """The text of a demo's sheet."""
    return sheets.sheet_pages(ROOT)[CHAPTERS[name].replace("_", "-")].read_text(encoding="utf-8")


def key(name: str) -> str:
    """What stands on the back of a demo's sheet."""
    return re.sub(r"<!--.*?-->", "", sheets.SHEET.match(sheet(name))["key"])


def pictures(name: str) -> list[set[str]]:
    """The numbers of each picture of a demo's sheet."""
    drawn = sheets.draw_board(CHAPTERS[name])
    return [numbers(" | ".join(drawn.read(step))) for step in range(1, drawn.steps + 1)]


@pytest.fixture(scope="module")
def printed():
    """The lines of every demo, and the processor time that all took."""
    before = time.process_time()
    lines = {name: demo.lines(name) for name in NAMES}
    return lines, time.process_time() - before


def test_every_sheet_has_one_demo_and_each_is_named_after_a_snippet():
    with_sheet = {name.replace("-", "_") for name in sheets.sheet_pages(ROOT)}
    odd = with_sheet ^ {*CHAPTERS.values()}
    assert not odd, f"a sheet has one demo, scripts/chapters/NAME/demo.py, and a demo its sheet: {odd}"
    unknown = {*NAMES} - {*run.SNIPPETS}
    assert not unknown, f"SNIPPET of a demo.py names {unknown}, and there's no such snippet"


@pytest.mark.parametrize("name", NAMES)
def test_it_prints_only_numbers_of_the_board_and_its_key(name, printed):
    known = set.union(*pictures(name)) | numbers(key(name))
    strange = numbers("\n".join(printed[0][name])) - known
    assert not strange, (
        f"scripts/chapters/{CHAPTERS[name]}/demo.py prints {strange}: neither on the board nor in its key"
    )


def test_a_number_with_another_digit_is_found(printed):
    known = set.union(*pictures("online_softmax")) | numbers(key("online_softmax"))
    for right, wrong in (("3.006", "3.007"), ("[15.03, 3.68]", "[15.03, 3.67]"), ("0.368", "0.367")):
        changed = "\n".join(printed[0]["online_softmax"]).replace(right, wrong)
        assert numbers(changed) - known == {"".join(wrong.split())}


@pytest.mark.parametrize("name", NAMES)
def test_it_begins_with_the_point_a_sentence_whose_numbers_stand_in_one_picture(name, printed):
    point = printed[0][name][0]
    assert point.endswith(".") and numbers(point)
    assert any(numbers(point) <= picture for picture in pictures(name))


@pytest.mark.parametrize("name", NAMES)
def test_it_fits_on_a_screen(name, printed):
    lines = printed[0][name]
    assert len(lines) <= MAX_LINES and max(map(len, lines)) <= MAX_WIDTH


def test_none_takes_long(printed):
    assert printed[1] <= CPU_SECONDS


def test_a_board_is_printed_by_its_name_and_another_name_lists_them(printed, capsys):
    run.main("online_softmax", board=True)
    assert capsys.readouterr().out == "\n".join(printed[0]["online_softmax"]) + "\n"
    with pytest.raises(SystemExit, match="No sheet has a demo 'scaling'; with BOARD=1 there are: balloon, decode, "):
        run.main("scaling", board=True)


@pytest.mark.parametrize("name", NAMES)
def test_its_sheet_names_the_command_and_the_build_says_what_it_took(name):
    (said,) = [part for part in key(name).split("\n\n") if part.startswith("**Demo")]
    assert f"`make run SNIPPET={name} BOARD=1`" in said
    built = fill_times(sheet(name), CHAPTERS[name], ROOT)
    assert MARK in sheet(name) and re.search(r"\b\d seconds? on one processor of an? \w.*, \d+ \w+ 20\d\d\)", built)


def test_a_sheet_whose_demo_was_not_measured_stops_the_build():
    with pytest.raises(PluginError, match=r"no 'nothing': \.venv/bin/python -m scripts\.time_demos"):
        fill_times(f"**Demo.** {MARK}", "nothing", ROOT)
    assert fill_times("No demo.", "nothing", ROOT) == "No demo." and (ROOT / SECONDS).is_file()
