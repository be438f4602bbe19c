"""A link to the repository and to each page's file in it, where its address is known; nothing where it is not."""

from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from bs4 import BeautifulSoup

from scripts.records import ROOT
from scripts.site.pages import repository


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


def test_without_the_address_a_page_has_no_such_link(site, pages):
    for page in pages:
        html = BeautifulSoup((site / page / "index.html").read_text(), "html.parser")
        assert not html.select(".md-source, [rel=edit]"), page


@pytest.mark.timeout(600)
def test_with_the_address_every_page_leads_to_the_repository_and_to_its_file(copy):
    built = copy.build(PREVIEW="1", REPO_URL="https://github.com/a/b.git")
    assert built.returncode == 0, built.stderr
    site = copy.root / "site"
    files = [site / "404.html", *site.rglob("index.html")]
    for file in files:
        html = BeautifulSoup(file.read_text(), "html.parser")
        links = html.select("a.md-source")
        assert {link["href"] for link in links} == {"https://github.com/a/b"}
        assert not html.select("[data-md-component=source]"), "Material would ask the host for its stars"
        assert all(link.get_text(strip=True) == "a/b" for link in links)
        if file.name == "404.html":
            continue
        (edit,) = html.select("a[rel=edit]")
        path = urlsplit(edit["href"]).path.removeprefix("/a/b/edit/main/")
        assert (ROOT / path).is_file(), path
