"""Reads snippets, scripts in percent cells, snippets/CHAPTER/NAME.py, and makes notebooks of them."""

import copy
import re
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from scripts.records.digest import imported_names, memoized, short_hash, significant_text
from scripts.records.root import RecordError

RANKS = "kernels.bench.parallel.ranks"  # a snippet that imports it runs in one process for each GPU
PERCENT_FORMAT = {"extension": ".py", "format_name": "percent", "comment_magics": False}
NOTEBOOK_METADATA = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
NOTEBOOK_METADATA |= {"language_info": {"name": "python", "file_extension": ".py"}}


class Snippet:
    """The cells of a snippet; raises RecordError if a code cell doesn't have one tag of its own, or isn't plain Python.

    digest: of its code cells with their tags, in their order; prose and comments don't count
    in_ranks: whether it runs in one process for each GPU
    """

    def __init__(self, name: str, source: str):
        self.name, self.source = name, source
        self._notebook = _notebook(name, source)
        self.code = {cell.id: cell.source for cell in self._notebook.cells if is_code(cell)}
        self.digest = short_hash(
            *(text for tag, code in self.code.items() for text in (tag, _significant_code(name, tag, code)))
        )
        self.in_ranks = any(each.startswith(RANKS) for each in imported_names(source))

    def notebook(self) -> NotebookNode:
        """Returns a copy without outputs; the id of a code cell is its tag."""
        return copy.deepcopy(self._notebook)


@memoized
def snippet(name: str, source: str) -> Snippet:
    return Snippet(name, source)


def paths(root: Path) -> dict[str, Path]:
    """Returns snippet -> its file. A name occurs once over all chapters, because the site has snippets/NAME/."""
    by_name: dict[str, Path] = {}
    files = (path for path in (root / "snippets").glob("*/*.py") if not path.name.startswith("."))
    for path in sorted(files, key=lambda path: (path.stem, path)):
        if path.stem in by_name:
            places = " and ".join(each.relative_to(root).as_posix() for each in (by_name[path.stem], path))
            raise RecordError(f"two snippets are called {path.stem}: {places}")
        by_name[path.stem] = path
    return by_name


def is_code(cell: NotebookNode) -> bool:
    return cell.cell_type == "code"


def _notebook(name: str, source: str) -> NotebookNode:
    cells = []
    for cell in jupytext.reads(source, fmt=PERCENT_FORMAT).cells:
        if is_code(cell):
            tag = _tag(name, cell)
            cells.append(nbformat.v4.new_code_cell(cell.source, id=tag, metadata={"tags": [tag]}))
        else:
            number = 1 + sum(other.cell_type == "markdown" for other in cells)
            cells.append(nbformat.v4.new_markdown_cell(cell.source, id=f"prose-{number}"))
    ids = [cell.id for cell in cells]
    if duplicates := sorted({tag for tag in ids if ids.count(tag) > 1}):
        raise RecordError(
            f"snippet {name}: more than one cell is tagged {', '.join(duplicates)}; each needs its own tag"
        )
    return nbformat.v4.new_notebook(cells=cells, metadata=NOTEBOOK_METADATA)


def _tag(name: str, cell: NotebookNode) -> str:
    tags = cell.metadata.get("tags", [])
    if len(tags) != 1 or not re.fullmatch(r"[\w-]{1,64}", tags[0], re.ASCII):
        first = cell.source.partition("\n")[0]
        raise RecordError(f"snippet {name}: the cell {first!r} has tags {tags}, and needs one, a plain word")
    return tags[0]


def _significant_code(name: str, tag: str, code: str) -> str:
    try:
        return significant_text(code)
    except SyntaxError as error:  # a magic is one
        raise RecordError(f"snippet {name}: cell {tag} isn't plain Python: {error}") from error
