"""Wrong implementations of lab 3, each with what its author is told, function by function."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.strides.reference import cells, joined_stride, layout, merge_heads, split_heads
from scripts.labs.grading.guarded_tensor import guard
from scripts.labs.lab import Mistake

NAN = float("nan")


def split_heads_with_strides(strides: Callable) -> Callable:
    """split_heads by a walk with other strides through x as it lies.

    strides: of x as it lies and the width of a head
    """

    def implementation(x: Tensor, heads: int) -> Tensor:
        laid_out_x = guard("x", x, layout(len(x))).tensor
        d = x.shape[1] // heads
        return laid_out_x.as_strided((heads, len(x), d), strides(laid_out_x, d))

    return implementation


def contiguous_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a table whose rows follow each other."""
    return torch.empty(sizes).stride()


CELLS_MISTAKES = (
    Mistake(
        "strides-unused",
        "The cells follow each other as if rows did: the strides are not used.",
        headings.STRIDES,
        lambda sizes, strides: cells(sizes, contiguous_strides(sizes)),
    ),
    Mistake(
        "reversed",
        "The strides go to the axes in the wrong order: the first stride belongs to the first axis.",
        headings.STRIDES,
        lambda sizes, strides: cells(sizes, strides[::-1]),
    ),
)
SPLIT_MISTAKES = (
    Mistake(
        "words-cut",
        "The numbers are cut in the order in which they lie: the first words became head 0. Each head has a part of "
        "every word.",
        headings.BATCHED_HEADS,
        lambda x, heads: x.reshape(heads, len(x), -1),
    ),
    Mistake(
        "interleaved",
        "Head 0 takes each word's numbers 0, heads, 2 · heads, …: the numbers of a head are neighbours.",
        headings.BATCHED_HEADS,
        lambda x, heads: x.unflatten(-1, (-1, heads)).permute(2, 0, 1),
    ),
    Mistake(
        "head-repeated",
        "Every head is head 0: the stride from head to head is 0.",
        headings.STRIDES,
        split_heads_with_strides(lambda x, d: (0, x.stride(0), x.stride(1))),
    ),
    Mistake(
        "from-the-start",
        "The view begins at cell 0 of the memory and not at x's first number, which may lie anywhere: leave out "
        "storage_offset, or give it x's own.",
        headings.STRIDES,
        lambda x, heads: torch.full_like(split_heads(x, heads), NAN),
    ),
    Mistake(
        "rows-assumed",
        "It takes for granted that the rows of x follow each other: the step from word to word is x.stride(0), and "
        "that from number to number x.stride(1).",
        headings.STRIDES,
        split_heads_with_strides(lambda x, d: (d, x.shape[1], 1)),
    ),
    Mistake(
        "neighbours-assumed",
        "It takes for granted that the numbers of a row are neighbours: the step from one to the next is x.stride(1).",
        headings.STRIDES,
        split_heads_with_strides(lambda x, d: (d, x.stride(0), 1)),
    ),
    Mistake(
        "head-step-assumed",
        "The step from head to head is that of D / heads numbers, and each of them is x.stride(1) cells long.",
        headings.STRIDES,
        split_heads_with_strides(lambda x, d: (d, x.stride(0), x.stride(1))),
    ),
)
SPLIT_MISTAKES += (
    Mistake(
        "words-and-heads",
        "The strides of heads and words have changed places: the sizes are heads, words, numbers, and the strides "
        "must be in the same order.",
        headings.STRIDES,
        split_heads_with_strides(lambda x, d: (x.stride(0), d * x.stride(1), x.stride(1))),
    ),
)
JOINED_MISTAKES = (
    Mistake(
        "always",
        "The inner stride is returned whether or not the outer step fits.",
        headings.STRIDES,
        lambda sizes, strides: torch.tensor(strides[1]),
    ),
    Mistake(
        "outer-size",
        "The outer step is compared with the size of the outer axis: what it must skip is all of the inner one.",
        headings.STRIDES,
        lambda sizes, strides: torch.tensor(strides[1] if strides[0] == sizes[0] * strides[1] else -1),
    ),
    Mistake(
        "inner-stride-one",
        "It asks whether the outer stride is the inner size: the inner steps may be longer than 1.",
        headings.STRIDES,
        lambda sizes, strides: torch.tensor(strides[1] if strides[0] == sizes[1] else -1),
    ),
    Mistake(
        "contiguous-only",
        "It asks for an inner stride of 1: a joined axis may take longer steps, as long as they are all alike.",
        headings.STRIDES,
        lambda sizes, strides: torch.tensor(1 if strides == (sizes[1], 1) else -1),
    ),
    Mistake(
        "one-place",
        "An axis of a single place is never stepped along, so its stride forbids nothing.",
        headings.STRIDES,
        lambda sizes, strides: torch.tensor(strides[1] if strides[0] == sizes[1] * strides[1] else -1),
    ),
    Mistake(
        "one-place-inside",
        "If the inner axis has a single place, all steps that are left are the outer ones.",
        headings.STRIDES,
        lambda sizes, strides: torch.tensor(strides[1]) if sizes[1] == 1 else joined_stride(sizes, strides),
    ),
)
MERGE_MISTAKES = (
    Mistake(
        "not-exchanged",
        "The numbers were only counted off in new rows: row 0 now holds several words of head 0. No shape shows that.",
        headings.STRIDES,
        lambda blends: blends.reshape(blends.shape[1], -1),
    ),
    Mistake(
        "interleaved",
        "The heads of a word are mixed number by number, and they are wanted side by side.",
        headings.STRIDES,
        lambda blends: blends.permute(1, 2, 0).flatten(1),
    ),
    Mistake(
        "lies-assumed",
        "It takes for granted that the numbers of blends follow each other in memory: ask blends.stride().",
        headings.STRIDES,
        lambda blends: merge_heads(
            guard("x", blends, layout(blends.shape[1])).tensor.as_strided(
                blends.shape, contiguous_strides(blends.shape)
            )
        ),
    ),
)
