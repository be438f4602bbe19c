"""What holds for every live piece, whatever it shows: a change of the frame changes these tests and no others."""

import gzip
import re
from collections.abc import Callable

import pytest
from bs4 import BeautifulSoup

from scripts.records import ROOT
from scripts.site.live import Pieces
from tests.site.conftest import SCHEMES
from tests.site.live.conftest import started
from tests.site.test_browser import axe

FOLDER = ROOT / "docs" / "live"
NAMES = Pieces(FOLDER).names()
STEPS = [name for name in NAMES if re.search(r"\bsteps,|\bsteps\b.*\};$", (FOLDER / f"{name}.js").read_text()[-600:])]
SHARED = {"frame.js", "parts.js"}
LIGHT = 15_000  # bytes, compressed
FINGER = 44  # pixels
every_piece = pytest.mark.parametrize("name", NAMES)

SHOWN = "(piece) => ['.hb-live__picture', '.hb-live__told', '.hb-live__numbers'].map((part) => piece.querySelector(part)?.innerHTML.replace(/<!--.*?-->/g, '')).join()"
USED = ":is(.hb-live__picture, .hb-live__bar, .hb-live__more) :is(button, input, select):not(.hb-live__fold, .hb-live__buttons *)"


def modules(name: str) -> set[str]:
    """What a module needs besides what all share."""
    needed = set(re.findall(r'from "\./([^"]+)"', (FOLDER / name).read_text())) - SHARED
    return {name}.union(*map(modules, needed))


@every_piece
def test_a_piece_is_light_and_in_a_chapter(name):
    assert sum(len(gzip.compress((FOLDER / module).read_bytes())) for module in modules(f"{name}.js")) <= LIGHT
    shown = re.compile(rf"^``` live .*\n{name}\b", re.MULTILINE)
    assert any(shown.search(path.read_text()) for path in (ROOT / "docs").glob("chapters/*.md"))


def test_what_all_share_is_light():
    shared = [*map(FOLDER.joinpath, SHARED | {"element.js"}), ROOT / "node_modules" / "lit-html" / "lit-html.js"]
    assert sum(len(gzip.compress(path.read_bytes())) for path in shared) <= LIGHT


@every_piece
def test_the_drawing_without_scripts_says_what_is_so(name, pieces):
    still = BeautifulSoup(pieces.still(name, {}), "html.parser")
    assert still.select_one(".hb-live__told").text.strip()
    assert not re.search(r"undefined|NaN(?!,| is)|\[object|function", str(still))
    assert all(drawing.get("aria-label") for drawing in still.select('svg[role="img"]'))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_each_piece_starts_as_it_was_drawn_fits_a_phone_and_axe_finds_nothing(visit, scheme):
    page = visit("live/", scheme, width=390)
    for name in NAMES:
        piece = page.locator(f"#live-{name}")
        text = "(piece) => ['.hb-live__picture', '.hb-live__bar'].map((part) => piece.querySelector(part).innerText)"
        drawn, height = piece.evaluate(text), piece.bounding_box()["height"]
        started(page, name)
        assert [each.split() for each in piece.evaluate(text)] == [each.split() for each in drawn], name
        assert abs(piece.bounding_box()["height"] - height) < 1, f"{name} jumps as it starts"
        assert piece.evaluate("(piece) => piece.scrollWidth <= piece.clientWidth"), f"{name} is too wide for a phone"
        piece.locator(".hb-live__fold").click()
        assert piece.evaluate("(piece) => piece.scrollWidth <= piece.clientWidth"), f"more of {name} is too wide"
    assert not axe(page)


@every_piece
def test_every_control_changes_something_and_reset_undoes_it(open_piece, name):
    piece = open_piece(name)
    fold, reset = piece.locator(".hb-live__fold"), piece.get_by_role("button", name="Reset")
    alert = piece.locator(".hb-live__wrong")
    fold.click()
    first, values = (
        piece.evaluate(SHOWN),
        "(piece) => [...piece.querySelectorAll('input, select')].map((each) => each.value + each.checked)",
    )
    fields = piece.evaluate(values)
    for i in range(piece.locator(USED).count()):
        control = piece.locator(USED).nth(i)
        kind = control.evaluate("(control) => control.type")
        if kind == "range":
            at_end = control.evaluate("(control) => control.value === control.max")
            control.press("ArrowLeft" if at_end else "ArrowRight")
        elif kind == "select-one":
            control.select_option(index=control.evaluate("(menu) => (menu.selectedIndex + 1) % menu.options.length"))
        elif kind == "text":
            control.fill("x")
            assert "x" in alert.inner_text(), "it takes what is no number"
        elif control.get_attribute("aria-pressed") != "true":
            control.click()
        changed = piece.evaluate(SHOWN) != first or kind == "text" or control.get_attribute("aria-pressed") == "true"
        assert changed, f"{control.evaluate('(control) => control.outerHTML')} does nothing"
        reset.click()
        assert piece.evaluate(SHOWN) == first and piece.evaluate(values) == fields and not alert.inner_text()
    assert reset.evaluate("(button) => button === document.activeElement")


@every_piece
@pytest.mark.parametrize("width", [1280, 390])
def test_a_finger_hits_every_control_and_the_keyboard_reaches_it(open_piece, name, width):
    piece = open_piece(name, width)
    piece.locator(".hb-live__fold").click()
    small = piece.evaluate(
        """(piece) => [...piece.querySelectorAll("button, input, select, .hold")].map((control) => control.closest(".hb-live__tick") ?? control)
            .filter((control) => control.checkVisibility()).map((control) => [control.outerHTML.slice(0, 90), control.getBoundingClientRect()])
            .filter(([, { width, height }]) => Math.min(Math.round(width), Math.round(height)) < %d)"""
        % FINGER
    )
    assert not small
    order = "(piece) => [...piece.querySelectorAll('button, input, select, [tabindex]')].filter((each) => each.checkVisibility()).indexOf(document.activeElement)"
    piece.locator("button, input, select, [tabindex]").first.focus()
    many = piece.evaluate(
        "(piece) => [...piece.querySelectorAll('button, input, select, [tabindex]')].filter((each) => each.checkVisibility()).length"
    )
    seen = []
    for _ in range(many):
        seen.append(piece.evaluate(order))
        piece.page.keyboard.press("Tab")
    assert seen == [*range(many)]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", STEPS)
def test_a_piece_keeps_its_height_from_step_to_step_and_begins_again(visit, name, width):
    page = visit(f"live/?{name}.step=0#live-{name}", width=width)
    page.emulate_media(reduced_motion="reduce")
    piece = started(page, name)
    button, height = piece.locator(".hb-live__main"), piece.bounding_box()["height"]
    shown, heights = [piece.evaluate(SHOWN)], []
    while button.inner_text() != "Again":
        button.press("Enter")
        shown.append(piece.evaluate(SHOWN))
        heights.append(piece.bounding_box()["height"])
    assert max(abs(each - height) for each in heights) < 1, [round(each - height) for each in heights]
    assert len(set(shown)) == len(shown) > 1
    button.click()
    assert piece.evaluate(SHOWN) == shown[0]
    page.keyboard.press("End")
    assert piece.evaluate(SHOWN) == shown[-1]
    page.keyboard.press("ArrowLeft")
    assert piece.evaluate(SHOWN) == shown[-2]
    piece.locator(".hb-live__picture svg").first.click()
    assert piece.evaluate(SHOWN) == shown[-1]


@every_piece
def test_a_link_carries_what_differs_and_brings_it_back(open_piece, name):
    piece = open_piece(name)
    piece.locator(".hb-live__fold").click()
    control = piece.locator(".hb-live__bar :is(.hb-live__main, input, select)").first
    kind = control.evaluate("(control) => control.type")
    if kind == "text":
        control.fill("0.3")
    elif kind == "select-one":
        control.select_option(index=2)
    else:
        control.press("ArrowRight" if kind == "range" else "Space")
    piece.get_by_role("button", name="Link to this").click()
    piece.get_by_role("status").get_by_text("address").wait_for()
    shown, query = piece.evaluate(SHOWN), piece.page.evaluate("location.search")
    asked = re.findall(r"[?&]([\w.]+)=", query)
    assert asked and all(each.startswith(f"{name}.") for each in asked)
    assert len(asked) < piece.page.evaluate(
        "(name) => import(`../live/${name}.js`).then((m) => Object.keys(m.default.start).length)", name
    ) + (name == "bits")
    piece.page.reload()
    started(piece.page, name)
    settled = "(piece) => new Promise((resolve) => setTimeout(() => resolve(%s), 50))" % "true"
    piece.evaluate(settled)
    assert (
        piece.evaluate("(piece) => piece.querySelector('.hb-live__told').textContent") in re.sub("<.*?>", "", shown)
        or piece.evaluate(SHOWN) == shown
    )


def test_what_moves_comes_to_rest_and_with_reduced_motion_it_is_there_at_once(visit):
    end = "(svg) => svg.querySelector('.end .big').textContent"
    for motion, at_once in (("reduce", "1.368"), ("no-preference", "0.000")):
        page = visit("live/#live-stream")
        page.emulate_media(reduced_motion=motion)
        piece = started(page, "stream")
        # The first frame, whenever the browser draws the next.
        sums = piece.evaluate(
            f"(piece) => (piece.querySelector('.hb-live__main').click(), ({end})(piece.querySelector('svg')))"
        )
        assert sums == at_once
        page.wait_for_function(
            "document.querySelector('#live-stream svg .end .big').textContent === '1.368'", timeout=5000
        )
        seconds = "getComputedStyle(document.querySelector('#live-balloon .moves')).transitionDuration"
        assert page.evaluate(seconds) == ("0s" if motion == "reduce" else "0.4s")


def test_a_piece_plays_pauses_and_goes_back_and_its_caption_tells_the_end(open_piece):
    piece = open_piece("stream", step=0)
    piece.page.emulate_media(reduced_motion="reduce")
    piece.locator(".hb-live__fold").click()
    button = lambda name: piece.get_by_role("button", name=name, exact=True)
    done = lambda: piece.get_attribute("data-done")
    button("Play").click()
    button("Pause").click()
    button("Next pair").click()
    button("Back").click()
    assert "step" in piece.inner_text() and done() is None
    button("Play").click()
    button("Play").wait_for(timeout=15_000)  # at the end it stops by itself
    assert "step 3 of 3" in piece.inner_text() and done() is not None
    piece.get_by_label("forget to rescale").check()
    assert done() is None
    piece.page.emulate_media(reduced_motion="no-preference")


def test_a_field_that_was_refused_holds_back_nothing_else_and_two_fields_may_change_one_after_the_other(open_piece):
    piece = open_piece("flash")
    piece.locator(".hb-live__fold").click()
    field = lambda name: piece.get_by_label(name, exact=True)
    alert, block = piece.locator(".hb-live__wrong"), piece.get_by_role("slider", name="Keys a block")
    field("Queries").fill("abc")
    block.press("ArrowRight")
    assert block.get_attribute("aria-valuetext") == "3" and "abc" in alert.inner_text()
    assert field("Queries").input_value() == "abc"
    field("Queries").fill("1 0, 1 1, 0 1")
    assert block.get_attribute("aria-valuetext") == "3" and not alert.inner_text()
    field("Keys").fill("1 0, 0 1")
    assert "each key has one" in alert.inner_text()
    field("Values").fill("1 0, 0 1")
    assert not alert.inner_text() and piece.locator("svg text", has_text="k3").count() == 0


def test_an_address_that_asks_for_what_cannot_be_says_so(open_piece):
    assert "two" in open_piece("stream", block="two").get_by_role("alert").inner_text()


def test_a_piece_is_fetched_when_it_comes_near_and_keeps_the_focus_that_its_drawing_had(visit):
    asked = []
    page = visit("live/", routes={"**/live/words.js": lambda route: asked.append(route)})
    assert not asked
    button = page.locator("#live-words .hb-live__words button").nth(3)
    button.focus()
    before = page.evaluate("scrollY")
    page.wait_for_function("document.querySelector('#live-words live-piece:not([ready])')")
    while not asked:
        page.wait_for_timeout(20)
    asked[0].continue_()
    page.locator("#live-words live-piece[ready]").wait_for()
    assert button.evaluate("(button) => button === document.activeElement") and page.evaluate("scrollY") == before
    page.keyboard.press("Space")
    assert button.get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("width", [1280, 390])
def test_the_button_of_a_picture_higher_than_the_screen_stays_in_sight(open_piece, width):
    row = ", ".join(["1 0"] * 12)
    piece = open_piece("flash", width, queries=row, keys=row, values=row, douts=row, step=0)
    page = piece.page
    page.set_viewport_size({"width": width, "height": 360})
    piece.locator(".hb-live__main").press("Enter")
    piece.evaluate("(piece) => scrollBy(0, piece.getBoundingClientRect().top - 60)")
    box = piece.locator(".hb-live__main").bounding_box()
    assert 180 < box["y"] < 360 - FINGER and piece.locator(".hb-live__picture").bounding_box()["height"] > 300
    page.set_viewport_size({"width": width, "height": 900})


def finger(page, x: float, y: float, right: float, down: float) -> None:
    """Dragged in eight steps, a frame each, in which the page would begin to scroll."""
    touch = page.context.new_cdp_session(page)
    for step in range(9):
        points = [{"x": x + step / 8 * right, "y": y + step / 8 * down}]
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove" if step else "touchStart", "touchPoints": points})
        page.wait_for_timeout(20)
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(100)


def dragged(piece, what, right: float, down: float) -> bool:
    """Whether the page scrolled with the finger."""
    what.evaluate("(what) => what.scrollIntoView({ block: 'center' })")
    before, box = piece.page.evaluate("scrollY"), what.bounding_box()
    finger(piece.page, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, right, down)
    return abs(piece.page.evaluate("scrollY") - before) > 20


def test_a_finger_taps_slides_and_scrolls(visit):
    """A swipe up that begins on a slider scrolls the page and leaves the value; one to the side moves the slider."""
    page = visit.go(visit.tab("light", 390, touch=True), "live/")
    for name in NAMES:
        piece = started(page, name)
        slider, shown = piece.locator(".hb-live__bar input[type=range]"), piece.evaluate(SHOWN)
        if slider.count():
            assert dragged(piece, slider, 0, -160) and piece.evaluate(SHOWN) == shown, name
            assert not dragged(piece, slider, 60, 0) and piece.evaluate(SHOWN) != shown, name
        elif name in STEPS:
            piece.locator(".hb-live__main").tap()
            assert piece.evaluate(SHOWN) != shown, name


@pytest.mark.parametrize(("name", "right", "down"), [("dot", 30, -60), ("roof", 60, -90)])
def test_what_a_finger_holds_follows_it_and_the_page_stays(visit, name, right, down):
    page = visit.go(visit.tab("light", 390, touch=True), "live/" + ("?dot.q=2 1&dot.k=1 -2" if name == "dot" else ""))
    piece = started(page, name)
    held: Callable = lambda: piece.locator(".hold").last.bounding_box()
    before = held()
    assert not dragged(piece, piece.locator(".hold").last, right, down)
    assert abs(held()["x"] - before["x"] - right) < 20


def test_on_paper_the_stage_is_whole_and_no_control_is_left(open_piece):
    piece = open_piece("stream", step=0)
    piece.page.emulate_media(media="print")
    assert piece.locator("svg:visible").count() == 1 and piece.locator(".printed").is_visible()
    assert "1.368 × e−1 = 0.503 → 1.871 × 1 = 1.871 → 3.006" in piece.inner_text()
    assert not piece.page.locator(".hb-live :is(button.hb-live__main, input, select):visible").count()
    piece.page.emulate_media(media="screen")
