"""Reads the same bytes contiguously and strided, to show why a fast kernel coalesces.

Memory hands out sectors of 32 bytes, 8 numbers in FP32.  If the 32 threads of a warp read 32
neighbouring FP32 numbers, they get 4 sectors and need every byte.  If they read numbers that
are 8 or more apart, they get 32 sectors, and 28 bytes of each 32 are fetched for nothing.

We choose the order so that the waste is real.  We read the tensor as a table with ``stride``
columns, column after column.  We need a sector's other numbers, too, but only with the next
columns.  If the tensor is much larger than the L2 cache, the sector has been evicted by then,
and must be fetched again.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import check_runnable

BLOCK = 1024


def strided_read(x: Tensor, stride: int) -> Tensor:
    """Returns one sum for each program, FP32; together they read each number of x once.

    x: [size], contiguous, FP32, FP16 or BF16   stride: how far apart neighbouring threads read
    sums: [stride · blocks of a column], column after column; each is the sum of BLOCK rows of
    one column of x, [size / stride, stride]
    It needs the bytes of x once, whatever the stride.  At stride 1 it fetches them once.  In
    FP32 it fetches them eight times at stride 8 if no cache helps, and sixteen times from
    stride 16 on if memory hands out sectors in pairs, as an H100 seems to.  It compiles only
    once.

    Raises:
        ValueError: if x is not 1-D or not contiguous, if the stride is below 1 or does not
            divide x's size, or if x is on a CPU outside Triton's interpreter.
        TypeError: if x isn't a tensor of those dtypes, or the stride isn't an int.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"x is {type(x).__name__}, a tensor is wanted")
    if x.ndim != 1:
        raise ValueError(f"x has {x.ndim} dimensions, [size] is wanted")
    if not x.is_contiguous():
        raise ValueError(f"x has stride {x.stride(0)}, a contiguous tensor is wanted")
    if not isinstance(stride, int):
        raise TypeError(f"stride is {type(stride).__name__}, an int is wanted")
    if stride < 1:
        raise ValueError(f"stride is {stride}, at least 1 is wanted")
    if x.numel() % stride:
        raise ValueError(f"stride is {stride}, a divisor of x's size {x.numel()} is wanted")
    check_runnable(strided_read_kernel, on_cpu="torch.sum", x=x)
    rows = x.numel() // stride
    programs = stride * triton.cdiv(rows, BLOCK)
    sums = torch.empty(programs, dtype=torch.float32, device=x.device)
    if programs:
        with torch.cuda.device_of(x):
            strided_read_kernel[(programs,)](x, sums, rows, stride, BLOCK=BLOCK)
    return sums


# Triton doesn't compile again for another stride: only the addresses differ.
@triton.jit(do_not_specialize=["rows", "stride"])
def strided_read_kernel(x, sums, rows, stride, BLOCK: tl.constexpr):
    """Writes the sum of BLOCK rows of one column; neighbours read ``stride`` apart."""
    program = tl.program_id(0)
    programs_a_column = tl.cdiv(rows, BLOCK)
    column = program // programs_a_column
    first_row = tl.cast(program % programs_a_column, tl.int64) * BLOCK
    row = first_row + tl.arange(0, BLOCK)
    numbers = tl.load(x + row * stride + column, row < rows, 0.0)
    tl.store(sums + program, tl.sum(numbers.to(tl.float32)))  # or the compiler drops the read
