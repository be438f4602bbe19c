"""Snippets as pages: notebooks composed of today's cells and the recorded outputs, rendered by mkdocs-jupyter."""

from __future__ import annotations

import re
import shutil
from functools import partial
from html import unescape
from pathlib import Path

import mkdocs_jupyter.config
import mkdocs_jupyter.convert
import nbformat
from jinja2 import Environment, FileSystemBytecodeCache
from markdown.extensions.toc import slugify
from mkdocs.structure.files import File
from nbconvert.exporters import templateexporter
from nbconvert.exporters.templateexporter import default_filters

from scripts import records
from scripts.records import ROOT
from scripts.site import ledger, outputs

BUILD = ROOT / "build"
OURS = Path(__file__).parent / "notebook"
HEADING = re.compile(r'<h([1-6]) id="([^"]*)">(.*?)<a class="anchor-link" href="[^"]*">.*?</a></h\1>', re.DOTALL)


def set_template() -> None:
    """Give mkdocs-jupyter its stock templates with our page laid over them, and the filter that the page calls."""
    stock = Path(mkdocs_jupyter.config.__file__).parent / "templates"
    templates = BUILD / "templates"
    shutil.copytree(stock, templates, dirs_exist_ok=True, ignore=shutil.ignore_patterns("assets"))
    shutil.copytree(OURS, templates, dirs_exist_ok=True)
    mkdocs_jupyter.config.settings.templates_dir = str(templates)
    default_filters["recorded"] = outputs.output_html
    # nbconvert makes an environment for each notebook, and would compile the same templates again for each.
    compiled = BUILD / "jinja"
    compiled.mkdir(parents=True, exist_ok=True)
    templateexporter.Environment = partial(Environment, bytecode_cache=FileSystemBytecodeCache(str(compiled)))


def compose(config) -> list[File]:
    """Write build/snippets/NAME.ipynb for every snippet; return them as files of the site.

    Raises:
        RecordError: for a stale record, unless the site is being served.
    """
    (BUILD / "snippets").mkdir(parents=True, exist_ok=True)
    files = []
    for name in records.names():
        try:
            notebook = records.compose(name)
        except records.Stale:
            if not ledger.serving:
                raise
            notebook = records.snippet(name)
        nbformat.write(notebook, BUILD / "snippets" / f"{name}.ipynb")
        files.append(File(f"snippets/{name}.ipynb", str(BUILD), config.site_dir, config.use_directory_urls))
    return files


def finish(html: str, page) -> str:
    """The page of a snippet: its headings with Material's links, what to download, how to run it, where it ran."""
    name = Path(page.file.src_uri).stem
    html = re.sub(r"\s*<style>.*?</style>\s*$", "", html, flags=re.DOTALL)  # mkdocs-jupyter's own colours
    html = HEADING.sub(heading, html)
    ledger.current = ledger.Page(url=page.url)
    record = ledger.recorded(name, name)
    ran = outputs.notice_html(record) if isinstance(record, str) else outputs.provenance_html(record)
    top = (
        f'<p class="hb-downloads"><a href="../{name}.py" download>{name}.py</a> '
        f'<a href="../{name}.ipynb" download>{name}.ipynb</a></p>{ran}'
        f"<p>Run it from the root of the repository, with a GPU or without: "
        f"<code>.venv/bin/python {records.path(name).relative_to(ROOT).as_posix()}</code>. <code>make test</code> sets it up, once.</p>"
    )
    return html.replace("</h1>", f"</h1>{top}", 1)


def heading(match: re.Match) -> str:
    level, text = match[1], match[3]
    name = slugify(unescape(re.sub(r"<[^>]+>", "", text)), "-")  # as the table of contents names it
    link = f'<a class="headerlink" href="#{name}" title="Permanent link">¶</a>'
    return f'<h{level} id="{name}">{text}{link}</h{level}>'


def copy_downloads(site_dir: str) -> None:
    for name in records.names():
        shutil.copy(BUILD / "snippets" / f"{name}.ipynb", Path(site_dir, "snippets"))
        shutil.copy(records.path(name), Path(site_dir, "snippets"))
