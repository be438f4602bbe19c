"""Reads snippets and their records; a record has to be current, or listed in snippets/behind.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from nbformat import NotebookNode

from scripts.records import record_file
from scripts.records.digest import HASHED_FOLDERS, Modules, short_hash
from scripts.records.record_file import Record, rerun_command
from scripts.records.root import ROOT, Missing, RecordError, Stale, text_of
from scripts.records.snippets import Snippet, is_code, paths, snippet

BEHIND = "snippets/behind.toml"
_active: ContextVar[Reader] = ContextVar("reader")


class Inspection(NamedTuple):
    """The newest record of a snippet, if it can be read, and what's wrong with it, if anything is."""

    record: Record | None
    fault: RecordError | None


class Reader:
    """Snippets and records below a root. Each record is read once: a build makes a reader of its own.

    preview: a stale record that isn't listed is shown as if it were
    earlier: read the records in snippets/earlier where there's one, for pages that begin with ``numbers: unchecked``
    """

    def __init__(self, root: Path = ROOT, preview: bool = False, earlier: bool = False):
        self.root, self.preview, self.earlier = root, preview, earlier
        self._read: dict[str, Record] = {}
        self._names_read: set[str] = set()

    def names(self) -> list[str]:
        """Returns every snippet, in alphabetical order."""
        return list(self._paths)

    def path(self, name: str) -> Path:
        """Returns the file of a snippet, snippets/CHAPTER/NAME.py; raises RecordError if there's none."""
        if name not in self._paths:
            raise RecordError(f"there is no snippet {name}; there are: {', '.join(self._paths)}")
        return self._paths[name]

    def snippet(self, name: str) -> Snippet:
        """Returns today's cells of a snippet."""
        return snippet(name, text_of(self.path(name)))

    @cached_property
    def _paths(self) -> dict[str, Path]:
        return paths(self.root)

    @cached_property
    def modules(self) -> Modules:
        return Modules(self.root)

    @cached_property
    def behind(self) -> dict[str, str]:
        """Snippet -> the reason why its record is stale or missing."""
        try:
            return tomllib.loads(text_of(self.root / BEHIND))
        except FileNotFoundError:
            return {}
        except tomllib.TOMLDecodeError as error:
            raise RecordError(f"{BEHIND}: {error}") from error

    def digests(self, name: str) -> dict[str, str]:
        """Returns what a run of the snippet depends on today, each with its hash: ``snippet``, data and modules."""
        today = self.snippet(name)
        data = {path.name: short_hash(path.read_bytes().hex()) for path in self.data(name)}
        return {"snippet": today.digest} | data | self.modules.digests(self.modules.reachable(today.source))

    def data(self, name: str) -> list[Path]:
        """Returns the files beside the snippet that it reads: its text names them."""
        others = (path for path in self.path(name).parent.iterdir() if path.suffix not in (".py", ".ipynb"))
        return sorted(path for path in others if path.is_file() and path.name in self.snippet(name).source)

    def inspect(self, name: str) -> Inspection:
        """Returns the newest record, and what's wrong with it whether it's listed or not."""
        path = record_path(self.path(name))
        if not path.exists():
            return Inspection(None, Missing(f"snippet {name} has never run"))
        try:
            record = record_file.parse(name, path.read_text(encoding="utf-8", errors="replace"))
        except RecordError as fault:
            return Inspection(None, fault)
        recorded, current = record.provenance["digest"], self.digests(name)
        # A run doesn't depend on a module that it doesn't reach today: if all that it reaches is as it was, it didn't
        # reach that one then either.
        all_names = recorded.keys() | current.keys()
        relevant = {name for name in all_names if name in current or name.partition(".")[0] not in HASHED_FOLDERS}
        changed = tuple(sorted(name for name in relevant if recorded.get(name) != current.get(name)))
        if not changed:
            return Inspection(record, None)
        and_more = f" and {len(changed) - 6} more" if len(changed) > 6 else ""
        fault = Stale(f"the record of {name} is stale: {', '.join(changed[:6])}{and_more} changed")
        return Inspection(replace(record, changed=changed), fault)

    def faults(self) -> dict[str, RecordError]:
        """Returns what stops a build: a record that's neither current nor listed, and one that's both."""
        faults: dict[str, RecordError] = {}
        for name in self.names():
            fault = self.inspect(name).fault
            if name in self.behind and not fault:
                faults[name] = RecordError(f"{BEHIND} lists {name}, and its record is current: take the line out")
            elif fault and not (name in self.behind and isinstance(fault, Missing | Stale)):
                remedy = f"; {rerun_command(name)}, or list it in {BEHIND} with a reason"
                faults[name] = type(fault)(f"{fault}{remedy}") if isinstance(fault, Missing | Stale) else fault
        for name in self.behind.keys() - self._paths.keys():
            faults[name] = RecordError(f"{BEHIND} lists {name}, and there is no such snippet")
        return faults

    def read(self, name: str) -> Record:
        """Returns the record of a snippet; if it's listed in behind.toml, ``behind`` and ``changed`` say so.

        Raises ``Missing`` if the snippet has never run, ``Stale`` if its source has changed since and it isn't listed.
        """
        self._names_read.add(name)
        if name not in self._read:
            self._read[name] = self._read_earlier(name) or self._read_newest(name)
        return self._read[name]

    def _read_earlier(self, name: str) -> Record | None:
        path = record_path(self.path(name))
        copy = self.root / "snippets/earlier" / path.parent.name / path.name
        if not self.earlier or not copy.exists():
            return None
        return record_file.parse(name, copy.read_text(encoding="utf-8"), earlier=True)

    def _read_newest(self, name: str) -> Record:
        record, fault = self.inspect(name)
        if not fault:
            return record
        if record and (name in self.behind or self.preview):
            return replace(record, behind=self.behind.get(name, "not recorded since its source changed"))
        raise fault

    def compose(self, name: str) -> NotebookNode:
        """Returns today's cells of a snippet with the recorded outputs and provenance; without, if it has never run."""
        notebook = self.snippet(name).notebook()
        try:
            record = self.read(name)
        except Missing:
            return notebook
        for number, cell in enumerate(filter(is_code, notebook.cells), start=1):
            cell.outputs = record.outputs.get(cell.id, [])  # an earlier run may lack a cell of today
            cell.execution_count = number
        notebook.metadata[record_file.METADATA] = record.provenance
        return notebook

    @contextmanager
    def track_reads(self) -> Iterator[set[str]]:
        """In it, ``records.read`` and ``records.table`` ask this reader; the set holds the snippets asked for."""
        outer, self._names_read = self._names_read, set()
        token = _active.set(self)
        try:
            yield self._names_read
        finally:
            _active.reset(token)
            outer |= self._names_read
            self._names_read = outer


_default_reader = Reader()


def active_reader() -> Reader:
    """Returns the reader of ``track_reads``, or else a strict one that reads each file once a process."""
    return _active.get(_default_reader)


def record_path(snippet: Path) -> Path:
    return snippet.with_suffix(".record.ipynb")
