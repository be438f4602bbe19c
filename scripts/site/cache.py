"""What a build made, stored on disk, so that the next build makes anew only what has changed.

A thing is found again by a digest of all that it depends on.  So nothing out of date is ever found; what a build did
not ask for is removed at its end.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from material.plugins.search.plugin import SearchIndex
from mkdocs.structure.pages import Page

from scripts.records import ROOT
from scripts.site.meta import search

FOLDER = ROOT / "build" / "cache"
PAGE_SOURCES = (
    "kernels",
    "snippets",
    "scripts",
    "tests",
    "docs/assets",
    "docs/live",
    "mkdocs.yml",
)  # what a page is made of, but its text


class WarningCounter(logging.Handler):
    """Counts what MkDocs warns of."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


WARNINGS = WarningCounter(logging.WARNING)
logging.getLogger("mkdocs").addHandler(WARNINGS)


class Cache:
    """Values of one kind.  Whatever a value depends on is its key."""

    def __init__(self, kind: str):
        self.folder = FOLDER / kind
        self.used_paths: set[Path] = set()

    def get(self, *key: object):
        """What was put there, or None."""
        path = self.path(key)
        try:
            return pickle.loads(path.read_bytes())
        except (FileNotFoundError, EOFError, pickle.UnpicklingError):  # an empty or broken file is made anew
            return None

    def put(self, value, *key: object):
        """``value``, once it is stored: whole, or not at all."""
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        partial.write_bytes(pickle.dumps(value))
        partial.replace(path)
        return value

    def path(self, key: tuple) -> Path:
        path = self.folder / hashlib.sha256(repr(key).encode()).hexdigest()
        self.used_paths.add(path)
        return path

    def prune(self) -> None:
        """Remove what was not asked for."""
        for path in set(self.folder.glob("*")) - self.used_paths:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)  # another build may remove it too
            else:
                path.unlink(missing_ok=True)


class PageCache:
    """Pages as they were rendered, and what the search knows of them."""

    def __init__(self, config):
        self.surroundings = (digest(PAGE_SOURCES), installed_packages(), config.site_url, repr(config.extra))
        self.pages, self.entries = Cache("pages"), Cache("search")
        self.key: tuple = ()
        self.is_cached = False
        plugin = config.plugins["material/search"]
        plugin.search_index = CachedIndex(self.entries, self.surroundings, **plugin.config)

    def use_cached(self, page: Page, markdown: str, files) -> None:
        """Where this Markdown was rendered before, have MkDocs take what came out of it in place of rendering it."""
        names = sorted(file.src_uri for file in files)
        self.key = (page.url, page.meta, markdown, names, self.surroundings)
        stored = self.pages.get(*self.key)
        self.is_cached, self.warnings_before = stored is not None, WARNINGS.count
        if self.is_cached:
            page.render = lambda config, files: set_rendered(page, stored, files)

    def store(self, page: Page, html: str) -> str:
        """``html``, the finished content of the page that was last asked for, once it is stored.

        A page that MkDocs has warned of isn't stored, or the next strict build would pass.
        """
        if not self.is_cached and WARNINGS.count == self.warnings_before:
            links = {file.src_uri: anchors for file, anchors in (page.links_to_anchors or {}).items()}
            self.pages.put((html, page.toc, page.title, page.present_anchor_ids, links), *self.key)
        return html

    def prune(self) -> None:
        self.pages.prune()
        self.entries.prune()


class CachedIndex(SearchIndex):
    """Material's search index, which parses a page only if it has changed, and of that no more than its words."""

    def __init__(self, cache: Cache, surroundings: tuple, **config):
        super().__init__(**config)
        self.cache, self.surroundings = cache, surroundings

    def add_entry_from_context(self, page: Page) -> None:
        key = (page.url, page.title, page.meta, page.content, self.surroundings)
        entries = self.cache.get(*key)
        if entries is None:
            before, content = len(self.entries), page.content
            page.content = search.searchable_html(content)
            super().add_entry_from_context(page)
            page.content = content
            self.entries[before:] = self.cache.put(search.index_entries(self.entries[before:], page), *key)
        else:
            self.entries += entries


def set_rendered(page: Page, stored: tuple, files) -> None:
    """What MkDocs's own ``render`` sets."""
    page.content, page.toc, page._title_from_render, page.present_anchor_ids, links = stored
    page.links_to_anchors = {files.get_file_from_path(uri): anchors for uri, anchors in links.items()}


def digest(names: tuple[str, ...]) -> str:
    """A digest of these files of the repository, and of all files below these folders."""
    sha256 = hashlib.sha256()
    for name in names:
        for path in sorted(files_below(ROOT / name)):
            sha256.update(hashlib.sha256(path.read_bytes()).digest() + str(path.relative_to(ROOT)).encode())
    return sha256.hexdigest()


def files_below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir() and path.name not in ("__pycache__", "node_modules"):
        for inner in path.iterdir():
            yield from files_below(inner)


def installed_packages() -> list[str]:
    """Python and the installed packages, with their versions."""
    return [sys.version, *sorted(path.name for path in Path(sysconfig.get_path("purelib")).glob("*.dist-info"))]
