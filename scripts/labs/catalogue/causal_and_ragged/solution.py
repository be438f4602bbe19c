"""One loop up to the last key that a query of the block can see, and one mask for the diagonal and for the end."""

import torch
import triton
import triton.language as tl

BLOCK_Q = 16
BLOCK_K = 16


def flash_forward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool, out: torch.Tensor, lse: torch.Tensor
) -> None:
    heads, seq_q, head_dim = q.shape
    seq_k = k.shape[1]
    flash_kernel[(triton.cdiv(seq_q, BLOCK_Q), heads)](
        q, k, v, out, lse, *q.stride(), *k.stride(), *v.stride(), *out.stride(), *lse.stride(),
        head_dim**-0.5, seq_q, seq_k, HEAD_DIM=head_dim, CAUSAL=is_causal, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K,
    )  # fmt: skip


@triton.jit
def flash_kernel(
    q, k, v, out, lse,
    q_head_stride, q_row_stride, q_column_stride,
    k_head_stride, k_row_stride, k_column_stride,
    v_head_stride, v_row_stride, v_column_stride,
    out_head_stride, out_row_stride, out_column_stride,
    lse_head_stride, lse_row_stride, scale, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    first_query = tl.program_id(0) * BLOCK_Q
    query = first_query + tl.arange(0, BLOCK_Q)
    real_query = query < seq_q
    row = tl.arange(0, BLOCK_K)
    column = tl.arange(0, HEAD_DIM)

    places = head * q_head_stride + query[:, None] * q_row_stride + column[None, :] * q_column_stride
    queries = tl.load(q + places, mask=real_query[:, None], other=0.0)
    running_max = tl.full([BLOCK_Q], -float("inf"), tl.float32)
    running_sum = tl.zeros([BLOCK_Q], tl.float32)
    accumulator = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)

    # What no query of this block sees is not read.
    stop = seq_k
    if CAUSAL:
        stop = tl.minimum(seq_k, first_query + BLOCK_Q)
    for first in range(0, stop, BLOCK_K):
        key = first + row
        real_key = key < seq_k
        places = head * k_head_stride + key[:, None] * k_row_stride + column[None, :] * k_column_stride
        keys = tl.load(k + places, mask=real_key[:, None], other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        visible = real_key[None, :]
        if CAUSAL:
            visible = visible & (key[None, :] <= query[:, None])
        scores = tl.where(visible, scores, -float("inf"))

        new_max = tl.maximum(running_max, tl.max(scores, 1))
        exponentials = tl.exp(scores - new_max[:, None])
        rescale = tl.exp(running_max - new_max)
        running_max = new_max
        running_sum = running_sum * rescale + tl.sum(exponentials, 1)

        places = head * v_head_stride + key[:, None] * v_row_stride + column[None, :] * v_column_stride
        values = tl.load(v + places, mask=real_key[:, None], other=0.0)
        blend = tl.dot(exponentials.to(values.dtype), values, input_precision="ieee")
        accumulator = accumulator * rescale[:, None] + blend

    # Without any key the sum is 0.
    safe_sum = tl.where(running_sum == 0.0, 1.0, running_sum)
    places = head * out_head_stride + query[:, None] * out_row_stride + column[None, :] * out_column_stride
    tl.store(out + places, accumulator / safe_sum[:, None], mask=real_query[:, None])
    tl.store(lse + head * lse_head_stride + query * lse_row_stride, running_max + tl.log(safe_sum), mask=real_query)
