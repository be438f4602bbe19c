"""A build names everything that stops it at once, lists every chapter, and reads changed code again."""

import gc
import logging
from types import SimpleNamespace

import pytest
from mkdocs.config import load_config
from mkdocs.exceptions import PluginError

from scripts.records import ROOT, Missing, Reader, RecordError, Stale
from scripts.site import hooks
from scripts.site.build import Build
from scripts.site.fences.page import FenceError, PageContext
from scripts.site.pages import glossary, navigation

STALE, MISSING, BROKEN = Stale("scaling: a changed"), Missing("balloon: never"), RecordError("decode: edited")


@pytest.fixture
def config():
    logging.getLogger("mkdocs").setLevel(logging.INFO)
    return load_config(str(ROOT / "mkdocs.yml"))


@pytest.mark.parametrize(
    "preview, faults, reported",
    [
        (False, [STALE, MISSING, BROKEN], [STALE, MISSING, BROKEN]),
        (True, [STALE, MISSING, BROKEN], [BROKEN]),
        (True, [STALE, MISSING], []),
        (False, [], []),
    ],
)
def test_a_build_stops_and_names_what_is_wrong_but_a_preview_only_at_what_it_cannot_show(
    config, monkeypatch, preview, faults, reported
):
    monkeypatch.setattr(Reader, "faults", lambda self: dict(enumerate(faults)))
    config.extra["preview"] = preview
    if not reported:
        build = Build(config)
        assert build.reader.preview == build.earlier.preview == preview and build.earlier.earlier
        return
    with pytest.raises(PluginError, match=f"{len(reported)} records aren't what they should be") as caught:
        Build(config)
    assert [fault for fault in (STALE, MISSING, BROKEN) if str(fault) in str(caught.value)] == reported


def test_the_errors_of_all_pages_are_said_at_once(config):
    config.extra["preview"] = True
    build = Build(config)
    for name in ("one.md", "two.md"):
        build.fences.page = PageContext(errors=[FenceError("line 3: no"), FenceError("line 1: no")])
        build.on_page_content("", SimpleNamespace(file=SimpleNamespace(src_uri=name)), config, None)
    each = r"\.md: line 1: no\nline 3: no"
    with pytest.raises(PluginError, match=f"^docs/one{each}\ndocs/two{each}$"):
        build.on_env(None, config, None)


def test_the_navigation_holds_every_chapter_and_every_snippet(config):
    config.extra["preview"] = True
    names = Build(config).reader.names()
    assert names and all(f"snippets/{name}.ipynb" in str(config.nav) for name in names)
    pages = [*(ROOT / "docs").glob("chapters/*/*.md"), *(ROOT / "docs").glob("whiteboard/*.md")]
    assert all(path.relative_to(ROOT / "docs").as_posix() in str(config.nav) for path in pages)


def test_the_glossary_names_a_chapter_that_has_the_words_of_the_term(config):
    terms_by_chapter = glossary.terms_by_chapter(ROOT / "docs")
    for chapter in navigation.chapters(config.extra["chapters"], ROOT / "docs"):
        notes = ROOT / "docs" / chapter.notes
        assert notes.is_file(), f"write docs/{chapter.notes}: what only some readers of {chapter.title!r} want"
        text = (chapter.all_text + notes.read_text(encoding="utf-8")).lower()
        for term in terms_by_chapter.get(chapter.number, []):
            explains = all(word in text for word in term.lower().split())
            assert explains, (
                f"docs/glossary.md: {term!r} leads to chapter {chapter.number}, which doesn't have the word"
            )


@pytest.mark.parametrize(("command", "collects_garbage"), [("build", False), ("serve", True)])
def test_garbage_is_left_by_a_process_that_builds_once_and_not_by_one_that_serves(command, collects_garbage):
    try:
        hooks.on_startup(command=command, dirty=False)
        assert gc.isenabled() == collects_garbage
    finally:
        gc.enable()


@pytest.mark.parametrize("changed", ["written", "deleted", ""])
def test_code_is_read_anew_once_one_of_its_files_has_changed(tmp_path, monkeypatch, changed):
    files = {name: tmp_path / f"{name}.py" for name in ("scripts.a", "kernels.b", "other")}
    for file in files.values():
        file.touch()
    modules = {name: SimpleNamespace(__file__=str(file)) for name, file in files.items()}
    monkeypatch.setattr(hooks, "sys", SimpleNamespace(modules=dict(modules)))
    monkeypatch.setattr(hooks, "code_read_at", files["kernels.b"].stat().st_mtime + 1)
    if changed == "written":
        monkeypatch.setattr(hooks, "code_read_at", files["kernels.b"].stat().st_mtime - 1)
    elif changed == "deleted":
        files["kernels.b"].unlink()
    hooks.forget_changed_code()
    assert hooks.sys.modules.keys() == ({"other"} if changed else modules.keys())
