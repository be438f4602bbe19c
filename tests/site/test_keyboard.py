"""The site by keyboard alone, at a desk and on a phone; each kind of page is walked in test_browser.py."""

import pytest

from tests.site.conftest import CHAPTER, CURRENT_SCHEME, MATERIAL_SCHEMES, SCHEMES, scroll_through
from tests.site.keyboard import assert_reached, tab_through

NOTES = "chapters/blocks-of-keys/notes/"  # they have a figure, tables and code, and fewer of each than a chapter


def test_the_keyboard_reaches_every_control_on_a_phone(visit):
    page = visit(NOTES, width=390)
    scroll_through(page)
    page.evaluate("scrollTo(0, 0)")
    tab_through(page, closed=".md-search *, .md-sidebar *")
    places = ["[aria-label=Contents]", "[aria-label=Search]", ".hb-scheme", ".md-skip", ".md-footer a"]
    assert_reached(page, NOTES, *places)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_keyboard_changes_the_scheme(visit, scheme, width):
    page = visit("", scheme, width=width)
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.hb-scheme')"):
            break
    else:
        pytest.fail("Tab does not come to the schemes")
    other = next(name for name in SCHEMES if name != scheme)
    assert page.evaluate("document.activeElement.ariaLabel") == f"Switch to the {other} scheme"
    page.keyboard.press("Enter")
    page.wait_for_function(f"{CURRENT_SCHEME} === {MATERIAL_SCHEMES[other]!r}", timeout=5000)
    page.keyboard.press("Enter")
    page.wait_for_function(f"{CURRENT_SCHEME} === {MATERIAL_SCHEMES[scheme]!r}", timeout=5000)


@pytest.mark.parametrize("name, toggle", [("Contents", "__drawer"), ("Search", "__search")])
def test_on_a_phone_the_headers_buttons_say_what_is_open_and_escape_closes_it(visit, name, toggle):
    page = visit("", width=390)
    button = f".md-header button[aria-label={name}]"

    def is_open(state: bool) -> None:
        page.wait_for_function(f"document.getElementById('{toggle}').checked === {str(state).lower()}", timeout=5000)
        expanded = f"document.querySelector('{button}').getAttribute('aria-expanded')"
        page.wait_for_function(f"{expanded} === '{str(state).lower()}'", timeout=5000)

    is_open(False)
    for key in ("Enter", "Space"):
        page.focus(button)
        page.keyboard.press(key)
        is_open(True)
        if name == "Contents":
            page.keyboard.press("Tab")  # wherever the focus is; Material closes the search at a Tab
        page.keyboard.press("Escape")
        is_open(False)
        assert page.evaluate(f"document.activeElement === document.querySelector('{button}')"), "the focus is lost"
    page.keyboard.press("Escape")
    is_open(False)
    page.click(button)
    is_open(True)
    page.evaluate(f"document.querySelector('label[for={toggle}]:is(.md-overlay, .md-search__overlay)').click()")
    is_open(False)


def test_on_a_phone_the_focus_enters_a_panel_of_the_contents_and_comes_back_and_is_never_hidden(visit):
    """A phone shows one panel of the contents, which covers the others."""
    page = visit("", width=390)
    page.focus(".md-header button[aria-label=Contents]")
    page.keyboard.press("Enter")
    page.wait_for_timeout(400)
    focused = "document.activeElement.textContent.trim()"
    is_seen = """(() => {
        const { left, top, width, height } = document.activeElement.getBoundingClientRect();
        const there = document.elementFromPoint(left + width / 2, top + height / 2);
        return document.activeElement.contains(there) || there?.contains(document.activeElement);
    })()"""

    def focused_texts() -> list[str]:
        """The texts to which Tab comes in the contents."""
        found = []
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("Boolean(document.activeElement.closest('.md-sidebar'))"):
                assert page.evaluate(is_seen), page.evaluate("document.activeElement.outerHTML")
                found.append(page.evaluate(focused))
            elif found:
                return found
        pytest.fail("Tab does not leave the contents")

    texts = focused_texts()
    assert texts[0] == "Read" and "0 · Before you start" in texts and not any("1 · " in part[:4] for part in texts)
    label = page.locator(".md-sidebar label.md-nav__link", has_text="What attention computes")
    label.focus()
    page.keyboard.press("Enter")
    page.wait_for_timeout(400)
    assert "What attention computes" in page.evaluate(focused) and page.evaluate(is_seen)
    page.keyboard.press("Tab")
    assert page.evaluate(focused).startswith("1 · ")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_timeout(400)
    assert page.evaluate("(label) => label === document.activeElement", label.element_handle())
    assert page.evaluate(is_seen)


def test_on_a_phone_the_keyboard_goes_to_a_chapter_by_contents_and_by_search(visit, url):
    page = visit("", width=390)
    page.focus(".md-header button[aria-label=Contents]")
    page.keyboard.press("Enter")
    link = f"a[href$='{CHAPTER}']"
    opened = False
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate(f'document.activeElement.matches(".md-sidebar {link}")'):
            break
        # its section, where that has to be opened first
        if not opened and page.evaluate(
            f'document.activeElement.matches(".md-sidebar li:has({link}) > .md-nav__link")'
        ):
            page.keyboard.press("Enter")
            page.wait_for_timeout(400)
            opened = True
    else:
        pytest.fail("Tab does not come to the chapter")
    in_sight = """() => {
        const { left, right } = document.activeElement.getBoundingClientRect();
        return document.activeElement.checkVisibility({ visibilityProperty: true, opacityProperty: true })
            && 0 <= left && right <= innerWidth;
    }"""
    page.wait_for_function(in_sight, timeout=3000)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url == url + CHAPTER

    page = visit("", width=390)
    page.focus(".md-header button[aria-label=Search]")
    page.keyboard.press("Space")
    page.keyboard.type("softmax")
    page.wait_for_selector(".md-search-result__link")
    page.keyboard.press("ArrowDown")
    page.wait_for_function(in_sight, timeout=3000)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "softmax" in page.inner_text("article").lower()
