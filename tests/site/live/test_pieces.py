"""What holds for every live piece: it is light, shown, drawn by the build as it then starts, and open to all."""

import gzip
import re

import pytest
from bs4 import BeautifulSoup

from scripts.records import ROOT
from scripts.site.live import PieceError, Pieces
from tests.site.conftest import SCHEMES
from tests.site.test_browser import axe

FOLDER = ROOT / "docs" / "live"
NAMES = Pieces(FOLDER).names()
SHARED = {"frame.js", "parts.js"}
LIGHT = 15_000  # bytes, compressed


def modules(name: str) -> set[str]:
    """What a module needs besides what all share."""
    needed = set(re.findall(r'from "\./([^"]+)"', (FOLDER / name).read_text())) - SHARED
    return {name}.union(*map(modules, needed))


@pytest.mark.parametrize("name", NAMES)
def test_a_piece_is_light(name):
    assert sum(len(gzip.compress((FOLDER / module).read_bytes())) for module in modules(f"{name}.js")) <= LIGHT


def test_what_all_share_is_light():
    shared = [*map(FOLDER.joinpath, SHARED | {"element.js"}), ROOT / "node_modules" / "lit-html" / "lit-html.js"]
    assert sum(len(gzip.compress(path.read_bytes())) for path in shared) <= LIGHT


@pytest.mark.parametrize("name", NAMES)
def test_a_piece_has_its_chapter_and_its_tests(name):
    shown = re.compile(rf"^``` live .*\n{name}\b", re.MULTILINE)
    assert any(shown.search(path.read_text()) for path in (ROOT / "docs").glob("chapters/*.md"))
    assert (ROOT / "tests" / "site" / "live" / f"test_{name}.py").exists()


@pytest.mark.parametrize("name", NAMES)
def test_the_drawing_without_scripts_says_what_is_so(name, pieces):
    still = BeautifulSoup(pieces.still(name, {}), "html.parser")
    assert still.select_one(".hb-live__told").text.strip()
    assert not re.search(r"undefined|\[object|function", still.text)
    assert all(drawing.get("aria-label") for drawing in still.select('svg[role="img"]'))


def test_an_unknown_piece_and_an_unknown_state_are_named(pieces):
    with pytest.raises(PieceError, match=r"no docs/live/streem\.js"):
        pieces.still("streem", {})
    with pytest.raises(PieceError, match="There is no blok"):
        pieces.still("stream", {"blok": "2"})
    with pytest.raises(PieceError, match="“two” is no number"):
        pieces.still("stream", {"block": "two"})


@pytest.mark.parametrize("scheme", SCHEMES)
def test_each_piece_starts_as_it_was_drawn_and_axe_finds_nothing(visit, scheme):
    page = visit("live/", scheme, width=390)
    for name in NAMES:
        piece = page.locator(f"#live-{name}")
        text = ".hb-live__view, .hb-live__told"
        drawn = piece.locator(text).all_text_contents()
        piece.scroll_into_view_if_needed()
        piece.locator("live-piece[ready]").wait_for()
        assert [t.split() for t in piece.locator(text).all_text_contents()] == [t.split() for t in drawn], name
        wide = piece.evaluate("(piece) => piece.scrollWidth - piece.clientWidth")
        assert wide <= 0, f"{name} is {wide} pixels too wide for a phone"
    assert not axe(page)


@pytest.mark.parametrize(("asked", "drawn"), [("99", "3 of 3"), ("-3", "0 of 3"), ("1.5", "2 of 3")])
def test_a_page_that_asks_for_a_step_gets_one_that_the_piece_has(asked, drawn, pieces):
    assert drawn in BeautifulSoup(pieces.still("stream", {"step": asked}), "html.parser").text


def test_a_piece_is_fetched_when_it_comes_near(visit):
    page = visit("chapters/online-softmax/")
    page.wait_for_load_state("networkidle")
    fetched = "performance.getEntriesByType('resource').filter(({ name }) => name.includes('/live/')).length"
    assert page.evaluate(fetched) == 0
    page.locator("#live-stream").scroll_into_view_if_needed()
    page.locator("#live-stream live-piece[ready]").wait_for()
    assert page.evaluate(fetched) > 0


def test_an_address_that_asks_for_what_cannot_be_says_so(open_piece):
    piece = open_piece("stream", block="two")
    assert "two" in piece.get_by_role("alert").inner_text()
    assert piece.locator("tbody tr").count() == 1


def test_a_piece_plays_pauses_and_goes_back(open_piece):
    piece = open_piece("stream", step=0)
    button = lambda name: piece.get_by_role("button", name=name, exact=True)  # noqa: E731
    button("Play").click()
    button("Pause").click()
    button("Step").click()
    assert "1 of 3" in piece.inner_text()
    button("Back").click()
    assert "0 of 3" in piece.inner_text()
    button("Play").click()
    button("Play").wait_for(timeout=8000)  # at the end it stops by itself
    assert "3 of 3" in piece.inner_text()
    button("Reset").click()
    assert "1 of 3" in piece.inner_text()


def test_reset_undoes_what_was_chosen_and_what_was_refused(open_piece):
    piece = open_piece("flash")
    button = lambda name: piece.get_by_role("button", name=name, exact=True)  # noqa: E731
    menu, field = piece.get_by_label("Pass"), piece.get_by_label("Queries", exact=True)
    first = menu.input_value(), field.input_value()
    for choice in ("dq", "forward", "dkdv"):
        menu.select_option(choice)
    field.fill("abc")
    button("Play").click()
    button("Play").wait_for(timeout=3000)  # what was refused cannot be played
    button("Reset").press("Enter")
    assert (menu.input_value(), field.input_value()) == first
    assert button("Reset").evaluate("(button) => button === document.activeElement")


def test_a_field_that_was_refused_holds_back_nothing_else(open_piece):
    piece = open_piece("flash")
    queries, block, alert = (
        piece.get_by_label("Queries", exact=True),
        piece.get_by_label("Keys a block"),
        piece.locator(".hb-live__wrong"),
    )
    queries.fill("abc")
    block.press("ArrowRight")
    assert block.get_attribute("aria-valuetext") == "3" and piece.get_by_text("3", exact=True).count()
    assert queries.input_value() == "abc" and "abc" in alert.inner_text()
    queries.fill("1 0, 1 1, 0 1")
    assert block.get_attribute("aria-valuetext") == "3" and not alert.inner_text()


def test_two_fields_that_must_match_are_changed_one_after_the_other(open_piece):
    piece = open_piece("flash")
    values, keys = piece.get_by_label("Values", exact=True), piece.get_by_label("Keys", exact=True)
    keys.fill("1 0, 0 1")
    assert "each key has one" in piece.locator(".hb-live__wrong").inner_text()
    piece.get_by_label("Keys a block").press("ArrowRight")  # what was refused is not forgotten meanwhile
    values.fill("1 0, 0 1")
    assert not piece.locator(".hb-live__wrong").inner_text() and piece.locator("svg text", has_text="k3").count() == 0


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_drawing_that_has_the_focus_keeps_it_when_its_piece_starts(visit, key):
    asked = []
    page = visit("live/", routes={"**/live/stream.js": lambda route: asked.append(route)})
    button = page.locator("#live-stream").get_by_role("button", name="Step", exact=True)
    button.focus()
    before = page.evaluate("scrollY")
    page.wait_for_function("document.querySelector('#live-stream live-piece:not([ready])')")
    while not asked:
        page.wait_for_timeout(20)
    asked[0].continue_()
    page.locator("#live-stream live-piece[ready]").wait_for()
    assert button.evaluate("(button) => button === document.activeElement") and page.evaluate("scrollY") == before
    page.keyboard.press(key)
    assert "2 of 3" in page.locator("#live-stream").inner_text()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["flash", "ring"])
def test_the_buttons_of_a_piece_higher_than_the_screen_stay_in_sight(open_piece, name, width):
    piece = open_piece(name, width=width)
    page, step = piece.page, piece.get_by_role("button", name="Step", exact=True)
    page.set_viewport_size({"width": width, "height": 720})
    piece.locator(".hb-live__view").evaluate("(view) => scrollBy(0, view.getBoundingClientRect().top - 60)")
    assert piece.bounding_box()["y"] + piece.bounding_box()["height"] > 720
    before = page.evaluate("scrollY")
    box = step.bounding_box()
    page.mouse.click(
        box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    )  # where it is seen: nothing scrolls it there
    assert step.get_attribute("aria-disabled") == "true" or "4 of" in piece.inner_text()
    assert box["y"] > 600 and box["y"] + box["height"] <= 720 and page.evaluate("scrollY") == before
    if width > 1000:
        told = piece.locator(".hb-live__told").bounding_box()
        assert told["y"] + told["height"] <= box["y"]


def test_a_link_says_that_it_is_there_until_something_changes(open_piece):
    piece = open_piece("stream", step=-3)
    assert "0 of 3" in piece.inner_text()
    piece.get_by_role("button", name="Link to this").click()
    said = piece.locator(".hb-live__buttons").get_by_text("address")
    said.wait_for()
    piece.get_by_role("button", name="Step", exact=True).click()
    assert not said.count()
