"""Pointer, finger and focus show a title as a tooltip, which costs a page no listeners until then."""

import pytest

CHAPTER = "chapters/hopper/"  # more words are explained there than anywhere else
TIP = ".md-tooltip2--active"
WORD = "article p abbr[title]"


@pytest.fixture
def page(visit):
    return visit(CHAPTER)


def explained_word(page):
    """A word of the page, and its explanation."""
    word = page.query_selector(WORD)
    word.scroll_into_view_if_needed()
    return word, word.get_attribute("title")


def tooltip_text(page) -> str:
    return page.wait_for_selector(TIP, timeout=5000).inner_text()


def test_the_pointer_shows_what_a_word_means_and_leaving_hides_it(page):
    word, meaning = explained_word(page)
    word.hover()
    assert tooltip_text(page) == meaning
    assert word.get_attribute("title") is None  # the browser does not show it beside
    assert page.get_attribute(TIP, "id") == word.get_attribute("aria-describedby")
    tip, box = page.query_selector(f"{TIP} > *").bounding_box(), word.bounding_box()
    assert box["y"] + box["height"] <= tip["y"] < box["y"] + 3 * box["height"]
    assert tip["x"] >= 0 and tip["x"] + tip["width"] <= 1280
    page.mouse.move(0, 890)
    page.wait_for_selector(TIP, state="detached", timeout=5000)
    assert word.get_attribute("title") == meaning and word.get_attribute("aria-describedby") is None


def test_a_tap_shows_what_a_word_means_and_the_next_tap_hides_it(page):
    word, meaning = explained_word(page)
    box = word.bounding_box()
    finger = page.context.new_cdp_session(page)
    finger.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def tap(x: float, y: float) -> None:
        finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        page.wait_for_timeout(350)  # a slow finger, or a slow phone: the word counts as hovered over until it is lifted
        finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_timeout(600)
    assert tooltip_text(page) == meaning
    tap(640, 890)
    page.wait_for_selector(TIP, state="detached", timeout=5000)


def test_the_focus_shows_a_title(page):
    button = page.query_selector(".hb-scheme >> visible=true")
    name = button.get_attribute("title")
    button.focus()
    assert tooltip_text(page) == name
    button.evaluate("(button) => button.blur()")
    page.wait_for_selector(TIP, state="detached", timeout=5000)
    assert button.get_attribute("title") == name


def test_titles_cost_a_page_no_listeners(visit):
    page = visit(f"{CHAPTER}notes/")  # it has more numbers than any other
    page.wait_for_load_state("networkidle")
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")
    metrics = {each["name"]: each["value"] for each in devtools.send("Performance.getMetrics")["metrics"]}
    titles = len(page.query_selector_all("[title]"))
    assert titles > 100 and metrics["JSEventListeners"] < 2 * titles
