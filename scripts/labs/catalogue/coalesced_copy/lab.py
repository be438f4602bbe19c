"""Copy and transpose: the numbers must be right, and what a program touches at once must lie in few segments."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.formatting import format_heading
from scripts.labs.grading.accesses import Access, program_name
from scripts.labs.lab import Case, Mistake, Task, normal
from scripts.labs.lab_info import heading

BLOCK = 256  # numbers that a program copies, as the start file has it
TILE = 32  # rows and columns that a program transposes, as the start file has it
SEGMENT = 128  # bytes
TOLERATED = 2  # times the segments that would hold the numbers


def copy_cases():
    yield case(torch.arange(6.0).reshape(2, 3), "the numbers 0 to 5", transposed=False)
    yield from random_cases(((32, 64), (3, 5), (37, 23)), transposed=False)


def transpose_cases():
    yield case(torch.arange(9.0).reshape(3, 3), "the numbers 0 to 8", transposed=True)
    yield from random_cases(((64, 64), (64, 96), (2, 3), (33, 70)), transposed=True)


def random_cases(shapes: tuple[tuple[int, int], ...], transposed: bool):
    for seed, shape in enumerate(shapes):
        yield case(normal(seed, *shape), f"{shape[0]} rows, {shape[1]} columns", transposed)
    yield case(normal(1, 1, 300), "a single row", transposed)
    yield case(normal(1, 40, 1), "a single column", transposed)
    yield case(normal(2, 20, 40), "the rows of x lie apart", transposed, x="rows apart")
    yield case(normal(2, 20, 40), "the rows of out lie apart", transposed, out="rows apart")
    yield case(normal(3, 20, 40), "the numbers of x lie apart", transposed, x="every second", out="rows apart")
    yield case(normal(1, 9, 64).half(), "FP16", transposed)


def case(table: Tensor, name: str, transposed: bool, **layouts: str) -> Case:
    out = torch.empty_like(table.T if transposed else table)
    return Case(name, {"x": table}, {"out": out}, layouts=layouts)


def touches_many_segments(accesses: list[Access], case: Case) -> str:
    """Whether a program's loads and stores touch few segments, in tables whose rows are whole segments."""
    tables = case.inputs | case.outputs
    for name, kind in (("x", "reads"), ("out", "writes")):
        table = tables[name]
        size = table.element_size()
        if case.layouts.get(name) or table.shape[1] * size % SEGMENT:
            continue
        own_accesses = [access for access in accesses if access.table == name and access.kind == kind]
        if not own_accesses:
            return f"no kernel {kind} {name}: the numbers were moved before the launch, or after it"
        if any(not each.table for each in accesses):
            return "a kernel reads or writes a table that your function made: x and out are enough"
        segment_counts = [segments(each) for each in own_accesses]
        if sum(segment_counts) <= TOLERATED * table.numel() * size / SEGMENT:
            continue
        worst = own_accesses[int(np.argmax(segment_counts))]
        numbers = int((worst.places >= 0).sum())
        least = -(-numbers * size // SEGMENT)
        advice = f"Read {format_heading(heading(headings.ONE_HEAD))}"
        if max(segment_counts) <= TOLERATED * least:
            return (
                f"the numbers are right, but {name} is {table.numel() * size // SEGMENT} segments of {SEGMENT} bytes "
                f"long, and the programs touch {sum(segment_counts)}, one and the same again and again: each {kind} "
                f"only {numbers} of its numbers at once. {advice}"
            )
        program = program_name(worst.program)
        return (
            f"the numbers are right, but {program} {kind} {numbers} numbers of {name} at once that lie in "
            f"{max(segment_counts)} segments of {SEGMENT} bytes, and {least} would hold them. {describe_runs(worst)}; "
            f"wanted are runs of {SEGMENT // size} neighbours or more. {advice}"
        )
    return ""


def segments(access: Access) -> int:
    """How many segments one load or store touches, if the table begins with one."""
    places = access.places[access.places >= 0]
    return len(np.unique(places * access.size // SEGMENT))


def describe_runs(access: Access) -> str:
    """How the numbers lie that are touched at once."""
    places = np.sort(access.places[access.places >= 0].ravel())
    longest = max(len(run) for run in np.split(places, np.flatnonzero(np.diff(places) != 1) + 1))
    if longest > 1:
        return f"They come in runs of {longest} neighbours"
    first = ", ".join(map(str, places[:4].tolist()))
    return f"No two are neighbours: the first of them lie {first} places behind the table's first"


def blocks(x: Tensor) -> Tensor:
    """Of each number in which block it is, row after row."""
    return (torch.arange(x.numel()) // BLOCK).reshape(x.shape)


def tiles(x: Tensor) -> tuple[Tensor, Tensor]:
    """Of each number in which tile it is: of how many before it along the rows, and along the columns."""
    return torch.arange(len(x))[:, None] // TILE, torch.arange(x.shape[1]) // TILE


def with_nan(x: Tensor, where: Tensor) -> Tensor:
    return x.masked_fill(where.expand_as(x), torch.nan)


def tiles_in_place(x: Tensor) -> Tensor:
    """Each tile is turned, and stays where it is."""
    out = torch.full_like(x.T, torch.nan)
    for i in range(0, len(x), TILE):
        for j in range(0, x.shape[1], TILE):
            tile = x[i : i + TILE, j : j + TILE].T
            target = out[i : i + TILE, j : j + TILE]
            if target.shape == tile.shape:
                target.copy_(tile)
    return out


def diagonal(x: Tensor) -> Tensor:
    """Of each number whether it lies on the diagonal of its tile."""
    return torch.arange(len(x))[:, None] % TILE == torch.arange(x.shape[1]) % TILE


COPY_MISTAKES = (
    Mistake(
        "first-block-only",
        "Every program works on the first block: ask tl.program_id(0) which block is its own.",
        headings.FIRST_KERNEL,
        lambda x: with_nan(x, blocks(x) > 0),
    ),
    Mistake(
        "last-block-missing",
        "The last block, which is not full, is never written: round the number of programs up, and mask the rest.",
        headings.FIRST_KERNEL,
        lambda x: with_nan(x, blocks(x) >= x.numel() // BLOCK),
        writes=False,
    ),
    Mistake(
        "last-number-missing",
        "The last number is never written: the mask is one too short.",
        headings.FIRST_KERNEL,
        lambda x: with_nan(x, (torch.arange(x.numel()) == x.numel() - 1).reshape(x.shape)),
    ),
    Mistake(
        "first-row-repeated",
        "Each row is the first one: the address lacks the row's number times x_row_stride.",
        headings.LIBRARY_KERNEL,
        lambda x: x[:1].expand_as(x),
    ),
    Mistake(
        "first-column-repeated",
        "Each column is the first one: the address lacks the column's number times x_column_stride.",
        headings.LIBRARY_KERNEL,
        lambda x: x[:, :1].expand_as(x),
    ),
    Mistake(
        "first-row-only",
        "Only the first row is written: the mask hides the other rows.",
        headings.LIBRARY_KERNEL,
        lambda x: with_nan(x, torch.arange(len(x))[:, None] > 0),
    ),
)
TRANSPOSE_MISTAKES = (
    Mistake(
        "not-turned",
        "Nothing is turned: out[c, r] is wanted at x[r, c], so the row's number goes with out_column_stride.",
        headings.LIBRARY_KERNEL,
        lambda x: x.T.clone() if x.shape[0] != x.shape[1] else x,
    ),
    Mistake(
        "tiles-in-place",
        "Each tile is turned, but stays where it was: the second from the left belongs second from the top.",
        headings.ONE_HEAD,
        tiles_in_place,
    ),
    Mistake(
        "diagonal-only",
        "Only the diagonal of a tile is written: rows and columns go in step, one pair a lane. A column of rows, "
        "row[:, None], and a row of columns, column[None, :], make all pairs.",
        headings.FIRST_KERNEL,
        lambda x: with_nan(x, ~diagonal(x)).T,
    ),
    Mistake(
        "first-tile-only",
        "Every program works on the first tile: tl.program_id(0) and tl.program_id(1) say which is its own.",
        headings.FIRST_KERNEL,
        lambda x: with_nan(x, (tiles(x)[0] > 0) | (tiles(x)[1] > 0)).T,
    ),
    Mistake(
        "last-tiles-missing",
        "Tiles at the edges, which are not full, are never written: round the numbers of programs up.",
        headings.FIRST_KERNEL,
        lambda x: with_nan(x, (tiles(x)[0] >= len(x) // TILE) | (tiles(x)[1] >= x.shape[1] // TILE)).T,
        writes=False,
    ),
)

TASKS = (
    Task("copy", lambda x: x.clone(), copy_cases, COPY_MISTAKES, exact=True, check_accesses=touches_many_segments),
    Task(
        "transpose",
        lambda x: x.T.clone(),
        transpose_cases,
        TRANSPOSE_MISTAKES,
        exact=True,
        check_accesses=touches_many_segments,
    ),
)
