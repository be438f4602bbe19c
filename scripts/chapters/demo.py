"""What `make run SNIPPET=online_softmax BOARD=1` prints: the point of a sheet, then the numbers of its board.

A sheet's demo is ``scripts/chapters/NAME/demo.py``: ``SNIPPET``, the snippet that goes into more, and ``lines()``, what
is printed, at most 15 lines of 80 columns.  The first is the point, a sentence with its number.  The others have the
numbers of the board in its order and with its digits, and the library computes them: its kernels, in Triton's
interpreter where there is no GPU, from what the board is given.  No demo reads a record, since what `make run` sets up
could not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path

import torch

SNIPPET = re.compile(r'^SNIPPET = "(\w+)"$', re.MULTILINE)
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if DEVICE.type == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # before a demo imports the first @triton.jit


def chapters() -> dict[str, str]:
    """The folder of each demo, by its snippet; nothing is imported for it."""
    paths = sorted(Path(__file__).parent.glob("*/demo.py"))
    return dict(sorted((SNIPPET.search(path.read_text(encoding="utf-8"))[1], path.parent.name) for path in paths))


def lines(snippet: str) -> list[str]:
    demo = import_module(f"scripts.chapters.{chapters()[snippet]}.demo")
    return [line.rstrip() for line in demo.lines()]


def vector_text(numbers: Iterable[float], format_spec: str = ".4g") -> str:
    """[15, 10]: numbers between brackets; what rounding has left of a zero is 0."""
    return f"[{', '.join(number_text(number, format_spec) for number in numbers)}]"


def number_text(number: float, format_spec: str = ".4g") -> str:
    return f"{round(float(number), 6) + 0.0:{format_spec}}"


def percents(shares: Iterable[float]) -> str:
    """40 20 40 %."""
    return " ".join(f"{100 * float(share):.0f}" for share in shares) + " %"


def table(*rows: Sequence[object]) -> list[str]:
    """Cells under one another, the first row being the head."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
