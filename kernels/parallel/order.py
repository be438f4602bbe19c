"""Says which tokens of a sequence each GPU holds, and which of them see which.

If we cut a sequence into as many pieces as there are GPUs, one after the other, causal work is
unbalanced: the tokens of the last GPU see all others, those of the first see only themselves.
In zigzag order we cut it into twice as many chunks, and a GPU holds one from the front and its
mirror image from the back:

    chunk        0  1  2  3  4  5  6  7        of 4 GPUs
    GPU          0  1  2  3  3  2  1  0

Then the mask leaves half of the scores of one GPU's queries with another's keys, whichever two
they are, and that half is a whole rectangle without a diagonal:

    the other GPU has the lower number     all my queries see its first chunk
    it has the higher number               my second chunk sees both of its chunks

Source: Llama Team, "The Llama 3 Herd of Models", 2024, arXiv:2407.21783, section 3.3.2, which
cuts a sequence into twice as many chunks for the same reason.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

Order = Literal["zigzag", "contiguous"]
ORDERS = ("zigzag", "contiguous")


class CallOptions(NamedTuple):
    """The options of a call, the same on every GPU."""

    is_causal: bool
    scale: float
    order: Order


class VisibleBlock(NamedTuple):
    """Rows of one GPU and rows of another: each of ``queries`` sees all of ``keys``."""

    queries: slice
    keys: slice

    @property
    def num_keys(self) -> int:
        return self.keys.stop - self.keys.start


EMPTY_BLOCK = VisibleBlock(slice(0, 0), slice(0, 0))


def chunks_of(rank: int, ranks: int, order: Order) -> tuple[int, ...]:
    """Returns which chunks of the sequence a GPU holds, in their order there."""
    return (rank,) if order == "contiguous" else (rank, 2 * ranks - 1 - rank)


def num_chunks(ranks: int, order: Order) -> int:
    return ranks if order == "contiguous" else 2 * ranks


def visible_block(
    rank: int, owner: int, ranks: int, tokens: int, *, is_causal: bool, order: Order
) -> VisibleBlock:
    """Returns what the queries of GPU ``rank`` see of the keys of another, ``owner``.

    tokens: how many each GPU holds
    """
    all_rows = slice(0, tokens)
    if not is_causal:
        return VisibleBlock(all_rows, all_rows)
    if order == "contiguous":
        return VisibleBlock(all_rows, all_rows) if owner < rank else EMPTY_BLOCK
    half = tokens // 2
    if owner < rank:
        return VisibleBlock(all_rows, slice(0, half))
    return VisibleBlock(slice(half, tokens), all_rows)


def shard(
    x: Tensor, rank: int, ranks: int, *, order: Order = "zigzag", dim: int = -2
) -> Tensor:
    """Returns the part of a whole sequence that a GPU holds, contiguous.

    x: the sequence along ``dim``, whose length is a multiple of ``ranks``, in zigzag order of
    twice as many
    Raises a ValueError that says what doesn't fit.
    """
    check_order(order)
    count = num_chunks(ranks, order)
    if x.shape[dim] % count:
        raise ValueError(
            f"the sequence has {x.shape[dim]} tokens, a multiple of {count} is wanted for "
            f"{ranks} GPUs in {order} order: pad it"
        )
    chunks = x.chunk(count, dim) if x.shape[dim] else [x] * count
    return torch.cat([chunks[i] for i in chunks_of(rank, ranks, order)], dim)


def unshard(parts: list[Tensor], *, order: Order = "zigzag", dim: int = -2) -> Tensor:
    """Returns the whole sequence, from the parts of all GPUs in the order of their ranks."""
    check_order(order)
    ranks = len(parts)
    chunks_per_rank = 1 if order == "contiguous" else 2
    chunks: dict[int, Tensor] = {}
    for rank, part in enumerate(parts):
        chunks |= zip(
            chunks_of(rank, ranks, order), part.chunk(chunks_per_rank, dim), strict=True
        )
    return torch.cat([chunks[i] for i in sorted(chunks)], dim)


def check_order(order: str) -> None:
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}, one of {', '.join(ORDERS)} is wanted")
