"""The same bytes read contiguously and strided: the first rule of a fast kernel, coalesce.

Memory hands out sectors of 32 bytes, 8 numbers in FP32.  When the 32 threads of a warp read 32
neighbouring FP32 numbers, that is 4 sectors and every byte is wanted.  When they read numbers
that lie 8 or more apart, it is 32 sectors, of which 28 bytes in 32 were fetched for nothing.

The order is chosen so that the waste is real.  The tensor is taken for a table with ``stride``
columns and read column after column: a sector's other numbers are wanted too, but only when the
next columns are read, and by then, if the tensor is much larger than the L2 cache, the sector
is long gone and is fetched again.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import check_kernel

BLOCK = 1024


def strided_read(x: Tensor, stride: int) -> Tensor:
    """One sum for each program, FP32; together they have read every number of x exactly once.

    x: [size], contiguous, FP32, FP16 or BF16   stride: how many numbers apart neighbours read
    sums: [stride · blocks a column], of BLOCK rows of one column of x, [size / stride, stride],
    each, column after column
    Wants the bytes of x once, whatever the stride.  Fetches them once at stride 1; in FP32
    eight times at stride 8, as far as no cache helps, and where memory hands out sectors in
    pairs, as an H100 seems to, sixteen times from stride 16.  One compilation serves all.

    Raises:
        ValueError: if x is not 1-D or not contiguous, if the stride is below 1 or does not
            divide x's size, or if x is on a CPU outside Triton's interpreter.
        TypeError: if x is no tensor of those dtypes, or the stride no int.
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
    check_kernel(strided_read_kernel, on_cpu="torch.sum", x=x)
    rows = x.numel() // stride
    programs = stride * triton.cdiv(rows, BLOCK)
    sums = torch.empty(programs, dtype=torch.float32, device=x.device)
    if programs:
        with torch.cuda.device_of(x):
            strided_read_kernel[(programs,)](x, sums, rows, stride, BLOCK=BLOCK)
    return sums


# Triton does not compile anew for another stride: the addresses differ, not the instructions.
@triton.jit(do_not_specialize=["rows", "stride"])
def strided_read_kernel(x, sums, rows, stride, BLOCK: tl.constexpr):
    """BLOCK rows of one column: neighbouring threads read numbers ``stride`` apart."""
    program = tl.program_id(0)
    programs_a_column = tl.cdiv(rows, BLOCK)
    column = program // programs_a_column
    first_row = tl.cast(program % programs_a_column, tl.int64) * BLOCK
    row = first_row + tl.arange(0, BLOCK)
    numbers = tl.load(x + row * stride + column, row < rows, 0.0)
    tl.store(sums + program, tl.sum(numbers.to(tl.float32)))  # or the read is left out
