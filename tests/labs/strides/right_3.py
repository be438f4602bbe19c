"""Cells that carry their own numbers, a tensor set upon the memory of another, and a slice a head."""

import torch


def cells(sizes: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return torch.arange(last + 1).as_strided(sizes, strides)


def split_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    d = x.shape[1] // heads
    word, number = x.stride()
    return x.new_empty(0).set_(x.untyped_storage(), x.storage_offset(), (heads, len(x), d), (d * number, word, number))


def joined_stride(sizes: tuple[int, int], strides: tuple[int, int]) -> int:
    outer, inner = strides
    if min(sizes) == 1:
        return inner if sizes[0] == 1 else outer
    last_of_row = (sizes[1] - 1) * inner
    return inner if outer - last_of_row == inner else -1


def merge_heads(blends: torch.Tensor) -> torch.Tensor:
    heads, words, d = blends.shape
    out = torch.zeros(words, heads * d, dtype=blends.dtype)
    for h in range(heads):
        out[:, h * d : (h + 1) * d] = blends[h]
    return out
