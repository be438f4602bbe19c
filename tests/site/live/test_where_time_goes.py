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


NAMES = ["pytorch", "kernel", "known", "memory", "multiplying"]
ALL = round(MEASURED["kernel"])
EDGES = "(piece) => [piece, ...piece.querySelectorAll('button')].map((each) => JSON.stringify(each.getBoundingClientRect()))"
SIZES = pytest.mark.parametrize("size", ["narrow", "wide", "printed"])


def ends(drawing) -> dict[str, float]:
    """Where each bar ends, as a part of the long one, which has a line around it, half of it outside."""
    bars = drawing.select("rect")
    found = [float(bar["width"]) and float(bar["x"]) + float(bar["width"]) for bar in bars]
    return {name: end / (float(bars[1]["width"]) + 1.5) for name, end in zip(NAMES, found, strict=True)}


def drawing(pieces, size: str, **state):
    still = BeautifulSoup(pieces.draw_state("where_time_goes", state), "html.parser")
    return still.select_one(f"svg.{size}")


@SIZES
def test_the_bars_are_at_one_scale(pieces, size):
    stage = drawing(pieces, size, shown="true")
    filled = [float(time) for time in re.findall(r"(?:memory|multiplying) ([\d.]+) ms", stage.text)]
    assert len(filled) == 2
    end = ends(stage)
    assert end["pytorch"] == pytest.approx(MEASURED["pytorch"] / MEASURED["kernel"], rel=0.02)
    worked_out = [worked.requested_gigabytes() / L2["speed"], worked.milliseconds_of_clocks(worked.FP32_CLOCKS)]
    assert [end[name] * MEASURED["kernel"] for name in NAMES[3:]] == pytest.approx(worked_out, rel=0.02)
    assert filled == [round(time) for time in worked_out]
    _, kernel, *_ = bars = stage.select("rect")
    assert [name for name, bar in zip(NAMES, bars, strict=True) if "hollow" in bar["class"]] == NAMES[3:]
    assert f"{MEASURED['kernel'] / MEASURED['pytorch']:.0f} times as long" in stage.text
    cuts = [float(x) for x in re.findall(r"M([\d.]+)", stage.select_one("path")["d"])]
    each = end["pytorch"] * (float(kernel["width"]) + 1.5)  # as long as PyTorch's bar
    times = int(MEASURED["kernel"] / MEASURED["pytorch"])
    assert cuts == pytest.approx([each * (i + 1) for i in range(times)], abs=0.6)


@SIZES
def test_what_is_known_lies_below_the_pieces_up_to_where_the_longest_ends(pieces, size):
    stage = drawing(pieces, size, shown="true", guess="50")
    end, path = ends(stage), stage.select_one("path")
    assert end["known"] == pytest.approx(end["memory"], abs=1e-4) and end["memory"] > end["multiplying"]
    assert path.find_previous("rect")["class"] == ["fill", "known", "moves"]


@pytest.mark.parametrize("size", ["narrow", "wide"])
@pytest.mark.parametrize("guess", [1, 20, ALL])
def test_a_guess_reaches_as_far_as_it_says(pieces, size, guess):
    stage = drawing(pieces, size, guess=str(guess))
    knob, (_, kernel, known, *_) = stage.select_one(".knob"), stage.select("rect")
    end = float(known["x"]) + float(known["width"])
    assert float(knob["cx"]) == pytest.approx(end, abs=0.01)
    first, last = 22, float(kernel["width"]) + 1.5 - 22  # half a finger inside the picture
    assert (end - first) / (last - first) == pytest.approx((guess - 1) / (ALL - 1), abs=1e-3)
    assert f"{guess} ms" in stage.text


def test_where_no_page_says_what_was_measured_it_is_nearly_the_same():
    source = (FOLDER / "where_time_goes.js").read_text()
    initial = {name: float(re.search(rf"{name}: ([\d.]+)", source)[1]) for name in MEASURED}
    assert initial == pytest.approx(MEASURED, rel=0.01)


def test_the_suspects_are_seen_once_they_are_shown_and_on_paper(pieces):
    for size in ("narrow", "wide"):
        stage = drawing(pieces, size)
        assert [ends(stage)[name] for name in NAMES[3:]] == [0, 0]
        seen = [words.text for words in stage.select("text") if words["opacity"] != "0"]
        assert re.findall(r"[\d.]+", " ".join(seen)) == ["117"]
    printed = drawing(pieces, "printed", guess="20")
    assert min(ends(printed).values()) > 0 and not printed.select(".knob")


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
    guess.fill("40")
    assert says.inner_text() == f"40 ms of {ALL}? Let’s see." and "quiet" not in button.get_attribute("class")
    assert piece.evaluate(EDGES) == before
    button.press("Enter")
    assert says.inner_text().startswith(f"At full speed, memory takes 8 ms of {ALL}, and multiplying 1, both at once.")
    assert "40 ms, 32 ms off" in piece.locator("svg.stage:visible").text_content()
    assert piece.evaluate(EDGES) == before and not guess.count()
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
