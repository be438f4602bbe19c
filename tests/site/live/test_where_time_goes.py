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


NAMES = ["pytorch", "kernel", "unexplained", "memory", "multiplying"]
SUSPECTS = NAMES[3:]
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


@SIZES
def test_the_bars_are_at_one_scale(pieces, size):
    stage = drawing(pieces, size, shown="true")
    assert bars(stage)["kernel"] == pytest.approx((0, 1), abs=0.01)
    assert f"{FITS} times as long" in stage.text
    times = [float(time) for time in re.findall(r"(?:memory|multiplying) ([\d.]+) ms", stage.text)]
    worked_out = [worked.requested_gigabytes() / L2["speed"], worked.milliseconds_of_clocks(worked.FP32_CLOCKS)]
    assert [bars(stage)[name][1] * MEASURED["kernel"] for name in SUSPECTS] == pytest.approx(worked_out, rel=0.02)
    assert times == [round(time) for time in worked_out]
    hollow = [name for name, bar in zip(NAMES, stage.select("rect"), strict=True) if "hollow" in bar["class"]]
    assert hollow == SUSPECTS


@SIZES
def test_pytorchs_bar_fits_in_as_often_as_it_is_drawn(pieces, size):
    stage = drawing(pieces, size)
    first, marks = stage.select("rect")[0], stage.select_one("path")
    each = MEASURED["pytorch"] / MEASURED["kernel"] * wide(stage)
    dashes = map(float, re.search(r"dasharray: ([\d. ]+)", marks["style"])[1].split())
    assert [float(first["width"]), sum(dashes)] == pytest.approx([each, each], abs=0.01)
    assert float(marks["d"].partition("H")[2]) == wide(stage) == pytest.approx(FITS * each, abs=each / 2)
    assert "ink" in first["class"]


@SIZES
def test_what_is_not_explained_begins_where_the_longer_of_the_two_ends(pieces, size):
    found = bars(drawing(pieces, size, shown="true", guess="50"))
    assert found["unexplained"] == pytest.approx((found["memory"][1], 1), abs=1e-4)
    assert found["memory"][1] > found["multiplying"][1]


@pytest.mark.parametrize("size", ["narrow", "wide"])
@pytest.mark.parametrize("guess", [1, 20, ALL - 1, ALL])
def test_a_guess_reaches_as_far_as_it_says(pieces, size, guess):
    stage = drawing(pieces, size, guess=str(guess))
    first, last = 22, wide(stage) - 22  # a knob is half a finger inside the picture
    knob = float(stage.select_one(".knob")["cx"])
    assert (knob - first) / (last - first) == pytest.approx((guess - 1) / (ALL - 1), abs=1e-3)
    edge = knob if guess < ALL else wide(stage)  # a guess of all leaves nothing
    assert bars(stage)["unexplained"][0] * wide(stage) == pytest.approx(edge, abs=0.01)
    assert f"{guess} ms" in stage.text


@pytest.mark.parametrize("size", ["narrow", "wide"])
@pytest.mark.parametrize("guess", [3, 8, 9, 40, ALL - 1])
def test_once_it_is_shown_a_guess_is_at_the_scale_of_the_bars(pieces, size, guess):
    stage = drawing(pieces, size, guess=str(guess), shown="true")
    mark = float(re.match(r"M([\d.]+)", stage.select("path")[-1]["d"])[1])
    assert mark == pytest.approx(guess / MEASURED["kernel"] * wide(stage), abs=3)


def test_where_no_page_says_what_was_measured_it_is_nearly_the_same():
    source = (FOLDER / "where_time_goes.js").read_text()
    initial = {name: float(re.search(rf"{name}: ([\d.]+)", source)[1]) for name in MEASURED}
    assert initial == pytest.approx(MEASURED, rel=0.01)


def test_nothing_is_said_before_it_is_guessed_and_paper_has_it_all(pieces):
    for size in ("narrow", "wide"):
        stage = drawing(pieces, size)
        assert [bars(stage)[name][1] for name in SUSPECTS] == pytest.approx([0, 0], abs=0.01)
        seen = [words.text for words in stage.select("text") if words["opacity"] != "0"]
        assert re.findall(r"[\d.]+", " ".join(seen)) == [str(FITS)]
    printed, found = drawing(pieces, "printed", guess="20"), drawing(pieces, "printed", shown="true")
    assert printed.decode_contents() == found.decode_contents() and not printed.select(".knob")


@every_width
def test_guess_show_and_guess_again_keep_every_edge_in_its_place(visit, width):
    page = visit("live/#live-where_time_goes", width=width)
    page.emulate_media(reduced_motion="reduce")
    piece = start_piece(page, "where_time_goes")
    button, guess, says = (
        piece.locator(".hb-live__main"),
        piece.get_by_role("slider"),
        piece.locator(".hb-live__says"),
    )
    before = piece.evaluate(EDGES)
    assert "quiet" in button.get_attribute("class") and guess.input_value() == "1"
    for other in ("5", str(ALL), "40"):
        guess.fill(other)
        assert says.inner_text() == f"{other} ms of {ALL}? Let’s see." and "quiet" not in button.get_attribute("class")
        assert piece.evaluate(EDGES) == before and not words_outside(piece)
    button.press("Enter")
    assert says.inner_text().startswith(
        f"At best, moving bytes takes 8 ms of {ALL}, and multiplying 1, at the same time."
    )
    assert "40 ms, 32 off" in piece.locator("svg.stage:visible").text_content()
    assert piece.evaluate(EDGES) == before and not guess.count()
    assert button.inner_text() == "Guess again"
    button.press("Enter")
    assert piece.evaluate(EDGES) == before and guess.input_value() == "1"
    # Memory and multiplying are 8 and 1, at once or one after the other.
    for other, told in ((9, "right on"), (8, "right on"), (7, "1 off"), (10, "2 off"), (ALL, "56 off")):
        guess.fill(str(other))
        button.press("Enter")
        assert f"{other} ms, {told}" in piece.locator("svg.stage:visible").text_content()
        assert not words_outside(piece)
        button.press("Enter")


def test_the_whole_bar_can_be_held(visit):
    page = visit("live/#live-where_time_goes")
    piece = start_piece(page, "where_time_goes")
    bar, guess = piece.locator("svg.stage:visible rect.violet").bounding_box(), piece.get_by_role("slider")
    for part, at in ((0.2, 4), (0.5, bar["height"] / 2), (0.8, bar["height"] - 4)):
        page.mouse.click(bar["x"] + part * bar["width"], bar["y"] + at)
        assert int(guess.input_value()) == pytest.approx(part * ALL, abs=1)
