"""Powers of 2, keys read as columns, FP32 throughout, and blocks of 16 queries and 32 keys, the last of them masked."""

import torch
import triton
import triton.language as tl

BLOCK_K = 32


def flash_forward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor) -> None:
    heads, seq_q, head_dim = q.shape
    flash_kernel[(heads * seq_q // 16,)](
        q, k, v, out, lse, *q.stride(), *k.stride(), *v.stride(), *out.stride(), *lse.stride(),
        head_dim**-0.5 * 1.4426950408889634, seq_q // 16, k.shape[1], HEAD_DIM=head_dim, BLOCK_Q=16, BLOCK_K=BLOCK_K,
    )  # fmt: skip


@triton.jit
def flash_kernel(
    q, k, v, out, lse,
    q_head_stride, q_row_stride, q_column_stride, k_head_stride, k_row_stride, k_column_stride,
    v_head_stride, v_row_stride, v_column_stride,
    out_head_stride, out_row_stride, out_column_stride, lse_head_stride, lse_row_stride, scale_log2, blocks, seq_k,
    HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(0) // blocks
    query = tl.program_id(0) % blocks * BLOCK_Q + tl.arange(0, BLOCK_Q)
    column = tl.arange(0, HEAD_DIM)
    queries = tl.load(q + head * q_head_stride + query[:, None] * q_row_stride + column[None, :] * q_column_stride).to(
        tl.float32
    )
    queries *= scale_log2
    running_max = tl.full([BLOCK_Q], -float("inf"), tl.float32)
    running_sum = tl.zeros([BLOCK_Q], tl.float32)
    accumulator = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    for block in range(tl.cdiv(seq_k, BLOCK_K)):
        key = block * BLOCK_K + tl.arange(0, BLOCK_K)
        mask = key < seq_k
        keys = tl.load(
            k + head * k_head_stride + key[None, :] * k_row_stride + column[:, None] * k_column_stride,
            mask[None, :],
            0.0,
        )
        scores = tl.dot(queries, keys.to(tl.float32), input_precision="ieee")
        scores = tl.where(mask[None, :], scores, -float("inf"))
        new_max = tl.maximum(running_max, tl.max(scores, 1))
        rescale = tl.exp2(running_max - new_max)
        exponentials = tl.exp2(scores - new_max[:, None])
        values = tl.load(
            v + head * v_head_stride + key[:, None] * v_row_stride + column[None, :] * v_column_stride,
            mask[:, None],
            0.0,
        )
        running_sum = tl.sum(exponentials, 1) + rescale * running_sum
        accumulator = tl.dot(
            exponentials, values.to(tl.float32), accumulator * rescale[:, None], input_precision="ieee"
        )
        running_max = new_max
    places = head * out_head_stride + query[:, None] * out_row_stride + column[None, :] * out_column_stride
    tl.store(out + places, accumulator / running_sum[:, None])
    tl.store(
        lse + head * lse_head_stride + query * lse_row_stride, (running_max + tl.log2(running_sum)) * 0.6931471805599453
    )
