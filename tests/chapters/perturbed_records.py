"""Changes every measured number of the records, as other runs might, to see that a board shows what it reads."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from scripts.records import Record


def perturbed(value: object, column: str) -> object:
    """A number a little smaller, by a factor of its own; equal ones stay equal, and integers, which are sizes, stay."""
    if not isinstance(value, float):
        return value
    return value * (0.9 + zlib.crc32(f"{column} {value:.3g}".encode()) % 1000 / 10_000)


@contextmanager
def perturbed_records() -> Iterator[None]:
    """In it, every measured number of every record is another one."""
    table = Record.table

    def perturbed_table(record: Record, name: str) -> list[dict]:
        return [{column: perturbed(value, column) for column, value in row.items()} for row in table(record, name)]

    with mock.patch.object(Record, "table", perturbed_table):
        yield
