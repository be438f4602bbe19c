"""A build that is published refuses all stale records at once, a preview lists them; each build begins anew."""

import gc
import logging
from types import SimpleNamespace

import pytest
from mkdocs.config import load_config
from mkdocs.exceptions import PluginError

from scripts import records
from scripts.records import ROOT, Missing, Stale
from scripts.site import hooks
from scripts.site.build import Build
from scripts.site.pages import order

FAULTS = {
    "scaling": Stale("scaling: a changed"),
    "balloon": Missing("balloon"),
    "tests/kernels": Stale("tests: b changed"),
}


@pytest.fixture
def config(monkeypatch):
    monkeypatch.setattr(records.Reader, "faults", lambda self: FAULTS)
    return load_config(str(ROOT / "mkdocs.yml"))


def test_a_build_that_is_published_stops_and_names_all_stale_records(config):
    config.extra["preview"] = False
    with pytest.raises(PluginError) as caught:
        Build(config)
    said = str(caught.value)
    assert "2 records are stale" in said and "scaling: a changed" in said and "tests: b changed" in said
    assert "balloon" not in said and "make site PREVIEW=1" in said


def test_a_preview_lists_all_that_is_stale_or_missing_at_its_end(config, caplog):
    config.extra["preview"] = True
    caplog.set_level(logging.INFO, "mkdocs")
    build = Build(config)
    assert build.reader.stale_too and "scaling: a changed" not in caplog.text
    build.say_faults()
    assert "2 that are stale" in caplog.text and "scaling: a changed" in caplog.text
    assert (
        "tests: b changed" in caplog.text and "1 that await their run on a GPU (make record):\n  balloon" in caplog.text
    )


def test_the_navigation_holds_every_chapter_and_every_snippet(config):
    config.extra["preview"] = True
    Build(config)
    named = str(config.nav)
    assert all(f"snippets/{name}.ipynb" in named for name in records.names())
    for folder in ("chapters", "whiteboard"):
        assert all(f"{folder}/{path.name}" in named for path in (ROOT / "docs" / folder).glob("*.md"))


def test_the_readme_names_every_chapter_of_a_part():
    config = load_config(str(ROOT / "mkdocs.yml"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    chapters = order.chapters(config.extra["chapters"], ROOT / "docs")
    assert chapters
    for chapter in chapters:
        assert not chapter.part or f"{chapter.number} {chapter.title}" in readme, chapter.name
        assert chapter.part in readme


@pytest.mark.parametrize(("command", "looks"), [("build", False), ("serve", True)])
def test_garbage_is_left_by_a_process_that_builds_once_and_not_by_one_that_serves(command, looks):
    try:
        hooks.on_startup(command=command, dirty=False)
        assert gc.isenabled() == looks
    finally:
        gc.enable()


@pytest.mark.parametrize("changed", ["written", "deleted", ""])
def test_code_is_read_anew_once_one_of_its_files_has_changed(tmp_path, monkeypatch, changed):
    files = {name: tmp_path / f"{name}.py" for name in ("scripts.a", "kernels.b", "other")}
    for file in files.values():
        file.touch()
    modules = {name: SimpleNamespace(__file__=str(file)) for name, file in files.items()}
    monkeypatch.setattr(hooks, "sys", SimpleNamespace(modules=dict(modules)))
    monkeypatch.setattr(hooks, "read", files["kernels.b"].stat().st_mtime + 1)
    if changed == "written":
        monkeypatch.setattr(hooks, "read", files["kernels.b"].stat().st_mtime - 1)
    elif changed == "deleted":
        files["kernels.b"].unlink()
    hooks.forget_changed_code()
    assert hooks.sys.modules.keys() == ({"other"} if changed else modules.keys())
