"""A record: what running a snippet left behind, as a notebook beside it, snippets/CHAPTER/NAME.record.ipynb."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from scripts.records.cells import is_code
from scripts.records.printed import too_large
from scripts.records.root import RecordError, Stale
from scripts.records.source.trees import remembered
from scripts.records.store import check, checksum, store

METADATA = "attention_handbook"  # where a notebook's metadata holds the provenance
TABLE = "application/vnd.attention-handbook.table+json"


@dataclass(frozen=True)
class Record:
    """What running a snippet left behind.

    provenance: where and when it ran, see ``store.STATED``, and ``executed``: the functions that ran, named as then
    outputs: tag of a code cell -> its outputs, in the order of the snippet
    executed: functions and kernels that ran, ``module:qualname``, named as they are today
    """

    name: str
    provenance: dict
    outputs: dict[str, list[NotebookNode]]
    executed: frozenset[str]

    @property
    def chip(self) -> str:
        """The GPU that it ran on, as ``kernels.bench.hardware`` calls it: ``H200`` of ``NVIDIA H200``."""
        return self.provenance["gpu"].split()[1]

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


def again(name: str) -> str:
    return f"run it on a GPU with: python -m scripts.record {name}"


@remembered
def parsed(name: str, text: str) -> tuple[dict, dict[str, list[NotebookNode]]]:
    """Provenance and outputs, as the text of a record has them.

    Raises:
        Stale: if they cannot be read.
    """
    try:
        notebook = nbformat.reads(text, as_version=4)
        provenance = dict(notebook.metadata[METADATA])
        outputs = {cell.id: cell.outputs for cell in notebook.cells if is_code(cell)}
    except Exception as error:  # whatever a broken file makes the parser raise
        raise Stale(f"the record of {name} cannot be read ({type(error).__name__}); {again(name)}") from error
    return provenance, outputs


@remembered
def fault_in(name: str, text: str) -> Stale | None:
    """What is wrong with the text of a record, whatever today's source is."""
    try:
        provenance, outputs = parsed(name, text)
        check(provenance, outputs, f"the record of {name}", again(name))
        if "executed" not in provenance:
            raise Stale(f"the record of {name} does not state its executed; {again(name)}")
        for tag, each in outputs.items():
            if fault := too_large(each):
                raise Stale(f"cell {tag} of the record of {name} {fault}; {again(name)}")
    except Stale as fault:
        return fault
    return None


def write(path: Path, notebook: NotebookNode) -> None:
    """Store an executed notebook as the record of a snippet, whole or not at all.

    notebook: today's cells with their outputs; its ``metadata[METADATA]`` states the provenance
    """
    notebook = nbformat.reads(nbformat.writes(notebook), as_version=4)  # as it will be read
    provenance = notebook.metadata[METADATA]
    outputs = {cell.id: cell.outputs for cell in notebook.cells if is_code(cell)}
    provenance["checksum"] = checksum(provenance, outputs)
    store(path, nbformat.writes(notebook))
