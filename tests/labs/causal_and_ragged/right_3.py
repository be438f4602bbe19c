"""From the diagonal back to key 0: each program counts how many keys a query of its own may see."""

import torch
import triton
import triton.language as tl


def flash_forward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool, out: torch.Tensor, lse: torch.Tensor
) -> None:
    heads, seq_q, head_dim = q.shape
    flash_kernel[(heads * triton.cdiv(seq_q, 16),)](
        q, k, v, out, lse, *q.stride(), *k.stride(), *v.stride(), *out.stride(), *lse.stride(),
        head_dim**0.5, heads, seq_q, k.shape[1], int(is_causal), HEAD_DIM=head_dim, BLOCK=16,
    )  # fmt: skip


@triton.jit
def flash_kernel(
    q, k, v, out, lse,
    q_head_stride, q_row_stride, q_column_stride, k_head_stride, k_row_stride, k_column_stride,
    v_head_stride, v_row_stride, v_column_stride,
    out_head_stride, out_row_stride, out_column_stride, lse_head_stride, lse_row_stride,
    root, heads, seq_q, seq_k, causal,
    HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(0) % heads
    query = tl.program_id(0) // heads * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, HEAD_DIM)
    seen = tl.where(causal == 1, tl.minimum(query + 1, seq_k), seq_k)  # how many keys each query sees
    mask = (query < seq_q)[:, None]
    queries = tl.load(
        q + head * q_head_stride + query[:, None] * q_row_stride + column[None, :] * q_column_stride, mask, 0.0
    )
    queries = queries.to(tl.float32) / root
    lowest = -1e30  # in place of minus infinity: finite, so that no difference is NaN
    running_max = tl.full([BLOCK], lowest, tl.float32)
    running_sum = tl.zeros([BLOCK], tl.float32)
    accumulator = tl.zeros([BLOCK, HEAD_DIM], tl.float32)
    blocks = tl.cdiv(tl.max(seen), BLOCK)
    for turn in range(blocks):
        key = (blocks - 1 - turn) * BLOCK + tl.arange(0, BLOCK)
        keys = tl.load(
            k + head * k_head_stride + key[None, :] * k_row_stride + column[:, None] * k_column_stride,
            (key < seq_k)[None, :],
            0.0,
        )
        values = tl.load(
            v + head * v_head_stride + key[:, None] * v_row_stride + column[None, :] * v_column_stride,
            (key < seq_k)[:, None],
            0.0,
        )
        visible = key[None, :] < seen[:, None]
        scores = tl.where(visible, tl.dot(queries, keys.to(tl.float32), input_precision="ieee"), lowest)
        new_max = tl.maximum(running_max, tl.max(scores, 1))
        exponentials = tl.where(visible, tl.exp(scores - new_max[:, None]), 0.0)
        rescale = tl.exp(running_max - new_max)
        running_sum = running_sum * rescale + tl.sum(exponentials, 1)
        accumulator = accumulator * rescale[:, None]
        accumulator += tl.dot(exponentials, values.to(tl.float32), input_precision="ieee")
        running_max = new_max
    nothing = running_sum == 0.0
    blend = accumulator / tl.where(nothing, 1.0, running_sum)[:, None]
    number = tl.where(nothing, -float("inf"), running_max + tl.log(tl.where(nothing, 1.0, running_sum)))
    tl.store(
        out + head * out_head_stride + query[:, None] * out_row_stride + column[None, :] * out_column_stride,
        blend,
        mask,
    )
    tl.store(lse + head * lse_head_stride + query * lse_row_stride, number, query < seq_q)
