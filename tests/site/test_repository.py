"""Where the links to the repository lead; that pages have them, or not, is for test_pages.py."""

from types import SimpleNamespace

import pytest

from scripts.records import ROOT
from scripts.site.meta import repository


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
    repository.set_links(config)
    assert (config.repo_url, config.repo_name, config.edit_uri) == (address, name, edit)


def test_a_snippets_page_is_edited_in_its_script():
    script = ROOT / "snippets" / "balloon" / "balloon.py"
    edited = repository.edit_address(script, ROOT, "https://github.com/a/b")
    assert edited == "https://github.com/a/b/edit/main/snippets/balloon/balloon.py"
    assert repository.edit_address(script, ROOT, "https://example.org/b") is None
