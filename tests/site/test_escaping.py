"""No text of a record becomes HTML, and each is shown as it is, on the pages and in the search of the small site."""

import json
import re

import pytest
from bs4 import BeautifulSoup


@pytest.fixture(scope="module")
def documents(small_site):
    """Name -> parsed HTML, of the pages and of the search's entries."""
    pages = {str(path.relative_to(small_site.site)): path.read_text() for path in small_site.site.rglob("*.html")}
    for entry in json.loads((small_site.site / "search/search_index.json").read_text())["docs"]:
        pages[f"search: {entry['location']}"] = f"<div>{entry['title']}</div><div>{entry['text']}</div>"
    return {name: BeautifulSoup(text, "html.parser") for name, text in pages.items()}


def test_no_text_of_a_record_becomes_an_element_or_an_attribute(documents):
    assert {"tested/index.html", "chapters/online-softmax/index.html", "snippets/behind/index.html"} <= documents.keys()
    for name, page in documents.items():
        assert not page.select("[onerror], [src=x]"), name
        # what ends an element or an attribute leaves the rest of itself as the names of others
        broken_names = [key for tag in page.find_all(True) for key in tag.attrs if not re.fullmatch(r"[\w:-]+", key)]
        assert not broken_names, name


def test_every_text_of_a_record_is_on_a_page_as_it_is(small_site, documents):
    shown_text = ""
    for page in documents.values():
        scripts = [json.loads(each.string) for each in page.select(".hb-plot script")]
        shown_text += " ".join([page.get_text(), *(tag["title"] for tag in page.select("[title]")), *map(str, scripts)])
    assert small_site.texts and [text for text in small_site.texts if text not in shown_text] == []
