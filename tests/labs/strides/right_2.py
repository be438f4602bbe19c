"""Number by number, and a view that names its first cell."""

import itertools

import torch


def cells(sizes: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    place = torch.empty(sizes, dtype=torch.int64)
    for index in itertools.product(*map(range, sizes)):
        place[index] = sum(i * stride for i, stride in zip(index, strides, strict=True))
    return place


def split_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    d = x.shape[1] // heads
    strides = (x.stride(1) * d, x.stride(0), x.stride(1))
    return torch.as_strided(x, (heads, len(x), d), strides, x.storage_offset())


def joined_stride(sizes: tuple[int, int], strides: tuple[int, int]) -> int:
    walked = [i * strides[0] + j * strides[1] for i in range(sizes[0]) for j in range(sizes[1])]
    steps = {after - before for before, after in itertools.pairwise(walked)}
    return steps.pop() if len(steps) == 1 else -1


def merge_heads(blends: torch.Tensor) -> torch.Tensor:
    heads, words, d = blends.shape
    out = torch.empty(words, heads * d, dtype=blends.dtype)
    for i in range(words):
        for h in range(heads):
            for c in range(d):
                out[i, h * d + c] = blends[h, i, c]
    return out
