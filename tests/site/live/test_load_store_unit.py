"""The race that a reader bets on: the clocks of both units, the guess of the time, and what a GPU took for it."""

import json
import re

import pytest
from bs4 import BeautifulSoup

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked
from scripts.records import ROOT
from tests.site.live.conftest import start_piece

WARPS = 1, 2, 4, 8
LSU = [worked.load_store_clocks(warps) for warps in WARPS]
ALU = [round(worked.alu_clocks(warps)) for warps in WARPS]
MEASURED = [round(row["all"]) for row in plot.rows_with(records.table("what_limits", "clocks"), head_dim=128)]
SCALE = 250  # clocks
NO_RESULT = r"\d warps?|(drag: )?your guess.*?(\d+|time(?!:)|$)|clocks050100150200250"
PAGE = ROOT / "docs" / "chapters" / "first-kernel" / "index.md"


def still(pieces, **state):
    return BeautifulSoup(
        pieces.draw_state("load_store_unit", {key: str(value) for key, value in state.items()}), "html.parser"
    )


def numbers(text: str) -> list[int]:
    """What stands behind the bars, in the order of their rows."""
    return [int(each) for each in re.findall(r"\d+", re.sub(NO_RESULT, "|", text))]


def beside(*ran: int) -> list[int]:
    """What should stand there once these numbers of warps have run: clocks of both units, then the time."""
    rows = zip(WARPS, LSU, ALU, MEASURED, strict=True)
    return [number for warps, *clocks in rows if warps in ran for number in clocks]


def shown(piece) -> list[int]:
    return numbers(piece.locator("svg.stage:visible").text_content())


def outlines(stage) -> list[float]:
    """How wide what's worked out is drawn, in pixels, from row to row."""
    edges = [re.match(r"M([\d.]+) [\d.]+H([\d.]+)", each["d"]) for each in stage.select("path.outline")]
    return [float(edge[2]) - float(edge[1]) + 1 for edge in edges]


def axis_of(stage) -> tuple[float, float]:
    """The pixels of a clock, and where they begin."""
    zero, last = (float(stage.find("text", string=tick)["x"]) for tick in ("0", str(SCALE)))
    return (last - zero) / SCALE, zero


def test_before_a_run_only_paper_knows_its_numbers(pieces):
    for width, ran in (("narrow", [4]), ("wide", [4]), ("printed", WARPS)):
        assert numbers(still(pieces).select_one(f"svg.{width}").text) == beside(*ran)
    for warps in WARPS:
        others = [each for each in WARPS if each != warps]
        assert numbers(still(pieces, warps=warps, runs="1,2,4,8").select_one("svg.wide").text) == beside(*others)


@pytest.mark.parametrize("warps", WARPS)
def test_a_run_is_asked_for_before_its_rule_is_said(pieces, warps):
    asked, said = (
        re.sub(r"\s", " ", still(pieces, warps=warps, step=step, runs="", guess=80).select_one(".hb-live__says").text)
        for step in (0, 1)
    )
    assert asked.endswith("Guess, then run.") and not re.search(r"\d", asked)
    each, score, row, loads, clocks = map(int, re.search(r"(\d) · \((\d+) \+ (\d+) \+ (\d)\) = (\d+)", said).groups())
    place = WARPS.index(warps)
    assert each * (score + row + loads) == clocks == LSU[place] and each == warps
    assert f"= {ALU[place]}. Time: {MEASURED[place]}." in said


def test_the_captions_hold():
    captions = re.search(r'caption="(.*?)"\}\nload_store_unit', PAGE.read_text())[1].split(" | ")
    assert all(40 <= len(caption) <= 85 and caption.endswith(".") for caption in captions)
    four, one, two, eight = captions
    assert numbers(four) == [LSU[2], MEASURED[2]]
    assert one == "With one warp the ALU is the busiest, and the time is near its clocks."
    assert LSU[0] < ALU[0] < MEASURED[0] < 1.1 * ALU[0]
    assert two == "With two warps the ALU has more to do than the LSU. Neither is full."
    assert LSU[1] < ALU[1] < 0.8 * MEASURED[1]
    assert eight == "Twice the work for the LSU takes nearly twice the time."
    assert LSU[3] / LSU[2] == pytest.approx(2, abs=0.1) and 1.8 < MEASURED[3] / MEASURED[2] < 2


def test_a_bar_is_as_long_as_its_number_and_a_guess_begins_at_four_warps(pieces):
    """All are at one scale, whose ticks are there; what's worked out is hollow."""
    stage = still(pieces, warps=1, step=1, runs="2,4,8", guess=80).select_one("svg.wide")
    clock, zero = axis_of(stage)
    times = [float(rect["width"]) / clock for rect in stage.select("rect.violet")]
    assert sorted(times) == pytest.approx(MEASURED, abs=0.01)
    assert sorted(wide / clock for wide in outlines(stage)) == pytest.approx(sorted(LSU + ALU), abs=0.01)
    for guess, step, expected in ((0, 0, MEASURED[2]), (80, 1, 80)):
        stage = still(pieces, warps=1, step=step, guess=guess).select_one("svg.wide")
        edge = float(re.match(r"M(\S+)", stage.select_one("path.dashes")["d"])[1])
        assert (edge - zero) / clock == pytest.approx(expected, abs=0.01)
    assert not still(pieces, warps=1, step=1).select("svg.wide .dashes"), "nobody guessed"


def test_the_caption_tells_of_what_has_run_last(visit):
    page = visit("chapters/first-kernel/")
    page.emulate_media(reduced_motion="reduce")
    piece = start_piece(page, "load_store_unit")
    told = lambda: [each.text_content() for each in piece.locator("figcaption > span:visible").all()]
    [first] = told()
    assert first.startswith("Four warps")
    for warps, begins in [("1 warp", "With one warp"), ("8 warps", "Twice the work"), ("2 warps", "With two warps")]:
        piece.get_by_role("button", name=warps, exact=True).click()
        assert told() == [first]
        piece.get_by_role("button", name=f"Run {warps}").click()
        [caption] = told()
        assert caption.startswith(begins)
    for warps, begins in [("4 warps", first), ("1 warp", "With one warp")]:
        piece.get_by_role("button", name=warps, exact=True).click()
        [caption] = told()
        assert caption.startswith(begins)
    page.emulate_media(media="print")
    [caption] = told()
    assert caption.startswith("With one warp")
    page.emulate_media(media="null")


def run_of(pieces, warps: int, part: float):
    """How long a run takes, and its picture when that part of it has passed."""
    pieces.draw_state("load_store_unit", {})
    lasts, drawn = json.loads(
        pieces.engine.eval(f"""{{
            const piece = modules["load_store_unit.js"].default;
            const state = {{ ...piece.initial, warps: {warps}, step: 1, runs: "" }};
            const canvas = {{ width: 1040, elapsed: {part} * piece.duration(state) }};
            JSON.stringify([piece.duration(state), modules["lit-html"].text(piece.picture(state, () => 0, canvas))]);
        }}""")
    )
    return lasts, BeautifulSoup(drawn, "html.parser").select_one("svg:not(.printed)")


@pytest.mark.parametrize("warps", WARPS)
def test_all_three_run_at_one_pace_and_each_says_its_number_as_it_stops(pieces, warps):
    ends = beside(warps)
    for part in (0.1, 1 / 3, 2 / 3, 0.9, 1):
        lasts, stage = run_of(pieces, warps, part)
        assert 1500 <= lasts <= 2300
        clock, _ = axis_of(stage)
        bars = [wide / clock for wide in outlines(stage)] + [float(stage.select_one("rect.violet")["width"]) / clock]
        assert bars == pytest.approx([min(part * ends[-1], end) for end in ends], abs=0.02)
        assert numbers(stage.text) == [end for end in ends if end <= part * ends[-1] + 1e-9]


def test_each_finished_run_leaves_its_bars_until_reset(visit):
    page = visit("live/#live-load_store_unit")
    page.emulate_media(reduced_motion="no-preference")
    piece = start_piece(page, "load_store_unit")
    assert piece.locator(".back").count() == 1 and piece.locator(".play").count() == 0
    height = piece.bounding_box()["height"]
    assert shown(piece) == beside(4)
    piece.get_by_role("button", name="Run 1 warp").click()
    says = piece.locator(".hb-live__says")
    says.get_by_text("All three start at once").wait_for()
    says.get_by_text("= 12 clocks").wait_for(timeout=10_000)
    assert shown(piece) == beside(1, 4)
    page.emulate_media(reduced_motion="reduce")
    for warps in ("8 warps", "2 warps"):
        piece.get_by_role("button", name=f"With {warps}").click()
        assert says.inner_text().endswith("Guess, then run.")
        piece.get_by_role("button", name=f"Run {warps}").click()
    assert shown(piece) == beside(*WARPS)
    piece.get_by_role("button", name="4 warps", exact=True).click()
    assert says.inner_text().endswith("Time: 124."), "what has run is shown at once, and nobody guessed it"
    assert piece.bounding_box()["height"] == height
    piece.locator(".hb-live__fold").click()
    piece.get_by_role("button", name="Reset").click()
    assert shown(piece) == beside(4)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_guess_stays_beside_what_came_and_the_next_run_has_its_own(open_piece, width):
    piece = open_piece("load_store_unit", width)
    guess, stage = piece.get_by_role("slider"), piece.locator("svg.stage:visible")
    knob, hollow = stage.locator("circle.knob"), stage.locator("path.dashes")
    said = lambda: stage.locator("text", has_text="your guess").text_content()
    assert guess.input_value() == str(MEASURED[2]) and said().strip() == "drag: your guess of the time"
    before = hollow.evaluate("(part) => part.getBBox().width")
    for key in ("PageDown", "ArrowLeft"):
        guess.press(key)
    clocks = int(guess.input_value())
    assert said() == f"your guess of the time: {clocks}"
    assert hollow.evaluate("(part) => part.getBBox().width") / before == pytest.approx(clocks / MEASURED[2], abs=0.001)
    piece.get_by_role("button", name="Run 1 warp").click()
    assert not guess.count() and not knob.count() and hollow.count() == 1
    assert said() == f"your guess: {abs(clocks - MEASURED[0])} off"
    assert not piece.locator("svg.printed .dashes").count()
    piece.get_by_role("button", name="With 8 warps").click()
    assert guess.input_value() == str(MEASURED[2]) and hollow.count() == knob.count() == 1
    piece = open_piece("load_store_unit", width, step=1, guess=MEASURED[0] + 3)
    assert said() == "your guess: right on"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("guess", [0, 1, 59, 124, 239, 250])
def test_the_stage_is_low_and_no_words_leave_it_or_are_on_others_or_on_the_guess(open_piece, width, guess):
    for warps in (1, 8):
        for step in (0, 1):
            piece = open_piece("load_store_unit", width, warps=warps, step=step, guess=guess, runs="4")
            stage = piece.locator("svg.stage:visible")
            assert stage.bounding_box()["height"] <= 330
            assert not stage.evaluate("""(stage) => {
                const parts = [...stage.querySelectorAll("text, circle, path.ink:not(.dashes, .outline)")];
                const boxes = parts.map((part) => [part.textContent || part.tagName, part.getBoundingClientRect()]);
                const all = stage.getBoundingClientRect();
                const out = boxes.filter(([, { left, right }]) => left < all.left - 1 || right > all.right + 1);
                const marks = ([one, other]) => [one, other].every((name) => ["circle", "path"].includes(name));
                const both = boxes.flatMap(([one, a], i) => boxes.slice(i + 1).filter(([, b]) =>
                    a.left < b.right && b.left < a.right && a.top + 4 < b.bottom && b.top + 4 < a.bottom
                ).map(([other]) => [one, other]));
                return [...out.map(([text]) => text), ...both.filter((pair) => !marks(pair))];
            }"""), (warps, step)  # fmt: skip
