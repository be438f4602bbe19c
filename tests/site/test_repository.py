"""A link to the repository and to each page's file in it, where its address is known; nothing where it is not."""

from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup, SoupStrainer

from scripts.records import ROOT
from scripts.site.meta import repository

LINKS = SoupStrainer(["a", "link"])


@pytest.mark.parametrize(
    "clone, address, name, edit",
    [
        ("https://github.com/a/b.git", "https://github.com/a/b", "a/b", "edit/main/docs/"),
        ("https://gitlab.com/a/c/b/", "https://gitlab.com/a/c/b", "a/c/b", "-/edit/main/docs/"),
        ("https://example.org/handbook.git", "https://example.org/handbook", "handbook", ""),
        ("git@example.org:a/b.git", "", "", ""),
        ("", "", "", ""),
    ],
)
def test_the_links_follow_from_what_is_cloned(clone, address, name, edit):
    config = SimpleNamespace(extra={"repository": clone})
    repository.link(config)
    assert (config.repo_url, config.repo_name, config.edit_uri) == (address, name, edit)


def test_a_snippets_page_is_edited_in_its_script():
    script = ROOT / "snippets" / "balloon" / "balloon.py"
    edited = repository.edited(script, ROOT, "https://github.com/a/b")
    assert edited == "https://github.com/a/b/edit/main/snippets/balloon/balloon.py"
    assert repository.edited(script, ROOT, "https://example.org/b") is None


# With it: tests/site/test_pages.py.
def test_without_the_address_a_page_has_no_such_link(site, pages):
    for page in pages:
        html = BeautifulSoup((site / page / "index.html").read_text(), "html.parser", parse_only=LINKS)
        assert not html.select(".md-source, [rel=edit]"), page
        assert html.select("a[href]"), page
