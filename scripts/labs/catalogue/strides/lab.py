"""Strides: cells by definition, heads as a view, when two axes are one, and the copy that is left."""

from __future__ import annotations

from collections.abc import Callable

import torch

from scripts.labs.catalogue.strides.mistakes import CELLS_MISTAKES, JOINED_MISTAKES, MERGE_MISTAKES, SPLIT_MISTAKES
from scripts.labs.catalogue.strides.reference import LAYOUTS, cells, joined_stride, layout, merge_heads, split_heads
from scripts.labs.lab import SEEDS, Case, Task, normal
from scripts.labs.verdict import Rejection


def cells_cases():
    for name, sizes, strides in (
        ("a vector", (3,), (1,)),
        ("a table", (2, 3), (3, 1)),
        ("a column of a table of width 5", (4,), (5,)),
        ("a table that was turned", (3, 2), (1, 3)),
        ("a table whose rows lie apart", (3, 4), (7, 1)),
        ("two heads of three words", (2, 3, 2), (2, 4, 1)),
        ("a row that is repeated", (2, 3), (0, 1)),
        ("four axes", (1, 3, 2, 2), (12, 2, 6, 1)),
    ):
        yield Case(name, {"sizes": sizes, "strides": strides})


def split_cases():
    x = torch.arange(12.0)
    yield Case("three words of width 4, the numbers 0 to 11", {"x": x.reshape(3, 4), "heads": 2})
    for seed in SEEDS:
        yield split_case(seed, 4, 6, 3)
    yield split_case(1, 2, 8, 1)
    yield split_case(2, 2, 4, 4)
    for words in LAYOUTS:
        yield split_case(3, words, 6, 2)
    yield split_case(1, 5, 8, 4, torch.float16)


def split_case(seed: int, words: int, width: int, heads: int, dtype: torch.dtype = torch.float32) -> Case:
    x = normal(seed, words, width, dtype=dtype)
    return Case(f"{words} words, seed {seed}", {"x": x, "heads": heads}, layouts={"x": layout(words)})


def joined_cases():
    for sizes, strides in (
        ((3, 3), (3, 1)),
        ((3, 4), (4, 1)),
        ((3, 4), (5, 1)),
        ((2, 2), (6, 1)),
        ((3, 2), (2, 6)),
        ((4, 3), (6, 2)),
        ((4, 3), (8, 2)),
        ((3, 4), (3, 1)),
        ((3, 5), (0, 0)),
        ((3, 5), (0, 1)),
        ((1, 4), (9, 2)),
        ((4, 1), (6, 9)),
    ):
        yield Case("two axes", {"sizes": sizes, "strides": strides})


def merge_cases():
    yield Case("two heads of three words, the numbers 0 to 11", {"blends": torch.arange(12.0).reshape(2, 3, 2)})
    for seed in SEEDS:
        yield merge_case(seed, 3, 4, 2)
    yield merge_case(1, 1, 3, 4)
    yield merge_case(2, 4, 1, 2)
    for words in LAYOUTS:
        yield merge_case(3, 2, words, 4)
    yield merge_case(1, 3, 5, 2, torch.float16)


def merge_case(seed: int, heads: int, words: int, d: int, dtype: torch.dtype = torch.float32) -> Case:
    x = normal(seed, heads, words, d, dtype=dtype)
    return Case(f"{heads} heads, {words} words, seed {seed}", {"blends": x}, layouts={"blends": layout(words)})


TASKS = (
    Task("cells", cells, cells_cases, CELLS_MISTAKES, exact=True),
    Task("split_heads", split_heads, split_cases, SPLIT_MISTAKES, exact=True),
    Task("joined_stride", joined_stride, joined_cases, JOINED_MISTAKES, exact=True),
    Task("merge_heads", merge_heads, merge_cases, MERGE_MISTAKES, exact=True),
)


def check(functions: dict[str, Callable]) -> str | Rejection:
    """Whether the view is a view, and the rows of the copy lie one after another."""
    x = normal(1, 4, 6)
    split = functions["split_heads"](x, 2)
    if split.untyped_storage().data_ptr() != x.untyped_storage().data_ptr():
        message = "the numbers are right, but they were copied: what it returns is to be a view, in the memory of x"
        return Rejection("split_heads", f"{message}, and .as_strided makes one")
    merged = functions["merge_heads"](normal(1, 2, 4, 3))
    if not merged.is_contiguous():
        message = f"the numbers are right, but they lie in memory with strides {tuple(merged.stride())}"
        return Rejection("merge_heads", f"{message}: rows of 6 that follow each other have {(6, 1)}")
    return ""
