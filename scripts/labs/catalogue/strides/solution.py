"""Axis after axis, and views by their strides on both ways."""

import torch


def cells(sizes: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    place = torch.tensor(0)
    for size, stride in zip(sizes, strides, strict=True):
        place = place[..., None] + torch.arange(size) * stride  # one more axis
    return place


def split_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    words, width = x.shape
    d = width // heads
    word, number = x.stride()
    return x.as_strided((heads, words, d), (d * number, word, number))


def joined_stride(sizes: tuple[int, int], strides: tuple[int, int]) -> int:
    if sizes[0] == 1:  # nobody steps along the outer axis
        return strides[1]
    if sizes[1] == 1:
        return strides[0]
    return strides[1] if strides[0] == sizes[1] * strides[1] else -1


def merge_heads(blends: torch.Tensor) -> torch.Tensor:
    heads, words, d = blends.shape
    out = torch.empty(words, heads * d, dtype=blends.dtype)
    out.as_strided((heads, words, d), (d, heads * d, 1)).copy_(blends)  # the way in, walked backwards
    return out
