"""What a build keeps for the next is found by all that it depends on, and by nothing else."""

import logging

import pytest
from mkdocs.config import load_config
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from scripts.records import ROOT
from scripts.site import cache

TEXT = "# The first\n\nSee [two](two.md#there).\n\n## Part\n\nWords.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "cache")
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    (tmp_path / "kernels" / "inner").mkdir(parents=True)
    (tmp_path / "kernels" / "inner" / "one.py").write_text("ONE = 1\n")
    return tmp_path


@pytest.fixture(scope="module")
def config():
    logging.getLogger("mkdocs").setLevel(logging.INFO)
    return load_config(str(ROOT / "mkdocs.yml"))


def test_a_thing_is_found_by_its_key_alone():
    things = cache.Cache("things")
    assert things.get("a", 1) is None
    assert things.put({"b": 2}, "a", 1) == {"b": 2} == things.get("a", 1) == cache.Cache("things").get("a", 1)
    assert things.get("a", "1") is None and things.get("a") is None and cache.Cache("others").get("a", 1) is None


@pytest.mark.parametrize("broken", [b"", b"no"])
def test_a_broken_file_is_made_anew(broken):
    things = cache.Cache("things")
    things.put(1, "a")
    things.path(("a",)).write_bytes(broken)
    assert things.get("a") is None


def test_what_a_build_did_not_ask_for_is_removed_at_its_end():
    first_build = cache.Cache("things")
    first_build.put(1, "a")
    first_build.put(2, "b")
    second_build = cache.Cache("things")
    second_build.get("a")
    second_build.prune()
    assert second_build.get("a") == 1 and second_build.get("b") is None


def page_of(config, text: str, address: str = "one.md") -> Page:
    file = File(address, None, config.site_dir, use_directory_urls=True)
    file.content_string = text
    page = Page(None, file, config)
    page.markdown = text
    return page


class Site:
    """Two pages, rendered as MkDocs does it; ``rendered`` counts how often."""

    def __init__(self, config):
        self.config, self.rendered = config, 0

    def build(self, text: str = TEXT, address: str = "one.md", others: tuple[str, ...] = ("two.md",)) -> Page:
        page = page_of(self.config, text, address)
        files = Files([page.file, *(page_of(self.config, "# Two", name).file for name in others)])
        pages = cache.PageCache(self.config)
        pages.use_cached(page, text, files)
        self.rendered += not pages.is_cached
        page.render(self.config, files)
        page.content = pages.store(page, page.content)
        self.entries = self.config.plugins["material/search"].search_index
        self.entries.add_entry_from_context(page)
        return page


@pytest.fixture
def site(config):
    return Site(config)


def rendered_fields(page: Page) -> tuple:
    links = {file.src_uri: anchors for file, anchors in page.links_to_anchors.items()}
    return page.content, page.title, str(page.toc), page.present_anchor_ids, links


def test_a_page_that_is_unchanged_is_not_rendered_and_lacks_nothing(site):
    first = rendered_fields(site.build())
    entries = site.entries.entries
    assert first[1] == "The first" and first[4]["two.md"] == {"there": "two.md#there"} and len(entries) == 2
    assert rendered_fields(site.build()) == first and site.entries.entries == entries
    assert site.rendered == 1


def test_a_page_that_mkdocs_warns_of_is_rendered_and_warned_of_in_each_build(site, caplog):
    for count in (1, 2):
        site.build("# The first\n\nSee [nowhere](nowhere.md).\n")
        assert site.rendered == count == len([record for record in caplog.records if "nowhere.md" in record.message])


def test_a_page_is_rendered_again_once_anything_it_depends_on_has_changed(site, folder, monkeypatch):
    site.build()
    changes = [
        lambda: site.build(TEXT + "\nMore."),
        lambda: site.build(address="two.md", others=("one.md",)),
        lambda: site.build(others=("two.md", "four.md")),
    ]
    for count, change in enumerate(changes, start=2):
        change()
        assert site.rendered == count
    module = folder / "kernels" / "inner" / "one.py"
    surroundings = [
        lambda: module.write_text("ONE = 2\n"),
        lambda: (folder / "kernels" / "two.py").write_text(""),
        lambda: module.rename(module.with_name("renamed.py")),
        lambda: (folder / "mkdocs.yml").write_text("site_name: x\n"),
        lambda: monkeypatch.setitem(site.config.extra, "preview", "another"),
        lambda: monkeypatch.setattr(cache, "installed_packages", lambda: ["another"]),
    ]
    for count, change in enumerate(surroundings, start=5):
        change()
        site.build()
        assert site.rendered == count
        site.build()
        assert site.rendered == count


def test_a_page_that_was_refused_is_rendered_again(config):
    for _ in range(2):
        page, pages = page_of(config, TEXT), cache.PageCache(config)
        pages.use_cached(page, TEXT, Files([page.file]))
        assert not pages.is_cached


def test_a_page_is_rendered_again_once_its_front_matter_has_changed(config):
    for meta, is_known in [({}, False), ({}, True), ({"numbers": "unchecked"}, False)]:
        page, pages = page_of(config, TEXT), cache.PageCache(config)
        page.meta = meta
        pages.use_cached(page, TEXT, Files([page.file]))
        assert pages.is_cached == is_known
        if not is_known:
            page.links_to_anchors = {}
            pages.store(page, "<h1>One</h1>")
