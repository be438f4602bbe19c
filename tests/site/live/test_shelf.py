"""The spice shelf gives what the worked example does, pours as much as it says, and can be dragged."""

import re

import pytest
from bs4 import BeautifulSoup

from scripts.chapters.first_kernel import worked
from tests.site.live.conftest import start_piece
from tests.site.live.test_pieces import every_width

SIZES = pytest.mark.parametrize("size", ["narrow", "wide", "printed"])


def drawing(pieces, size: str, spicy: float, smoky: float):
    still = pieces.draw_state("shelf", {"spicy": str(spicy), "smoky": str(smoky)})
    return BeautifulSoup(still, "html.parser").select_one(f"svg.{size}")


@SIZES
@pytest.mark.parametrize("query", [*worked.QUERIES, (3, 0.5), (0, 0)])
def test_scores_shares_and_the_bowl_are_those_of_the_worked_example(pieces, size, query):
    stage, found = drawing(pieces, size, *query), worked.program_row(query)
    jars = len(worked.KEYS)
    texts = [each.text for each in stage.select("text")]
    assert stage.select_one("text.query.strong").text == f"[{query[0]:g}, {query[1]:g}]"
    for name, inside in (("key", worked.KEYS), ("value", worked.VALUES)):
        assert [each.text for each in stage.select(f"text.{name}:not(.point)")] == [str(list(each)) for each in inside]
    rose = [each.text for each in stage.select("text.rose")]
    assert rose[::2] == [f"{score:g}" for score in found.scores[:jars]]
    assert rose[1::2] == [f"{share} %" for share in found.shares[:jars]]
    assert worked.vector_text(found.output) in texts
    assert len(stage.select(".knob")) == (size != "printed")


@SIZES
@pytest.mark.parametrize("query", [(1, 1), (3, 0), (0, 2.5)])
def test_each_stream_is_as_wide_as_its_share_and_they_lie_side_by_side_in_the_bowl(pieces, size, query):
    stage, found = drawing(pieces, size, *query), worked.program_row(query)
    streams = stage.select(".stream")
    top, into = ([float(re.findall(r"[\d.]+", each["d"])[i]) for each in streams] for i in (0, -2))
    wide = [float(re.search(r"stroke-width: ([\d.]+)px", each["style"])[1]) for each in streams]
    left, right = ([x + side * w / 2 for x, w in zip(into, wide, strict=True)] for side in (-1, 1))
    terms = found.terms[: len(wide)]
    assert wide == pytest.approx([sum(wide) * term / sum(terms) for term in terms], abs=0.1)
    assert left[1:] == pytest.approx(right[:-1], abs=0.02) and top == sorted(top)


def test_what_is_disliked_lets_another_jar_win(pieces):
    for query, best in (((2, -2), 0), ((-2, 2), 1), ((2, 2), 2)):
        rose = [each.text for each in drawing(pieces, "wide", *query).select("text.rose")]
        shares = [int(share.removesuffix(" %")) for share in rose if "%" in share]
        assert shares.index(max(shares)) == best
        assert shares == worked.program_row(query).shares[: len(shares)]


@every_width
def test_a_craving_can_be_changed_and_its_words_stay_in_the_picture(open_piece, width):
    piece = open_piece("shelf", width)
    spicy, smoky = piece.get_by_role("slider").all()
    says, height = piece.locator(".hb-live__says"), piece.bounding_box()["height"]
    for taste, value, words in (
        (smoky, "1", "The chipotle fits best, so it’s 58 % of the mix."),
        (spicy, "3", "The chipotle fits best, so it’s 71 % of the mix."),
        (smoky, "0", "The cayenne and the chipotle fit equally well: 49 % of each."),
        (spicy, "0", "You crave nothing, so all three fit equally well: a third of each."),
        (smoky, "2.5", "The paprika and the chipotle fit equally well: 48 % of each."),
    ):
        taste.fill(value)
        assert says.inner_text() == words
        assert piece.bounding_box()["height"] == height
        assert not piece.locator("svg.stage:visible").evaluate("""(stage) => {
            const all = stage.getBoundingClientRect();
            return [...stage.querySelectorAll("text")].map((each) => each.getBoundingClientRect())
                .filter(({ left, right }) => left < all.left - 0.1 || right > all.right + 0.1).length;
        }""")


@pytest.mark.parametrize("touch", [False, True])
def test_the_craving_follows_the_mouse_and_a_finger_and_the_page_stays(visit, touch):
    page = visit.go(visit.tab("light", 390, touch=touch), "live/#live-shelf")
    piece = start_piece(page, "shelf")
    pad = piece.locator(".hb-live__pad")
    pad.scroll_into_view_if_needed()
    box, top = pad.bounding_box(), page.evaluate("scrollY")
    x, y = box["x"] + 12 + 4 * 27, box["y"] + box["height"] - 12 - 3 * 27  # spicy 2, smoky 1; both begin at -2
    if touch:
        page.touchscreen.tap(x, y)
    else:
        page.mouse.move(box["x"] + 20, box["y"] + 20)
        page.mouse.down()
        page.mouse.move(x + 400, y)  # beyond the edge
        page.mouse.move(x + 8, y - 8)
        held = piece.locator("svg.stage:visible text.query.strong").text_content()
        assert held == "[2.3, 1.3]", "it glides, and comes to rest at a half"
        page.mouse.move(x + 4, y - 4)
        page.mouse.up()
        page.mouse.move(box["x"] + 20, box["y"] + 20)  # let go
    assert [each.input_value() for each in piece.get_by_role("slider").all()] == ["2", "1"]
    knob = piece.locator("svg.stage:visible .knob").bounding_box()
    assert abs(knob["x"] + knob["width"] / 2 - x) < 1.5 and abs(knob["y"] + knob["height"] / 2 - y) < 1.5
    assert page.evaluate("scrollY") == top
