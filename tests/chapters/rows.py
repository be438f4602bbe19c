"""Rows of records, and constants of the H100, by name."""

from kernels.bench.hardware import H100
from scripts import records
from scripts.records import Reader


def rows(snippet, table, **wanted):
    """The rows of a recorded table that have these values, at least one."""
    found = [row for row in records.table(snippet, table) if wanted.items() <= row.items()]
    assert found, f"no row of {snippet}.{table} has {wanted}"
    return found


def row(snippet, table, **wanted):
    (found,) = rows(snippet, table, **wanted)
    return found


def earlier_row(snippet, table, **wanted):
    """The same of the run that a page reads which begins with ``numbers: unchecked``."""
    (found,) = [row for row in Reader(earlier=True).read(snippet).table(table) if wanted.items() <= row.items()]
    return found


def h100(name):
    return H100[name].value
