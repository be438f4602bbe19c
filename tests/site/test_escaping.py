"""Nothing that a record says becomes HTML, and all of it is said: asked of the small site."""

import json
import re

import pytest
from bs4 import BeautifulSoup


@pytest.fixture(scope="module")
def parsed(small_site):
    """The pages, and what the search shows of them."""
    pages = {str(path.relative_to(small_site.site)): path.read_text() for path in small_site.site.rglob("*.html")}
    for entry in json.loads((small_site.site / "search/search_index.json").read_text())["docs"]:
        pages[f"search: {entry['location']}"] = f"<div>{entry['title']}</div><div>{entry['text']}</div>"
    return {name: BeautifulSoup(text, "html.parser") for name, text in pages.items()}


def test_no_text_of_a_record_becomes_an_element_or_an_attribute(parsed):
    assert {"tested/index.html", "chapters/online-softmax/index.html", "snippets/behind/index.html"} <= parsed.keys()
    for name, page in parsed.items():
        assert not page.select("[onerror], [src=x]"), name
        # what ends an element or an attribute leaves the rest of itself as the names of others
        odd = [key for tag in page.find_all(True) for key in tag.attrs if not re.fullmatch(r"[\w:-]+", key)]
        assert not odd, name


def test_every_text_of_a_record_is_on_a_page_as_it_is(small_site, parsed):
    said = ""
    for page in parsed.values():
        scripts = [json.loads(each.string) for each in page.select(".hb-plot script")]
        said += " ".join([page.get_text(), *(tag["title"] for tag in page.select("[title]")), *map(str, scripts)])
    assert small_site.texts and [text for text in small_site.texts if text not in said] == []
