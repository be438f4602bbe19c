"""Numbers counted row after row, and a tile that is stored with the strides exchanged."""

import torch
import triton
import triton.language as tl

BLOCK = 256
TILE = 32


def copy(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    programs = triton.cdiv(rows * columns, BLOCK)
    copy_kernel[(programs,)](x, out, rows, columns, *x.stride(), *out.stride(), BLOCK=BLOCK)


@triton.jit
def copy_kernel(
    x, out, rows, columns, x_row_stride, x_column_stride, out_row_stride, out_column_stride, BLOCK: tl.constexpr
):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = place < rows * columns
    row = place // columns
    column = place % columns
    numbers = tl.load(x + row * x_row_stride + column * x_column_stride, mask=real)
    tl.store(out + row * out_row_stride + column * out_column_stride, numbers, mask=real)


def transpose(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    programs = triton.cdiv(rows, TILE), triton.cdiv(columns, TILE)
    transpose_kernel[programs](x, out, rows, columns, *x.stride(), *out.stride(), TILE=TILE)


@triton.jit
def transpose_kernel(
    x, out, rows, columns, x_row_stride, x_column_stride, out_row_stride, out_column_stride, TILE: tl.constexpr
):
    row = (tl.program_id(0) * TILE + tl.arange(0, TILE))[:, None]
    column = (tl.program_id(1) * TILE + tl.arange(0, TILE))[None, :]
    real = (row < rows) & (column < columns)
    tile = tl.load(x + row * x_row_stride + column * x_column_stride, mask=real)
    tl.store(out + column * out_row_stride + row * out_column_stride, tile, mask=real)
