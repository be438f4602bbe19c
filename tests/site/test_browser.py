"""The site in a browser: in both schemes, on narrow screens, by keyboard, by its search, on paper."""

import io
import json
import re
from unicodedata import normalize

import pypdf
import pytest
from playwright.sync_api import TimeoutError

from scripts.records import ROOT
from tests.site.conftest import CHAPTER, CURRENT_SCHEME, MATERIAL_SCHEMES, scroll_through
from tests.site.keyboard import assert_keyboard_reaches_every_control

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
MAX_PAGE_KB = 300  # the largest, whiteboard/all, has 267
PLOTLY_REQUEST = "**/plotly.min.js"
TOGGLE_SCHEME = "[...document.querySelectorAll('.hb-scheme')].find((button) => button.checkVisibility()).click()"
LABELS = "'.hb-plot :is(.legendtext, .xtick text, .ytick text, .xtitle, .ytitle)'"
INKS = f"[...new Set([...document.querySelectorAll({LABELS})].map((label) => getComputedStyle(label).fill))].join()"
# What paper gets: each figure's inks, and whether it scales to the column.
PAPER_FIGURES = f"""{{
    inks: {INKS},
    drawings: document.querySelectorAll('.main-svg').length,
    scaled: document.querySelectorAll('.main-svg[viewBox]').length,
}}"""
INK_OF = """(scheme) => {
    const probe = document.createElement("i");
    probe.style.colorScheme = scheme;
    probe.style.color = "var(--hb-soft)"; // what the ticks of a chart are written in
    document.body.append(probe);
    const colour = getComputedStyle(probe).color;
    probe.remove();
    return colour;
}"""


def all_elements(page, selector: str) -> list:
    """What there is on the page, at least one."""
    found = page.query_selector_all(selector)
    assert found, f"the page has no {selector}"
    return found


def axe_violations(page, options: str = "{}") -> list:
    """The rules that axe finds broken on a page with all boxes open, each with the elements that break it."""
    page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
    page.evaluate("document.getAnimations().forEach((moving) => moving.finish())")
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=str(AXE))
    found = page.evaluate(f"axe.run({{ resultTypes: ['violations'], ...{options} }})")["violations"]
    return [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in found]


def test_pages_fit_every_width_draw_figures_that_come_near_are_walked_by_keyboard_and_axe_finds_nothing(
    request, visit, browsed_pages, sample_pages
):
    """Each page is loaded once, as on a phone; then its window grows; one of each kind is walked and darkened."""
    of_each_kind = {*sample_pages, "404.html"}
    every_page = request.node.callspec.id == "all"
    for path, page in visit.go_through([*browsed_pages, "404.html"], width=390):
        assert page.evaluate(CURRENT_SCHEME) == MATERIAL_SCHEMES["light"]
        assert_figures_are_fetched_when_near(page, path)
        assert_nothing_scrolls_sideways(page, path, 390)
        assert_wide_parts_can_be_focused(page, path)
        widen_window(page, path, 1000)
        assert_nothing_scrolls_sideways(page, path, 1000)
        widen_window(page, path, 1280)
        assert_no_figure_near_the_first_screen(page, path)
        if not every_page:
            leave_rows(page, 5)  # of the measurements, axe would read thousands
        assert not (found := axe_violations(page)), (path, found)
        assert figures_fetched(page) == has_figures(page), f"{path}: late"
        if path in of_each_kind:
            assert_keyboard_reaches_every_control(page, path)
            switch_to_dark(page)
            assert not (found := axe_violations(page, "{ runOnly: ['color-contrast'] }")), (path, found)
            page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 390, "height": 900})


def figures_fetched(page) -> int:
    """How often the page has fetched Plotly."""
    return page.evaluate(
        "performance.getEntriesByType('resource').filter((entry) => entry.name.includes('plotly')).length"
    )


def page_kilobytes(page) -> float:
    """What the page has fetched so far, compressed as a host sends it, without the search index, which comes last."""
    sizes = "performance.getEntries().filter(({ name }) => !name.endsWith('search_index.json'))"
    return page.evaluate(f"{sizes}.reduce((sum, {{ encodedBodySize }}) => sum + (encodedBodySize ?? 0), 0)") / 1000


def has_figures(page) -> bool:
    return page.evaluate("Boolean(document.querySelector('.hb-plot'))")


def assert_figures_are_fetched_when_near(page, path: str) -> None:
    """Where there is none, the walk asks again at its end, when all that is fetched has been."""
    if has_figures(page):
        page.wait_for_load_state("networkidle")
    assert figures_fetched(page) == 0, f"{path or 'index'}: a figure is fetched before it comes near"
    assert 20 < page_kilobytes(page) < MAX_PAGE_KB, path
    scroll_through(page)
    assert figures_fetched(page) == has_figures(page), path


def assert_no_figure_near_the_first_screen(page, path: str) -> None:
    """With every box closed. The library would be fetched at once: near is 300 pixels below what is seen."""
    page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = false))")
    tops = page.eval_on_selector_all(".hb-plot", "(all) => all.map((e) => e.getBoundingClientRect().top + scrollY)")
    assert all(top > 900 + 300 for top in tops), f"{path or 'index'}: a figure stands within the first screen"


def assert_nothing_scrolls_sideways(page, path: str, width: int) -> None:
    """Once the header has moved to where it stands at this width."""
    wide = f"""() => [document.documentElement, ...document.querySelectorAll('.hb-plot')]
        .filter((box) => box.scrollWidth > (box.matches('html') ? {width} : box.clientWidth))
        .map((box) => [box.tagName, box.id, box.className, box.scrollWidth].join(" "))"""
    try:
        page.wait_for_function(f"() => !({wide})().length", timeout=10_000)
    except TimeoutError:
        pytest.fail(f"{path} at {width}: {page.evaluate(wide)}")


def assert_wide_parts_can_be_focused(page, path: str) -> None:
    stuck = """() => [...document.querySelectorAll('article *')].filter((e) => e.scrollWidth > e.clientWidth + 1
        && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX) && e.tabIndex < 0 && e.clientWidth > 0)
        .map((e) => e.outerHTML.slice(0, 100))"""
    page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
    try:
        page.wait_for_function(f"() => !({stuck})().length", timeout=10_000)
    except TimeoutError:
        pytest.fail(f"{path}: {page.evaluate(stuck)}")


def widen_window(page, path: str, width: int) -> None:
    """Widens the window; returns once every figure is as wide as its place."""
    fits = """() => [...document.querySelectorAll('.js-plotly-plot')].every((place) =>
        Math.abs(place.querySelector('.main-svg').getBoundingClientRect().width - place.clientWidth) <= 1)"""
    page.set_viewport_size({"width": width, "height": 900})
    try:
        page.wait_for_function(fits, timeout=10_000)
    except TimeoutError:
        pytest.fail(f"{path}: a figure does not grow with its window, to {width} pixels")


def leave_rows(page, number: int) -> None:
    """Removes all but the first rows of each table: they are alike."""
    page.evaluate(
        f"document.querySelectorAll('article tbody tr:nth-child(n + {number + 1})').forEach((e) => e.remove())"
    )


def switch_to_dark(page) -> None:
    """Switches the scheme; returns once the figures have followed.

    Leaves two rows of each table, since axe looks at colours alone here, and rows have the same.
    """
    leave_rows(page, 2)
    page.evaluate("document.head.insertAdjacentHTML('beforeend', '<style>* { transition: none !important }</style>')")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"{CURRENT_SCHEME} === {MATERIAL_SCHEMES['dark']!r}", timeout=5000)
    ink = page.evaluate(INK_OF, "")
    page.wait_for_function(f"['', {ink!r}].includes({INKS})", timeout=10_000)


def test_figures_follow_the_scheme(visit):
    page = visit(CHAPTER)
    all_elements(page, ".hb-plot")
    scroll_through(page)
    before = page.evaluate(INK_OF, "")
    page.wait_for_function(f"{INKS} === {before!r}", timeout=5000)
    page.evaluate(TOGGLE_SCHEME)
    page.wait_for_function(f"{CURRENT_SCHEME} === 'slate'", timeout=5000)
    after = page.evaluate(INK_OF, "")
    assert after != before
    page.wait_for_function(f"{INKS} === {after!r}", timeout=5000)


def test_native_controls_change_the_figure(visit):
    page = visit("chapters/number-formats/")
    scroll_through(page)
    for select in all_elements(page, ".hb-controls select"):
        drawing = select.evaluate_handle("(select) => select.closest('.hb-plot')")
        assert select.evaluate("(select) => select.labels[0].textContent.trim().length > 0")
        before = drawing.evaluate("(plot) => plot.querySelector('.main-svg').innerHTML")
        select.select_option(index=select.evaluate("(select) => (select.selectedIndex + 1) % select.length"))
        page.wait_for_timeout(400)
        assert drawing.evaluate("(plot) => plot.querySelector('.main-svg').innerHTML") != before


def test_the_search_index_is_fetched_after_all_that_is_shown(visit):
    page = visit(CHAPTER)
    page.wait_for_load_state("networkidle")
    loaded = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    index = "performance.getEntriesByType('resource').find(({ name }) => name.endsWith('search_index.json'))"
    assert page.evaluate(f"{index}.startTime") > loaded


def test_the_words_searched_for_are_marked_on_the_page(visit):
    page = visit(f"{CHAPTER}?h=softmax")  # as from a result of the search
    page.wait_for_selector("article mark", timeout=5000)


def test_the_browser_works_out_the_style_of_an_element_about_once(chromium, url, tmp_path):
    """What scripts change when they start must not restyle the whole page, which a phone would wait for."""
    browser = chromium.browser
    page = browser.new_page()
    browser.start_tracing(page=page, path=tmp_path / "trace.json", categories=["devtools.timeline"])
    assert page.goto(f"{url}chapters/flash-attention/").ok
    page.wait_for_selector("[data-opens]", state="attached")
    page.wait_for_load_state("networkidle")
    browser.stop_tracing()
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    restyled_elements = sum(
        event.get("args", {}).get("elementCount", 0) for event in events if event["name"] == "UpdateLayoutTree"
    )
    elements = page.evaluate("document.querySelectorAll('*').length")
    page.close()
    assert elements < restyled_elements < 3 * elements


def printed_texts(page, looked_at: str) -> list[str]:
    """The printed text of these elements, sheet by sheet: to read thousands of other words would take half a minute.

    All else keeps its place and isn't drawn; these elements stay as they are, hidden where the page hides them.
    """
    content = f"body *:not({looked_at}, :is({looked_at}) *, :has({looked_at})) {{ visibility: hidden !important }}"
    page.add_style_tag(content=content)
    return [sheet.extract_text() for sheet in pypdf.PdfReader(io.BytesIO(page.pdf(format="A4"))).pages]


def test_paper_has_every_caption_and_alternative_and_the_name_of_a_file_stands_above_its_code(visit, sample_pages):
    looked_at = "figcaption, .hb-alternative, .highlight"
    for path, page in visit.go_through(sample_pages):
        if not page.query_selector(looked_at):
            continue
        # A piece that steps has a caption for its end; paper has the end.
        words = "(all) => all.map((e) => (e.querySelector(':scope > span + span') ?? e).textContent)"
        expected_texts = page.eval_on_selector_all("figcaption, .hb-alternative", words)
        page.emulate_media(media="print")  # the first page leaves its code out
        file_name_count = page.locator(".highlight .filename:visible").count()
        page.emulate_media(media="null")
        sheets = printed_texts(page, looked_at)
        text_on_paper = "".join(normalize("NFKC", "".join(sheets)).split())  # fonts join fl
        for expected in expected_texts:
            assert "".join(normalize("NFKC", expected).split())[:40] in text_on_paper, f"{path}: {expected[:40]}"
        found = 0
        for sheet in sheets:
            lines = [line.strip() for line in sheet.splitlines() if line.strip()]
            names = [bool(re.match(r"(kernels|snippets|scripts|tests|labs)/\S+\.py( ·.*)?$", line)) for line in lines]
            assert not names or not names[-1], f"{path}: {lines[-1]}"
            found += sum(names)
        assert found >= file_name_count, path


def test_on_a_phone_and_in_a_fold_code_is_never_cut_and_a_long_output_fades(visit):
    page = visit("chapters/first-kernel/", width=390)
    cut = "(all) => all.filter((code) => code.scrollWidth > code.clientWidth).length"
    assert not page.locator("article pre > code").evaluate_all(cut)
    page = visit("chapters/first-kernel/", width=1280)
    folded = page.locator("article details:has(pre)")
    folded.evaluate_all("(all) => all.forEach((fold) => (fold.open = true))")
    assert folded.count() and not folded.locator("pre > code").evaluate_all(cut)
    page = visit("chapters/three-matmuls/", width=390)
    listings = page.locator("article > .hb-run .hb-output")
    look = """(all) => all.map((code) =>
        [code.scrollWidth > code.clientWidth, getComputedStyle(code).getPropertyValue("--fade") !== "0px"])"""
    before = listings.evaluate_all(look)
    assert {*map(tuple, before)} == {(True, True)}
    listings.evaluate_all("(all) => all.forEach((code) => code.scrollTo(code.scrollWidth, 0))")
    page.wait_for_timeout(100)
    assert listings.evaluate_all(look) == [[goes_on, False] for goes_on, _ in before]


def test_links_are_underlined_in_words_that_are_set_off_too(visit):
    page = visit("chapters/balloon/")
    bare = """(links) => links.filter((link) => getComputedStyle(link).textDecorationLine !== "underline").length"""
    links = "article :is(p, li) :is(em, strong) > a"
    assert page.locator(links).count() > 1 and page.eval_on_selector_all(links, bare) == 0


def test_control_p_puts_every_figure_on_paper_in_ink_that_shows(visit):
    """Also from the dark scheme. A browser prints while the page's script stands still: what is not done by then is
    not printed."""
    page = visit(CHAPTER, "dark")
    all_elements(page, ".hb-plot")
    dark, light = page.evaluate(INK_OF, ""), page.evaluate(INK_OF, "light")
    assert dark != light
    page.evaluate(f"""() => {{
        window.print = () => {{
            dispatchEvent(new Event("beforeprint"));
            window.undrawn = document.querySelectorAll('.hb-plot:not(:has(.main-svg))').length;
            window.sheet = {PAPER_FIGURES};
        }};
    }}""")
    page.keyboard.press("Control+p")
    page.wait_for_function("window.sheet")
    sheet = page.evaluate("sheet")
    assert page.evaluate("undrawn") == 0
    assert sheet["inks"] == light
    assert sheet["scaled"] == sheet["drawings"] > 0, "on paper a figure is cut off"
    colours = fill_colours(page.pdf(format="A4"))
    assert rgb(light) in colours and rgb(dark) not in colours
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.wait_for_function(f"{INKS} === {dark!r}", timeout=5000)


def test_the_menus_print_puts_what_is_drawn_on_paper_in_ink_that_shows(visit):
    page = visit(CHAPTER, "dark")
    all_elements(page, ".hb-plot")
    scroll_through(page)
    dark, light = page.evaluate(INK_OF, ""), page.evaluate(INK_OF, "light")
    page.evaluate(
        f"addEventListener('beforeprint', () => {{ window.sheet = {PAPER_FIGURES}; }})"
    )  # after the page's own
    colours = fill_colours(page.pdf(format="A4"))
    sheet = page.evaluate("sheet")
    assert sheet["inks"] == light and sheet["scaled"] == sheet["drawings"] > 0
    assert rgb(light) in colours and rgb(dark) not in colours
    page.wait_for_function(f"{INKS} === {dark!r}", timeout=5000)


def fill_colours(pdf: bytes) -> set[tuple[float, ...]]:
    """The colours with which a PDF fills, as red, green and blue from 0 to 1, to two decimals."""
    colours = set()
    for page in pypdf.PdfReader(io.BytesIO(pdf)).pages:
        for fill in re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) rg\b", page.get_contents().get_data()):
            colours.add(tuple(round(float(share), 2) for share in fill))
    return colours


def rgb(colour: str) -> tuple[float, ...]:
    return tuple(round(int(share) / 255, 2) for share in re.findall(r"\d+", colour))


def test_without_the_library_the_alternative_is_read_and_printed(visit):
    page = visit(CHAPTER, routes={PLOTLY_REQUEST: lambda route: route.abort()})
    figure = all_elements(page, ".hb-plot")[0]
    with page.expect_event("requestfailed"):
        figure.scroll_into_view_if_needed()

    def alternatives_are_seen():
        for alternative in page.query_selector_all(".hb-plot .hb-alternative"):
            assert alternative.bounding_box()["height"] > 10
            assert alternative.evaluate("(text) => getComputedStyle(text).clipPath") == "none"
            assert alternative.evaluate("(text) => text.checkVisibility({ visibilityProperty: true })")

    page.wait_for_timeout(200)
    alternatives_are_seen()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_timeout(200)
    alternatives_are_seen()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.evaluate("window.print = () => { window.printed = true; }")
    page.keyboard.press("Control+p")
    page.wait_for_function("window.printed", timeout=5000)
    alternatives_are_seen()
    page.context.close()  # the browser tells what did not load when it comes to it; of a closed page it tells no more
    assert all("ERR_FAILED" in error for error in visit.errors), visit.errors
    visit.errors.clear()  # the browser's own word on the library; the page adds none
