"""The file of a record: what running a snippet left behind, as a notebook, snippets/CHAPTER/NAME.record.ipynb."""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from kernels.bench.hardware import chip_of
from scripts.records.digest import memoized
from scripts.records.root import ROOT, RecordError, UnsuitableMachine
from scripts.records.snippets import is_code

METADATA = "attention_handbook"  # where a notebook's metadata holds the provenance
TABLE = "application/vnd.attention-handbook.table+json"
ABSOLUTE_PATH = re.compile(r"(?<![\w.:/<+=])/[\w.@+-]+(?:/[\w.@+-]+)+")
CONTROL_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, moves, erasures
    r"|\x1b[\]PX^_][^\x1b\x07]*(?:\x07|\x1b\\)"  # titles, links and other strings
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"  # a NUL, a bell, a carriage return; not a tab or the end of a line
)


@dataclass(frozen=True)
class Record:
    """What running a snippet left behind.

    provenance: where and when it ran, from which commit, what it depends on and which functions were executed
    outputs: tag of a code cell -> its outputs
    sources: tag of a code cell -> its text as it ran
    behind: the reason in snippets/behind.toml; empty if it's of today's source
    changed: what has changed since: ``snippet``, and modules of kernels/
    earlier: it's one of snippets/earlier
    """

    name: str
    provenance: dict
    outputs: dict[str, list[NotebookNode]]
    sources: dict[str, str]
    behind: str = ""
    changed: tuple[str, ...] = ()
    earlier: bool = False

    @property
    def chip(self) -> str:
        """The GPU it ran on, as ``kernels.bench.hardware`` calls it: ``H200`` of ``NVIDIA H200``."""
        return chip_of(self.provenance["gpu"])

    @property
    def executed(self) -> set[str]:
        """Functions and kernels that ran, ``module:qualname``."""
        return {*self.provenance["executed"]}

    def tables(self) -> list[dict]:
        """What each ``Table.show()`` left, in order: ``{"name", "columns": [{"name", "unit"}], "rows": [...]}``."""
        outputs = [output for cell in self.outputs.values() for output in cell]
        return [output["data"][TABLE] for output in outputs if TABLE in output.get("data", {})]

    def table(self, name: str) -> list[dict]:
        """Returns the rows of the one table of that name, ``[{column: value}]``."""
        tables = self.tables()
        matching = [table["rows"] for table in tables if table["name"] == name]
        if len(matching) != 1:
            names = ", ".join(table["name"] for table in tables) or "none"
            raise RecordError(
                f"{self.name} holds {len(matching)} tables named {name}, and needs one; it holds: {names}"
            )
        return matching[0]


def rerun_command(name: str) -> str:
    return f"run it on a GPU with: .venv/bin/python -m scripts.records {name}"


@memoized
def parse(name: str, text: str, earlier: bool = False) -> Record:
    """Returns the record in a file's text; raises RecordError if it can't be read, was edited, or ``why_no_record``."""
    subject = f"the record of {name}"
    try:
        notebook = nbformat.reads(text, as_version=4)
        provenance = dict(notebook.metadata[METADATA])
        cells = [cell for cell in notebook.cells if is_code(cell)]
        outputs = {cell.id: cell.outputs for cell in cells}
    except Exception as error:  # whatever a broken file makes the parser raise
        raise RecordError(f"{subject} can't be read ({type(error).__name__}); {rerun_command(name)}") from error
    check_integrity(provenance.get("checksum"), checksum(provenance, outputs), provenance, subject, rerun_command(name))
    if not provenance.get("executed"):
        raise RecordError(f"{subject} executed nothing of kernels/; {rerun_command(name)}")
    return Record(name, provenance, outputs, {cell.id: cell.source for cell in cells}, earlier=earlier)


def check_integrity(checksum_then: str, checksum_now: str, provenance: dict, subject: str, remedy: str) -> None:
    """Raises RecordError about ``subject`` if it was edited, or if ``why_no_record`` has a reason."""
    if checksum_then != checksum_now:
        raise RecordError(f"{subject} was changed after it was made: its checksum fails; {remedy}")
    if fault := why_no_record(provenance):
        raise RecordError(f"{subject} was made {fault}; {remedy}")


def why_no_record(provenance: dict) -> str | None:
    """Returns why what ran there is no record; None if it is one: from a commit, on a GPU that the registry knows."""
    if provenance.get("interpreter"):
        return "in Triton's interpreter, because TRITON_INTERPRET is set"
    if not provenance.get("gpu"):
        return "without a GPU: " + (
            f"torch {provenance['torch']} sees none" if provenance.get("torch") else "torch isn't installed"
        )
    if not provenance.get("commit"):
        return "without Git, which would tell the commit: set COMMIT to it"
    try:
        chip_of(provenance["gpu"])
    except ValueError as error:
        return f"on a GPU that isn't in the registry: {error}"
    return None


def refuse_unfit(subject: str, provenance: dict) -> None:
    """Raises UnsuitableMachine if what runs there makes no record."""
    if fault := why_no_record(provenance):
        raise UnsuitableMachine(f"{subject} would run {fault}. Nothing was recorded")


def checksum(provenance: dict, contents: object) -> str:
    """Returns a hash of what a record holds, but for the checksum itself. It guards against accidents, not malice."""
    fields = {key: value for key, value in provenance.items() if key != "checksum"}
    return hashlib.sha256(json.dumps([fields, contents], sort_keys=True).encode()).hexdigest()


def machine_name(provenance: dict) -> str:
    """Returns the GPU that a record was made on; of several, how many, what links them, and their NCCL."""
    if "gpus" not in provenance:
        return provenance["gpu"]
    link = f", {provenance['link']}" if provenance["link"] else ""
    return f"{provenance['gpus']} \N{MULTIPLICATION SIGN} {provenance['gpu']}{link}, NCCL {provenance['nccl']}"


def write(path: Path, notebook: NotebookNode) -> None:
    """Stores an executed notebook, whose ``metadata[METADATA]`` states the provenance, as the record of a snippet."""
    notebook = nbformat.reads(nbformat.writes(notebook), as_version=4)  # as it will be read
    outputs = {cell.id: cell.outputs for cell in notebook.cells if is_code(cell)}
    notebook.metadata[METADATA]["checksum"] = checksum(notebook.metadata[METADATA], outputs)
    write_atomically(path, nbformat.writes(notebook))


def write_atomically(path: Path, text: str) -> None:
    """Writes a file whole or not at all: beside its place, synced, and renamed."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def strip_controls(value: object) -> object:
    """Returns the same text, list or mapping without terminal sequences and control characters."""
    if isinstance(value, str):
        return CONTROL_SEQUENCES.sub("", value)
    if isinstance(value, list):
        return [strip_controls(each) for each in value]
    if isinstance(value, dict):
        return type(value)({key: strip_controls(each) for key, each in value.items()})
    return value


def find_absolute_path(value: object) -> str | None:
    """Returns the first absolute path in the text of outputs, if there is one."""
    if isinstance(value, str):
        match = ABSOLUTE_PATH.search(value)
        return match[0] if match else str(ROOT) if str(ROOT) in value else None
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return next(filter(None, map(find_absolute_path, children)), None)
