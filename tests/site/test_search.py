"""The search: what explains a word comes before what merely holds it, and its index has words, not TeX or outputs."""

import json
from types import SimpleNamespace

import pytest
from material.plugins.search.plugin import Parser

from scripts.records import ROOT
from scripts.site.meta import search
from scripts.site.pages import glossary
from tests.chapters.expected import EXPECTED


@pytest.fixture(scope="session")
def index(site) -> list[dict]:
    return json.loads((site / "search" / "search_index.json").read_text())["docs"]


LINKS = ".md-search-result__item > .md-search-result__link"
# The search listens for keys, and asks again only if there is something else in its field: a key that it has not heard
# yet, on a slow machine, is pressed again.
PRESSED = "document.querySelector('.md-search__input').dispatchEvent(new KeyboardEvent('keyup'))"


def first_results(page, query: str) -> list[str]:
    """The pages that the search shows first for the whole query, and not for half of it."""
    page.click(".md-search__input")
    for text, negation in (("", "!"), (query, "!!")):
        page.fill(".md-search__input", text)
        page.wait_for_function(
            f"() => {{ {PRESSED}; return {negation}document.querySelector('{LINKS}') }}", polling=200
        )
    paths = page.eval_on_selector_all(LINKS, "(links) => links.slice(0, 3).map((link) => link.pathname)")
    return [path.partition("/handbook/")[2] for path in paths]


def test_what_explains_a_word_is_found_first(visit):
    page = visit("")
    page.wait_for_load_state("networkidle")
    assert first_results(page, "online softmax")[0] == "chapters/online-softmax/"
    assert "chapters/online-softmax/" in first_results(page, "rescale")
    assert first_results(page, "bandwidth")[0].startswith("chapters/")  # the primer is one of them
    assert first_results(page, "lse")[0].startswith(("chapters/", "api/"))
    assert first_results(page, "flash_attention")[0] == "api/flash/"  # a name of the library


def test_the_fields_names_lead_to_the_chapter_that_explains_them(visit):
    page = visit("")
    page.wait_for_load_state("networkidle")
    expected = {
        query: f"chapters/{name.replace('_', '-')}/"
        for name, chapter in EXPECTED.items()
        for query in chapter.get("searches", ())
    }
    assert {query: first_results(page, query)[0] for query in expected} == expected
    assert set(first_results(page, "speculative")) == {"chapters/decode/"}, "in brackets"
    assert "chapters/hopper/notes/" in first_results(page, "CUTLASS"), "in brackets or quotation marks"


def test_lists_of_references_are_found_on_their_page_alone(index):
    places = {entry["location"] for entry in index}
    assert "references/" in places and not any(place.endswith("#references") for place in places)


def test_a_term_is_searched_on_the_page_of_the_chapter_that_explains_it(index):
    tagged = {entry["location"]: entry["tags"] for entry in index if "tags" in entry}
    explained = glossary.terms_by_chapter(ROOT / "docs")
    assert "rescale factor" in explained[7] and sum(map(len, explained.values())) > 20
    assert all(any(set(terms) <= set(found) for found in tagged.values()) for terms in explained.values())
    assert len(tagged) == len(explained)
    assert {"logsumexp", "rescale factor"} <= set(tagged["chapters/online-softmax/"])


def test_chapters_weigh_most_and_lists_least(index):
    weights = {entry["location"].partition("#")[0]: entry["boost"] for entry in index}
    chapter, notes, sheet = (weights[f"chapters/balloon/{page}"] for page in ("", "notes/", "sheet/"))
    assert chapter > weights["glossary/"] > sheet == notes == weights["whiteboard/"]
    lists = {
        weights[name] for name in ("api/kernels/", "snippets/balloon/", "measurements/", "tested/", "contributing/")
    }
    assert max(lists) < notes


def test_front_matter_comes_before_the_weight_of_a_kind():
    page = SimpleNamespace(url="chapters/a/", meta={"search": {"boost": 3}, "tags": ["lane"]})
    search.set_boost(page, {"chapters/a/": ["warp"]})
    assert page.meta == {"search": {"boost": 3}, "tags": ["lane", "warp"]}


def test_of_a_page_its_words_are_kept():
    html = (
        '<p>At <span class="arithmatex">\\(N = 65{,}536\\)</span> it is '
        '<span class="arithmatex">\\(e^{a_1}\\)</span>.</p>'
        '<pre class="hb-output" data-record="a:b"><samp>1 2 3</samp></pre>'
        '<div class="hb-provenance">a <details><summary>ran on a GPU</summary><p>torch 2</p></details></div>'
        '<div class="arithmatex">\\[x\\]</div><p>Then <em>this</em>.</p>'
    )
    assert search.searchable_html(html) == "<p>At N = 65,536 it is ….</p><p>Then <em>this</em>.</p>"


def test_the_arguments_of_a_function_are_no_title(index):
    titles = {entry["location"]: entry["title"] for entry in index if entry["location"].startswith("api/flash/#")}
    assert titles["api/flash/#kernels.flash.attention.flash_attention"] == "flash_attention"
    assert not any("(" in title for title in titles.values())
    (found,) = (entry for entry in index if entry["location"].endswith("#kernels.flash.attention.flash_attention"))
    assert "is_causal=False" in found["text"]


def test_elements_that_leave_nothing_in_the_index_are_not_parsed():
    html = (
        '<h1 id="a">A</h1><pre><span></span><code><span class="k">def</span> <span id="b">f</span>():\n'
        '<a href="#b"></a>    <span class="c1"># a &lt; b</span>\n</code></pre>'
        "<p>It is <span>1.5</span>\n<b>as</b> fast.</p>"
        "<table><tr><th>t</th><th title='s'>u</th></tr>"
        "<tr><th>n</th><td>1</td><td class='c'></td><td>2 </td><td> 3</td></tr>"
        "</table><table>\n<tr>\n<td>4</td>\n<td>5</td>\n</tr></table><h2 id='c'>C</h2><p>end</p>"
    )
    few = search.searchable_html(html)
    assert "<td class" not in few and "<span class" not in few and few.count("<td>") == 3
    assert parse_with_material(few) == parse_with_material(html) and len(parse_with_material(html)) == 2


def parse_with_material(html: str) -> list[tuple]:
    parser = Parser()
    parser.feed(html)
    parser.close()
    return [(each.id, "".join(each.title), "".join(each.text)) for each in parser.data]
