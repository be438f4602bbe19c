"""The units of an SM: each is as full as it was measured to be busy, and with the warps another one is the fullest."""

import re

import pytest
from bs4 import BeautifulSoup

from scripts import records
from scripts.chapters import plot
from tests.site.live.conftest import start_piece, words_outside
from tests.site.live.test_pieces import FOLDER

WARPS = (1, 2, 4, 8)
COLUMNS = {"schedulers": "issue", "FP32 units": "fma", "ALU": "alu", "LSU": "lsu", "data path": "data_path"}
BUSY = {row["warps"]: row for row in plot.rows_with(records.table("what_limits", "busy"), n=512)}
CLOCKS = {row["warps"]: row["all"] for row in plot.rows_with(records.table("what_limits", "clocks"), n=512)}
FULLEST = {warps: max(COLUMNS, key=lambda unit: BUSY[warps][COLUMNS[unit]]) for warps in WARPS}


def drawing(pieces, size: str, **state):
    return BeautifulSoup(pieces.draw_state("busy_units", state), "html.parser").select_one(f"svg.{size}")


@pytest.mark.parametrize("size", ["narrow", "wide", "printed"])
@pytest.mark.parametrize("warps", WARPS)
def test_each_vessel_is_as_full_as_its_unit_is_busy_and_the_fullest_stands_out(pieces, size, warps):
    stage = drawing(pieces, size, warps=str(warps), guess="alu")
    *vessels, track, pair = stage.select("rect")
    assert len(vessels) == 2 * len(COLUMNS)
    for (unit, column), room, level in zip(COLUMNS.items(), vessels[::2], vessels[1::2], strict=True):
        along, across = ("width", "height") if size == "narrow" else ("height", "width")  # on a phone they lie
        part = float(level[along]) / float(room[along])
        assert part == pytest.approx(BUSY[warps][column] / 100, abs=0.006) and level[across] == room[across]
        foot = [float(each["y"]) + float(each["height"]) for each in (room, level)]
        assert foot[0] == pytest.approx(foot[1], abs=0.02) and level["x"] == room["x"]
        assert ("violet" in level["class"]) == (unit == FULLEST[warps])
    part = float(pair["width"]) / float(track["width"])
    assert part == pytest.approx(CLOCKS[warps] / max(CLOCKS.values()), abs=0.003)
    assert f"a pair takes {CLOCKS[warps]:.0f} clocks" in stage.text


def test_with_more_warps_another_unit_is_the_fullest():
    assert list(FULLEST.values()) == ["ALU", "schedulers", "data path", "data path"]


def test_where_no_page_says_what_was_measured_it_is_nearly_the_same():
    source = (FOLDER / "busy_units.js").read_text()
    named = dict(zip(("schedulers", "fp32", "alu", "lsu", "path"), COLUMNS.values(), strict=True))
    for name in ("clocks", *named):
        initial = [float(number) for number in re.search(rf'{name}: "([\d. ]+)"', source)[1].split()]
        measured = [CLOCKS[warps] if name == "clocks" else BUSY[warps][named[name]] for warps in WARPS]
        assert initial == pytest.approx(measured, abs=0.6)


@pytest.mark.parametrize("width", [320, 360, 390, 500, 700, 900, 1040, 1280])
def test_dragging_the_warps_moves_no_edge_and_every_word_stays_in_the_picture(visit, width):
    page = visit("live/#live-busy_units", width=width)
    page.emulate_media(reduced_motion="reduce")
    piece = start_piece(page, "busy_units")
    warps = piece.get_by_role("slider")
    before = piece.bounding_box()
    vessels = piece.get_by_role("button", name="My guess")
    read = lambda: piece.locator("svg.stage:visible").text_content()
    assert vessels.count() == read().count("?") == len(COLUMNS) and "%" not in read(), "nothing is given away"
    assert not warps.count(), "first comes the guess"
    vessels.nth(2).click()
    assert (
        piece.locator(".hb-live__says").inner_text().startswith(f"No: it’s the {FULLEST[4]}") and read().count("%") == 5
    )
    assert piece.bounding_box() == before
    for stop, count in enumerate(WARPS):
        warps.fill(str(stop))
        label = piece.locator("svg.stage:visible").get_attribute("aria-label")
        assert f"programs of {count} warps: a pair takes {CLOCKS[count]:.0f} clocks" in label
        assert f"the {FULLEST[count]}, " in piece.locator(".hb-live__says").inner_text() or count == 4
        assert piece.bounding_box() == before
        assert not words_outside(piece)
