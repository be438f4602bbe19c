"""Tiles that are wider than they are high, and a few programs that stride over the tiles."""

import torch
import triton
import triton.language as tl


def copy(x: torch.Tensor, out: torch.Tensor) -> None:
    programs = triton.cdiv(x.shape[0], 4), triton.cdiv(x.shape[1], 64)
    copy_kernel[programs](x, out, *x.shape, *x.stride(), *out.stride(), HEIGHT=4, WIDTH=64)


@triton.jit
def copy_kernel(
    x,
    out,
    rows,
    columns,
    x_row_stride,
    x_column_stride,
    out_row_stride,
    out_column_stride,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    row = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)[:, None]
    column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)[None, :]
    mask = (row < rows) & (column < columns)
    tl.store(
        out + row * out_row_stride + column * out_column_stride,
        tl.load(x + row * x_row_stride + column * x_column_stride, mask),
        mask,
    )


def transpose(x: torch.Tensor, out: torch.Tensor) -> None:
    transpose_kernel[(3,)](x, out, *x.shape, *x.stride(), *out.stride(), HEIGHT=32, WIDTH=64)


@triton.jit
def transpose_kernel(
    x,
    out,
    rows,
    columns,
    x_row_stride,
    x_column_stride,
    out_row_stride,
    out_column_stride,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    tiles_per_row = tl.cdiv(columns, WIDTH)
    for tile in range(tl.program_id(0), tl.cdiv(rows, HEIGHT) * tiles_per_row, tl.num_programs(0)):
        row = tile // tiles_per_row * HEIGHT + tl.arange(0, HEIGHT)
        column = tile % tiles_per_row * WIDTH + tl.arange(0, WIDTH)
        mask = (row < rows)[:, None] & (column < columns)[None, :]
        numbers = tl.load(x + row[:, None] * x_row_stride + column[None, :] * x_column_stride, mask)
        tl.store(out + row[:, None] * out_column_stride + column[None, :] * out_row_stride, numbers, mask)
