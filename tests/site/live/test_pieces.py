"""Every live piece, whatever it shows: its weight, its height, its controls, its link, its steps and its print."""

import gzip
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from scripts.records import ROOT
from scripts.site.live import Pieces
from tests.site.conftest import SCHEMES
from tests.site.live.conftest import start_piece
from tests.site.test_browser import axe_violations

FOLDER = ROOT / "docs" / "live"
PIECES = Pieces(FOLDER).names()
EXPORTED = {name: (FOLDER / f"{name}.js").read_text().partition("export default")[2] for name in PIECES}
STEPPING_PIECES = [name for name in PIECES if re.search(r"\blastStep\b", EXPORTED[name])]
SHARED = {"frame.js", "controls.js"}
MAX_BYTES = 15_000  # bytes, compressed
MIN_TOUCH_PIXELS = 44
IN_BROWSER = Path(__file__).with_name("in_browser.js").read_text().partition("\n")[2].strip()
every_piece = pytest.mark.parametrize("name", PIECES)
every_width = pytest.mark.parametrize("width", [1280, 390])


def inspect(piece, what: str):
    return piece.evaluate(f"(piece) => looks.{what}(piece)".replace("looks", IN_BROWSER))


def modules(name: str) -> set[str]:
    """The module and those that it imports, except what all pieces share."""
    needed = set(re.findall(r'from "\./([^"]+)"', (FOLDER / name).read_text())) - SHARED
    return {name}.union(*map(modules, needed))


@every_piece
def test_a_piece_is_light_and_in_a_chapter(name):
    assert sum(len(gzip.compress((FOLDER / module).read_bytes())) for module in modules(f"{name}.js")) <= MAX_BYTES
    shown = re.compile(rf"^``` live .*\n{name}\b", re.MULTILINE)
    assert any(shown.search(path.read_text()) for path in (ROOT / "docs").glob("chapters/*/*.md"))


def test_what_all_share_is_light():
    shared = [*map(FOLDER.joinpath, SHARED | {"element.js"}), ROOT / "node_modules" / "lit-html" / "lit-html.js"]
    assert sum(len(gzip.compress(path.read_bytes())) for path in shared) <= MAX_BYTES


@every_piece
def test_the_drawing_without_scripts_says_what_is_so(name, pieces):
    still = BeautifulSoup(pieces.draw_state(name, {}), "html.parser")
    assert still.select_one(".hb-live__says").text.strip()
    assert not re.search(r"undefined|NaN(?!,| is)|\[object|function", str(still))
    assert all(drawing.get("aria-label") for drawing in still.select('svg[role="img"]'))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_each_piece_starts_as_it_was_drawn_fits_a_phone_and_axe_finds_nothing(visit, scheme):
    page = visit("live/", scheme, width=390)
    for name in PIECES:
        piece = page.locator(f"#live-{name}")
        drawn, height = inspect(piece, "read"), piece.bounding_box()["height"]
        start_piece(page, name)
        assert inspect(piece, "read") == drawn, name
        assert abs(piece.bounding_box()["height"] - height) < 1, f"{name} jumps as it starts"
        assert not inspect(piece, "wide"), f"{name} is too wide for a phone"
        unfold(piece)
        assert not inspect(piece, "wide"), f"more of {name} is too wide for a phone"
    assert not axe_violations(page)


def change_control(control) -> str:
    """Changes what the control sets, or types what is no number; returns its kind."""
    kind = control.evaluate("(control) => control.type")
    if kind == "range":
        control.press("ArrowLeft" if control.evaluate("(slider) => slider.value === slider.max") else "ArrowRight")
    elif kind == "select-one":
        control.select_option(index=control.evaluate("(menu) => (menu.selectedIndex + 1) % menu.options.length"))
    elif kind == "text":
        control.fill("x")
    else:
        control.click()
    return kind


def unfold(piece) -> None:
    """Opens "more", which a piece that has nothing else there offers once something has changed; undoes the change."""
    fold = piece.locator(".hb-live__fold")
    if not fold.is_visible():
        change_control(
            piece.locator(".hb-live__grip, .hb-live__vessel, .hb-live__bar :is(.hb-live__main, input, select)").first
        )
        fold.click()
        piece.get_by_role("button", name="Reset").click()
    else:
        fold.click()


@every_piece
def test_every_control_changes_something_and_reset_undoes_it(open_piece, name):
    piece = open_piece(name)
    reset, wrong = piece.get_by_role("button", name="Reset"), piece.locator(".hb-live__wrong")
    unfold(piece)
    shown, fields = inspect(piece, "shown"), inspect(piece, "fields")
    used = ":is(.hb-live__picture, .hb-live__bar, .hb-live__more) :is(button, input, select)"
    controls = piece.locator(f"{used}:not(.hb-live__fold, .back, .play, .hb-live__buttons *, [aria-pressed=true])")
    for i in range(controls.count()):
        control = controls.nth(i)
        if change_control(control) == "text":
            assert "x" in wrong.inner_text(), "it takes what is no number"
        else:
            assert inspect(piece, "shown") != shown, f"{control.evaluate('(one) => one.outerHTML')} does nothing"
        reset.click()
        assert (inspect(piece, "shown"), inspect(piece, "fields"), wrong.inner_text()) == (shown, fields, "")
    assert reset.evaluate("(button) => button === document.activeElement")


@every_width
@every_piece
def test_a_finger_hits_every_control_and_the_keyboard_reaches_it(open_piece, name, width):
    piece = open_piece(name, width)
    unfold(piece)
    assert not inspect(piece, "small")
    piece.locator("button, input, select, [tabindex]").first.focus()
    for i in range(inspect(piece, "many")):
        assert inspect(piece, "place") == i
        piece.page.keyboard.press("Tab")


@every_width
@pytest.mark.parametrize("name", STEPPING_PIECES)
def test_a_piece_keeps_its_height_from_step_to_step_and_begins_again(visit, name, width):
    page = visit(f"live/?{name}.step=0#live-{name}", width=width)
    page.emulate_media(reduced_motion="reduce")
    piece = start_piece(page, name)
    button, height = piece.locator(".hb-live__main"), piece.bounding_box()["height"]
    shown, jumps = [inspect(piece, "shown")], []
    for _ in range(int(piece.locator(".hb-live__buttons span").first.text_content().split()[-1])):
        button.press("Enter")
        shown.append(inspect(piece, "shown"))
        jumps.append(round(piece.bounding_box()["height"] - height))
    assert not any(jumps) and len(set(shown)) == len(shown) > 1
    for move, step in [
        (lambda: button.press("Home"), 0),
        (lambda: button.press("End"), -1),
        (lambda: button.press("ArrowLeft"), -2),
    ]:
        move()
        assert inspect(piece, "shown") == shown[step]
    piece.locator(".hb-live__picture svg").first.click()
    assert inspect(piece, "shown") == shown[-1]


@every_piece
def test_a_link_carries_what_differs_and_brings_it_back(open_piece, name):
    piece = open_piece(name)
    unfold(piece)
    control = piece.locator(".hb-live__grip, .hb-live__vessel, .hb-live__bar :is(.hb-live__main, input, select)").first
    if change_control(control) == "text":
        control.fill("0.3")
    piece.get_by_role("button", name="Link to this").click()
    piece.get_by_role("status").get_by_text("address").wait_for()
    shown, fields = inspect(piece, "shown"), inspect(piece, "fields")
    parameters = re.findall(r"[?&]([\w.]+)=", piece.page.evaluate("location.search"))
    assert 0 < len(parameters) <= 2 and all(one.startswith(f"{name}.") for one in parameters)
    piece.page.reload()
    start_piece(piece.page, name)
    piece.page.wait_for_function("document.querySelector('.hb-live [ready]')")
    assert inspect(piece, "fields") == fields
    if name not in ("attention_row", "dot"):  # these tell what has changed
        assert inspect(piece, "shown") == shown


def test_what_moves_comes_to_rest_and_with_reduced_motion_it_is_there_at_once(visit):
    """And the sentence about it is there from the start."""
    press = """(piece) => {
        piece.querySelector(".hb-live__main").click();
        return [piece.querySelector(".end .big").textContent, piece.querySelector(".hb-live__says").textContent.slice(0, 10)];
    }"""
    for motion, at_once, lasts in (("reduce", "1.368", "0s"), ("no-preference", "0.000", "0.4s")):
        page = visit("live/?online_softmax.step=0#live-online_softmax")
        page.emulate_media(reduced_motion=motion)
        assert start_piece(page, "online_softmax").evaluate(press) == [at_once, "Six scores"]
        page.wait_for_function(
            "document.querySelector('#live-online_softmax .end .big').textContent === '1.368'", timeout=5000
        )
        assert (
            page.locator("#live-balloon .moves").first.evaluate("(box) => getComputedStyle(box).transitionDuration")
            == lasts
        )


def test_a_piece_plays_pauses_and_goes_back_and_its_end_is_known(open_piece):
    piece = open_piece("online_softmax", step=0)
    piece.locator(".hb-live__fold").click()
    button = lambda name: piece.get_by_role("button", name=name, exact=True)
    for name in ("Play", "Pause", "Next pair", "Back", "Play"):
        assert piece.get_attribute("data-done") is None
        button(name).click()
    button("Play").wait_for(timeout=15_000)  # at the end it stops by itself
    assert "step 4 of 4" in piece.inner_text() and piece.get_attribute("data-done") is not None
    button("Forget to rescale").click()
    assert piece.get_attribute("data-done") is None and "step 1 of 4" in piece.inner_text()
    assert piece.get_by_role("checkbox").is_checked()


def test_a_field_that_was_refused_holds_back_no_other_and_two_fields_may_change_one_after_the_other(open_piece):
    piece = open_piece("flash", queries="nothing")
    field = lambda name: piece.get_by_label(name, exact=True)
    wrong, block = piece.locator(".hb-live__wrong"), piece.get_by_role("slider", name="Keys a block")
    assert "nothing" in wrong.inner_text()
    field("Queries").fill("abc")
    block.press("ArrowRight")
    assert block.get_attribute("aria-valuetext") == "3"
    assert field("Queries").input_value() == "abc" and "abc" in wrong.inner_text()
    field("Queries").fill("1 0, 1 1, 0 1")
    assert block.get_attribute("aria-valuetext") == "3" and not wrong.inner_text()
    field("Keys").fill("1 0, 0 1")
    assert "each key has one" in wrong.inner_text()
    field("Values").fill("1 0, 0 1")
    assert not wrong.inner_text() and piece.locator("svg text", has_text="k3").count() == 0


def test_a_piece_is_fetched_when_it_comes_near_and_keeps_the_focus_that_its_drawing_had(visit):
    requests = []
    page = visit("live/", routes={"**/live/sentence.js": lambda route: requests.append(route)})
    assert not requests
    button = page.locator("#live-sentence .hb-live__words button").nth(3)
    button.focus()
    before = page.evaluate("scrollY")
    page.wait_for_function("document.querySelector('#live-sentence live-piece:not([ready])')")
    while not requests:
        page.wait_for_timeout(20)
    requests[0].continue_()
    page.locator("#live-sentence live-piece[ready]").wait_for()
    assert button.evaluate("(button) => button === document.activeElement") and page.evaluate("scrollY") == before
    page.keyboard.press("Space")
    assert button.get_attribute("aria-pressed") == "true"


@every_width
def test_the_button_of_a_picture_higher_than_the_screen_stays_in_sight(open_piece, width):
    piece = open_piece("flash", width, step=0, **dict.fromkeys(("queries", "keys", "values"), ", ".join(["1 0"] * 12)))
    piece.page.set_viewport_size({"width": width, "height": 360})
    piece.locator(".hb-live__main").press("Enter")
    piece.evaluate("(piece) => scrollBy(0, piece.getBoundingClientRect().top - 60)")
    assert 180 < piece.locator(".hb-live__main").bounding_box()["y"] < 360 - MIN_TOUCH_PIXELS
    piece.page.set_viewport_size({"width": width, "height": 900})


def drag_scrolls_page(piece, what, right: float, down: float) -> bool:
    """Drags by a finger, in eight steps of a frame each; returns whether the page has scrolled."""
    page = piece.page
    what.evaluate("(what) => what.scrollIntoView({ block: 'center' })")
    before, box, touch = page.evaluate("scrollY"), what.bounding_box(), page.context.new_cdp_session(page)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for step in range(9):
        points = [{"x": x + step / 8 * right, "y": y + step / 8 * down}]
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove" if step else "touchStart", "touchPoints": points})
        page.wait_for_timeout(20)
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(100)
    return abs(page.evaluate("scrollY") - before) > 20


def test_a_finger_taps_slides_and_scrolls(visit):
    """A swipe up that begins on a slider scrolls the page and leaves the value; one to the side moves the slider."""
    page = visit.go(visit.tab("light", 390, touch=True), "live/")
    for name in PIECES:
        piece = start_piece(page, name)
        slider = piece.locator(".hb-live__bar input[type=range], .hb-live__grips > .hb-live__grip")
        pad, shown = piece.locator(".hb-live__pad"), inspect(piece, "shown")
        if slider.count():
            assert drag_scrolls_page(piece, slider.last, 0, -160) and inspect(piece, "shown") == shown, name
            assert not drag_scrolls_page(piece, slider.last, 60, 0) and inspect(piece, "shown") != shown, name
        elif pad.count():
            assert drag_scrolls_page(piece, pad, 0, -160) and inspect(piece, "shown") == shown, name
        elif name in STEPPING_PIECES:
            piece.locator(".hb-live__main").tap()
            assert inspect(piece, "shown") != shown, name


@pytest.mark.parametrize(("name", "right", "down"), [("dot", 30, -60), ("roofline", 60, -90), ("shelf", 40, 60)])
def test_what_a_finger_holds_follows_it_and_the_page_stays(visit, name, right, down):
    page = visit.go(visit.tab("light", 390, touch=True), "live/?dot.q=2 1&dot.k=1 -2")
    piece = start_piece(page, name)
    hold = piece.locator(".hold").last
    before = hold.bounding_box()["x"]
    assert not drag_scrolls_page(piece, hold, right, down)
    assert abs(hold.bounding_box()["x"] - before - right) < 20


def test_on_paper_the_picture_is_whole_and_no_control_is_left(open_piece):
    piece = open_piece("online_softmax", step=0)
    page = piece.page
    stepped = "ablation", "accumulator", "one_head", "online_softmax"
    shows_its_end = (*stepped, "where_time_goes")
    says_less = ("busy_units", "shelf")  # on a sheet, which is narrow
    others = [start_piece(page, name) for name in PIECES if name not in (*shows_its_end, *says_less)]
    drawn = [inspect(other, "read")[0] for other in others]
    page.emulate_media(media="print")
    assert [inspect(other, "read")[0] for other in others] == drawn
    assert piece.locator("svg:visible").count() == 1 and piece.locator(".printed").is_visible()
    assert "= 0.503 → 1.871 × 1 = 1.871 → 3.006" in piece.inner_text()
    assert not page.locator(".hb-live :is(.hb-live__main, .hb-live__fold, input, select):visible").count()
    page.emulate_media(media="screen")
