"""Reads the same tensor again and again with all SMs, to time the cache that holds it.

``strided_read`` times reads that miss every cache; this times reads that hit.  Every program
reads the whole tensor, block after block, in an order of its own.  If the tensor fits in L2, it
comes from memory once, and from L2 after that.  If it's much larger, a block is evicted before
we need it again, and comes from memory each time.

The orders must differ.  If all programs went the same way round, each from a place of its own,
those behind would find in L2 what those ahead had fetched, and catch up, until all ran in one
convoy.  And if several programs request the same bytes at once, one answer may serve them all.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import check_runnable

BLOCK = 4096


def repeated_read(x: Tensor, programs: int) -> Tensor:
    """Returns the sum of x, FP32, from each of so many programs, each of which reads all of x.

    x: [size], contiguous, FP32, FP16 or BF16; size a power of two, 4096 or more
    It requests ``programs`` times the bytes of x from L2, bypassing the caches of the SMs.

    Raises:
        ValueError: if x is not 1-D, not contiguous or of another size, if programs is below 1,
            or if x is on a CPU outside Triton's interpreter.
        TypeError: if x isn't a tensor of those dtypes.
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
    check_runnable(repeated_read_kernel, on_cpu="torch.sum", x=x)
    sums = torch.empty(programs, dtype=torch.float32, device=x.device)
    with torch.cuda.device_of(x):
        repeated_read_kernel[(programs,)](x, sums, size // BLOCK, BLOCK=BLOCK, num_warps=8)
    return sums


@triton.jit(do_not_specialize=["blocks"])
def repeated_read_kernel(x, sums, blocks, BLOCK: tl.constexpr):
    """Sums all blocks of x; an odd step meets each block once, as they are a power of two."""
    program = tl.program_id(0)
    block = program * 977 // 128 % blocks
    step = (2 * program + 1) % blocks
    total = tl.zeros([BLOCK], tl.float32)
    for _ in range(blocks):
        start = tl.cast(block, tl.int64) * BLOCK
        numbers = tl.load(x + start + tl.arange(0, BLOCK), cache_modifier=".cg")
        total += numbers.to(tl.float32)
        block = (block + step) % blocks
    tl.store(sums + program, tl.sum(total))  # the compiler drops a read that nobody uses
