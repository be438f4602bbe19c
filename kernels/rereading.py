"""The same tensor read again and again by all SMs: how fast the cache is in which it lies.

Coalescing says what a read costs that misses every cache; this says what one costs that does
not.  Every program reads the whole tensor, from a place of its own on and round to it again, so
that they do not all want the same bytes at once.  Up to the size of the L2 cache the tensor
comes from memory once and from L2 ever after; far beyond that size it is evicted before it is
wanted again, and comes from memory each time.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.inputs import check_kernel

BLOCK = 4096


def repeated_read(x: Tensor, programs: int) -> Tensor:
    """The sum of x, FP32, from each of so many programs, all of which read all of it.

    x: [size], contiguous, FP32, FP16 or BF16; size a multiple of 4096
    Asks L2 for ``programs`` times the bytes of x: the caches of the SMs are passed by.

    Raises:
        ValueError: if x is not 1-D, not contiguous, empty or no multiple of 4096 long, if
            programs is below 1, or if x is on a CPU outside Triton's interpreter.
        TypeError: if x is no tensor of those dtypes.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"x is {type(x).__name__}, a tensor is wanted")
    if x.ndim != 1 or not x.is_contiguous() or x.numel() == 0 or x.numel() % BLOCK:
        raise ValueError(f"x is {list(x.shape)}, contiguous [size] is wanted, size in {BLOCK}s")
    if programs < 1:
        raise ValueError(f"programs is {programs}, at least 1 is wanted")
    check_kernel(repeated_read_kernel, on_cpu="torch.sum", x=x)
    sums = torch.empty(programs, dtype=torch.float32, device=x.device)
    with torch.cuda.device_of(x):
        repeated_read_kernel[(programs,)](x, sums, x.numel() // BLOCK, BLOCK=BLOCK, num_warps=8)
    return sums


@triton.jit(do_not_specialize=["blocks"])
def repeated_read_kernel(x, sums, blocks, BLOCK: tl.constexpr):
    """All blocks of x, from one on that is this program's own."""
    program = tl.program_id(0)
    first = tl.cast(program, tl.int64) * blocks // tl.num_programs(0)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(blocks):
        block = (first + i) % blocks
        numbers = tl.load(x + block * BLOCK + tl.arange(0, BLOCK), cache_modifier=".cg")
        total += numbers.to(tl.float32)
    tl.store(sums + program, tl.sum(total))  # a read without a use is left out
