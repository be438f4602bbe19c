"""What the checks of claims share: rows of records, constants of a GPU, and numbers as a page prints them."""

from decimal import Decimal

from kernels.bench.hardware import H100
from scripts import records
from scripts.chapters import plot


def rows(snippet, table, **wanted):
    """The rows of a recorded table that have these values, at least one."""
    found = [row for row in records.table(snippet, table) if wanted.items() <= row.items()]
    assert found, f"no row of {snippet}.{table} has {wanted}"
    return found


def row(snippet, table, **wanted):
    """The one row of a recorded table that has these values."""
    found = rows(snippet, table, **wanted)
    assert len(found) == 1, f"{len(found)} rows of {snippet}.{table} have {wanted}, one is wanted"
    return found[0]


def chip(name):
    """A constant of the H100 in the registry."""
    return H100[name].value


def chip_of(snippet, name):
    """The same constant of the GPU on which a snippet was recorded."""
    return plot.chip(snippet)[name].value


def rounded(number, like):
    """A number to as many decimals as one that is typed on a page has."""
    return round(Decimal(number), -like.as_tuple().exponent)


def close(number, to, within):
    """Whether a number differs from another by no more than this part of it."""
    return abs(number - to) <= within * abs(to)
