"""The one door to snippets and their records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path

from nbformat import NotebookNode

from scripts.records import kernel_tests
from scripts.records.cells import Cells, cells, is_code, paths
from scripts.records.kernel_tests import Outcome, RandomCases
from scripts.records.recorded import METADATA, Record, again, fault_in, parsed
from scripts.records.root import ROOT, Missing, RecordError, Stale, naming, text_of
from scripts.records.source.digest import compare
from scripts.records.source.library import Library
from scripts.records.store import listed

_in_charge: ContextVar[Reader] = ContextVar("reader")


class Reader:
    """Snippets and records below a root, each file read once.

    It never asks whether a file has changed since: a build makes a reader of its own.
    stale_too: a stale record is read like any other, if it can be read at all
    """

    def __init__(self, root: Path = ROOT, stale_too: bool = False):
        self.root, self.stale_too = root, stale_too
        self._cells: dict[str, Cells] = {}
        self._looked: dict[str, tuple[Record | None, RecordError | None]] = {}
        self._asked: set[str] = set()

    # Snippets

    def names(self) -> list[str]:
        """Every snippet, in alphabetical order."""
        return list(self._paths)

    def path(self, name: str) -> Path:
        """The file of a snippet, snippets/CHAPTER/NAME.py.

        Raises:
            RecordError: if there is no such snippet.
        """
        if name not in self._paths:
            raise RecordError(f"there is no snippet {name}; there are: {', '.join(self._paths)}")
        return self._paths[name]

    def snippet(self, name: str) -> NotebookNode:
        """Today's cells of a snippet, without outputs; the id of a code cell is its tag.

        Raises:
            RecordError: if there is no such snippet, or a code cell has not exactly one tag of its own, or is not
                plain Python.
        """
        return self.cells(name).notebook()

    def cells(self, name: str) -> Cells:
        if name not in self._cells:
            with naming(self.path(name)):
                self._cells[name] = cells(name, text_of(self.path(name)))
        return self._cells[name]

    @cached_property
    def _paths(self) -> dict[str, Path]:
        return paths(self.root)

    @cached_property
    def library(self) -> Library:
        """What kernels/ defines today."""
        return Library(self.root)

    # Records

    def look(self, name: str) -> tuple[Record | None, RecordError | None]:
        """The record of a snippet, and what is wrong with it, if anything is.

        A stale record comes as it is, with its fault; what is missing or cannot be read is None.
        """
        if name not in self._looked:
            self._looked[name] = self._look(name)
        return self._looked[name]

    def _look(self, name: str) -> tuple[Record | None, RecordError | None]:
        today = self.cells(name)
        path = record_of(self.path(name))
        if not path.exists():
            return None, Missing(f"snippet {name} has not been run yet; {again(name)}")
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
            provenance, outputs = parsed(name, text)
            changed, executed = compare(self.library, today, dict(provenance.get("digest", {})))
        except Stale as fault:
            return None, fault
        fault = fault_in(name, text)
        if not fault and changed:
            what = f"{listed(changed)} changed since it was made"
            fault = Stale(f"the record of {name} is stale: {what}; {again(name)}")
        return Record(name, provenance, outputs, executed), fault

    def read(self, name: str) -> Record:
        """The record of a snippet, checked against today's source.

        Raises:
            Missing: if the snippet has not been run.
            Stale: if the source changed since, the record was edited or cut short, or was not made on a GPU.
        """
        self._asked.add(name)
        record, fault = self.look(name)
        if fault and not (self.stale_too and record):
            raise fault
        return record

    def table(self, snippet: str, table: str) -> list[dict]:
        """The rows of one table of a record, ``[{column: value}]``.  Raises as ``read``."""
        return self.read(snippet).table(table)

    def compose(self, name: str) -> NotebookNode:
        """Today's cells of a snippet with the recorded outputs and provenance; without them if it awaits its run.

        Of a record, nothing but outputs and provenance is shown.

        Raises:
            Stale: as ``read``.
        """
        notebook = self.snippet(name)
        try:
            record = self.read(name)
        except Missing:
            return notebook
        for number, cell in enumerate(filter(is_code, notebook.cells), start=1):
            cell.outputs = record.outputs.get(cell.id, [])  # a stale record may lack a cell of today
            cell.execution_count = number
        notebook.metadata[METADATA] = record.provenance
        return notebook

    def look_at_tests(self) -> tuple[Outcome | None, RecordError | None]:
        """What became of the kernels' tests in the files that are as they were then, and what is wrong with the record.

        ``Waiting`` names the other files.
        """
        if not hasattr(self, "_tests"):
            self._tests = kernel_tests.look(self.root)
        return self._tests

    def tests(self) -> Outcome:
        """What became of the kernels' tests that do not await their run.  Raises as ``read``."""
        outcome, fault = self.look_at_tests()
        if fault and not (outcome and (self.stale_too or isinstance(fault, Missing))):
            raise fault
        return outcome

    def look_at_random_cases(self) -> tuple[RandomCases | None, RecordError | None]:
        """How many random cases of the kernels passed, and what is wrong with their record, if anything is."""
        if not hasattr(self, "_random_cases"):
            self._random_cases = kernel_tests.look(self.root, RandomCases)
        return self._random_cases

    def faults(self) -> dict[str, RecordError]:
        """What is wrong with each record that is stale or missing, those of ``TESTS`` and ``RANDOM_CASES`` last."""
        found = {name: self.look(name)[1] for name in self.names()}
        found |= {TESTS: self.look_at_tests()[1], RANDOM_CASES: self.look_at_random_cases()[1]}
        return {name: fault for name, fault in found.items() if fault}

    # Who is asked

    @contextmanager
    def noting(self) -> Iterator[set[str]]:
        """In it, ``records.read``, ``records.table`` and the like ask this reader; the set says of which snippets."""
        outer, self._asked = self._asked, set()
        token = _in_charge.set(self)
        try:
            yield self._asked
        finally:
            _in_charge.reset(token)
            outer |= self._asked
            self._asked = outer


TESTS = "tests/kernels"
RANDOM_CASES = "tests/kernels/random_cases"
_of_this_process = Reader()


def in_charge() -> Reader:
    """The reader that ``noting`` has put in charge; without one, a strict one that reads each file once a process."""
    return _in_charge.get(_of_this_process)


def record_of(snippet: Path) -> Path:
    return snippet.with_suffix(".record.ipynb")
