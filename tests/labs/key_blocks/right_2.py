"""No score is kept: the keys are read for the maximum, and read again together with the values."""

import torch
import triton
import triton.language as tl


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    seq_q, head_dim = q.shape
    attention_kernel[(seq_q,)](
        q, k, v, out, *q.stride(), *k.stride(), *v.stride(), *out.stride(), head_dim**-0.5, len(k),
        HEAD_DIM=head_dim, BLOCK_K=32,
    )  # fmt: skip


@triton.jit
def scores_of(
    query, k, k_row_stride, k_column_stride, first, seq_k, scale, HEAD_DIM: tl.constexpr, BLOCK_K: tl.constexpr
):
    key = first + tl.arange(0, BLOCK_K)[:, None]
    keys = tl.load(k + key * k_row_stride + tl.arange(0, HEAD_DIM)[None, :] * k_column_stride, key < seq_k, 0.0)
    scores = tl.sum(keys.to(tl.float32) * query[None, :], axis=1, keep_dims=True) * scale
    return tl.where(key < seq_k, scores, -float("inf"))


@triton.jit
def attention_kernel(
    q, k, v, out,
    q_row_stride, q_column_stride, k_row_stride, k_column_stride, v_row_stride, v_column_stride,
    out_row_stride, out_column_stride, scale, seq_k,
    HEAD_DIM: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    query_number = tl.program_id(0)
    column = tl.arange(0, HEAD_DIM)
    query = tl.load(q + query_number * q_row_stride + column * q_column_stride).to(tl.float32)
    maximum = -float("inf")
    for first in range(0, seq_k, BLOCK_K):
        scores = scores_of(query, k, k_row_stride, k_column_stride, first, seq_k, scale, HEAD_DIM, BLOCK_K)
        maximum = tl.maximum(maximum, tl.max(scores))
    total = 0.0
    blend = tl.zeros([HEAD_DIM], tl.float32)
    for first in range(0, seq_k, BLOCK_K):
        weights = tl.exp(
            scores_of(query, k, k_row_stride, k_column_stride, first, seq_k, scale, HEAD_DIM, BLOCK_K) - maximum
        )
        key = first + tl.arange(0, BLOCK_K)[:, None]
        values = tl.load(v + key * v_row_stride + column[None, :] * v_column_stride, key < seq_k, 0.0).to(tl.float32)
        total += tl.sum(weights)
        blend += tl.sum(weights * values, 0)
    tl.store(out + query_number * out_row_stride + column * out_column_stride, blend / total)
