"""What `make run SNIPPET=online_softmax BOARD=1` prints: the point of a sheet, then the numbers of its board.

Beside this file a sheet's demo is a module with the name of the snippet that goes into more: ``SHEET``, the name of the
sheet's page, and ``lines()``, what is printed, at most 15 lines of 80 columns.  The first is the point, a sentence with
its number.  The others have the numbers of the board in its order and with its digits, and the library computes them:
its kernels, in Triton's interpreter where there is no GPU, from what the board is given.  No demo reads a record, since
what `make run` sets up could not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if DEVICE.type == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # before a demo imports the first @triton.jit


def names() -> list[str]:
    return sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


def sheets() -> dict[str, str]:
    """The sheet of each demo."""
    return {name: demo(name).SHEET for name in names()}


def demo(name: str):
    return import_module(f"{__name__}.{name}")


def lines(name: str) -> list[str]:
    return [line.rstrip() for line in demo(name).lines()]


def vector(numbers: Iterable[float], form: str = ".4g") -> str:
    """[15, 10]: numbers between brackets; what rounding has left of a zero is 0."""
    return f"[{', '.join(plain(number, form) for number in numbers)}]"


def plain(number: float, form: str = ".4g") -> str:
    return f"{round(float(number), 6) + 0.0:{form}}"


def per_cent(shares: Iterable[float]) -> str:
    """40 20 40 %."""
    return " ".join(f"{100 * float(share):.0f}" for share in shares) + " %"


def table(*rows: Sequence[object]) -> list[str]:
    """Cells under one another, the first row being the head."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
