"""Snippets: scripts in percent cells, snippets/CHAPTER/NAME.py, and the notebooks that they are."""

from __future__ import annotations

import ast
import copy
import re
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from scripts.records.root import RecordError, is_hidden
from scripts.records.source.library import refuse_roundabout_imports
from scripts.records.source.trees import caught, digest_of, from_kernels, remembered, stripped, walked

RANKS = "kernels.bench.parallel.ranks"  # a snippet that imports it runs in one process a GPU
PERCENT = {"extension": ".py", "format_name": "percent", "comment_magics": False}
PYTHON = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "file_extension": ".py"},
}


class Cells:
    """The cells of a snippet.

    digest: of its code cells, with their tags and in their order; comments do not count
    imports: what they import from kernels/: name, module, name there
    caught: the names of the exceptions that they catch
    in_ranks: whether they run in one process a GPU

    Raises:
        RecordError: if a code cell has not exactly one tag of its own, or is not plain Python.
    """

    def __init__(self, name: str, source: str):
        self.name = name
        self._notebook = _notebook(name, source)
        trees = [(cell.id, _tree(name, cell.id, cell.source)) for cell in self._notebook.cells if is_code(cell)]
        self.digest = digest_of([part for tag, tree in trees for part in (tag, tree.body)])
        self.imports = [each for _, tree in trees for each in from_kernels(tree)]
        self.caught = caught([tree for _, tree in trees])
        self.in_ranks = any(module == RANKS for _, module, _ in self.imports)

    def notebook(self) -> NotebookNode:
        """Without outputs; the id of a code cell is its tag."""
        return copy.deepcopy(self._notebook)


@remembered
def cells(name: str, source: str) -> Cells:
    return Cells(name, source)


def paths(root: Path) -> dict[str, Path]:
    """Snippet -> its file.  A name stands once over all chapters, because the site has snippets/NAME/."""
    found: dict[str, Path] = {}
    files = (path for path in (root / "snippets").glob("*/*.py") if not is_hidden(path))
    for path in sorted(files, key=lambda path: path.stem):
        if path.stem in found:
            places = " and ".join(each.relative_to(root).as_posix() for each in (found[path.stem], path))
            raise RecordError(f"two snippets are called {path.stem}: {places}")
        found[path.stem] = path
    return found


def is_code(cell: NotebookNode) -> bool:
    return cell.cell_type == "code"


def _notebook(name: str, source: str) -> NotebookNode:
    cells = []
    for cell in jupytext.reads(source, fmt=PERCENT).cells:
        if cell.cell_type == "code":
            tag = _tag(name, cell)
            cells.append(nbformat.v4.new_code_cell(cell.source, id=tag, metadata={"tags": [tag]}))
        elif cell.cell_type == "markdown":
            prose = 1 + sum(other.cell_type == "markdown" for other in cells)
            cells.append(nbformat.v4.new_markdown_cell(cell.source, id=f"prose-{prose}"))
        else:
            raise RecordError(f"snippet {name}: a cell is {cell.cell_type}, code or markdown is wanted")
    ids = [cell.id for cell in cells]
    if twice := sorted({tag for tag in ids if ids.count(tag) > 1}):
        raise RecordError(f"snippet {name}: more than one cell is tagged {', '.join(twice)}; each needs its own tag")
    return nbformat.v4.new_notebook(cells=cells, metadata=PYTHON)


def _tag(name: str, cell: NotebookNode) -> str:
    tags = cell.metadata.get("tags", [])
    if len(tags) != 1 or not re.fullmatch(r"[\w-]{1,64}", tags[0], re.ASCII):
        first = cell.source.partition("\n")[0]
        raise RecordError(f"snippet {name}: the cell {first!r} has tags {tags}, exactly one plain word is wanted")
    return tags[0]


def _tree(name: str, tag: str, source: str) -> ast.Module:
    try:
        tree = stripped(source, tag)
    except SyntaxError as error:  # a magic is one
        raise RecordError(f"snippet {name}: cell {tag} is not plain Python: {error}") from error
    if any(isinstance(node, ast.Name) and node.id == "get_ipython" for node in walked(tree)):
        raise RecordError(f"snippet {name}: cell {tag} calls a magic, plain Python is wanted")
    refuse_roundabout_imports(f"snippet {name}", tree)
    return tree
