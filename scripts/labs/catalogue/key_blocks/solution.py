"""The row of scores is a table of blocks, and softmax is taken of the whole table."""

import torch
import triton
import triton.language as tl

BLOCK_K = 16


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    seq_q, head_dim = q.shape
    seq_k = len(k)
    lines = triton.next_power_of_2(triton.cdiv(seq_k, BLOCK_K))
    attention_kernel[(seq_q,)](
        q, k, v, out, *q.stride(), *k.stride(), *v.stride(), *out.stride(), head_dim**-0.5, seq_k,
        HEAD_DIM=head_dim, BLOCK_K=BLOCK_K, LINES=lines,
    )  # fmt: skip


@triton.jit
def attention_kernel(
    q, k, v, out,
    q_row_stride, q_column_stride, k_row_stride, k_column_stride, v_row_stride, v_column_stride,
    out_row_stride, out_column_stride, scale, seq_k,
    HEAD_DIM: tl.constexpr, BLOCK_K: tl.constexpr, LINES: tl.constexpr,
):  # fmt: skip
    query_number = tl.program_id(0)
    row = tl.arange(0, BLOCK_K)
    column = tl.arange(0, HEAD_DIM)
    line = tl.arange(0, LINES)[:, None]
    query = tl.load(q + query_number * q_row_stride + column * q_column_stride).to(tl.float32)

    # Score a block of keys at a time.  Its scores are one line of the table.
    scores = tl.full([LINES, BLOCK_K], -float("inf"), tl.float32)
    for first in range(0, seq_k, BLOCK_K):
        key = first + row
        places = key[:, None] * k_row_stride + column[None, :] * k_column_stride
        keys = tl.load(k + places, mask=(key < seq_k)[:, None], other=0.0).to(tl.float32)
        block = tl.sum(query[None, :] * keys, 1) * scale
        block = tl.where(key < seq_k, block, -float("inf"))
        scores = tl.where(line == first // BLOCK_K, block[None, :], scores)

    # Normalize the row: all of it is here.
    exponentials = tl.exp(scores - tl.max(scores))
    weights = exponentials / tl.sum(exponentials)

    # Blend a block of values at a time, each row by its own weight.
    blend = tl.zeros([HEAD_DIM], tl.float32)
    for first in range(0, seq_k, BLOCK_K):
        key = first + row
        places = key[:, None] * v_row_stride + column[None, :] * v_column_stride
        values = tl.load(v + places, mask=(key < seq_k)[:, None], other=0.0).to(tl.float32)
        block = tl.sum(tl.where(line == first // BLOCK_K, weights, 0.0), 0)
        blend += tl.sum(block[:, None] * values, 0)
    tl.store(out + query_number * out_row_stride + column * out_column_stride, blend)
