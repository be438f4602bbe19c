"""Rows of records, and constants of the H100, by name."""

from kernels.bench.hardware import H100
from scripts import records


def rows(snippet, table, **wanted):
    """The rows of a recorded table that have these values, at least one."""
    found = [row for row in records.table(snippet, table) if wanted.items() <= row.items()]
    assert found, f"no row of {snippet}.{table} has {wanted}"
    return found


def row(snippet, table, **wanted):
    (found,) = rows(snippet, table, **wanted)
    return found


def h100(name):
    return H100[name].value
