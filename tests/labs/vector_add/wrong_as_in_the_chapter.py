"""The chapter's kernel, word for word, which adds y once."""

import torch
import triton
import triton.language as tl

BLOCK = 256

names = "as-in-the-chapter"


def add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    add_kernel[(triton.cdiv(len(x), BLOCK),)](x, y, out, len(x), BLOCK=BLOCK)


@triton.jit
def add_kernel(x, y, out, length, BLOCK: tl.constexpr):
    first = tl.cast(tl.program_id(0), tl.int64) * BLOCK
    place = first + tl.arange(0, BLOCK)
    real = place < length
    total = tl.load(x + place, real) + tl.load(y + place, real)
    tl.store(out + place, total, real)
