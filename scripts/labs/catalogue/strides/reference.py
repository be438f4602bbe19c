"""The reference of each function of strides, and how the tables of its cases lie."""

from __future__ import annotations

import torch
from torch import Tensor

LAYOUTS = {5: "rows apart", 6: "every second", 7: "transposed"}  # by the number of words, so that a mistake can know


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
