"""The first picture of chapter 5: bars to scale, a press for each suspect, and nothing that jumps."""

import re

import pytest
from bs4 import BeautifulSoup

from scripts import records
from scripts.chapters import plot
from tests.site.live.conftest import start_piece
from tests.site.live.test_pieces import FOLDER, every_width

TIMES = {
    row["form"]: row["median"]
    for row in plot.rows_with(records.table("prefill_speed", "forward_128"), n=512, causal=False, direction="forward")
}
(L2,) = plot.rows_with(records.table("l2_speed", "sizes"), size=16)
MEASURED = {"kernel": TIMES["one_key_attention"], "pytorch": TIMES["attention"], "l2": L2["speed"]}


def widths(drawing) -> list[float]:
    """Of PyTorch's bar, of what memory and multiplying fill, two pixels from the edge; and of the long bar."""
    pytorch, whole, *lanes = [float(bar["width"]) for bar in drawing.select("rect")]
    return [pytorch, *(wide + 2 if wide else 0 for wide in lanes), whole]


@pytest.mark.parametrize("size", ["narrow", "wide", "printed"])
def test_the_bars_are_at_one_scale(pieces, size):
    still = BeautifulSoup(pieces.draw_state("where_time_goes", {"tried": "memory,multiplying"}), "html.parser")
    drawing = still.select_one(f"svg.{size}")
    filled = [float(time) for time in re.findall(r"(?:memory|multiplying) ([\d.]+) ms", drawing.text)]
    assert len(filled) == 2
    pytorch, memory, multiplying, whole = (wide / widths(drawing)[-1] for wide in widths(drawing))
    assert pytorch == pytest.approx(MEASURED["pytorch"] / MEASURED["kernel"], rel=0.02) and whole == 1
    assert [part * MEASURED["kernel"] for part in (memory, multiplying)] == pytest.approx(filled, abs=0.06)


def test_where_no_page_says_what_was_measured_it_is_nearly_the_same():
    source = (FOLDER / "where_time_goes.js").read_text()
    initial = {name: float(re.search(rf"{name}: ([\d.]+)", source)[1]) for name in MEASURED}
    assert initial == pytest.approx(MEASURED, rel=0.01)


def test_a_suspect_fills_nothing_before_it_is_pressed_but_on_paper(pieces):
    still = BeautifulSoup(pieces.draw_state("where_time_goes", {}), "html.parser")
    for size in ("narrow", "wide"):
        assert widths(still.select_one(f"svg.{size}"))[1:3] == [0, 0]
    assert min(widths(still.select_one("svg.printed"))) > 1
    assert len(still.select(".hb-live__main:not(.quiet)")) == 3


@every_width
def test_pressing_keeps_every_edge_in_its_place_and_the_end_is_known(visit, width):
    page = visit("live/#live-where_time_goes", width=width)
    page.emulate_media(reduced_motion="reduce")
    piece = start_piece(page, "where_time_goes")
    edges = "(piece) => [piece, ...piece.querySelectorAll('button')].map((each) => JSON.stringify(each.getBoundingClientRect()))"
    before, shown = piece.evaluate(edges), set()
    for name, done in (("Something else", 0), ("Memory", 0), ("Multiplying", 1), ("Something else", 1)):
        piece.get_by_role("button", name=name).press("Enter")
        shown.add(piece.locator(".hb-live__says").inner_text())
        assert piece.evaluate(edges) == before
        assert page.locator("#live-where_time_goes[data-done]").count() == done
    assert len(shown) == 4
