"""One build of the site, from its configuration to the last line that it prints."""

from __future__ import annotations

import logging
import re
import time
from functools import cached_property
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, event_priority
from mkdocs.utils import get_relative_url

from scripts import records, standalone
from scripts.facts.unchecked_pages import is_unchecked
from scripts.records.reader import BEHIND
from scripts.site import assets, cache, live
from scripts.site.fences import Fences
from scripts.site.fences.page import FenceError, PageContext
from scripts.site.markup import drawings, maths, tables
from scripts.site.markup.no_break import add_no_breaks
from scripts.site.meta import head, repository, search
from scripts.site.meta.cards import Cards
from scripts.site.pages import api, glossary, labs, navigation, redirects
from scripts.site.pages.placeholders import Placeholders
from scripts.site.pages.sheets import Sheets
from scripts.site.pages.snippets import Snippets

ANCHOR = re.compile(r'<(?:figure|div) [^>]*id="((?:live|figure|step)-\w+)"')
LINE_ID = re.compile(r'<span id="line-\d+-\d+">')  # of a line of code; a page of the API has several of one name

log = logging.getLogger("mkdocs.handbook")


class Build(BasePlugin):
    """Its settings stand under ``extra`` in mkdocs.yml.

    preview: show what is stale or has never run, marked as such; a build that is published stops at it
    copies: offer the PDFs and the archive that `make copies` puts beside the site
    repository: the address that pages tell a reader to clone
    library: the modules that a value asks besides records
    chapters: their one order
    callouts: their kinds
    """

    def __init__(self, config):
        self.started = time.monotonic()
        self.docs = Path(config.docs_dir)
        self.settings = config.extra
        self.reader = records.Reader(preview=bool(self.settings["preview"]))
        self.earlier = records.Reader(preview=bool(self.settings["preview"]), earlier=True)
        self.stop_at_faults()
        self.fences = Fences(self.reader, self.earlier, self.settings["library"], self.settings["repository"])
        self.fences.register(config)
        repository.set_links(config)
        paths = {name: self.reader.path(name) for name in self.reader.names()}
        self.chapters = navigation.chapters(self.settings["chapters"], self.docs)
        self.cards = Cards(self.chapters, self.docs)
        by_chapter = navigation.snippets(self.chapters, paths)
        self.snippets = Snippets(config, list(paths), self.reader, self.fences)
        config.nav = navigation.expand(config.nav, self.chapters, by_chapter, self.docs)
        self.sheets = Sheets(self.reader, self.earlier)
        self.lists = Placeholders(
            self.chapters,
            config.nav,
            self.reader,
            self.fences.pieces,
            self.fences.library,
            self.sheets,
            bool(self.settings["copies"]),
            self.settings["repository"],
        )
        self.pages = cache.PageCache(config)
        self.formulas = maths.Formulas()
        self.faulty_pages: list[str] = []
        self.log_step(f"{len(paths)} records read")

    def log_step(self, step: str) -> None:
        """A line a step, with its seconds."""
        now = time.monotonic()
        log.info("%s in %.1f s", step, now - self.started)
        self.started = now

    def stop_at_faults(self) -> None:
        try:
            faults = self.reader.faults()
        except records.RecordError as error:  # a file that is no snippet or no module
            raise PluginError(str(error)) from error
        if self.settings["preview"]:
            shown = records.Missing, records.Stale
            faults = {name: fault for name, fault in faults.items() if not isinstance(fault, shown)}
        if faults:
            raise PluginError(
                f"{len(faults)} records aren't what they should be, and nothing was built:"
                f"{''.join(f'{chr(10)}  {fault}' for fault in faults.values())}\n"
                "`make record` runs snippets on a GPU; `make site PREVIEW=1` shows what is stale or has never run."
            )

    @event_priority(100)  # before mkdocs-jupyter looks for notebooks
    def on_files(self, files, config):
        for file in self.snippets.files():
            files.append(file)
        for picture in self.sheets.files(config):
            files.append(picture)
        return files

    def on_nav(self, nav, config, files):
        for page in nav.pages:  # to Material, an index is the page of its section, and no entry of its own
            if chapter := navigation.chapter_name(page.file.src_uri):
                page.file.name = page.file.name.replace("index", chapter)
        return nav

    def on_page_markdown(self, markdown, page, config, files):
        before = page.file.content_string.count("\n") - markdown.count("\n")  # lines of front matter
        unchecked, errors = is_unchecked(page.file.content_string), []
        if page.file.src_uri.endswith(".ipynb"):
            page.edit_url = repository.edit_address(self.reader.path(page.file.name), self.reader.root, config.repo_url)
        else:
            typed_page = PageContext("", markdown, before + 1, page.file.src_uri, unchecked, errors=errors)
            typed_page.refuse_typed_html()
            typed_page.check_numbers()
            typed_page.check_chapter_numbers({chapter.name: chapter.number for chapter in self.chapters})
        markdown = api.list_modules(self.lists.fill(markdown), page.file.name, self.reader.root)
        markdown = api.redirect_links(markdown, self.reader.root)
        if sheet := navigation.sheet_name(page.file.src_uri):
            markdown = self.sheets.lay_out(markdown, sheet, "../" * page.url.count("/"))
        search.set_boost(page, self.terms)
        self.fences.set_page(PageContext(page.url, markdown, before + 1, page.file.src_uri, unchecked, errors=errors))
        if page.file.src_uri.startswith(("chapters/", "whiteboard/")) and page.file.name != "notes":
            markdown = f"{markdown}\n\n{self.abbreviations}"
        self.pages.use_cached(page, markdown, files)
        return markdown

    @cached_property
    def terms(self) -> dict[str, list[str]]:
        """The terms that each chapter explains, by its address."""
        explained = glossary.terms_by_chapter(self.docs)
        return {f"chapters/{chapter.name}/": explained.get(chapter.number, []) for chapter in self.chapters}

    @cached_property
    def abbreviations(self) -> str:
        return glossary.abbreviations(self.docs)

    def on_page_content(self, html, page, config, files):
        try:
            return self.finish(html, page)
        except FenceError as error:
            self.faulty_pages.append(f"docs/{page.file.src_uri}: {error}")
            return html

    def finish(self, html: str, page) -> str:
        if self.pages.is_cached:
            self.fences.page.stop_at_errors()  # in what is typed
            return html
        if page.file.src_uri.endswith(".ipynb"):
            html = self.snippets.finish(html, page.file.name)
        html = LINE_ID.sub('<span class="hb-line">', self.fences.page.check(html, self.reader))
        if anchors := ANCHOR.findall(html):  # MkDocs sees no anchor in what a fence returns
            page.present_anchor_ids |= set(anchors)
        html = tables.wrap_tables(drawings.inline(html, page.file.src_uri))
        html = glossary.explain_once(html)
        drawings.check_callouts(html, page.file.src_uri, self.settings["callouts"])
        if page.file.src_uri.startswith("whiteboard/") or navigation.sheet_name(page.file.src_uri):
            html = add_no_breaks(html)
        return self.pages.store(page, html)

    def on_env(self, env, config, files):
        if self.faulty_pages:  # all pages have been read: their errors are said at once
            raise PluginError("\n".join(self.faulty_pages))
        # The page links one stylesheet; what plugins add to these is for looks that we do not have.
        self.styles = [name for name in config.extra_css if (self.docs / name).is_file()]
        config.extra_css.clear()
        self.log_step(f"{len(files.documentation_pages())} pages read")

    @event_priority(100)  # before the search keeps what it finds
    def on_page_context(self, context, page, config, nav):
        head.describe(page, self.cards.card_of(page.file.src_uri))
        return context

    def on_post_page(self, output, page, config):
        return self.formulas.render(page.file.src_uri, output, get_relative_url("vendor/katex.min.css", page.url))

    def on_post_build(self, config):
        assets.copy_vendor(config.site_dir)
        assets.bundle_stylesheets(config.site_dir, self.styles)
        live.publish(Path(config.site_dir, "live"))
        self.pages.prune()
        self.formulas.cache.prune()
        self.snippets.cache.prune()
        self.sheets.cache.prune()
        self.snippets.copy_downloads(config.site_dir)
        standalone.write(Path(config.site_dir, "kernels"), self.reader.root, config.site_name)
        redirects.write(Path(config.site_dir), self.chapters)
        labs.write_notebooks(config.site_dir, self.reader.root, config.site_url)
        self.log_step("pages and downloads written")
        if behind := self.reader.behind:
            log.info("%d shown as earlier runs, or as never run: %s (%s)", len(behind), ", ".join(behind), BEHIND)
