"""Rice and sauce: arcs to scale, dinner at the end of the longer one, and each can be dragged."""

import re
from math import atan2, tau

import pytest
from bs4 import BeautifulSoup

from tests.site.live.test_pieces import every_width


def still(pieces, **state):
    return BeautifulSoup(pieces.draw_state("dinner", {key: str(value) for key, value in state.items()}), "html.parser")


SIZES = pytest.mark.parametrize("size", ["narrow", "wide", "printed"])


def minutes_at(point, middle):
    """Where a point is on a clock around ``middle``."""
    (x, y), (left, top) = point, middle
    return 60 * (atan2(x - left, top - y) / tau % 1)


def points(path):
    """All points of a path that begins with M, whose arcs have five numbers before theirs."""
    found = [float(number) for number in re.findall(r"[\d.]+", re.sub(r"A\S+ \S+ 0 [01] [01] ", " ", path["d"]))]
    return list(zip(found[::2], found[1::2], strict=True))


@SIZES
@pytest.mark.parametrize("rice, sauce", [(30, 16), (5, 40), (20, 20), (55, 1)])
def test_dinner_is_at_the_end_of_the_longer_arc(pieces, size, rice, sauce):
    stage = still(pieces, rice=rice, sauce=sauce).select_one(f"svg.{size}")
    dishes, longer = (rice, sauce), max(rice, sauce)
    (dot,) = stage.select("circle.fill")
    middle = float(dot["cx"]), float(dot["cy"])
    arcs = stage.select("path.fill:not(.track)")
    for arc, minutes in zip(arcs, dishes, strict=True):
        assert minutes_at(points(arc)[0], middle) % 60 == pytest.approx(0, abs=0.01)
        assert minutes_at(points(arc)[1], middle) == pytest.approx(minutes, abs=0.05)
        large = [flags[0] for flags in re.findall(r" 0 ([01]) [01] ", arc["d"])]
        assert large == 2 * [str(int(minutes > 30))]
    assert [arc["class"][1] for arc in arcs] == ["ink", "soft"]
    hand = stage.select("path.ink:not(.thin)")[-1]
    assert points(hand)[0] == middle and minutes_at(points(hand)[1], middle) == pytest.approx(longer, abs=0.05)
    words = [each.text for each in stage.select("text.label")]
    assert words == [f"rice {rice}", f"sauce {sauce}", f"dinner {longer}"]
    knobs = [(float(knob["cx"]), float(knob["cy"])) for knob in stage.select(".knob")]
    assert [minutes_at(knob, middle) for knob in knobs] == ([] if size == "printed" else pytest.approx(dishes, abs=0.1))


@every_width
def test_each_dish_can_be_changed_and_its_words_stay_in_the_picture(open_piece, width):
    piece = open_piece("dinner", width)
    rice, sauce = piece.get_by_role("slider").all()
    says = piece.locator(".hb-live__says")
    height = piece.bounding_box()["height"]
    sauce.fill("55")
    assert says.inner_text() == "Dinner after 55 minutes, with the sauce. The rice hides behind it."
    rice.fill("1")
    sauce.fill("1")
    assert says.inner_text() == "Dinner after 1 minute: both are ready at once."
    assert piece.bounding_box()["height"] == height
    for value in (1, 14, 22, 40, 55):
        sauce.fill(str(value))
        assert not piece.locator("svg.stage:visible").evaluate("""(stage) => {
            const all = stage.getBoundingClientRect();
            return [...stage.querySelectorAll("text")].map((each) => each.getBoundingClientRect())
                .filter(({ left, right }) => left < all.left || right > all.right);
        }""")


def test_an_arc_follows_the_mouse_around_the_clock_but_not_past_its_top(open_piece):
    piece = open_piece("dinner", 1000)
    box, page = piece.locator(".hb-live__pad").bounding_box(), piece.page
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    rice = piece.get_by_role("slider").first
    page.mouse.move(x, y + 86)  # where rice ends, after 30 minutes
    page.mouse.down()
    for to, minutes in (
        ((-86, 0), 45),
        ((-60, -60), 53),
        ((-5, -86), 55),
        ((60, -60), 55),
        ((-86, 0), 45),
        ((86, 0), 15),
    ):
        page.mouse.move(x + to[0], y + to[1])
        assert rice.input_value() == str(minutes), to
    page.mouse.up()
    page.mouse.move(x, y + 86)
    assert rice.input_value() == "15"
