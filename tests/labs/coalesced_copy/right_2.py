"""A row in each program, walked in blocks; a tile that is turned by tl.trans before it is stored."""

import torch
import triton
import triton.language as tl


def copy(x: torch.Tensor, out: torch.Tensor) -> None:
    copy_kernel[(len(x),)](x, out, x.shape[1], *x.stride(), *out.stride(), BLOCK=128)


@triton.jit
def copy_kernel(x, out, columns, x_row_stride, x_column_stride, out_row_stride, out_column_stride, BLOCK: tl.constexpr):
    x += tl.program_id(0) * x_row_stride
    out += tl.program_id(0) * out_row_stride
    for first in range(0, columns, BLOCK):
        column = first + tl.arange(0, BLOCK)
        numbers = tl.load(x + column * x_column_stride, column < columns, other=0.0)
        tl.store(out + column * out_column_stride, numbers, column < columns)


def transpose(x: torch.Tensor, out: torch.Tensor) -> None:
    programs = triton.cdiv(x.shape[0], 32), triton.cdiv(x.shape[1], 32)
    transpose_kernel[programs](x, out, *x.shape, *x.stride(), *out.stride(), TILE=32)


@triton.jit
def transpose_kernel(
    x, out, rows, columns, x_row_stride, x_column_stride, out_row_stride, out_column_stride, TILE: tl.constexpr
):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    from_x = x + row[:, None] * x_row_stride + column[None, :] * x_column_stride
    tile = tl.load(from_x, (row[:, None] < rows) & (column[None, :] < columns))
    to_out = out + column[:, None] * out_row_stride + row[None, :] * out_column_stride
    tl.store(to_out, tl.trans(tile), (column[:, None] < columns) & (row[None, :] < rows))
