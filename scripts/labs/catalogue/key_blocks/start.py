"""Attention: a program for each query, which meets a block of keys at a time."""

import torch
import triton
import triton.language as tl

BLOCK_K = 16


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
) -> None:
    """Writes softmax(q kᵀ / √d) v to out.

    q, out: [N_q, d]   k, v: [N_k, d]   FP32 or FP16, of any strides
    N_k is at least 1, d a power of 2

    This launches one program for each query.  It is right as it stands.
    """
    seq_q, head_dim = q.shape
    seq_k = len(k)
    lines = triton.next_power_of_2(triton.cdiv(seq_k, BLOCK_K))
    attention_kernel[(seq_q,)](
        q, k, v, out, *q.stride(), *k.stride(), *v.stride(), *out.stride(),
        head_dim**-0.5, seq_k, HEAD_DIM=head_dim, BLOCK_K=BLOCK_K, LINES=lines,
    )  # fmt: skip


@triton.jit
def attention_kernel(
    q, k, v, out,
    q_row_stride, q_column_stride, k_row_stride, k_column_stride,
    v_row_stride, v_column_stride, out_row_stride, out_column_stride,
    scale, seq_k,
    HEAD_DIM: tl.constexpr, BLOCK_K: tl.constexpr, LINES: tl.constexpr,
):  # fmt: skip
    """The output of one query, with all arithmetic in FP32.

    q, k, v, out: pointers
    *_stride: how far apart in memory neighbouring rows or columns are, in numbers
    scale: 1/√d
    LINES: how many blocks of BLOCK_K keys hold all keys, rounded up to a power of 2
    """
    raise NotImplementedError("write me")
