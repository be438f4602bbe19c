"""The pair that a reader runs: all instructions pass, one press is enough, and what a run took stays in sight."""

import re
from itertools import pairwise

import pytest
from bs4 import BeautifulSoup

from scripts.chapters.first_kernel import worked
from tests.site.live.conftest import start_piece


def clocks(text: str) -> list[int]:
    """Of the load-store unit and of the FP32 units, which have no number until they have begun."""
    found = [re.search(rf"{unit}(?:\)?: (\d+) clocks?)?", text) for unit in ("LSU", "multiplications")]
    return [int(each[1] or 0) for each in found]


def tapes(piece) -> list[str]:
    return [re.sub(r"\s+", " ", row).strip() for row in piece.locator(".hb-live__warps button").all_text_contents()]


@pytest.mark.parametrize(("warps", "multiplied"), [(1, 2), (2, 2), (4, 2), (8, 4)])
def test_in_the_end_every_clock_is_drawn(pieces, warps, multiplied):
    still = BeautifulSoup(pieces.draw_state("load_store_unit", {"warps": str(warps), "step": "1"}), "html.parser")
    for width in ("narrow", "wide", "printed"):
        assert clocks(still.select_one(f"svg.{width}").text) == [worked.load_store_clocks(warps), multiplied]


def test_before_it_runs_only_paper_says_how_it_ends(pieces):
    still = BeautifulSoup(pieces.draw_state("load_store_unit", {}), "html.parser")
    text = {width: still.select_one(f"svg.{width}").text for width in ("narrow", "wide", "printed")}
    drawn = {width: clocks(each) for width, each in text.items()}
    assert drawn == {"narrow": [0, 0], "wide": [0, 0], "printed": [worked.load_store_clocks(4), 2]}
    assert text["wide"].count("0 clocks") == 1, "only the axis has it"
    assert len(still.select(".hb-live__warps button > span")) == 4, "a track for each number of warps"


def test_where_an_instruction_has_gone_from_its_kind_can_still_be_seen(pieces):
    still = BeautifulSoup(pieces.draw_state("load_store_unit", {"step": "1"}), "html.parser")
    for width, opacity in (("narrow", "0.2"), ("wide", "0.2"), ("printed", "1")):
        places = still.select_one(f"svg.{width} g[opacity='{opacity}']")
        looks = [" ".join(path["class"]) for path in places.select("path")]
        assert looks == ["fill key", "fill value", "fill violet half", "fill violet"], width


@pytest.mark.parametrize("width", ["narrow", "wide", "printed"])
def test_the_queues_fill_one_funnel_whatever_their_number(pieces, width):
    """So between two runs no name and no edge moves, and a warp alone leaves no hole."""
    edges, tops = set(), set()
    for warps in (1, 2, 4, 8):
        still = BeautifulSoup(pieces.draw_state("load_store_unit", {"warps": str(warps)}), "html.parser")
        drawing = still.select_one(f"svg.{width}")
        edges.add(tuple(path["d"] for path in drawing.select("path.stroke.ink")))
        tops.add(round(float(drawing.find("text", string=re.compile(r"^(warp )?0$"))["y"]) / 30))
        assert len(drawing.select("path.dashes")) == 2 * (warps == 1)
    assert len(edges) == 1 and len(tops) == 1


@pytest.mark.parametrize("width", ["narrow", "wide", "printed"])
@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_no_name_of_an_instruction_is_on_another(pieces, warps, width):
    still = BeautifulSoup(pieces.draw_state("load_store_unit", {"warps": str(warps)}), "html.parser")
    names = still.select_one(f"svg.{width}").select("text:is(.key, .value, .violet)")
    assert len(names) == (4 if warps == 1 else 10)
    ups = [float(low["y"]) - float(high["y"]) for low, high in pairwise(names)]
    assert min(ups) >= 14.9


def test_what_the_rule_needs_for_eight_warps_is_said_before_they_run(pieces):
    sentence = BeautifulSoup(pieces.draw_state("load_store_unit", {"warps": "8"}), "html.parser").select_one(
        ".hb-live__says"
    )
    one, other, loads, each = map(int, re.search(r"(\d+) \+ (\d+) \+ (\d+) = (\d+)", sentence.text).groups())
    assert one + other + loads == each == worked.load_store_clocks(8) // 8
    assert f"hold the key: {one}." in sentence.text and f"in all eight: {other}" in sentence.text


def test_the_caption_tells_of_four_warps_once_they_have_run(open_piece):
    piece = open_piece("load_store_unit", warps=8)
    for warps, shown in [(8, False), (4, True), (8, True)]:
        piece.get_by_role("button", name=re.compile(f"^{warps} warps")).click()
        assert piece.page.locator("#live-load_store_unit[data-done]").count() == shown


def test_no_run_takes_longer_than_three_seconds(visit):
    page = visit("live/#live-load_store_unit")
    start_piece(page, "load_store_unit")
    lasts = page.evaluate("""async () => {
        const { name } = performance.getEntriesByType("resource").find(({ name }) => /load_store_unit\\.js/.test(name));
        const { duration } = (await import(name)).default;
        return [1, 2, 4, 8].map((warps) => duration({ warps, step: 1, runs: "" }));
    }""")
    assert lasts == sorted(lasts) and lasts[0] > 0 and lasts[-1] <= 3000


def test_a_pair_runs_and_its_only_step_needs_no_play(visit):
    page = visit("live/#live-load_store_unit")
    page.emulate_media(reduced_motion="no-preference")
    piece = start_piece(page, "load_store_unit")
    assert piece.locator(".back").count() == 1 and piece.locator(".play").count() == 0
    piece.get_by_role("button", name="Run a pair").click()
    says = piece.locator(".hb-live__says")
    says.get_by_text("whichever warp it comes from").wait_for()
    page.locator("#live-load_store_unit[data-done]").wait_for(timeout=10_000)
    assert "4 · 24 = 96 clocks" in says.inner_text()
    assert clocks(piece.locator("svg.stage:visible").text_content()) == [worked.load_store_clocks(4), 2]
    piece.get_by_role("button", name="8 warps", exact=True).click()
    says.get_by_text("whichever warp it comes from").wait_for()
    says.get_by_text("8 · 25 = 200 clocks").wait_for(timeout=10_000)


def test_each_finished_run_leaves_its_tape_until_reset(visit):
    page = visit("live/#live-load_store_unit")
    page.emulate_media(reduced_motion="no-preference")
    piece = start_piece(page, "load_store_unit")
    height, empty_tapes = piece.bounding_box()["height"], ["1 warp", "2 warps", "4 warps", "8 warps"]
    assert tapes(piece) == empty_tapes
    run = lambda: piece.get_by_role("button", name="Run a pair").click()
    run()
    assert tapes(piece) == empty_tapes, "it's kept before it has finished"
    page.locator("#live-load_store_unit[data-done]").wait_for(timeout=10_000)
    assert tapes(piece) == ["1 warp", "2 warps", "4 warps 96", "8 warps"]
    page.emulate_media(reduced_motion="reduce")
    piece.get_by_role("button", name="With 2 warps").click()
    for name in ("1 warp", "8 warps", "4 warps 96"):
        piece.get_by_role("button", name=name, exact=True).click()
    lengths = [worked.load_store_clocks(warps) for warps in (1, 2, 4, 8)]
    assert tapes(piece) == [f"{name} {clocks}" for name, clocks in zip(empty_tapes, lengths, strict=True)]
    ends = piece.evaluate("""(piece) => [...piece.querySelectorAll(".hb-live__warps svg")].map((tape) =>
        Math.max(...[...tape.children].map((part) => part.getBoundingClientRect().right)) - tape.getBoundingClientRect().left)""")
    clock = piece.evaluate("""(piece) => [...piece.querySelectorAll("svg.stage:not(.printed) text")]
        .find((text) => text.textContent === "100").x.baseVal[0].value / 100""")
    assert ends == pytest.approx([clock * length for length in lengths], abs=0.5), "they share the axis"
    assert piece.bounding_box()["height"] == height
    piece.locator(".hb-live__fold").click()
    piece.get_by_role("button", name="Reset").click()
    assert tapes(piece) == empty_tapes
