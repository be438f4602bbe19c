"""A record: one snippet as last run on a GPU, with its outputs, where they came from and what they depend on.

    digest    snippet -> {"snippet": hash, "kernels.reference": hash, ...}    what the outputs depend on
    read      snippet -> Record, if it is whole and made from today's source
    write     snippet, executed notebook -> snippets/CHAPTER/NAME.record.ipynb, whole or not at all
    compose   snippet -> notebook: today's cells with the recorded outputs

``suite_digest``, ``read_suite`` and ``write_suite`` do the same for the outcome of the GPU suite, the tests of kernels/
run on a GPU.

Runs nothing and imports no room: ``python -m scripts.record`` and ``python -m scripts.suite`` make the records, figures
and pages read them.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = Path(__file__).stat().st_mtime_ns  # when this file was, as it was read
METADATA = "attention_handbook"  # where a notebook's metadata holds the provenance
TABLE = "application/vnd.attention-handbook.table+json"
SUITE_PROVENANCE = frozenset(  # what every record states
    ("gpu", "driver", "cuda", "torch", "triton", "python", "date", "interpreter", "digest", "checksum")
)
PROVENANCE = SUITE_PROVENANCE | {"executed"}  # what the record of a snippet states

tables_read: set[str] = set()  # the snippets that ``table`` was asked for: what a figure was drawn from


class RecordError(Exception):
    """A snippet or its record cannot be used.  The message names it, what is wrong and what to do."""


class Missing(RecordError):
    """The snippet has not been run yet."""


class Stale(RecordError):
    """The record is not the outcome of running today's source on a GPU."""


@dataclass(frozen=True)
class Record:
    """What running a snippet left behind.

    provenance: where and when it ran, see ``PROVENANCE``
    outputs: tag of a code cell -> its outputs, in the order of the snippet
    """

    name: str
    provenance: dict
    outputs: dict[str, list[NotebookNode]]

    @property
    def executed(self) -> set[str]:
        """Functions of ``kernels`` that ran and Triton kernels that were launched, as ``module:qualname``."""
        return set(self.provenance["executed"])

    def tables(self) -> list[dict]:
        """What each ``Table.show()`` left, in order: ``{"name", "columns": [{"name", "unit"}], "rows": [...]}``."""
        outputs = [output for cell in self.outputs.values() for output in cell]
        return [output["data"][TABLE] for output in outputs if TABLE in output.get("data", {})]

    def table(self, name: str) -> list[dict]:
        """The rows of the one table of that name, ``[{column: value}]``."""
        tables = self.tables()
        found = [table["rows"] for table in tables if table["name"] == name]
        if len(found) != 1:
            there = ", ".join(table["name"] for table in tables) or "none"
            raise RecordError(f"{self.name} holds {len(found)} tables named {name}, one is wanted; it holds: {there}")
        return found[0]


@dataclass(frozen=True)
class Suite:
    """What became of the GPU suite.

    provenance: where and when it ran, see ``SUITE_PROVENANCE``
    files: test file -> {"passed": {test: times}, "skipped": {reason: {test: times}}, "seconds": float}
    """

    provenance: dict
    files: dict[str, dict]

    @property
    def name(self) -> str:
        return "The GPU suite"


def names() -> list[str]:
    """Every snippet, in alphabetical order."""
    return sorted(_paths())


def path(name: str) -> Path:
    """The file of a snippet: snippets/CHAPTER/NAME.py.

    Raises:
        RecordError: if there is no such snippet.
    """
    found = _paths()
    if name not in found:
        raise RecordError(f"there is no snippet {name}; there are: {', '.join(sorted(found))}")
    return found[name]


def _paths() -> dict[str, Path]:
    """Snippet -> its file.  A name stands once over all chapters, because the site has snippets/NAME/."""
    found: dict[str, Path] = {}
    for path in sorted((ROOT / "snippets").glob("*/*.py")):
        if path.stem in found:
            raise RecordError(f"two snippets are called {path.stem}: {found[path.stem]} and {path}")
        found[path.stem] = path
    return found


def snippet(name: str) -> NotebookNode:
    """Today's cells of a snippet, without outputs; the id of a code cell is its tag.

    Raises:
        RecordError: if there is no such snippet, or a code cell has not exactly one tag of its own, or is not plain
            Python.
    """
    return copy.deepcopy(_cells(name, _text(name)))


def _text(name: str) -> str:
    return path(name).read_text(encoding="utf-8")


@cache
def _cells(name: str, text: str) -> NotebookNode:
    percent = {"extension": ".py", "format_name": "percent", "comment_magics": False}
    cells = []
    for cell in jupytext.reads(text, fmt=percent).cells:
        if cell.cell_type == "code":
            tag = _tag(name, cell)
            _tree(name, tag, cell.source)
            cells.append(nbformat.v4.new_code_cell(cell.source, id=tag, metadata={"tags": [tag]}))
        elif cell.cell_type == "markdown":
            prose = 1 + sum(other.cell_type == "markdown" for other in cells)
            cells.append(nbformat.v4.new_markdown_cell(cell.source, id=f"prose-{prose}"))
        else:
            raise RecordError(f"snippet {name}: a cell is {cell.cell_type}, code or markdown is wanted")
    ids = [cell.id for cell in cells]
    if twice := sorted({tag for tag in ids if ids.count(tag) > 1}):
        raise RecordError(f"snippet {name}: more than one cell is tagged {', '.join(twice)}; each needs its own tag")
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": python, "language_info": {"name": "python", "file_extension": ".py"}}
    )


def digest(name: str) -> dict[str, str]:
    """What the outputs of a snippet depend on: a hash of its code cells and one of each ``kernels`` module it imports,
    directly or not.  Comments, docstrings and layout are no part of it; tags and cell boundaries are.

    The same on every Python from 3.11.
    """
    own, imported = _code(name, _text(name))
    found, waiting = {"snippet": own}, list(imported)
    while waiting:
        module = waiting.pop()
        if module not in found:
            path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
            if not path.is_file():
                raise RecordError(f"snippet {name} imports {module}, but there is no {path.relative_to(ROOT)}")
            found[module], imported = _module(module, path.read_text(encoding="utf-8"))
            waiting.extend(imported)
    return found


def suite_digest() -> dict[str, str]:
    """What the outcome of the GPU suite depends on: a hash of each module of kernels/ and tests/kernels/, and of what
    tests/ shares with them."""
    rooms = [path for room in ("kernels", "tests/kernels") for path in (ROOT / room).rglob("*.py")]
    shared = [path for path in (ROOT / "tests").glob("*.py") if not path.name.startswith("test_")]
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in sorted(rooms + shared)
        if path.name != "__init__.py"
    }
    return {module: _module(module, path.read_text(encoding="utf-8"))[0] for module, path in modules.items()}


def read(name: str) -> Record:
    """The record of a snippet, checked against today's source.

    Raises:
        Missing: if the snippet has not been run.
        Stale: if the source changed since, the record was edited or cut short, or was not made on a GPU.
    """
    today = digest(name)
    again = f"run it on a GPU with: python -m scripts.record {name}"
    if not _path(name).exists():
        raise Missing(f"snippet {name} has not been run yet; {again}")

    def parse(text: str) -> tuple[dict, object]:
        notebook = nbformat.reads(text, as_version=4)
        return notebook.metadata[METADATA], _outputs(notebook)

    return Record(name, *_checked(_path(name), parse, PROVENANCE, today, f"the record of {name}", again))


def read_suite() -> Suite:
    """The record of the GPU suite, checked against today's source.

    Raises:
        Missing: if it has not been run.
        Stale: as ``read``.
    """
    today = suite_digest()
    again = "run it on a GPU with: python -m scripts.suite"
    if not _suite_path().exists():
        raise Missing(f"the GPU suite has not been run yet; {again}")

    def parse(text: str) -> tuple[dict, object]:
        whole = json.loads(text)
        return whole["provenance"], whole["files"]

    return Suite(*_checked(_suite_path(), parse, SUITE_PROVENANCE, today, "the record of the GPU suite", again))


def write(name: str, notebook: NotebookNode) -> None:
    """Store an executed notebook as the record of a snippet, whole or not at all.

    notebook: cells of ``snippet(name)`` with their outputs; its ``metadata[METADATA]`` states the provenance
    """
    notebook = nbformat.reads(nbformat.writes(notebook), as_version=4)  # as it will be read
    provenance = notebook.metadata[METADATA]
    provenance["checksum"] = _checksum(provenance, _outputs(notebook))
    _store(_path(name), nbformat.writes(notebook))


def write_suite(suite: Suite) -> None:
    """Store what became of the GPU suite as its record, whole or not at all."""
    provenance = suite.provenance | {"checksum": _checksum(suite.provenance, suite.files)}
    whole = {"provenance": provenance, "files": suite.files}
    _store(_suite_path(), json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False))


def compose(name: str) -> NotebookNode:
    """Today's cells of a snippet with the recorded outputs and provenance; without them if it awaits its run.

    Of a record, nothing but outputs and provenance is shown.

    Raises:
        Stale: as ``read``.
    """
    notebook = snippet(name)
    try:
        record = read(name)
    except Missing:
        return notebook
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, start=1):
        cell.outputs = record.outputs[cell.id]
        cell.execution_count = number
    notebook.metadata[METADATA] = record.provenance
    return notebook


def table(snippet: str, table: str) -> list[dict]:
    """The rows of one table of a record, ``[{column: value}]``, for figures; noted in ``tables_read``."""
    tables_read.add(snippet)
    return read(snippet).table(table)


def _path(name: str) -> Path:
    return path(name).with_suffix(".record.ipynb")


def _suite_path() -> Path:
    return ROOT / "tests" / "kernels" / "gpu.record.json"


def _checked(
    path: Path,
    parse: Callable[[str], tuple[dict, object]],
    states: frozenset[str],
    today: dict[str, str],
    record: str,
    again: str,
) -> tuple[dict, object]:
    """The provenance and the contents of a record, as ``parse`` finds them in its text.

    states: what the provenance must state   today: the digest of today's source
    record, again: what a message calls it, and how it is made anew

    Raises:
        Stale: if the record is not whole, not from a GPU or not of today's source.
    """
    try:
        provenance, contents = parse(path.read_text(encoding="utf-8"))
        absent = states - provenance.keys()
        intact = provenance.get("checksum") == _checksum(provenance, contents)
    except Exception as error:  # whatever a broken file makes the parsers raise
        raise Stale(f"{record} cannot be read ({type(error).__name__}); {again}") from error
    if absent:
        raise Stale(f"{record} does not state its {', '.join(sorted(absent))}; {again}")
    if not intact:
        raise Stale(f"{record} was changed after it was made: its checksum fails; {again}")
    if not provenance["gpu"] or provenance["interpreter"]:
        where = "in Triton's interpreter" if provenance["interpreter"] else "without a GPU"
        raise Stale(f"{record} was made {where}; {again}")
    then = provenance["digest"]
    if changed := sorted(key for key in today.keys() | then.keys() if today.get(key) != then.get(key)):
        what = ["the snippet itself" if key == "snippet" else key for key in changed]
        raise Stale(f"{record} is stale: {', '.join(what)} changed since it was made; {again}")
    return provenance, contents


def _store(path: Path, text: str) -> None:
    """Write a file beside its place, sync it and rename it there."""
    path.parent.mkdir(exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the renaming, too, is on disk
    finally:
        os.close(folder)


def _tag(name: str, cell: NotebookNode) -> str:
    tags = cell.metadata.get("tags", [])
    if len(tags) != 1 or not re.fullmatch(r"[\w-]{1,64}", tags[0], re.ASCII):
        first = cell.source.partition("\n")[0]
        raise RecordError(f"snippet {name}: the cell {first!r} has tags {tags}, exactly one plain word is wanted")
    return tags[0]


def _tree(name: str, tag: str, source: str) -> ast.Module:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:  # a magic is one
        raise RecordError(f"snippet {name}: cell {tag} is not plain Python: {error}") from error
    if any(isinstance(node, ast.Name) and node.id == "get_ipython" for node in ast.walk(tree)):
        raise RecordError(f"snippet {name}: cell {tag} calls a magic, plain Python is wanted")
    return tree


@cache
def _code(name: str, text: str) -> tuple[str, tuple[str, ...]]:
    """The hash of a snippet's code cells and the ``kernels`` modules that they import; of one text worked out once."""
    cells = [cell for cell in _cells(name, text).cells if cell.cell_type == "code"]
    trees = [(cell.id, _tree(name, cell.id, cell.source)) for cell in cells]
    imported = tuple(module for _, tree in trees for module in _imports(f"snippet {name}", tree))
    return _hash([part for tag, tree in trees for part in (tag, tree.body)]), imported


@cache
def _module(name: str, text: str) -> tuple[str, tuple[str, ...]]:
    """The hash of a module and the ``kernels`` modules that it imports; of one text worked out once."""
    tree = ast.parse(text, filename=name)
    return _hash(tree), tuple(_imports(name, tree)) if name.startswith("kernels.") else ()


def _imports(where: str, tree: ast.AST) -> Iterator[str]:
    """The ``kernels`` modules that a tree imports, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module.startswith("kernels."):
            yield node.module
            continue
        if isinstance(node, ast.ImportFrom):
            roundabout = node.level > 0 or node.module == "kernels"
        else:
            roundabout = isinstance(node, ast.Import) and any(a.name.split(".")[0] == "kernels" for a in node.names)
        if roundabout:
            raise RecordError(f"{where}: `{ast.unparse(node)}` hides a module; write `from kernels.X import name`")


def _outputs(notebook: NotebookNode) -> dict[str, list[NotebookNode]]:
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def _checksum(provenance: dict, contents: object) -> str:
    """A hash of what a record holds, but for the checksum itself."""
    stated = {key: value for key, value in provenance.items() if key != "checksum"}
    whole = json.dumps([stated, contents], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()


def _hash(tree: ast.AST | list) -> str:
    return hashlib.sha256(_canonical(tree)).hexdigest()


def _canonical(part: object) -> bytes:
    """A syntax tree as bytes that no Python version, comment, docstring or line break changes.

    Neither ``ast.dump`` nor ``ast.unparse`` is that: 3.12 knows fields that 3.11 does not, and puts empty strings
    into f-strings.  What is empty is left out.
    """
    if isinstance(part, list):
        return b"[" + b",".join(map(_canonical, part)) + b"]"
    if isinstance(part, ast.AST):
        fields = dict(ast.iter_fields(part))
        if isinstance(part, ast.JoinedStr):
            fields["values"] = [piece for piece in part.values if getattr(piece, "value", None) != ""]
        elif isinstance(part, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            fields["body"] = part.body[1:] if ast.get_docstring(part, clean=False) is not None else part.body
        kept = [
            name.encode() + b"=" + _canonical(value)
            for name, value in fields.items()
            if name not in ("ctx", "kind", "type_comment") and value is not None and value != []
        ]
        return type(part).__name__.encode() + b"(" + b",".join(kept) + b")"
    match part:
        case bytes():
            data = part
        case str():
            data = part.encode("utf-8", "surrogatepass")
        case int():
            data = b"%x" % part
        case float():
            data = part.hex().encode()
        case complex():
            data = f"{part.real.hex()} {part.imag.hex()}".encode()
        case _:  # None, Ellipsis
            data = repr(part).encode()
    return f"{type(part).__name__}:{len(data)}:".encode() + data
