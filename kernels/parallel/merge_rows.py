"""Merges a part into rows of a result: ``kernels.flash.partial.merge`` in place.

On a GPU one kernel reads both and writes one.  Ten small kernels would take longer than the
copy between GPUs that they wait for.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.flash.partial import merge

ROWS = 16  # a program


def merge_rows(out: Tensor, lse: Tensor, part: Tensor, part_lse: Tensor, *, first: int) -> None:
    """Merges a part from other keys into ``out`` and ``lse``, from row ``first`` on.

    out: [batch, heads, N, head_dim], contiguous, of any floating-point dtype
    lse: [batch, heads, N], contiguous, FP32 or FP64
    part: [batch, heads, rows, head_dim]   part_lse: [batch, heads, rows]
    It computes in the dtype of ``lse`` and rounds to that of ``out``.
    """
    if out.is_cuda:
        launch(out, lse, part, part_lse, first)
        return
    merged_rows = slice(first, first + part.shape[2])
    rows, row_lse = out[:, :, merged_rows], lse[:, :, merged_rows]
    merged = merge(rows.to(lse.dtype), row_lse, part.to(lse.dtype), part_lse)
    rows.copy_(merged[0])
    row_lse.copy_(merged[1])


def launch(out: Tensor, lse: Tensor, part: Tensor, part_lse: Tensor, first: int) -> None:
    """Starts the kernel on tensors that fit; in Triton's interpreter on a CPU, too."""
    batch, heads, count, head_dim = part.shape
    # The other axes of a grid end at 65,535, and a large batch has more heads than that.
    grid = (triton.cdiv(count, ROWS) * batch * heads,)
    with torch.cuda.device_of(out):
        merge_rows_kernel[grid](
            out, lse, part.contiguous(), part_lse.contiguous(), first, out.shape[2], count,
            HEAD_DIM=head_dim, PADDED_DIM=triton.next_power_of_2(head_dim), ROWS=ROWS,
        )  # fmt: skip


@triton.jit(do_not_specialize=["first", "tokens", "count"])
def merge_rows_kernel(
    out, lse, part, part_lse, first, tokens, count,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Writes the weighted mean of ROWS rows of one head; two log-sum-exps give the weights."""
    blocks = tl.cdiv(count, ROWS)
    row = tl.program_id(0) % blocks * ROWS + tl.arange(0, ROWS)
    batch_head = tl.cast(tl.program_id(0) // blocks, tl.int64)
    row_mask = row < count
    out_row, part_row = batch_head * tokens + first + row, batch_head * count + row
    lse_a = tl.load(lse + out_row, row_mask, -float("inf"))
    lse_b = tl.load(part_lse + part_row, row_mask, -float("inf"))
    maximum = tl.maximum(lse_a, lse_b)
    # If both are -inf, take 0 for the maximum: (-inf) - (-inf) would be NaN.
    maximum = tl.where(maximum == -float("inf"), 0.0, maximum)
    sum_a, sum_b = tl.exp(lse_a - maximum), tl.exp(lse_b - maximum)
    total = sum_a + sum_b
    weight_a = tl.where(total > 0, sum_a / total, 0.0)
    weight_b = tl.where(total > 0, sum_b / total, 0.0)

    column = tl.arange(0, PADDED_DIM)
    mask = row_mask[:, None] & (column < HEAD_DIM)[None, :]
    out_pointers = out + out_row[:, None] * HEAD_DIM + column[None, :]
    part_pointers = part + part_row[:, None] * HEAD_DIM + column[None, :]
    # If a part saw no key, it doesn't matter what it holds.
    a = tl.load(out_pointers, mask & (weight_a > 0)[:, None], 0.0).to(weight_a.dtype)
    b = tl.load(part_pointers, mask & (weight_b > 0)[:, None], 0.0).to(weight_b.dtype)
    merged = weight_a[:, None] * a + weight_b[:, None] * b
    tl.store(out_pointers, merged.to(out.dtype.element_ty), mask)
    # Several warps load the same lse, and all must do so before one changes it.
    tl.debug_barrier()
    tl.store(lse + out_row, maximum + tl.log(total), row_mask)  # log(0) is -inf
