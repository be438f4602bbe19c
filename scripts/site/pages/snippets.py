"""Makes a page of each snippet, today's cells with the recorded outputs, by mkdocs-jupyter; and its downloads."""

from __future__ import annotations

import logging
import shutil
from functools import cached_property
from pathlib import Path

import nbformat
from markdown import Markdown
from mkdocs.structure.files import File
from mkdocs_jupyter import convert, nbconvert2
from mkdocs_jupyter.config import settings
from nbconvert.exporters.html import HTMLExporter
from nbconvert.exporters.templateexporter import TemplateExporter, default_filters

from scripts.records import ROOT, Reader
from scripts.site import cache
from scripts.site.fences import Fences, highlighted, outputs
from scripts.site.pages import archive

BUILD = ROOT / "build"
NOTEBOOKS = BUILD / "snippets"
EXTRA_STYLES = "\n        <style>"  # what mkdocs-jupyter adds below a notebook: colours that its own template needs


class Snippets:
    """The pages of the snippets in one build."""

    def __init__(self, config, names: list[str], reader: Reader, fences: Fences):
        self.config, self.names, self.reader, self.fences = config, names, reader, fences
        self.cache = cache.Cache("notebooks")
        self.set_up_mkdocs_jupyter(config.plugins["mkdocs-jupyter"].config)

    def set_up_mkdocs_jupyter(self, its_settings: dict) -> None:
        """Give it our template, with the filters that the template calls, and a place for what it has converted.

        It finds a conversion again by the notebook alone.  The place therefore has the digest of all else in its name.
        """
        for name in ("mkdocs-jupyter", "plugins.mkdocs_jupyter"):
            logging.getLogger(f"mkdocs.{name}").setLevel(logging.WARNING)  # it would print a line a notebook
        settings.templates_dir = str(Path(__file__).parent / "notebook")
        default_filters.update(prose=self.prose, code=self.code, recorded=outputs.output_html)
        # It would export each notebook a second time, as Markdown, to find its headings: the prose is enough for that.
        convert.nb2md = notebook_prose
        nbconvert2.HTMLExporter = Exporter
        rendering = cache.digest(("scripts/site", "scripts/records", "mkdocs.yml")), cache.installed_packages()
        its_settings["cache_dir"] = str(self.cache.path(rendering))

    @cached_property
    def markdown(self) -> Markdown:
        return Markdown(extensions=self.config.markdown_extensions, extension_configs=self.config.mdx_configs)

    def prose(self, text: str) -> str:
        return self.markdown.reset().convert(text)

    def code(self, source: str) -> str:
        return highlighted(source, self.markdown, {})

    def files(self) -> list[File]:
        """The notebook of every snippet, composed in build/, as a file of the site."""
        NOTEBOOKS.mkdir(parents=True, exist_ok=True)
        return [self.file(name) for name in self.names]

    def file(self, name: str) -> File:
        path = NOTEBOOKS / f"{name}.ipynb"
        nbformat.write(self.reader.compose(name), path)
        return File(f"snippets/{name}.ipynb", str(BUILD), self.config.site_dir, self.config.use_directory_urls)

    def finish(self, html: str, name: str) -> str:
        """The page of a snippet: below its title what to download, where it ran and how to run it."""
        return html.partition(EXTRA_STYLES)[0].replace("</h1>", f"</h1>\n{self.fences.snippet_notes(name)}", 1)

    def copy_downloads(self, site_dir: str) -> None:
        """Each snippet, its notebook, and both with the kernels that they import, into the site."""
        folder = Path(site_dir, "snippets")
        for name in self.names:
            shutil.copy(self.reader.path(name), folder)
            shutil.copy(NOTEBOOKS / f"{name}.ipynb", folder)
            archive.write(folder / f"{name}.zip", name, self.reader)


class Exporter(HTMLExporter):
    """Leaves out what HTMLExporter adds: it parses each page anew, to improve images and boxes that ours have not."""

    from_notebook_node = TemplateExporter.from_notebook_node


def notebook_prose(path: str) -> str:
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
