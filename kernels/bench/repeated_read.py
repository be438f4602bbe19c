"""The same tensor read again and again by all SMs: how fast the cache is in which it lies.

Coalescing says what a read costs that misses every cache; this says what one costs that does
not.  Every program reads the whole tensor, block after block, in an order of its own.  Up to
the size of the L2 cache the tensor comes from memory once and from L2 ever after; far beyond
that size a block is evicted before it is wanted again, and comes from memory each time.

The orders must differ.  If all programs went the same way round, each from a place of its own,
those behind would find in L2 what those ahead had fetched, and be faster, until all ran in one
convoy; and where several want the same bytes at once, one answer may serve them all.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import check_kernel

BLOCK = 4096


def repeated_read(x: Tensor, programs: int) -> Tensor:
    """The sum of x, FP32, from each of so many programs, all of which read all of it.

    x: [size], contiguous, FP32, FP16 or BF16; size a power of two, 4096 or more
    Asks L2 for ``programs`` times the bytes of x: the caches of the SMs are passed by.

    Raises:
        ValueError: if x is not 1-D, not contiguous or of another size, if programs is below 1,
            or if x is on a CPU outside Triton's interpreter.
        TypeError: if x is no tensor of those dtypes.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"x is {type(x).__name__}, a tensor is wanted")
    size = x.numel()
    if x.ndim != 1 or not x.is_contiguous() or size < BLOCK or size & (size - 1):
        raise ValueError(
            f"x is {list(x.shape)}, contiguous [size] is wanted, a power of two from {BLOCK} on"
        )
    if programs < 1:
        raise ValueError(f"programs is {programs}, at least 1 is wanted")
    check_kernel(repeated_read_kernel, on_cpu="torch.sum", x=x)
    sums = torch.empty(programs, dtype=torch.float32, device=x.device)
    with torch.cuda.device_of(x):
        repeated_read_kernel[(programs,)](x, sums, size // BLOCK, BLOCK=BLOCK, num_warps=8)
    return sums


@triton.jit(do_not_specialize=["blocks"])
def repeated_read_kernel(x, sums, blocks, BLOCK: tl.constexpr):
    """All blocks of x, by steps of an odd number, which meets each of a power of two once."""
    program = tl.program_id(0)
    block = program * 977 // 128 % blocks
    step = (2 * program + 1) % blocks
    total = tl.zeros([BLOCK], tl.float32)
    for _ in range(blocks):
        start = tl.cast(block, tl.int64) * BLOCK
        numbers = tl.load(x + start + tl.arange(0, BLOCK), cache_modifier=".cg")
        total += numbers.to(tl.float32)
        block = (block + step) % blocks
    tl.store(sums + program, tl.sum(total))  # a read without a use is left out
