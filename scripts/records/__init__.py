"""A record: one snippet as last run on a GPU, with its outputs, where they came from and what they depend on.

    root          ROOT, and what can be wrong: RecordError, Missing, Stale
    trees         syntax trees without what no run depends on, as bytes
    cells         snippets: scripts in percent cells
    library       what kernels/ defines, and what names stand for
    imports       which modules a file reaches by imports
    digest        what a run depends on, and what of it has changed since
    printed       what an output may hold
    recorded      the record of a snippet;   kernel_tests   those of tests/kernels;   store   all, on disk
    reader        the one door: look, read, table, compose, faults
    executed      runs beside a snippet: where it runs, and which of our functions and kernels ran
    processes     the Jupyter kernels of a snippet: one, or one a GPU
    run           one snippet, recorded

Reading runs nothing and imports no room.  ``python -m scripts.record``, ``python -m scripts.record_tests`` and
``python -m tests.kernels.random_cases`` make the records; figures, pages and tests read them, by the functions below.
"""

from pathlib import Path

from nbformat import NotebookNode

from scripts.records.kernel_tests import Outcome, RandomCases
from scripts.records.reader import RANDOM_CASES, TESTS, Reader, in_charge
from scripts.records.recorded import METADATA, TABLE, Record
from scripts.records.root import ROOT, Missing, RecordError, Stale, Waiting
from scripts.records.store import machine

__all__ = [
    "METADATA", "RANDOM_CASES", "ROOT", "TABLE", "TESTS", "Missing", "Outcome", "RandomCases", "Reader", "Record",
    "RecordError", "Stale", "Waiting", "compose", "faults", "in_charge", "look", "look_at_random_cases",
    "look_at_tests", "machine", "names", "path", "read", "snippet", "table", "tests",
]  # fmt: skip


def names() -> list[str]:
    return in_charge().names()


def path(name: str) -> Path:
    return in_charge().path(name)


def snippet(name: str) -> NotebookNode:
    return in_charge().snippet(name)


def look(name: str) -> tuple[Record | None, RecordError | None]:
    return in_charge().look(name)


def read(name: str) -> Record:
    return in_charge().read(name)


def table(snippet: str, table: str) -> list[dict]:
    return in_charge().table(snippet, table)


def compose(name: str) -> NotebookNode:
    return in_charge().compose(name)


def look_at_tests() -> tuple[Outcome | None, RecordError | None]:
    return in_charge().look_at_tests()


def look_at_random_cases() -> tuple[RandomCases | None, RecordError | None]:
    return in_charge().look_at_random_cases()


def tests() -> Outcome:
    return in_charge().tests()


def faults() -> dict[str, RecordError]:
    return in_charge().faults()
