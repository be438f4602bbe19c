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


NAMES = ["pytorch", "kernel", "known", "memory", "multiplying"]
EDGES = "(piece) => [piece, ...piece.querySelectorAll('button')].map((each) => JSON.stringify(each.getBoundingClientRect()))"
# In the browser: where the plain bar ends, and where what is hollow does.
ENDS = """(piece) => ["known", "hollow"].map((look) => Math.max(0, ...[...piece.querySelectorAll(`svg:not(.printed) .${look}`)]
    .map((bar) => bar.width.baseVal.value && bar.x.baseVal.value + bar.width.baseVal.value)))"""


def ends(drawing) -> dict[str, float]:
    """Where each bar ends, as a part of the long one, which has a line around it, half of it outside."""
    bars = drawing.select("rect")
    found = [float(bar["width"]) and float(bar["x"]) + float(bar["width"]) for bar in bars]
    return {name: end / (found[1] + 1.5) for name, end in zip(NAMES, found, strict=True)}


def drawings(pieces, size: str, tried: str):
    still = BeautifulSoup(pieces.draw_state("where_time_goes", {"tried": tried}), "html.parser")
    return still.select_one(f"svg.{size}")


@pytest.mark.parametrize("size", ["narrow", "wide", "printed"])
def test_the_bars_are_equally_high_and_at_one_scale(pieces, size):
    drawing = drawings(pieces, size, "memory,multiplying")
    filled = [float(time) for time in re.findall(r"(?:memory \(L2\)|multiplying) ([\d.]+) ms", drawing.text)]
    assert len(filled) == 2
    end = ends(drawing)
    assert end["pytorch"] == pytest.approx(MEASURED["pytorch"] / MEASURED["kernel"], rel=0.02)
    assert [end[name] * MEASURED["kernel"] for name in NAMES[3:]] == pytest.approx(filled, abs=0.06)
    pytorch, kernel, *_ = drawing.select("rect")
    assert float(pytorch["height"]) == float(kernel["height"]) + 3
    assert [name for name, bar in zip(NAMES, drawing.select("rect"), strict=True) if "hollow" in bar["class"]] == NAMES[
        3:
    ]
    assert f"{MEASURED['kernel'] / MEASURED['pytorch']:.0f} times as long" in drawing.text
    cuts = [float(x) for x in re.findall(r"M([\d.]+)", drawing.select_one("path")["d"])]
    each = end["pytorch"] * (float(kernel["width"]) + 3)  # as long as PyTorch's bar
    times = int(MEASURED["kernel"] / MEASURED["pytorch"])
    assert cuts == pytest.approx([each * (i + 1) for i in range(times)], abs=0.6)


@pytest.mark.parametrize("size", ["narrow", "wide", "printed"])
@pytest.mark.parametrize("tried", ["memory", "multiplying,memory", "memory,multiplying"])
def test_what_is_known_lies_on_the_pieces_up_to_where_the_longest_ends(pieces, size, tried):
    drawing = drawings(pieces, size, tried)
    end, path = ends(drawing), drawing.select_one("path")
    assert end["known"] == pytest.approx(end["memory"], abs=1e-4) and end["memory"] > end["multiplying"]
    assert path.find_next("rect")["class"] == ["fill", "known", "moves"]


def test_where_no_page_says_what_was_measured_it_is_nearly_the_same():
    source = (FOLDER / "where_time_goes.js").read_text()
    initial = {name: float(re.search(rf"{name}: ([\d.]+)", source)[1]) for name in MEASURED}
    assert initial == pytest.approx(MEASURED, rel=0.01)


def test_a_suspect_fills_nothing_before_it_is_pressed_but_on_paper(pieces):
    for size in ("narrow", "wide"):
        drawing = drawings(pieces, size, "")
        assert [ends(drawing)[name] for name in NAMES[2:]] == [0, 0, 0]
        seen = [words.text for words in drawing.select("text") if words["opacity"] != "0"]
        assert re.findall(r"[\d.]+", " ".join(seen)) == ["117"]
    assert min(ends(drawings(pieces, "printed", "")).values()) > 0
    still = BeautifulSoup(pieces.draw_state("where_time_goes", {}), "html.parser")
    assert len(still.select(".hb-live__main:not(.quiet)")) == 3


@every_width
def test_pressing_keeps_every_edge_in_its_place_and_the_end_is_known(visit, width):
    page = visit("live/#live-where_time_goes", width=width)
    page.emulate_media(reduced_motion="reduce")
    piece = start_piece(page, "where_time_goes")
    before, shown, longest = piece.evaluate(EDGES), set(), []
    for name, done in (("Multiplying", 0), ("Memory", 1), ("Multiplying", 1), ("Something else", 1)):
        piece.get_by_role("button", name=name).press("Enter")
        shown.add(piece.locator(".hb-live__says").inner_text())
        assert piece.evaluate(EDGES) == before
        assert page.locator("#live-where_time_goes[data-done]").count() == done
        plain, hollow = piece.evaluate(ENDS)
        assert plain == pytest.approx(hollow, abs=0.02)
        longest.append(plain)
    assert len(shown) == 4
    assert 0 < longest[0] < longest[1] == longest[2] == longest[3]


def test_who_guesses_something_else_sees_both_suspects_cleared(pieces):
    still = BeautifulSoup(pieces.draw_state("where_time_goes", {"tried": "memory,multiplying,neither"}), "html.parser")
    assert [each.text for each in still.select(".hb-live__main.quiet")] == ["Memory", "Multiplying"]
    assert ends(still.select_one("svg.wide")) == ends(drawings(pieces, "wide", "memory,multiplying"))
