"""Copy and transpose: two kernels without arithmetic; only the addresses count."""

import torch
import triton
import triton.language as tl

BLOCK = 256
TILE = 32


def copy(x: torch.Tensor, out: torch.Tensor) -> None:
    """Writes x to out.

    x, out: [rows, columns], FP32 or FP16, with strides of their own

    This launches one program for each BLOCK numbers.  It is right as it stands.
    """
    rows, columns = x.shape
    programs = triton.cdiv(rows * columns, BLOCK)
    strides = *x.stride(), *out.stride()
    copy_kernel[(programs,)](x, out, rows, columns, *strides, BLOCK=BLOCK)


@triton.jit
def copy_kernel(
    x, out, rows, columns, x_row_stride, x_column_stride,
    out_row_stride, out_column_stride, BLOCK: tl.constexpr,
):  # fmt: skip
    """BLOCK numbers of the copy.

    *_stride: how far apart in memory neighbouring rows or columns are, in numbers
    """
    raise NotImplementedError("write me")


def transpose(x: torch.Tensor, out: torch.Tensor) -> None:
    """Writes x, turned on its side, to out: out[c, r] = x[r, c].

    x: [rows, columns]   out: [columns, rows], FP32 or FP16, any strides

    This launches one program for each tile of TILE by TILE numbers of x.  It is
    right as it stands.
    """
    rows, columns = x.shape
    programs = triton.cdiv(rows, TILE), triton.cdiv(columns, TILE)
    strides = *x.stride(), *out.stride()
    transpose_kernel[programs](x, out, rows, columns, *strides, TILE=TILE)


@triton.jit
def transpose_kernel(
    x, out, rows, columns, x_row_stride, x_column_stride,
    out_row_stride, out_column_stride, TILE: tl.constexpr,
):  # fmt: skip
    """One tile of x.

    tl.program_id(0) counts tiles down the rows of x, tl.program_id(1) along its
    columns.
    """
    raise NotImplementedError("write me")
