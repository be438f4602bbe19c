"""A fixed number of programs, each of which strides over the vectors; the sum begins with y."""

import torch
import triton
import triton.language as tl


def add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    add_kernel[(3,)](x, y, out, len(x), BLOCK=64)


@triton.jit
def add_kernel(x, y, out, length, BLOCK: tl.constexpr):
    for first in range(tl.program_id(0) * BLOCK, length, tl.num_programs(0) * BLOCK):
        place = first + tl.arange(0, BLOCK)
        total = tl.load(y + place, place < length)
        total = 2 * total + tl.load(x + place, place < length)
        tl.store(out + place, total, place < length)
