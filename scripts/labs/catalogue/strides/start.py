"""Strides: how a tensor walks through memory, and when numbers must be copied."""

import torch


def cells(sizes: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    """The memory cell of each number of a tensor, counted from its first number.

    sizes: of the axes, one, two or more of them
    strides: for each axis how many cells one step along it is, 0 or more
    returns: int64, of shape sizes

    cells((2, 3), (3, 1)) is [[0, 1, 2], [3, 4, 5]].
    """
    raise NotImplementedError("write me")


def split_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    """The same numbers by heads, words, numbers of a head, without a copy.

    x: [N, D]; x.stride(0) leads to the next word, x.stride(1) to the next number
    heads: a divisor of D; with d = D / heads, head h has numbers h · d to
        (h + 1) · d - 1 of each word
    returns: [heads, N, d], a view of x

    x.as_strided(sizes, strides) is a view that begins at x's first number and walks
    as you say.  Without view, reshape, transpose and their like: they choose the
    strides for you.
    """
    raise NotImplementedError("write me")


def joined_stride(sizes: tuple[int, int], strides: tuple[int, int]) -> int:
    """The stride with which two axes could be walked as one; -1 if they cannot.

    sizes, strides: of the outer axis and the inner one; sizes from 1, not both 1

    joined_stride((3, 4), (4, 1)) is 1: cells 0 to 11 follow each other.  With
    strides (5, 1) there is no such stride.  The order of the numbers stays.
    """
    raise NotImplementedError("write me")


def merge_heads(blends: torch.Tensor) -> torch.Tensor:
    """A row for each word, the heads side by side: [N, heads · d].

    It is a new table, whose rows follow each other in memory.

    blends: [heads, N, d], with any strides, not to be changed

    torch.empty and as_strided are enough; .copy_ writes through a view.  Without
    torch.cat, torch.stack and their like.
    """
    raise NotImplementedError("write me")
