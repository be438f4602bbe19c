"""What labs ask of the tiles that a kernel loads."""

from __future__ import annotations

from scripts.labs.grading.watched import Access
from scripts.labs.lab import Case

MANY = 256  # keys; below that a block of the reader's may well hold all of them


def all_at_once(accesses: list[Access], case: Case, passing: tuple[str, ...] = ("k", "v")) -> str:
    """What passes is to pass in blocks: a tile that holds a whole table grows with it."""
    for name in passing:
        rows, columns = case.inputs[name].shape[-2:]
        if rows >= MANY and any(each.table == name and each.places.size >= rows * columns for each in accesses):
            return (
                f"the numbers are right, but one load brings all {rows} rows of {name}: with longer tables no GPU has "
                f"room for such a tile. The task is to let {' and '.join(passing)} pass in blocks"
            )
    return ""
