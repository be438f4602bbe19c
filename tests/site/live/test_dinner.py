"""Rice and sauce: bars to scale, dinner at the end of the longer one, and each can be dragged."""

import re

import pytest
from bs4 import BeautifulSoup

from tests.site.live.test_pieces import every_width


def still(pieces, **state):
    return BeautifulSoup(pieces.draw_state("dinner", {key: str(value) for key, value in state.items()}), "html.parser")


@pytest.mark.parametrize("size", ["narrow", "wide", "printed"])
@pytest.mark.parametrize("rice, sauce", [(30, 16), (5, 40), (20, 20)])
def test_dinner_is_at_the_end_of_the_longer_bar(pieces, size, rice, sauce):
    stage = still(pieces, rice=rice, sauce=sauce).select_one(f"svg.{size}")
    bars = [float(bar["width"]) for bar in stage.select("rect:not(.track)")]
    assert bars[0] / bars[1] == pytest.approx(rice / sauce, rel=0.01)
    (left,) = {float(bar["x"]) for bar in stage.select("rect")}
    assert float(re.match(r"M(\S+)", stage.select_one("path.ink")["d"])[1]) == pytest.approx(left + max(bars), abs=0.02)
    words = [each.text for each in stage.select("text")]
    assert words == [f"rice {rice}", f"sauce {sauce}", f"dinner {max(rice, sauce)}"]
    assert len(stage.select(".knob")) == (0 if size == "printed" else 2)
    colours = [bar["class"][1] for bar in stage.select("rect:not(.track)")]
    longer = max(rice, sauce)  # sets the time, as the sums do in the bar below
    assert colours == ["violet" if minutes == longer else "soft" for minutes in (rice, sauce)]


@every_width
def test_each_bar_can_be_changed_and_its_words_stay_in_the_picture(open_piece, width):
    piece = open_piece("dinner", width)
    rice, sauce = piece.get_by_role("slider").all()
    says = piece.locator(".hb-live__says")
    height = piece.bounding_box()["height"]
    sauce.fill("40")
    assert says.inner_text() == "Dinner after 40 minutes, with the sauce. The rice hides behind it."
    rice.fill("1")
    sauce.fill("1")
    assert says.inner_text() == "Dinner after 1 minute: both are ready at once."
    assert piece.bounding_box()["height"] == height
    for value in (1, 14, 18, 22, 40):
        sauce.fill(str(value))
        assert not piece.locator("svg.stage:visible").evaluate("""(stage) => {
            const all = stage.getBoundingClientRect();
            return [...stage.querySelectorAll("text")].map((each) => each.getBoundingClientRect())
                .filter(({ left, right }) => left < all.left || right > all.right);
        }""")
