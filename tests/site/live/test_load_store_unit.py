"""The pair that a reader runs: all instructions pass, one press is enough, and what a run took stays in sight."""

import re
from itertools import pairwise

import pytest
from bs4 import BeautifulSoup

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked
from tests.site.live.conftest import start_piece


def clocks(text: str) -> list[int]:
    """Of the load-store unit and of the FP32 units, which have no number until they have begun."""
    found = [re.search(rf"{unit}(?:\)?: (\d+) clocks?)?", text) for unit in ("LSU", "multiplications")]
    return [int(each[1] or 0) for each in found]


def tapes(piece) -> list[str]:
    return [re.sub(r"\s+", " ", one).strip() for one in piece.locator(".hb-live__warps button").all_text_contents()]


WARPS = 1, 2, 4, 8
LENGTHS = [worked.load_store_clocks(warps) for warps in WARPS]
MEASURED = [round(row["all"]) for row in plot.rows_with(records.table("what_limits", "clocks"), head_dim=128)]


def left(*ran: int) -> list[str]:
    """What stands below the drawing once these numbers of warps have run: what is counted, and what was measured."""
    return [
        f"{warps} warp{'s' * (warps > 1)} " + (f"LSU {length} time {time}" if warps in ran else "LSU ? time ?")
        for warps, length, time in zip(WARPS, LENGTHS, MEASURED, strict=True)
    ]


@pytest.mark.parametrize(("warps", "multiplied"), [(1, 2), (2, 2), (4, 2), (8, 4)])
def test_in_the_end_every_clock_is_drawn(pieces, warps, multiplied):
    still = BeautifulSoup(pieces.draw_state("load_store_unit", {"warps": str(warps), "step": "1"}), "html.parser")
    for width in ("narrow", "wide", "printed"):
        assert clocks(still.select_one(f"svg.{width}").text) == [worked.load_store_clocks(warps), multiplied]


def test_before_it_runs_only_paper_says_how_it_ends(pieces):
    still = BeautifulSoup(pieces.draw_state("load_store_unit", {}), "html.parser")
    text = {width: still.select_one(f"svg.{width}").text for width in ("narrow", "wide", "printed")}
    drawn = {width: clocks(each) for width, each in text.items()}
    assert drawn == {"narrow": [0, 0], "wide": [0, 0], "printed": [worked.load_store_clocks(8), 4]}
    assert text["wide"].count("0 clocks") == 1, "only the axis has it"
    assert len(still.select(".hb-live__warps button > svg")) == 4, "a track for each number of warps"
    assert len(still.select(".hb-live__warps svg path")) == 10, "of four warps the text has told"


def test_where_an_instruction_has_gone_from_its_kind_can_still_be_seen(pieces):
    still = BeautifulSoup(pieces.draw_state("load_store_unit", {"step": "1"}), "html.parser")
    for width, opacity in (("narrow", "0.2"), ("wide", "0.2"), ("printed", "1")):
        places = still.select_one(f"svg.{width} g[opacity='{opacity}']")
        looks = [" ".join(path["class"]) for path in places.select("path")]
        assert looks == ["fill key", "fill value", "fill ink half", "fill ink"], width


@pytest.mark.parametrize("width", ["narrow", "wide", "printed"])
def test_the_queues_fill_one_funnel_whatever_their_number(pieces, width):
    """So between two runs no name and no edge moves, and a warp alone leaves no hole."""
    edges, tops = set(), set()
    for warps in (1, 2, 4, 8):
        still = BeautifulSoup(pieces.draw_state("load_store_unit", {"warps": str(warps)}), "html.parser")
        drawing = still.select_one(f"svg.{width}")
        edges.add(tuple(path["d"] for path in drawing.select("path.stroke.ink:not(.dashes)")))
        tops.add(round(float(drawing.find("text", string=re.compile(r"^(warp )?0$"))["y"]) / 30))
        assert len(drawing.select("path.line.dashes")) == 2 * (warps == 1)
    assert len(edges) == 1 and len(tops) == 1


@pytest.mark.parametrize("width", ["narrow", "wide", "printed"])
@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_no_name_of_an_instruction_is_on_another(pieces, warps, width):
    still = BeautifulSoup(pieces.draw_state("load_store_unit", {"warps": str(warps)}), "html.parser")
    names = still.select_one(f"svg.{width}").select("text.small:is(.key, .value, .ink)")
    assert len(names) == (4 if warps == 1 else 10)
    ups = [float(low["y"]) - float(high["y"]) for low, high in pairwise(names)]
    assert min(ups) >= 14.9


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_a_run_is_asked_for_before_its_rule_is_said(pieces, warps):
    asked, said = (
        BeautifulSoup(pieces.draw_state("load_store_unit", {"warps": str(warps), "step": step}), "html.parser")
        .select_one(".hb-live__says")
        .text
        for step in "01"
    )
    assert asked.endswith("Guess, then run.") and str(worked.load_store_clocks(warps)) not in asked
    each, one, other, loads, all_clocks = map(
        int, re.search(r"(\d) · \((\d+) \+ (\d+) \+ (\d)\) = (\d+)", re.sub(r"\s", " ", said)).groups()
    )
    assert each * (one + other + loads) == all_clocks == worked.load_store_clocks(warps) and each == warps


def test_the_caption_tells_of_eight_warps_and_of_one_once_they_have_run(open_piece):
    piece = open_piece("load_store_unit")
    for warps, shown in [(8, False), (2, False), (1, True)]:
        piece.get_by_role("button", name=re.compile(f"^{warps} warp")).click()
        piece.get_by_role("button", name=re.compile(f"^Run {warps} warp")).click()
        assert piece.page.locator("#live-load_store_unit[data-done]").count() == shown


def test_on_a_phone_all_of_it_is_in_sight_at_once(open_piece):
    piece = open_piece("load_store_unit", 390)
    assert piece.locator(".hb-live__stage").bounding_box()["height"] < 640


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
    piece.get_by_role("button", name="Run 8 warps").click()
    says = piece.locator(".hb-live__says")
    says.get_by_text("whichever warp it comes from").wait_for()
    says.get_by_text("= 200 clocks").wait_for(timeout=10_000)
    assert clocks(piece.locator("svg.stage:visible").text_content()) == [worked.load_store_clocks(8), 4]


def test_each_finished_run_leaves_its_tape_until_reset(visit):
    page = visit("live/#live-load_store_unit")
    page.emulate_media(reduced_motion="no-preference")
    piece = start_piece(page, "load_store_unit")
    height = piece.bounding_box()["height"]
    assert tapes(piece) == left(4)
    piece.get_by_role("button", name="Run 8 warps").click()
    assert tapes(piece) == left(4), "it's kept before it has finished"
    piece.get_by_text("= 200 clocks").locator("visible=true").wait_for(timeout=10_000)
    assert tapes(piece) == left(4, 8)
    page.emulate_media(reduced_motion="reduce")
    for warps in ("1 warp", "2 warps"):
        piece.get_by_role("button", name=f"With {warps}").click()
        assert piece.locator(".hb-live__says").inner_text().endswith("Guess, then run.")
        piece.get_by_role("button", name=f"Run {warps}").click()
    assert tapes(piece) == left(*WARPS)
    parts = piece.evaluate("""(piece) => [...piece.querySelectorAll(".hb-live__warps svg")].map((tape) => {
        const { left, width } = tape.getBoundingClientRect();
        return (Math.max(...[...tape.querySelectorAll("path")].map((part) => part.getBoundingClientRect().right)) - left) / width;
    })""")
    assert parts == pytest.approx([time / 245 for time in MEASURED], abs=0.01), "they are at one scale"
    piece.get_by_role("button", name=re.compile("^4 warps")).click()
    assert "= 96 clocks" in piece.locator(".hb-live__says").inner_text(), "what has run is shown at once"
    assert piece.bounding_box()["height"] == height
    piece.locator(".hb-live__fold").click()
    piece.get_by_role("button", name="Reset").click()
    assert tapes(piece) == left(4)


def test_a_guess_stays_beside_what_came_and_the_next_run_has_its_own(open_piece):
    piece = open_piece("load_store_unit")
    guess, marker = piece.get_by_role("slider"), piece.locator("svg.stage:visible path.ink.dashes")
    for key in ("PageUp", "ArrowRight"):
        guess.press(key)
    clocks = int(guess.input_value())
    shown = piece.locator("svg.stage:visible").get_by_text("your guess:")
    assert clocks > 1 and shown.text_content() == f"your guess: {clocks}"
    wide, track = (
        piece.locator(f"svg.stage:visible {part}").first.evaluate("(part) => part.getBBox().width")
        for part in ("path.ink.dashes", "rect.track")
    )
    assert wide / track == pytest.approx(clocks / 245, abs=0.001)
    piece.get_by_role("button", name="Run 8 warps").click()
    assert not guess.count() and shown.count() == 1 and marker.count() == 1
    assert not piece.locator("svg.printed").get_by_text("your guess").count()
    piece.get_by_role("button", name="With 1 warp").click()
    assert guess.input_value() == "0" and not shown.count()
    piece.get_by_role("button", name="Run 1 warp").click()
    assert not marker.count(), "who hasn't guessed has no marker"
