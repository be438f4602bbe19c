"""A snippet's page is mkdocs-jupyter's: converted once, found again while nothing that it depends on has changed."""

import logging

import pytest
from mkdocs.config import load_config
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs_jupyter import convert

from scripts.records import ROOT, Reader
from scripts.site import cache
from scripts.site.fences import Fences
from scripts.site.pages import snippets

NAME = "three_matmuls"


class SnippetSite:
    """One snippet's page, from its notebook to its content; ``converted`` counts how often."""

    def __init__(self, root):
        logging.getLogger("mkdocs").setLevel(logging.INFO)
        self.config = load_config(str(ROOT / "mkdocs.yml"))
        reader = Reader(preview=True)
        self.fences = Fences(reader, reader, {})
        self.fences.register(self.config)
        self.cache = root / "cache" / "notebooks"
        self.converted = 0

    def build(self) -> Page:
        snippet_pages = snippets.Snippets(self.config, [NAME], self.fences.newest, self.fences)
        plugin = self.config.plugins["mkdocs-jupyter"]
        plugin.on_pre_build(self.config)
        files = plugin.on_files(Files(snippet_pages.files()), self.config)
        (file,) = files
        page = Page(None, file, self.config)
        page.read_source(self.config)
        plugin.on_pre_page(page, self.config, files)
        pages = cache.PageCache(self.config)
        pages.use_cached(page, page.markdown, files)
        page.render(self.config, files)
        page.content = pages.store(page, page.content)
        plugin.on_post_build(self.config)
        snippet_pages.cache.prune()
        return page


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "cache")
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    monkeypatch.setattr(snippets, "BUILD", tmp_path)
    monkeypatch.setattr(snippets, "NOTEBOOKS", tmp_path / "snippets")
    (tmp_path / "scripts" / "site").mkdir(parents=True)
    site, converter = SnippetSite(tmp_path), convert.nb2html

    def counting_converter(*arguments, **options):
        site.converted += 1
        return converter(*arguments, **options)

    monkeypatch.setattr(convert, "nb2html", counting_converter)
    return site


def test_a_notebook_is_converted_again_once_it_or_what_renders_it_has_changed(site, tmp_path, monkeypatch):
    first = site.build()
    assert "Attention as three matmuls" in first.content and first.title == "Attention as three matmuls"
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "new.py").touch()  # the page is rendered again, and its notebook found
    again = site.build()
    assert site.converted == 1 and (again.content, again.title) == (first.content, first.title)

    composed = Reader.compose

    def compose_with_more_words(reader, name):
        notebook = composed(reader, name)
        notebook.cells[0].source += "\n\nMore words."
        return notebook

    changes = [
        lambda: monkeypatch.setattr(Reader, "compose", compose_with_more_words),
        lambda: (tmp_path / "scripts/site/notebook.html.j2").write_text("{{ nb }}"),
        lambda: (tmp_path / "mkdocs.yml").write_text("markdown_extensions: []"),
        lambda: monkeypatch.setattr(cache, "installed_packages", lambda: ["another mkdocs-jupyter"]),
    ]
    for count, change in enumerate(changes, start=2):
        change()
        assert "More words." in site.build().content
        assert site.converted == count and len(list(site.cache.rglob("*.json"))) == 1
        site.build()
        assert site.converted == count


def test_a_page_that_was_kept_whole_has_its_title_and_headings(site):
    first, again = site.build(), site.build()
    assert site.converted == 1
    assert (again.content, again.title, str(again.toc)) == (first.content, first.title, str(first.toc))
    assert first.title in str(first.toc)
