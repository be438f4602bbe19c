"""The kernels before and after the backward pass's matmuls, in plain Triton.

The first computes two numbers for each row, the second rounds FP32 sums to gradients.
"""

from __future__ import annotations

import triton
import triton.language as tl

from kernels.flash.schedule import LOG2_E

COUNTS = ["heads", "seq_q", "padded_q", "batch_stride", "head_stride", "row_stride"]


@triton.jit(do_not_specialize=COUNTS)
def backward_preprocess_kernel(
    out, dout, lse, dlse, lse_log2, delta, accum, heads, seq_q, padded_q,
    batch_stride, head_stride, row_stride,
    HEAD_DIM: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Writes lse_log2 and delta of a block of rows, also of padding rows, and sums of 0.

    out: contiguous   dout: rows contiguous, its other strides divided by 8
    lse_log2, delta: [batch_heads, padded_q]   accum: None, or [batch_heads · padded_q, COLUMNS]
    """
    blocks = padded_q // BLOCK
    batch_head = tl.program_id(0) // blocks
    row = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, COLUMNS)
    mask = (row < seq_q)[:, None] & (column < HEAD_DIM)[None, :]
    out_row = tl.cast(batch_head, tl.int64) * seq_q + row
    outs = tl.load(out + out_row[:, None] * HEAD_DIM + column[None, :], mask, 0.0)
    dout += tl.cast(batch_head // heads, tl.int64) * batch_stride * 8
    dout += tl.cast(batch_head % heads, tl.int64) * head_stride * 8
    dout_row = tl.cast(row, tl.int64) * row_stride * 8
    douts = tl.load(dout + dout_row[:, None] + column[None, :], mask, 0.0)
    row_delta = tl.sum(outs.to(tl.float32) * douts.to(tl.float32), 1)
    if dlse is not None:
        row_delta -= tl.load(dlse + out_row, row < seq_q, 0.0)
    # A row that saw no key, or is padding, gets +inf, which makes all its weights 0.
    row_lse_log2 = tl.load(lse + out_row, row < seq_q, -float("inf")) * LOG2_E
    row_lse_log2 = tl.where(row_lse_log2 == -float("inf"), float("inf"), row_lse_log2)
    padded_row = tl.cast(batch_head, tl.int64) * padded_q + row
    tl.store(delta + padded_row, row_delta)
    tl.store(lse_log2 + padded_row, row_lse_log2)
    if accum is not None:
        offsets = padded_row[:, None] * COLUMNS + column[None, :]
        tl.store(accum + offsets, tl.zeros([BLOCK, COLUMNS], tl.float32))


@triton.jit(do_not_specialize=["seq_q", "padded_q"])
def backward_postprocess_kernel(
    accum, dq, scale, seq_q, padded_q,
    HEAD_DIM: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Writes a tile of dq, [64, 64], from sums in the order of a consumer's registers.

    The tiles of a block of queries are stored from left to right, then from top to bottom.
    """
    ROWS: tl.constexpr = 64
    WIDTH: tl.constexpr = 64
    tiles_across: tl.constexpr = COLUMNS // WIDTH
    tiles: tl.constexpr = BLOCK * COLUMNS // (ROWS * WIDTH)
    program = tl.program_id(0)
    blocks = padded_q // BLOCK
    batch_head = program // (blocks * tiles)
    block = program // tiles % blocks
    tile = program % tiles
    first_offset = tl.cast(program, tl.int64) * (ROWS * WIDTH)
    # which 8 columns, warp, row of 8, pair of columns, which 8 of 16 rows, which of a pair
    numbers = tl.load(accum + first_offset + tl.arange(0, ROWS * WIDTH))
    numbers = numbers.reshape(WIDTH // 8, 4, 8, 4, 2, 2).permute(1, 4, 2, 0, 3, 5)
    numbers = numbers.reshape(ROWS, WIDTH)
    row = block * BLOCK + tile // tiles_across * ROWS + tl.arange(0, ROWS)
    column = tile % tiles_across * WIDTH + tl.arange(0, WIDTH)
    out_row = tl.cast(batch_head, tl.int64) * seq_q + row
    offsets = out_row[:, None] * HEAD_DIM + column[None, :]
    mask = (row < seq_q)[:, None] & (column < HEAD_DIM)[None, :]
    tl.store(dq + offsets, (numbers * scale).to(dq.dtype.element_ty), mask)
