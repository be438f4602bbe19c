"""As chapter 8 has it: running maximum and sum, rescaled when the maximum moves, and one division at the end."""

import torch
import triton
import triton.language as tl

BLOCK_Q = 16
BLOCK_K = 16


def flash_forward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor) -> None:
    heads, seq_q, head_dim = q.shape
    seq_k = k.shape[1]
    flash_kernel[(seq_q // BLOCK_Q, heads)](
        q, k, v, out, lse, *q.stride(), *k.stride(), *v.stride(), *out.stride(), *lse.stride(), head_dim**-0.5, seq_k,
        HEAD_DIM=head_dim, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K,
    )  # fmt: skip


@triton.jit
def flash_kernel(
    q, k, v, out, lse,
    q_head_stride, q_row_stride, q_column_stride,
    k_head_stride, k_row_stride, k_column_stride,
    v_head_stride, v_row_stride, v_column_stride,
    out_head_stride, out_row_stride, out_column_stride,
    lse_head_stride, lse_row_stride, scale, seq_k,
    HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    query = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    row = tl.arange(0, BLOCK_K)
    column = tl.arange(0, HEAD_DIM)

    # The queries stay.  Of keys and values nothing was read yet.
    queries = tl.load(q + head * q_head_stride + query[:, None] * q_row_stride + column[None, :] * q_column_stride)
    running_max = tl.full([BLOCK_Q], -float("inf"), tl.float32)
    running_sum = tl.zeros([BLOCK_Q], tl.float32)
    accumulator = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)

    # Keys and values pass.
    for first in range(0, seq_k, BLOCK_K):
        key = first + row
        keys = tl.load(k + head * k_head_stride + key[:, None] * k_row_stride + column[None, :] * k_column_stride)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale

        new_max = tl.maximum(running_max, tl.max(scores, 1))
        exponentials = tl.exp(scores - new_max[:, None])
        rescale = tl.exp(running_max - new_max)
        running_max = new_max
        running_sum = running_sum * rescale + tl.sum(exponentials, 1)

        values = tl.load(v + head * v_head_stride + key[:, None] * v_row_stride + column[None, :] * v_column_stride)
        blend = tl.dot(exponentials.to(values.dtype), values, input_precision="ieee")
        accumulator = accumulator * rescale[:, None] + blend

    # Only now divide.
    places = head * out_head_stride + query[:, None] * out_row_stride + column[None, :] * out_column_stride
    tl.store(out + places, accumulator / running_sum[:, None])
    tl.store(lse + head * lse_head_stride + query * lse_row_stride, running_max + tl.log(running_sum))
