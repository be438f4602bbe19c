"""The first picture of chapter 5: bars to scale, a guess that is dragged, and nothing that jumps."""

import re

import pytest
from bs4 import BeautifulSoup

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked
from tests.site.live.conftest import start_piece, words_outside
from tests.site.live.test_pieces import FOLDER, every_width

TIMES = {
    row["form"]: row["median"]
    for row in plot.rows_with(records.table("prefill_speed", "forward_128"), n=512, causal=False, direction="forward")
}
(L2,) = plot.rows_with(records.table("l2_speed", "sizes"), size=16)
MEASURED = {"kernel": TIMES["one_key_attention"], "pytorch": TIMES["attention"], "l2": L2["speed"]}


NAMES = ["cover", "pytorch", "kernel", "unexplained", "memory", "multiplying"]
SUSPECTS = NAMES[4:]
ALL, FITS = round(MEASURED["kernel"]), round(MEASURED["kernel"] / MEASURED["pytorch"])
EDGES = "(piece) => [piece, ...piece.querySelectorAll('button')].map((each) => JSON.stringify(each.getBoundingClientRect()))"
SIZES = pytest.mark.parametrize("size", ["narrow", "wide", "printed"])


def drawing(pieces, size: str, **state):
    still = BeautifulSoup(pieces.draw_state("where_time_goes", state), "html.parser")
    return still.select_one(f"svg.{size}")


def wide(stage) -> float:
    return float(stage["viewbox"].split()[2])


def bars(stage) -> dict[str, tuple[float, float]]:
    """Where each bar begins and ends, as a part of the long one."""
    found = [(float(bar["x"]), float(bar["width"])) for bar in stage.select("rect")]
    return {name: (x / wide(stage), (x + w) / wide(stage)) for name, (x, w) in zip(NAMES, found, strict=True)}


def laid(stage) -> tuple[float, float, float]:
    """How long each of the laid bars is, with its gap, how far all would reach, and how far the cover shows them."""
    copies = stage.select_one("path.grey")
    each, gap = map(float, re.search(r"dasharray: ([\d.]+) ([\d.]+)", copies["style"]).groups())
    return each + gap, float(copies["d"].partition("H")[2]), bars(stage)["cover"][0] * wide(stage)


@SIZES
def test_the_bars_are_at_one_scale(pieces, size):
    stage = drawing(pieces, size, laid=str(FITS), shown="true")
    each, reach, seen = laid(stage)
    assert each == pytest.approx(MEASURED["pytorch"] / MEASURED["kernel"] * wide(stage), rel=1e-3)
    assert reach == pytest.approx(FITS * each, rel=1e-3) and seen == pytest.approx(reach, abs=0.01)
    assert reach == pytest.approx(wide(stage), abs=each / 2)
    assert bars(stage)["kernel"] == pytest.approx((0, 1), abs=0.01)
    assert f"{FITS} times as long" in stage.text
    times = [float(time) for time in re.findall(r"(?:memory|multiplying) ([\d.]+) ms", stage.text)]
    worked_out = [worked.requested_gigabytes() / L2["speed"], worked.milliseconds_of_clocks(worked.FP32_CLOCKS)]
    assert [bars(stage)[name][1] * MEASURED["kernel"] for name in SUSPECTS] == pytest.approx(worked_out, rel=0.02)
    assert times == [round(time) for time in worked_out]
    hollow = [name for name, bar in zip(NAMES, stage.select("rect"), strict=True) if "hollow" in bar["class"]]
    assert hollow == SUSPECTS


@SIZES
def test_what_is_not_explained_begins_where_the_longer_of_the_two_ends(pieces, size):
    found = bars(drawing(pieces, size, laid=str(FITS), shown="true", guess="50"))
    assert found["unexplained"] == pytest.approx((found["memory"][1], 1), abs=1e-4)
    assert found["memory"][1] > found["multiplying"][1]


@pytest.mark.parametrize("size", ["narrow", "wide"])
@pytest.mark.parametrize("count", [1, 34, FITS - 1])
def test_as_many_are_seen_as_were_laid(pieces, size, count):
    stage = drawing(pieces, size, laid=str(count))
    each, _, seen = laid(stage)
    assert seen == pytest.approx(count * each, abs=0.01)
    assert ("times" in stage.text) == (count > 1) and (f"{count} times" in stage.text) == (count > 1)
    assert bars(stage)["unexplained"] == (0, 1) and len(stage.select(".knob")) == 1


@pytest.mark.parametrize("size", ["narrow", "wide"])
@pytest.mark.parametrize("guess", [1, 20, ALL])
def test_a_guess_reaches_as_far_as_it_says(pieces, size, guess):
    stage = drawing(pieces, size, laid=str(FITS), guess=str(guess))
    knob, end = stage.select_one(".knob"), bars(stage)["unexplained"][0] * wide(stage)
    assert float(knob["cx"]) == pytest.approx(end, abs=0.01)
    first, last = 22, wide(stage) - 22  # half a finger inside the picture
    assert (end - first) / (last - first) == pytest.approx((guess - 1) / (ALL - 1), abs=1e-3)
    assert f"{guess} ms" in stage.text


def test_where_no_page_says_what_was_measured_it_is_nearly_the_same():
    source = (FOLDER / "where_time_goes.js").read_text()
    initial = {name: float(re.search(rf"{name}: ([\d.]+)", source)[1]) for name in MEASURED}
    assert initial == pytest.approx(MEASURED, rel=0.01)


def test_nothing_is_said_before_it_is_found_and_paper_has_it_all(pieces):
    for size in ("narrow", "wide"):
        for count, numbers in ((1, []), (FITS, ["0.545", "64", "117"])):
            stage = drawing(pieces, size, laid=str(count))
            assert [bars(stage)[name][1] for name in SUSPECTS] == pytest.approx([0, 0], abs=0.01)
            seen = [words.text for words in stage.select("text") if words["opacity"] != "0"]
            assert re.findall(r"[\d.]+", " ".join(seen)) == numbers
    printed = drawing(pieces, "printed", laid="3", guess="20")
    found = drawing(pieces, "printed", laid=str(FITS), shown="true")
    assert printed.decode_contents() == found.decode_contents()
    assert not printed.select(".knob")


@every_width
def test_laying_guessing_and_guessing_again_keep_every_edge_in_its_place(visit, width):
    page = visit("live/#live-where_time_goes", width=width)
    page.emulate_media(reduced_motion="reduce")
    piece = start_piece(page, "where_time_goes")
    button, says = piece.locator(".hb-live__main"), piece.locator(".hb-live__says")
    lay, guess = (piece.get_by_role("slider", name=name) for name in ("How often", "Your guess"))
    before = piece.evaluate(EDGES)
    for count, sum_ in (
        (1, ""),
        (2, "2 · 0.545 ms = 1 ms"),
        (60, "60 · 0.545 ms = 33 ms"),
        (116, "116 · 0.545 ms = 63 ms"),
    ):
        lay.fill(str(count))
        assert says.inner_text().startswith(sum_) and not guess.count() and piece.evaluate(EDGES) == before
        assert not words_outside(piece)
    assert button.inner_text() == "Lay them all"
    button.press("Enter")
    assert says.inner_text().startswith(f"{FITS} · 0.545 ms = {ALL} ms. ") and piece.evaluate(EDGES) == before
    assert button.inner_text() == "Show me" and "quiet" in button.get_attribute("class")
    guess.fill("40")
    assert says.inner_text() == f"40 ms of {ALL}? Let’s see." and "quiet" not in button.get_attribute("class")
    assert piece.evaluate(EDGES) == before
    button.press("Enter")
    assert says.inner_text().startswith(f"At full speed, memory takes 8 ms of {ALL}, and multiplying 1, both at once.")
    assert "40 ms, 32 ms off" in piece.locator("svg.stage:visible").text_content()
    assert piece.evaluate(EDGES) == before and not guess.count() and not lay.count()
    assert button.inner_text() == "Guess again"
    button.press("Enter")
    assert piece.evaluate(EDGES) == before and guess.input_value() == "1"
    # Memory and multiplying are 8 and 1, at once or one after the other.
    for other, told in ((9, "as it is"), (8, "as it is"), (7, "1 ms off"), (10, "2 ms off")):
        guess.fill(str(other))
        button.press("Enter")
        assert f"{other} ms, {told}" in piece.locator("svg.stage:visible").text_content()
        button.press("Enter")
    assert not words_outside(piece)
    lay.fill("100")
    assert not guess.count() and button.inner_text() == "Lay them all"
