"""The site as a person meets it: in both schemes, on narrow screens, by keyboard, on paper."""

import io

import pytest

from scripts.records import ROOT

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
SCHEMES = ["light", "dark"]

# Numbers what a reader can see and use in the header and the text; permanent links of headings appear on hover alone.
MARK_CONTROLS = """() => {
    const selector = "a[href], button, select, input, summary";
    const usable = (control) =>
        control.matches("article *, header *") &&
        !control.matches(".headerlink, .md-search *, .md-option, [tabindex='-1']") &&
        control.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const controls = [...document.querySelectorAll(selector)].filter(usable);
    controls.forEach((control, index) => (control.dataset.wanted = index));
    return controls.length;
}"""


@pytest.fixture
def visit(browser, url):
    """Opens a page of the site; afterwards no error may have been logged and no other host asked."""
    contexts, errors, strangers = [], [], []

    def open_page(path: str, scheme: str = "light", width: int = 1280, height: int = 900):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "request", lambda request: None if request.url.startswith((url, "data:")) else strangers.append(request.url)
        )
        assert page.goto(url + path).ok
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not errors and not strangers


def scroll_through(page) -> None:
    page.evaluate(
        """async () => {
            for (let y = 0; y < document.documentElement.scrollHeight; y += 400) {
                scrollTo(0, y);
                await new Promise((resolve) => setTimeout(resolve, 30));
            }
        }"""
    )
    page.wait_for_function(
        "[...document.querySelectorAll('.hb-plot')].every((plot) => plot.querySelector('.main-svg'))"
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_pages_draw_their_figures_and_axe_finds_nothing(visit, pages, scheme):
    for path in pages:
        page = visit(path, scheme)
        assert page.evaluate("document.body.dataset.mdColorScheme") == {"light": "default", "dark": "slate"}[scheme]
        scroll_through(page)
        page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
        page.add_script_tag(path=str(AXE))
        found = page.evaluate("axe.run()")["violations"]
        assert not found, [(path, rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in found]


@pytest.mark.parametrize("width", [390, 1000])
def test_nothing_scrolls_sideways(visit, pages, width):
    for path in pages:
        page = visit(path, width=width)
        scroll_through(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        for box in page.query_selector_all(".hb-plot"):
            assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth"), path


def test_the_library_is_fetched_only_when_a_figure_comes_near(visit, pages):
    fetched = "performance.getEntriesByType('resource').filter((entry) => entry.name.includes('plotly')).length"
    for path in pages:
        page = visit(path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate(fetched) == 0, f"{path or 'index'}: a figure stands within the first screen"
        if page.query_selector(".hb-plot"):
            scroll_through(page)
            assert page.evaluate(fetched) == 1


def test_figures_follow_the_scheme(visit):
    page = visit("chapters/three-matmuls/")
    scroll_through(page)
    ink = "getComputedStyle(document.querySelector('.hb-plot text')).fill"
    before = page.evaluate(ink)
    page.evaluate("document.querySelector('label[for=__palette_1], label[for=__palette_0]').click()")
    page.wait_for_function(f"{ink} !== {before!r}")


def test_native_controls_change_the_figure(visit):
    page = visit("chapters/three-matmuls/")
    scroll_through(page)
    selects = page.query_selector_all(".hb-controls select")
    assert selects
    for select in selects:
        drawing = select.evaluate_handle("(select) => select.closest('.hb-plot')")
        assert select.evaluate("(select) => select.labels[0].textContent.trim().length > 0")
        before = drawing.evaluate("(plot) => plot.querySelector('.main-svg').innerHTML")
        select.select_option(index=select.evaluate("(select) => (select.selectedIndex + 1) % select.length"))
        page.wait_for_timeout(400)
        assert drawing.evaluate("(plot) => plot.querySelector('.main-svg').innerHTML") != before
    for slider in page.query_selector_all(".hb-controls input[type=range]"):
        drawing = slider.evaluate_handle("(slider) => slider.closest('.hb-plot')")
        before = drawing.evaluate("(plot) => plot.querySelector('.main-svg').innerHTML")
        slider.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(400)
        assert drawing.evaluate("(plot) => plot.querySelector('.main-svg').innerHTML") != before
        assert slider.get_attribute("aria-valuetext")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_keyboard_reaches_every_control(visit, width):
    page = visit("chapters/three-matmuls/", width=width)
    scroll_through(page)
    page.evaluate("scrollTo(0, 0)")
    wanted = page.evaluate(MARK_CONTROLS)
    assert wanted > 10
    reached = set()
    for _ in range(3 * wanted):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.wanted"))
    marked = page.query_selector_all("[data-wanted]")
    unreached = [control for control in marked if control.get_attribute("data-wanted") not in reached]
    assert not [control.evaluate("(control) => control.outerHTML.slice(0, 120)") for control in unreached]


def test_on_a_phone_the_keyboard_opens_contents_and_search(visit):
    page = visit("", width=390)
    page.focus(".md-header button[aria-label=Contents]")
    page.keyboard.press("Enter")
    assert page.is_visible(".md-sidebar--primary a[href$='three-matmuls/']")
    page.reload()
    page.focus(".md-header button[aria-label=Search]")
    page.keyboard.press("Space")
    page.keyboard.type("softmax")
    page.wait_for_selector(".md-search-result__link")


def test_what_is_wide_scrolls_and_can_be_focused(visit, pages):
    for path in pages:
        page = visit(path, width=390)
        stuck = page.evaluate(
            """() => [...document.querySelectorAll('article *')].filter((e) => e.scrollWidth > e.clientWidth + 1
                && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX) && e.tabIndex < 0 && e.clientWidth > 0)
                .map((e) => e.outerHTML.slice(0, 100))"""
        )
        assert not stuck, path


def test_search_finds_a_word_of_the_chapter(visit):
    page = visit("")
    page.fill(".md-search__input", "softmax")
    page.wait_for_selector(".md-search-result__link", timeout=5000)
    assert (
        page.query_selector(".md-search-result__link").get_attribute("href").startswith(("http://127.0.0.1", "/", "."))
    )


def test_paper_has_every_caption_and_alternative_without_scrolling(visit, pages, tmp_path):
    pypdf = pytest.importorskip("pypdf")
    for path in pages:
        page = visit(path)
        page.wait_for_load_state("networkidle")
        captions = page.eval_on_selector_all("figcaption", "(all) => all.map((e) => e.textContent)")
        alternatives = page.eval_on_selector_all(".hb-alternative", "(all) => all.map((e) => e.textContent)")
        text = "".join(each.extract_text() for each in pypdf.PdfReader(io.BytesIO(page.pdf(format="A4"))).pages)
        flat = "".join(text.split())
        for wanted in [*captions, *alternatives]:
            assert "".join(wanted.split())[:40] in flat, f"{path}: {wanted[:40]}"


def test_control_p_draws_every_figure_before_it_prints(visit):
    page = visit("chapters/three-matmuls/")
    page.evaluate(
        "window.print = () => { window.printed = document.querySelectorAll('.hb-plot:not(:has(.main-svg))').length }"
    )
    page.keyboard.press("Control+p")
    page.wait_for_function("window.printed === 0")
