"""The pair that a reader runs: the load-store unit's clocks, the guess of the time, and what a GPU took for it."""

import re
from itertools import pairwise

import pytest
from bs4 import BeautifulSoup

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked
from scripts.records import ROOT
from tests.site.live.conftest import start_piece

WARPS = 1, 2, 4, 8
LENGTHS = [worked.load_store_clocks(warps) for warps in WARPS]
MEASURED = [round(row["all"]) for row in plot.rows_with(records.table("what_limits", "clocks"), head_dim=128)]
AXIS = 310  # clocks
TICKS = "0", "50", "100", "150", "200"
PAGE = ROOT / "docs" / "chapters" / "first-kernel" / "index.md"


def drawing(pieces, state: dict, width: str = "wide"):
    still = BeautifulSoup(pieces.draw_state("load_store_unit", state), "html.parser")
    return still.select_one(f"svg.{width}")


def numbers(text: str) -> list[int]:
    """What stands behind the bars, in the order of their rows."""
    return [int(each) for each in re.findall(r"\d+", re.sub(rf"\d warps?|clocks{''.join(TICKS)}", "", text))]


def beside(*ran: int) -> list[int]:
    """What should stand there once these numbers of warps have run: clocks of both units, then the time."""
    rows = zip(WARPS, LENGTHS, map(worked.alu_clocks, WARPS), MEASURED, strict=True)
    return [number for warps, *clocks in rows if warps in ran for number in clocks]


def shown(piece) -> list[int]:
    return numbers(piece.locator("svg.stage:visible").text_content())


def test_before_a_run_only_paper_knows_its_numbers(pieces):
    for width in ("narrow", "wide"):
        assert numbers(drawing(pieces, {}, width).text) == beside(4)
    assert numbers(drawing(pieces, {}, "printed").text) == beside(*WARPS)
    for warps in WARPS:
        state = {"warps": str(warps), "runs": "1,2,4,8"}
        assert numbers(drawing(pieces, state).text) == beside(*(each for each in WARPS if each != warps))


@pytest.mark.parametrize("warps", WARPS)
def test_a_run_is_asked_for_before_its_rule_is_said(pieces, warps):
    asked, said = (
        BeautifulSoup(pieces.draw_state("load_store_unit", {"warps": str(warps), "step": step}), "html.parser")
        .select_one(".hb-live__says")
        .text
        for step in "01"
    )
    assert asked.endswith("Guess, then run.") and not re.search(r"\d", asked)
    each, one, other, loads, all_clocks = map(
        int, re.search(r"(\d) · \((\d+) \+ (\d+) \+ (\d)\) = (\d+)", re.sub(r"\s", " ", said)).groups()
    )
    assert each * (one + other + loads) == all_clocks == worked.load_store_clocks(warps) and each == warps
    assert f"= {worked.alu_clocks(warps):.0f}. Time: {MEASURED[WARPS.index(warps)]}." in re.sub(r"\s", " ", said)


def test_the_captions_hold():
    captions = re.search(r'caption="(.*?)"\}\nload_store_unit', PAGE.read_text())[1].split(" | ")
    assert all(40 <= len(caption) <= 85 and caption.endswith(".") for caption in captions)
    four, one, two, eight = captions
    assert numbers(four) == [LENGTHS[2], MEASURED[2]]
    assert one == "With one warp the ALU is the busiest, and the time is near its clocks."
    assert LENGTHS[0] < worked.alu_clocks(1) < MEASURED[0] < 1.1 * worked.alu_clocks(1)
    assert two == "With two warps the ALU has more to do than the LSU. Neither is full."
    assert LENGTHS[1] < worked.alu_clocks(2) < 0.8 * MEASURED[1]
    assert eight == "Twice the work for the LSU takes nearly twice the time."
    assert LENGTHS[3] / LENGTHS[2] == pytest.approx(2, abs=0.1) and 1.8 < MEASURED[3] / MEASURED[2] < 2


def test_a_bar_is_as_long_as_its_number(pieces):
    """All are at one scale, and an instruction is as large with one warp as with eight."""
    still = drawing(pieces, {"step": "1"})
    bars, passes = (
        [(float(rect["width"]), float(rect["y"])) for rect in still.select(f"rect.{look}")]
        for look in ("violet", "grey")
    )
    track = float(still.select_one("rect.track")["width"])
    assert [wide for wide, _ in bars] == pytest.approx(
        [MEASURED[0] * track / AXIS, MEASURED[2] * track / AXIS], abs=0.01
    )
    assert [wide for wide, _ in passes] == pytest.approx(
        [worked.alu_clocks(warps) * track / AXIS for warps in (1, 4)], abs=0.01
    )
    assert passes[0][1] < bars[0][1] < passes[1][1] < bars[1][1]
    sizes = {
        re.match(
            r"M\S+ \S+h(\S+)v(\S+)h", drawing(pieces, {"warps": str(warps)}).select_one("g path.key")["d"]
        ).groups()
        for warps in WARPS
    }
    assert len(sizes) == 1


@pytest.mark.parametrize("width", ["narrow", "wide", "printed"])
def test_the_funnel_stays_and_the_queues_fit_above_it(pieces, width):
    edges = set()
    for warps in WARPS:
        still = drawing(pieces, {"warps": str(warps)}, width)
        edges.add(tuple(path["d"] for path in still.select("path.stroke.ink")))
        tops = [float(y) for y in re.findall(r"M\S+ (\S+?)h", still.select_one("g path.ink")["d"])]
        assert min(tops) >= 0
        names = [float(name["y"]) for name in still.find_all("text", string=re.compile("^(load the|add up)"))]
        assert len(names) == 4
        assert all(low - high >= 18 for low, high in pairwise(names)), f"names of {warps} warps are on each other"
    assert len(edges) == 1


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


def test_on_a_phone_all_of_it_is_in_sight_at_once(open_piece):
    piece = open_piece("load_store_unit", 390)
    high = lambda: piece.locator(".hb-live__stage").bounding_box()["height"]
    assert high() < 640
    piece.get_by_role("slider").press("PageUp")
    piece.get_by_role("button", name="Run 1 warp").click()
    assert high() < 640


def test_no_run_takes_longer_than_three_seconds(visit):
    page = visit("live/#live-load_store_unit")
    start_piece(page, "load_store_unit")
    lasts = page.evaluate("""async () => {
        const { name } = performance.getEntriesByType("resource").find(({ name }) => /load_store_unit\\.js/.test(name));
        const { duration } = (await import(name)).default;
        return [1, 2, 4, 8].map((warps) => duration({ warps, step: 1, runs: "" }));
    }""")
    assert lasts == sorted(lasts) and lasts[0] > 600 and lasts[-1] <= 3000


def test_each_finished_run_leaves_its_bars_until_reset(visit):
    page = visit("live/#live-load_store_unit")
    page.emulate_media(reduced_motion="no-preference")
    piece = start_piece(page, "load_store_unit")
    assert piece.locator(".back").count() == 1 and piece.locator(".play").count() == 0
    height = piece.bounding_box()["height"]
    assert shown(piece) == beside(4)
    piece.get_by_role("button", name="Run 1 warp").click()
    assert shown(piece) == beside(4), "it tells before it has finished"
    says = piece.locator(".hb-live__says")
    says.get_by_text("whichever warp it comes from").wait_for()
    says.get_by_text("= 12 clocks").wait_for(timeout=10_000)
    assert shown(piece) == beside(1, 4)
    page.emulate_media(reduced_motion="reduce")
    for warps in ("8 warps", "2 warps"):
        piece.get_by_role("button", name=f"With {warps}").click()
        assert says.inner_text().endswith("Guess, then run.")
        piece.get_by_role("button", name=f"Run {warps}").click()
    assert shown(piece) == beside(*WARPS)
    piece.get_by_role("button", name="4 warps", exact=True).click()
    assert "Time: 124" in says.inner_text(), "what has run is shown at once"
    assert piece.bounding_box()["height"] == height
    piece.locator(".hb-live__fold").click()
    piece.get_by_role("button", name="Reset").click()
    assert shown(piece) == beside(4)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_guess_stays_beside_what_came_and_the_next_run_has_its_own(open_piece, width):
    piece = open_piece("load_store_unit", width)
    guess, stage = piece.get_by_role("slider"), piece.locator("svg.stage:visible")
    knob, hollow = stage.locator("circle.violet"), stage.locator("path.violet.dashes")
    assert knob.count() == 1 and not hollow.count()
    for key in ("PageUp", "ArrowRight"):
        guess.press(key)
    clocks = int(guess.input_value())
    assert clocks > 1 and stage.get_by_text("your guess:").text_content() == f"your guess: {clocks}"
    wide, track = (
        part.evaluate("(part) => part.getBBox().width") for part in (hollow, stage.locator("rect.track").first)
    )
    assert (wide + 1) / track == pytest.approx(clocks / AXIS, abs=0.001)
    piece.get_by_role("button", name="Run 1 warp").click()
    assert not guess.count() and knob.count() == 1 and hollow.count() == 1
    assert f"Time: {MEASURED[0]}, and you guessed {clocks}." in piece.locator(".hb-live__says").inner_text()
    assert not piece.locator("svg.printed circle").count()
    piece.get_by_role("button", name="With 8 warps").click()
    assert guess.input_value() == "0" and not hollow.count()
    piece.get_by_role("button", name="Run 8 warps").click()
    assert not knob.count(), "who hasn't guessed has no marker"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("guess", [0, 60, 250])
def test_no_words_leave_the_picture_and_none_are_on_others_or_on_the_guess(open_piece, width, guess):
    for warps in (1, 8):
        for step in (0, 1):
            piece = open_piece("load_store_unit", width, warps=warps, step=step, guess=guess, runs="1,2,4,8")
            assert not piece.locator("svg.stage:visible").evaluate("""(stage) => {
                const boxes = [...stage.querySelectorAll("text, circle")].map((part) => [part.textContent, part.getBoundingClientRect()]);
                const all = stage.getBoundingClientRect();
                const out = boxes.filter(([text, { left, right }]) => text && (left < all.left - 1 || right > all.right + 1));
                const both = boxes.flatMap(([one, a], i) => boxes.slice(i + 1).filter(([, b]) =>
                    a.left < b.right && b.left < a.right && a.top + 4 < b.bottom && b.top + 4 < a.bottom).map(([other]) => [one, other]));
                return [...out.map(([text]) => text), ...both];
            }"""), (warps, step)  # fmt: skip
