"""What is done to a page after Markdown: drawings and formulas set, Material mended, a snippet's headings linked."""

import pytest
from mkdocs.exceptions import PluginError

from scripts.site import drawings, maths, mends, notebooks


def test_a_drawing_is_set_into_the_page_with_its_alternative():
    html = drawings.inline(
        '<p><img alt="Three &quot;cards&quot;" class="drawing" src="../assets/drawings/cards.svg"></p>', "p"
    )
    assert html.startswith('<p><svg class="hb-drawing" role="img" aria-label="Three &quot;cards&quot;"')
    assert "<img" not in html and "<?xml" not in html


def test_another_image_is_left_alone():
    image = '<img alt="x" src="a.png">'
    assert drawings.inline(image, "p") == image


@pytest.mark.parametrize(
    "image", ['<img class="drawing" alt="x" src="no.svg">', '<img class="drawing" src="cards.svg" />']
)
def test_a_drawing_without_file_or_alternative_stops_the_build(image):
    with pytest.raises(PluginError, match=r"page\.md: .*a drawing needs its file"):
        drawings.inline(image, "page.md")


def test_a_formula_is_set_and_brings_its_styles():
    html = maths.render("p", '<head></head><span class="arithmatex">\\(a &lt; \\sqrt d\\)</span>', "katex.css")
    assert 'class="katex"' in html and "\\(" not in html and '<link rel="stylesheet" href="katex.css"></head>' in html
    assert maths.render("p", "<head></head>", "katex.css") == "<head></head>"


def test_a_formula_that_katex_refuses_stops_the_build_and_is_named():
    with pytest.raises(PluginError, match=r"page\.md: the formula \\nothing d: .*Undefined control sequence"):
        maths.render("page.md", '<span class="arithmatex">\\(\\nothing d\\)</span>', "katex.css")


def test_material_without_what_is_mended_stops_the_build():
    with pytest.raises(PluginError, match=r"page\.md: Material's page holds"):
        mends.mend("<html></html>", "page.md")


SCRIPT = (
    'function I(){return location.protocol==="file:"?f(u).pipe(m(()=>__index),S(1)):'
    'j(new URL("search/search_index.json",c.base))}'
    'function w(e,t){return M($(location.protocol!=="file:"),W("search")).pipe(F(o=>o),B(()=>t))}'
)


def test_the_search_index_is_fetched_when_it_is_asked_for():
    mended = mends.search_when_asked(SCRIPT, "bundle.js")
    asked = 'M($(new URL(location.href).searchParams.has("h")),W("search")).pipe(F(o=>o)'
    fetch = 'j(new URL("search/search_index.json",c.base))'
    assert mended == SCRIPT.replace(fetch, f"{asked},B(()=>{fetch}),S(1))")


@pytest.mark.parametrize(
    "changed", ["", SCRIPT * 2, SCRIPT.replace("search_index", "index"), SCRIPT.replace("!==", "!=")]
)
def test_a_script_of_material_without_what_is_mended_stops_the_build(changed):
    with pytest.raises(PluginError, match=r"bundle\.js: Material's script waits"):
        mends.search_when_asked(changed, "bundle.js")


@pytest.mark.parametrize("text, name", [("A & B", "a-b"), ("Zürich, N²", "zurich-n2"), ("<code>x</code> y", "x-y")])
def test_a_heading_of_a_snippet_is_named_as_in_the_contents(text, name):
    cell = f'<h2 id="X">{text.replace("& ", "&amp; ")}<a class="anchor-link" href="#X">¶</a></h2>'
    assert notebooks.HEADING.sub(notebooks.heading, cell).startswith(f'<h2 id="{name}">')
