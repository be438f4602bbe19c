"""A block of numbers in each program, with a mask for the last block."""

import torch
import triton
import triton.language as tl

BLOCK = 256


def add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    programs = triton.cdiv(len(x), BLOCK)
    add_kernel[(programs,)](x, y, out, len(x), BLOCK=BLOCK)


@triton.jit
def add_kernel(x, y, out, length, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = place < length
    total = tl.load(x + place, mask=real) + 2 * tl.load(y + place, mask=real)
    tl.store(out + place, total, mask=real)
