"""Snippets as pages, made of their cells with the fences ``snippet`` and ``cell``, and what they offer for download."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
from mkdocs.structure.files import File

from scripts.records import Reader
from scripts.site.pages import archive


class SnippetFile(File):
    """``snippets/NAME.ipynb``: pages link to the notebook that is offered, and MkDocs renders its Markdown."""

    def is_documentation_page(self) -> bool:
        return True


def files(config, names: list[str], reader: Reader) -> list[File]:
    """A page of the site for every snippet."""
    return [
        SnippetFile.generated(config, f"snippets/{name}.ipynb", content=markdown(name, reader)) for name in names
    ]


def markdown(name: str, reader: Reader) -> str:
    """The page's Markdown: the title, the fence ``snippet``, then the cells in order."""
    first, *others = reader.snippet(name).cells
    title, _, prose = first.source.partition("\n")
    cells = [f"``` cell\n{name}:{cell.id}\n```" if cell.cell_type == "code" else cell.source for cell in others]
    return "\n\n".join([title, f"``` snippet\n{name}\n```", prose.strip(), *cells])


def copy_downloads(site_dir: str, names: list[str], reader: Reader) -> None:
    """Each snippet, the notebook composed of its cells and the recorded outputs, and both with the kernels that they
    import, into the site."""
    folder = Path(site_dir, "snippets")
    for name in names:
        shutil.copy(reader.path(name), folder)
        record, _ = reader.look(name)  # None too if a preview finds one that cannot be read
        nbformat.write(reader.compose(name) if record else reader.snippet(name), folder / f"{name}.ipynb")
        archive.write(folder / f"{name}.zip", name, reader)
