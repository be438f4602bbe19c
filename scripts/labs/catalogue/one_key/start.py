"""Attention as a kernel: a program a query, which meets one key at a time."""

import torch
import triton
import triton.language as tl


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor
) -> None:  # fmt: skip
    """Writes attention of each head to out.

    q, out: [heads, N_q, d]   k, v: [heads, N_k, d]   d: up to 256   N_k: 0 to 512
    all are FP32, or all FP16, with strides of their own

    This launches one program for each query of each head.  It is right as it
    stands.
    """
    heads, seq_q, head_dim = q.shape
    seq_k = k.shape[1]
    strides = *q.stride(), *k.stride(), *v.stride(), *out.stride()
    padded = triton.next_power_of_2(head_dim)
    row = triton.next_power_of_2(max(1, seq_k))
    attention_kernel[(heads * seq_q,)](
        q, k, v, out, *strides, head_dim**-0.5, seq_q, seq_k, head_dim,
        PADDED_DIM=padded, ROW=row,
    )  # fmt: skip


@triton.jit
def attention_kernel(
    q, k, v, out,
    q_head_stride, q_row_stride, q_column_stride,
    k_head_stride, k_row_stride, k_column_stride,
    v_head_stride, v_row_stride, v_column_stride,
    out_head_stride, out_row_stride, out_column_stride,
    scale, seq_q, seq_k, head_dim, PADDED_DIM: tl.constexpr, ROW: tl.constexpr,
):  # fmt: skip
    """One query of one head: reads it, its keys, its values, and writes its output.

    *_stride: how far apart in memory neighbouring heads, rows or columns are, in
        numbers
    scale: 1/√d, for the scores
    PADDED_DIM, ROW: head_dim and seq_k, up to the next power of two

    The arithmetic is in FP32, sums and scores above all.  Without a key the output
    is 0.
    """
    raise NotImplementedError("write me")
