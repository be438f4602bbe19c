"""Two blocks in each program, one after the other."""

import torch
import triton
import triton.language as tl

BLOCK = 256


def add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    add_kernel[(triton.cdiv(len(x), 2 * BLOCK),)](x, y, out, len(x), BLOCK=BLOCK)


@triton.jit
def add_kernel(x, y, out, length, BLOCK: tl.constexpr):
    for half in range(2):
        place = (2 * tl.program_id(0) + half) * BLOCK + tl.arange(0, BLOCK)
        total = tl.load(x + place, place < length, other=0.0) + 2 * tl.load(y + place, place < length, other=0.0)
        tl.store(out + place, total, place < length)
