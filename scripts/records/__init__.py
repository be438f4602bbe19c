"""A record: one snippet as it last ran on a GPU, with its outputs, where they came from and what they depend on.

    root              ROOT, and what can be wrong: RecordError, Missing, Stale
    digest            what a run depends on: its text and the modules that it reaches
    snippets          scripts in percent cells
    record_file       one record: read, checked, written
    reader            all reading goes through it: read, table, compose, faults
    kernel_outcomes   what became of the kernels' tests and of random cases
    run_tracer        runs beside a snippet: where it runs, and which of our functions and kernels ran
    processes         the Jupyter kernels of a snippet: one, or one for each GPU
    record_snippet    one snippet, run and recorded
    __main__          the command: what is stale or missing, recorded

Reading runs nothing. ``make record`` and ``make random`` make the records; figures, facts, pages and tests read them.
"""

from scripts.records.reader import Reader, active_reader
from scripts.records.record_file import METADATA, TABLE, Record, machine_name
from scripts.records.root import ROOT, Missing, RecordError, Stale

__all__ = [
    "METADATA", "ROOT", "TABLE", "Missing", "Reader", "Record", "RecordError", "Stale", "machine_name", "read", "table",
]  # fmt: skip


def read(name: str) -> Record:
    return active_reader().read(name)


def table(snippet: str, table: str) -> list[dict]:
    """Returns the rows of one table of a record, ``[{column: value}]``."""
    return active_reader().read(snippet).table(table)
