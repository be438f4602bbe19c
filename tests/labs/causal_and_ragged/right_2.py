"""Two loops: over the blocks that every query of the program sees whole, and over those that need a mask."""

import torch
import triton
import triton.language as tl


def flash_forward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool, out: torch.Tensor, lse: torch.Tensor
) -> None:
    heads, seq_q, head_dim = q.shape
    flash_kernel[(triton.cdiv(seq_q, 32), heads)](
        q, k, v, out, lse, *q.stride(), *k.stride(), *v.stride(), *out.stride(), *lse.stride(),
        head_dim**-0.5 * 1.4426950408889634, seq_q, k.shape[1],
        HEAD_DIM=head_dim, CAUSAL=is_causal, BLOCK_Q=32, BLOCK_K=16,
    )  # fmt: skip


@triton.jit
def flash_kernel(
    q, k, v, out, lse,
    q_head_stride, q_row_stride, q_column_stride, k_head_stride, k_row_stride, k_column_stride,
    v_head_stride, v_row_stride, v_column_stride,
    out_head_stride, out_row_stride, out_column_stride, lse_head_stride, lse_row_stride, scale_log2, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    first_query = tl.program_id(0) * BLOCK_Q
    query = first_query + tl.arange(0, BLOCK_Q)[:, None]
    column = tl.arange(0, HEAD_DIM)[None, :]
    q += tl.program_id(1) * q_head_stride
    k += tl.program_id(1) * k_head_stride
    v += tl.program_id(1) * v_head_stride
    queries = (
        tl.load(q + query * q_row_stride + column * q_column_stride, query < seq_q, 0.0).to(tl.float32) * scale_log2
    )
    running_max = tl.full([BLOCK_Q, 1], -float("inf"), tl.float32)
    running_sum = tl.zeros([BLOCK_Q, 1], tl.float32)
    accumulator = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    if CAUSAL:
        stop = tl.minimum(seq_k, first_query + BLOCK_Q)
        whole = tl.minimum(stop, first_query + 1) // BLOCK_K * BLOCK_K
    else:
        stop = seq_k
        whole = seq_k // BLOCK_K * BLOCK_K
    for MASKED in tl.static_range(2):
        for first in range(whole if MASKED else 0, stop if MASKED else whole, BLOCK_K):
            key = first + tl.arange(0, BLOCK_K)[:, None]
            if MASKED:
                keys = tl.load(k + key * k_row_stride + column * k_column_stride, key < seq_k, 0.0).to(tl.float32)
                values = tl.load(v + key * v_row_stride + column * v_column_stride, key < seq_k, 0.0).to(tl.float32)
            else:
                keys = tl.load(k + key * k_row_stride + column * k_column_stride).to(tl.float32)
                values = tl.load(v + key * v_row_stride + column * v_column_stride).to(tl.float32)
            scores = tl.dot(queries, tl.trans(keys), input_precision="ieee")
            if MASKED:
                hidden = tl.trans(key) >= (tl.minimum(seq_k, query + 1) if CAUSAL else seq_k)
                scores = tl.where(hidden, -float("inf"), scores)
            new_max = tl.maximum(running_max, tl.max(scores, 1, keep_dims=True))
            safe_max = tl.where(new_max == -float("inf"), 0.0, new_max)
            rescale = tl.exp2(running_max - safe_max)
            exponentials = tl.exp2(scores - safe_max)
            running_sum = running_sum * rescale + tl.sum(exponentials, 1, keep_dims=True)
            accumulator = tl.dot(exponentials, values, accumulator * rescale, input_precision="ieee")
            running_max = new_max
    total = tl.maximum(running_sum, 1e-30)
    out += tl.program_id(1) * out_head_stride
    lse += tl.program_id(1) * lse_head_stride
    tl.store(out + query * out_row_stride + column * out_column_stride, accumulator / total, query < seq_q)
    tl.store(lse + query * lse_row_stride, (running_max + tl.log2(total)) * 0.6931471805599453, query < seq_q)
