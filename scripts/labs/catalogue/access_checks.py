"""What labs ask of the tiles that a kernel loads."""

from __future__ import annotations

from scripts.labs.grading.accesses import Access
from scripts.labs.lab import Case

LONG_TABLE = 256  # rows; below that a block of the reader's may well hold all of them


def loads_whole_table(accesses: list[Access], case: Case, streamed: tuple[str, ...] = ("k", "v")) -> str:
    """What's wrong with a kernel that loads a whole table at once, or "": its tiles would grow with the table."""
    for name in streamed:
        rows, columns = case.inputs[name].shape[-2:]
        if rows >= LONG_TABLE and any(
            access.table == name and access.places.size >= rows * columns for access in accesses
        ):
            return (
                f"the numbers are right, but one load brings all {rows} rows of {name}: with longer tables no GPU has "
                f"room for such a tile. The task is to let {' and '.join(streamed)} pass in blocks"
            )
    return ""
