"""Strides: cells by definition, heads as a view, when two axes are one, and the copy that is left."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from scripts.labs.guarded import lay
from scripts.labs.lab import SEEDS, Case, Mistake, Part, normal
from scripts.labs.verdict import Rejection

SECTION = "many-heads#why-contiguous"
AT_ONCE = "many-heads#a-loop-or-all-at-once"
NAN = float("nan")
LAYOUTS = {5: "rows apart", 6: "every second", 7: "transposed"}  # by the number of words, so that a mistake can know


def walks():
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


def tables():
    x = torch.arange(12.0)
    yield Case("three words of width 4, the numbers 0 to 11", {"x": x.reshape(3, 4), "heads": 2})
    for seed in SEEDS:
        yield table(seed, 4, 6, 3)
    yield table(1, 2, 8, 1)
    yield table(2, 2, 4, 4)
    for words in LAYOUTS:
        yield table(3, words, 6, 2)
    yield table(1, 5, 8, 4, torch.float16)


def table(seed: int, words: int, width: int, heads: int, dtype: torch.dtype = torch.float32) -> Case:
    x = normal(seed, words, width, dtype=dtype)
    return Case(f"{words} words, seed {seed}", {"x": x, "heads": heads}, layouts={"x": layout(words)})


def pairs():
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


def blends():
    yield Case("two heads of three words, the numbers 0 to 11", {"blends": torch.arange(12.0).reshape(2, 3, 2)})
    for seed in SEEDS:
        yield blend(seed, 3, 4, 2)
    yield blend(1, 1, 3, 4)
    yield blend(2, 4, 1, 2)
    for words in LAYOUTS:
        yield blend(3, 2, words, 4)
    yield blend(1, 3, 5, 2, torch.float16)


def blend(seed: int, heads: int, words: int, d: int, dtype: torch.dtype = torch.float32) -> Case:
    x = normal(seed, heads, words, d, dtype=dtype)
    return Case(f"{heads} heads, {words} words, seed {seed}", {"blends": x}, layouts={"blends": layout(words)})


def layout(words: int) -> str:
    return LAYOUTS.get(words, "contiguous")


def cells(sizes: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
    place = torch.zeros(sizes, dtype=torch.int64)
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        steps = torch.arange(size) * stride
        place = place + steps.reshape(-1, *[1] * (len(sizes) - axis - 1))
    return place


def split_heads(x: Tensor, heads: int) -> Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(0, 1)


def joined_stride(sizes: tuple[int, int], strides: tuple[int, int]) -> Tensor:
    if sizes[0] == 1:
        return torch.tensor(strides[1])
    if sizes[1] == 1:
        return torch.tensor(strides[0])
    return torch.tensor(strides[1] if strides[0] == sizes[1] * strides[1] else -1)


def merge_heads(blends: Tensor) -> Tensor:
    return blends.transpose(0, 1).flatten(1)


def walked(strides: Callable) -> Callable:
    """split_heads by a walk with other strides through x as it lies.

    strides: of x as it lies and the width of a head
    """

    def form(x: Tensor, heads: int) -> Tensor:
        lies = lay("x", x, layout(len(x))).tensor
        d = x.shape[1] // heads
        return lies.as_strided((heads, len(x), d), strides(lies, d))

    return form


def of_cells(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a table whose rows follow each other."""
    return torch.empty(sizes).stride()


CELLS_MISTAKES = (
    Mistake(
        "strides-unused",
        "The cells follow each other as if rows did: the strides are not used.",
        SECTION,
        lambda sizes, strides: cells(sizes, of_cells(sizes)),
    ),
    Mistake(
        "reversed",
        "The strides go to the axes in the wrong order: the first stride belongs to the first axis.",
        SECTION,
        lambda sizes, strides: cells(sizes, strides[::-1]),
    ),
    Mistake(
        "sizes-as-strides",
        "A step along an axis is as long as the axis has places: sizes and strides have changed roles.",
        SECTION,
        lambda sizes, strides: cells(sizes, sizes),
    ),
    Mistake(
        "from-one",
        "The first number lies in cell 1: cells are counted from 0.",
        SECTION,
        lambda sizes, strides: cells(sizes, strides) + 1,
    ),
)
SPLIT_MISTAKES = (
    Mistake(
        "words-cut",
        "The numbers are cut in the order in which they lie: the first words became head 0. Each head has a part of "
        "every word.",
        AT_ONCE,
        lambda x, heads: x.reshape(heads, len(x), -1),
    ),
    Mistake(
        "interleaved",
        "Head 0 takes each word's numbers 0, heads, 2 · heads, …: the numbers of a head are neighbours.",
        AT_ONCE,
        lambda x, heads: x.unflatten(-1, (-1, heads)).permute(2, 0, 1),
    ),
    Mistake(
        "head-repeated",
        "Every head is head 0: the stride from head to head is 0.",
        SECTION,
        walked(lambda x, d: (0, x.stride(0), x.stride(1))),
    ),
    Mistake(
        "from-the-start",
        "The view begins at cell 0 of the memory and not at x's first number, which may lie anywhere: leave out "
        "storage_offset, or give it x's own.",
        SECTION,
        lambda x, heads: torch.full_like(split_heads(x, heads), NAN),
    ),
    Mistake(
        "rows-assumed",
        "It takes for granted that the rows of x follow each other: the step from word to word is x.stride(0), and "
        "that from number to number x.stride(1).",
        SECTION,
        walked(lambda x, d: (d, x.shape[1], 1)),
    ),
    Mistake(
        "neighbours-assumed",
        "It takes for granted that the numbers of a row are neighbours: the step from one to the next is x.stride(1).",
        SECTION,
        walked(lambda x, d: (d, x.stride(0), 1)),
    ),
    Mistake(
        "head-step-assumed",
        "The step from head to head is that of D / heads numbers, and each of them is x.stride(1) cells long.",
        SECTION,
        walked(lambda x, d: (d, x.stride(0), x.stride(1))),
    ),
)
SPLIT_MISTAKES += (
    Mistake(
        "words-and-heads",
        "The strides of heads and words have changed places: the sizes are heads, words, numbers, and the strides "
        "must be in the same order.",
        SECTION,
        walked(lambda x, d: (x.stride(0), d * x.stride(1), x.stride(1))),
    ),
    Mistake(
        "steps-of-heads",
        "The step from head to head is as many numbers as there are heads, and it is as many as a head has: D / heads.",
        SECTION,
        walked(lambda x, d: (x.shape[1] // d * x.stride(1), x.stride(0), x.stride(1))),
    ),
)
JOINED_MISTAKES = (
    Mistake(
        "always",
        "The inner stride is returned whether or not the outer step fits.",
        SECTION,
        lambda sizes, strides: torch.tensor(strides[1]),
    ),
    Mistake(
        "never",
        "It says of axes that can be joined that they cannot be.",
        SECTION,
        lambda sizes, strides: torch.tensor(-1),
    ),
    Mistake(
        "outer-stride",
        "The outer stride is returned: the joined axis takes the small steps, those of the inner one.",
        SECTION,
        lambda sizes, strides: torch.tensor(strides[0]) if joined_stride(sizes, strides) >= 0 else torch.tensor(-1),
    ),
    Mistake(
        "outer-size",
        "The outer step is compared with the size of the outer axis: what it must skip is all of the inner one.",
        SECTION,
        lambda sizes, strides: torch.tensor(strides[1] if strides[0] == sizes[0] * strides[1] else -1),
    ),
    Mistake(
        "inner-stride-one",
        "It asks whether the outer stride is the inner size: the inner steps may be longer than 1.",
        SECTION,
        lambda sizes, strides: torch.tensor(strides[1] if strides[0] == sizes[1] else -1),
    ),
    Mistake(
        "contiguous-only",
        "It asks for an inner stride of 1: a joined axis may take longer steps, as long as they are all alike.",
        SECTION,
        lambda sizes, strides: torch.tensor(1 if strides == (sizes[1], 1) else -1),
    ),
    Mistake(
        "one-place",
        "An axis of a single place is never stepped along, so its stride forbids nothing.",
        SECTION,
        lambda sizes, strides: torch.tensor(strides[1] if strides[0] == sizes[1] * strides[1] else -1),
    ),
    Mistake(
        "one-place-inside",
        "If the inner axis has a single place, all steps that are left are the outer ones.",
        SECTION,
        lambda sizes, strides: torch.tensor(strides[1]) if sizes[1] == 1 else joined_stride(sizes, strides),
    ),
    Mistake(
        "axes-swapped",
        "The axes have changed places: it is the outer step that must be as long as all of the inner axis.",
        SECTION,
        lambda sizes, strides: torch.tensor(strides[1] if strides[1] == sizes[0] * strides[0] else -1),
    ),
    Mistake(
        "one-step-short",
        "The outer stride is compared with the way to the inner axis's last place: the next row is one step further.",
        SECTION,
        lambda sizes, strides: torch.tensor(strides[1] if strides[0] == (sizes[1] - 1) * strides[1] else -1),
    ),
)
MERGE_MISTAKES = (
    Mistake(
        "not-exchanged",
        "The numbers were only counted off in new rows: row 0 now holds several words of head 0. No shape shows that.",
        SECTION,
        lambda blends: blends.reshape(blends.shape[1], -1),
    ),
    Mistake(
        "interleaved",
        "The heads of a word are mixed number by number, and they are wanted side by side.",
        SECTION,
        lambda blends: blends.permute(1, 2, 0).flatten(1),
    ),
    Mistake(
        "lies-assumed",
        "It takes for granted that the numbers of blends follow each other in memory: ask blends.stride().",
        SECTION,
        lambda blends: merge_heads(
            lay("x", blends, layout(blends.shape[1])).tensor.as_strided(blends.shape, of_cells(blends.shape))
        ),
    ),
    Mistake(
        "one-head",
        "Every head is head 0.",
        SECTION,
        lambda blends: merge_heads(blends[:1].expand_as(blends)),
    ),
)

PARTS = (
    Part("cells", cells, walks, CELLS_MISTAKES, exact=True),
    Part("split_heads", split_heads, tables, SPLIT_MISTAKES, exact=True),
    Part("joined_stride", joined_stride, pairs, JOINED_MISTAKES, exact=True),
    Part("merge_heads", merge_heads, blends, MERGE_MISTAKES, exact=True),
)


def check(functions: dict[str, Callable]) -> str | Rejection:
    """Whether the view is a view, and the rows of the copy lie one after another."""
    x = normal(1, 4, 6)
    split = functions["split_heads"](x, 2)
    if split.untyped_storage().data_ptr() != x.untyped_storage().data_ptr():
        says = "the numbers are right, but they were copied: what it returns is to be a view, in the memory of x"
        return Rejection("split_heads", f"{says}, and .as_strided makes one")
    merged = functions["merge_heads"](normal(1, 2, 4, 3))
    if not merged.is_contiguous():
        says = f"the numbers are right, but they lie in memory with strides {tuple(merged.stride())}"
        return Rejection("merge_heads", f"{says}: rows of 6 that follow each other have {(6, 1)}")
    return ""
