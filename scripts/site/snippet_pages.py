"""Snippets as pages: Markdown made of a snippet's cells, with fences that only these pages use, and its downloads.

snippet    what to download, where the snippet ran, how to run it
cell       a code cell and what it printed when it was recorded
"""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
from mkdocs.structure.files import File

from scripts import records
from scripts.records import ROOT
from scripts.site import ledger, outputs
from scripts.site.fences import highlighted, quotation


class SnippetFile(File):
    """``snippets/NAME.ipynb``: pages link to the notebook that is offered, and MkDocs renders its Markdown."""

    def is_documentation_page(self) -> bool:
        return True


def files(config) -> list[File]:
    """A page of the site for every snippet."""
    return [SnippetFile.generated(config, f"snippets/{name}.ipynb", content=markdown(name)) for name in records.names()]


def markdown(name: str) -> str:
    """The page's Markdown: the title, the fence ``snippet``, then the cells in order."""
    first, *others = records.snippet(name).cells
    title, _, prose = first.source.partition("\n")
    cells = [f"``` cell\n{name}:{cell.id}\n```" if cell.cell_type == "code" else cell.source for cell in others]
    return "\n\n".join([title, f"``` snippet\n{name}\n```", prose.strip(), *cells])


@quotation
def snippet(name, language, class_name, options, md, **kwargs) -> str:
    record = ledger.recorded(name, name)
    ran = outputs.notice_html(record) if isinstance(record, str) else outputs.provenance_html(record)
    return (
        f'<p class="hb-downloads"><a href="../{name}.py" download>{name}.py</a> '
        f'<a href="../{name}.ipynb" download>{name}.ipynb</a></p>{ran}'
        f"<p>Run it from the root of the repository, with a GPU or without: <code>.venv/bin/python "
        f"{records.path(name).relative_to(ROOT).as_posix()}</code>. <code>make test</code> sets it up, once.</p>"
    )


@quotation
def cell(mark, language, class_name, options, md, **kwargs) -> str:
    name, _, tag = mark.partition(":")
    (source,) = (cell.source for cell in records.snippet(name).cells if cell.id == tag)
    record = ledger.recorded(name, mark)
    recorded = [] if isinstance(record, str) else record.outputs[tag]
    printed = "".join(outputs.output_html(output, mark) for output in recorded)
    return f'<div class="hb-source" data-quote="{mark}">{highlighted(source, md, {})}</div>{printed}'


def copy_downloads(site_dir: str) -> None:
    """Each snippet, and the notebook composed of its cells and the recorded outputs, into the site."""
    folder = Path(site_dir, "snippets")
    for name in records.names():
        shutil.copy(records.path(name), folder)
        try:
            notebook = records.compose(name)
        except records.Stale:  # the site is being served: a build to be published has stopped at the snippet's page
            notebook = records.snippet(name)
        nbformat.write(notebook, folder / f"{name}.ipynb")
