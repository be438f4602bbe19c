"""The bar from the top, filled: on one scale with what was measured, and nothing moves when it's pressed."""

import re

import pytest
from bs4 import BeautifulSoup

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked
from tests.site.live.conftest import start_piece, words_outside
from tests.site.live.test_pieces import FOLDER, every_width
from tests.site.live.test_where_time_goes import L2

LEFT_OUT = {row["left_out"]: row["median"] for row in plot.rows_with(records.table("ablation", "times"), n=512)}
PARTS = {
    "memory": worked.PAIRS * worked.PAIR_BYTES / L2["speed"] / 1e9,
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


FULL = {part: round(PARTS[part]) for part in ("passes", "sums")}


def drawing(pieces, size: str, passes: int, sums: int):
    still = pieces.draw_state("filled_bar", {"passesTo": str(passes), "sumsTo": str(sums)})
    return BeautifulSoup(still, "html.parser").select_one(f"svg.{size}")


@pytest.mark.parametrize("size", ["narrow", "wide", "printed"])
@pytest.mark.parametrize("passes", [0, 20, FULL["passes"]])
@pytest.mark.parametrize("sums", [0, 40, FULL["sums"]])
def test_lanes_are_at_one_scale_and_what_is_measured_goes_as_far_as_it_was(pieces, size, passes, sums):
    stage = drawing(pieces, size, passes, sums)
    bars = stage.select("rect")
    frame, unexplained, *lanes = [float(bar["width"]) for bar in bars]
    to = FULL if size == "printed" else {"passes": passes, "sums": sums}
    expected = dict(PARTS) | {part: PARTS[part] if to[part] == FULL[part] else to[part] for part in to}
    widths = dict(zip(("memory", "multiplying", "passes", "sums"), lanes, strict=True))
    milliseconds = {part: wide / (frame - 2) * MEASURED["kernel"] for part, wide in widths.items()}
    for part, time in expected.items():
        assert milliseconds[part] == pytest.approx(time, rel=0.01, abs=0.6)  # a knob has half a line
    assert "violet" in bars[1]["class"]
    assert unexplained == pytest.approx(frame - max(lanes), abs=3)  # inside lines of two pixels
    filled = {part: "hollow" not in bar["class"] for part, bar in zip(("passes", "sums"), bars[4:], strict=True)}
    assert filled == {part: time == FULL[part] for part, time in to.items()}, "a pull isn't a measurement"
    texts = [each.text for each in stage.select("text") if each["opacity"] == "1"]
    for part, time in to.items():
        whole = time == FULL[part]
        assert (f"loads + {part} {PARTS[part]:.0f} ms" in texts) == whole
        assert (f"drag: loads + {part}" in texts) == (time == 0)
        assert (f"loads + {part} {time} ms" in texts) == (time > 0)
    assert len(stage.select(".knob")) == sum(time < FULL[part] for part, time in to.items())
    pulled = max(lanes[2:]) > (lanes[0] if size == "narrow" else 0.6 * frame)
    assert ("What else?" in texts) == (not pulled)


@pytest.mark.parametrize("size", ["narrow", "wide"])
@pytest.mark.parametrize("to", range(1, FULL["sums"], 3))
def test_words_are_left_or_right_of_where_the_unknown_begins_and_in_its_colour(pieces, size, to):
    stage = drawing(pieces, size, min(to, FULL["passes"]), to)
    unexplained = stage.select("rect")[1]
    begins = float(unexplained["x"])
    for words in stage.select('text[opacity="1"]')[1:]:
        at, wide = float(words["x"]), 5.5 * len(words.text)  # at the least
        if "end" in words["class"]:
            at -= wide
        assert at >= begins or at + wide <= begins
        on_violet = at >= begins or ("passes" in words.text and "soft" in stage.select("rect")[4]["class"])
        assert ("paper" in words["class"]) == on_violet, words.text


def test_where_no_page_says_what_was_measured_it_is_nearly_the_same():
    source = (FOLDER / "filled_bar.js").read_text()
    initial = {name: float(re.search(rf"{name}: ([\d.]+)", source)[1]) for name in MEASURED}
    assert initial == pytest.approx(MEASURED, rel=0.01)


@every_width
def test_pulling_moves_no_edge_and_both_end_it(visit, width):
    page = visit("live/#live-filled_bar", width=width)
    page.emulate_media(reduced_motion="reduce")
    piece = start_piece(page, "filled_bar")
    before, says = piece.bounding_box(), piece.locator(".hb-live__says")
    for part, to, words in (
        ("sums", 30, "Loads and sums, so far: 30 ms."),
        ("passes", 20, "Loads and passes, so far: 20 ms."),
        ("sums", 31, "Loads and sums, so far: 31 ms."),
        ("passes", FULL["passes"], "Loads and passes: 35 ms of 64 ms, and no further."),
        ("sums", FULL["sums"], "All at once, and the sums take the longest."),
        ("passes", 0, "Loads and sums: 64 ms of 64 ms. They fill it."),
        ("passes", FULL["passes"], "All at once, and the sums take the longest."),
    ):
        piece.get_by_role("slider", name=part).fill(str(to))
        assert says.inner_text().startswith(words)
        assert piece.bounding_box() == before
        assert not words_outside(piece)
    label = piece.locator("svg.stage:visible").get_attribute("aria-label")
    assert all(f"{part} {time:.0f} ms" in label for part, time in PARTS.items())
