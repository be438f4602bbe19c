"""Adds two vectors: the smallest useful kernel, with one program for each block of numbers.

``tl.program_id`` tells a program which block is its own, and from that it works out where its
numbers are.  The last block may reach beyond the vectors, so a mask says which numbers exist.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import check_no_gradient, check_runnable

BLOCK = 1024


def add(x: Tensor, y: Tensor) -> Tensor:
    """Returns ``x + y`` of two vectors, [N].

    x, y: [N], contiguous, FP32, FP16 or BF16, of the same dtype and on the same device
    N: up to 2³¹
    Reads 2·N numbers and writes N.

    Raises a ValueError or TypeError that names the argument, also for a vector that requires a
    gradient, and for one on a CPU outside Triton's interpreter.
    """
    for name, vector in (("x", x), ("y", y)):
        if not isinstance(vector, Tensor):
            raise TypeError(f"{name} is {type(vector).__name__}, a tensor is wanted")
        if vector.ndim != 1:
            raise ValueError(f"{name} has {vector.ndim} dimensions, a vector is wanted")
        if not vector.is_contiguous():
            raise ValueError(
                f"{name} has stride {vector.stride(0)}, 1 is wanted: .contiguous()"
            )
    if len(x) > 2**31:
        raise ValueError(
            f"x has {len(x)} numbers, at most 2**31 are wanted, because the kernel counts them "
            "in 32 bits: use torch.add"
        )
    if y.shape != x.shape:
        raise ValueError(f"y has {len(y)} numbers, x has {len(x)}: they must match")
    if y.dtype != x.dtype:
        raise TypeError(f"y is {y.dtype}, x is {x.dtype}: they must match")
    if y.device != x.device:
        raise ValueError(f"y is on {y.device}, x is on {x.device}: they must match")
    check_runnable(add_kernel, on_cpu="torch.add", x=x, y=y)
    check_no_gradient(instead="torch.add", x=x, y=y)
    out = torch.empty_like(x)
    if len(x):
        with torch.cuda.device_of(x):
            add_kernel[(triton.cdiv(len(x), BLOCK),)](x, y, out, len(x), BLOCK=BLOCK)
    return out


@triton.jit
def add_kernel(x, y, out, length, BLOCK: tl.constexpr):
    """Writes one block of the sum.  x, y, out: pointers to ``length`` numbers."""
    first = tl.program_id(0) * BLOCK
    offsets = first + tl.arange(0, BLOCK)
    mask = offsets < length
    total = tl.load(x + offsets, mask) + tl.load(y + offsets, mask)
    tl.store(out + offsets, total, mask)
