"""The bar from the top, filled: on one scale with what was measured, and nothing moves when it's pressed."""

import re

import pytest
from bs4 import BeautifulSoup

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked
from tests.site.live.conftest import start_piece
from tests.site.live.test_pieces import FOLDER, every_width
from tests.site.live.test_where_time_goes import L2

LEFT_OUT = {row["left_out"]: row["median"] for row in plot.rows_with(records.table("ablation", "times"), n=512)}
PARTS = {
    "memory (L2)": worked.PAIRS * worked.PAIR_BYTES / L2["speed"] / 1e9,
    "multiplying": worked.milliseconds_of_clocks(worked.FP32_CLOCKS),
    "passes": LEFT_OUT["sums"],  # and the loads, which are in both
    "sums": LEFT_OUT["passes"],
}
MEASURED = {
    "kernel": LEFT_OUT["nothing"],
    "l2": L2["speed"],
    "passes": PARTS["passes"],
    "sums": PARTS["sums"],
}


def drawing(pieces, size: str, tried: str):
    return BeautifulSoup(pieces.draw_state("filled_bar", {"tried": tried}), "html.parser").select_one(f"svg.{size}")


@pytest.mark.parametrize("size", ["narrow", "wide", "printed"])
@pytest.mark.parametrize("tried", ["", "passes", "passes,sums"])
def test_lanes_are_at_one_scale_and_what_is_measured_comes_when_it_is_pressed(pieces, size, tried):
    stage = drawing(pieces, size, tried)
    frame, known, *lanes = [float(bar["width"]) for bar in stage.select("rect")]
    there = {"printed": 4}.get(size, 2 + len(tried.split(",")) * bool(tried))
    found = [lane / (frame - 3) * MEASURED["kernel"] for lane in lanes]
    assert found == pytest.approx([*list(PARTS.values())[:there], *[0] * (4 - there)], rel=0.01)
    assert known == pytest.approx(max(lanes))
    shown = [each.text for each in stage.select("text.moves") if each["opacity"] == "1"]
    names = [f"{'loads + ' * (lane > 1)}{name} {time:.0f} ms" for lane, (name, time) in enumerate(PARTS.items())][
        :there
    ]
    assert shown == (names if there == 4 else ["What else?", *names])
    (hatch,) = stage.select("path")
    assert (hatch["opacity"] == "0") == (there == 4)


def test_where_no_page_says_what_was_measured_it_is_nearly_the_same():
    source = (FOLDER / "filled_bar.js").read_text()
    initial = {name: float(re.search(rf"{name}: ([\d.]+)", source)[1]) for name in MEASURED}
    assert initial == pytest.approx(MEASURED, rel=0.01)


@every_width
def test_pressing_moves_nothing_and_both_end_it(visit, width):
    page = visit("live/#live-filled_bar", width=width)
    page.emulate_media(reduced_motion="reduce")
    piece = start_piece(page, "filled_bar")
    edges = lambda: [piece.bounding_box(), *(each.bounding_box() for each in piece.get_by_role("button").all())]
    before = edges()
    for name, done in (("Sums", 0), ("Passes", 1), ("Sums", 1)):
        piece.get_by_role("button", name=name).press("Enter")
        assert edges() == before and page.locator("#live-filled_bar[data-done]").count() == done
    label = piece.locator("svg.stage:visible").get_attribute("aria-label")
    assert all(f"{part} {time:.0f} ms" in label for part, time in PARTS.items())
    words = piece.locator("svg.stage:visible").evaluate("""(stage) => {
        const all = stage.getBoundingClientRect();
        return [...stage.querySelectorAll("text")].map((each) => each.getBoundingClientRect())
            .filter(({ left, right }) => left < all.left - 3 || right > all.right + 3).length;
    }""")
    assert words == 0
