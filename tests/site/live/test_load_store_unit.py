"""The meeting that a reader runs: all instructions pass, as many as the model counts, and one press is enough."""

import re

import pytest
from bs4 import BeautifulSoup

from scripts.chapters.first_kernel import worked
from tests.site.live.conftest import start_piece


def clocks(text: str) -> list[int]:
    """Of the load-store unit and of the FP32 units."""
    return [int(re.search(rf"{unit}\)?: (\d+) clock", text)[1]) for unit in ("LSU", "FP32 units")]


@pytest.mark.parametrize(("warps", "multiplied"), [(1, 2), (2, 2), (4, 2), (8, 4)])
def test_in_the_end_every_clock_is_drawn(pieces, warps, multiplied):
    still = BeautifulSoup(pieces.draw_state("load_store_unit", {"warps": str(warps), "step": "1"}), "html.parser")
    for width in ("narrow", "wide", "printed"):
        assert clocks(still.select_one(f"svg.{width}").text) == [worked.load_store_clocks(warps), multiplied]


def test_before_it_runs_only_paper_says_how_it_ends(pieces):
    still = BeautifulSoup(pieces.draw_state("load_store_unit", {}), "html.parser")
    drawn = {width: clocks(still.select_one(f"svg.{width}").text) for width in ("narrow", "wide", "printed")}
    assert drawn == {"narrow": [0, 0], "wide": [0, 0], "printed": [worked.LSU_CLOCKS, 2]}


def test_a_meeting_runs_and_its_only_step_needs_no_play(visit):
    page = visit("live/#live-load_store_unit")
    page.emulate_media(reduced_motion="no-preference")
    piece = start_piece(page, "load_store_unit")
    assert piece.locator(".back").count() == 1 and piece.locator(".play").count() == 0
    piece.get_by_role("button", name="Run a meeting").click()
    says = piece.locator(".hb-live__says")
    says.get_by_text("whichever warp it comes from").wait_for()
    page.locator("#live-load_store_unit[data-done]").wait_for(timeout=10_000)
    assert "4 · 24 = 96 clocks" in says.inner_text()
    assert clocks(piece.locator("svg.stage:visible").text_content()) == [worked.LSU_CLOCKS, 2]
    piece.get_by_role("button", name="8", exact=True).click()
    assert clocks(piece.locator("svg.stage:visible").text_content()) == [0, 0]
