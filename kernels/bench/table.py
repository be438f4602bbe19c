"""Prints rows of measurements with names and units, and keeps them for figures."""

from __future__ import annotations

import math
import sys

TABLE = "application/vnd.attention-handbook.table+json"
Value = str | int | float | bool | None


class Table:
    """Rows with named columns and units; in a notebook, ``show()`` keeps them for figures, too.

    ``Table("squares", n="", square="MiB")`` names columns and their units; ``add(n=8192,
    square=128.0)`` adds a row.
    """

    def __init__(self, name: str, /, **columns: str):
        self.name = name
        self.columns = columns
        self.rows: list[dict[str, Value]] = []

    def add(self, /, **row: Value) -> None:
        """Adds a row.

        Raises a ValueError unless each column is given once, and a ValueError or TypeError for
        a value that JSON can't hold.
        """
        if row.keys() != self.columns.keys():
            raise ValueError(
                f"table {self.name} has columns {list(self.columns)}, the row has {list(row)}"
            )
        for column, value in row.items():
            if not isinstance(value, Value):
                raise TypeError(
                    f"{column} is {type(value).__name__}: "
                    "a string, a number, a bool or None is wanted"
                )
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(
                    f"{column} is {value}, which JSON cannot hold: give it as text"
                )
        self.rows.append({column: row[column] for column in self.columns})

    def __str__(self) -> str:
        titles = [
            f"{column} ({unit})" if unit else column for column, unit in self.columns.items()
        ]
        lines = [titles, *([_text(value) for value in row.values()] for row in self.rows)]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        is_text = [
            any(isinstance(row[column], str) for row in self.rows) for column in self.columns
        ]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if left else cell.rjust(width)
                for cell, width, left in zip(line, widths, is_text, strict=True)
            ).rstrip()
            for line in lines
        )

    def show(self) -> None:
        """Prints the table; in a notebook, the output also holds names and units."""
        if not _in_notebook():
            print(self)
            return
        from IPython.display import display

        columns = [{"name": column, "unit": unit} for column, unit in self.columns.items()]
        payload = {"name": self.name, "columns": columns, "rows": self.rows}
        display({"text/plain": str(self), TABLE: payload}, raw=True)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _text(value: Value) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if 9999.5 <= abs(value) < 1e15 else f"{value:.4g}"
