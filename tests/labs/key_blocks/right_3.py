"""The softmax of the next chapter: maximum and sum so far, in blocks of eight keys whose columns lie upright."""

import torch
import triton
import triton.language as tl


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    scale = 1.4426950408889634 / q.shape[1] ** 0.5
    attention_kernel[(q.shape[0],)](
        q, k, v, out, *q.stride(), *k.stride(), *v.stride(), *out.stride(), scale, k.shape[0],
        HEAD_DIM=q.shape[1], BLOCK_K=8,
    )  # fmt: skip


@triton.jit
def attention_kernel(
    q, k, v, out,
    q_row_stride, q_column_stride, k_row_stride, k_column_stride, v_row_stride, v_column_stride,
    out_row_stride, out_column_stride, scale, seq_k,
    HEAD_DIM: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    column = tl.arange(0, HEAD_DIM)[:, None]
    query = tl.load(q + tl.program_id(0) * q_row_stride + column * q_column_stride).to(tl.float32)
    running_max = -float("inf")
    running_sum = 0.0
    blend = tl.zeros([HEAD_DIM], tl.float32)
    for block in range(tl.cdiv(seq_k, BLOCK_K)):
        key = (block * BLOCK_K + tl.arange(0, BLOCK_K))[None, :]
        keys = tl.load(k + column * k_column_stride + key * k_row_stride, mask=key < seq_k, other=0.0).to(tl.float32)
        values = tl.load(v + column * v_column_stride + key * v_row_stride, mask=key < seq_k, other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 0, keep_dims=True) * scale + tl.where(key < seq_k, 0.0, -float("inf"))
        new_max = tl.maximum(running_max, tl.max(scores))
        exponentials = tl.exp2(scores - new_max)
        rescale = tl.exp2(running_max - new_max)
        running_sum = running_sum * rescale + tl.sum(exponentials)
        blend = blend * rescale + tl.sum(exponentials * values, 1)
        running_max = new_max
    tl.store(out + tl.program_id(0) * out_row_stride + tl.arange(0, HEAD_DIM) * out_column_stride, blend / running_sum)
