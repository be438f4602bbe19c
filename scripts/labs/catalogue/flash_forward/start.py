"""FlashAttention: a block of queries stays, keys and values stream past."""

import torch
import triton
import triton.language as tl

BLOCK_Q = 16
BLOCK_K = 16


def flash_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    lse: torch.Tensor,
) -> None:
    """Writes softmax(q kᵀ / √d) v of each head to out, the log-sum-exp to lse.

    q, out: [heads, N_q, d]   k, v: [heads, N_k, d]   FP32 or FP16, of any strides
    lse: [heads, N_q], FP32, the natural logarithm of the row's sum of e^score
    N_q, N_k: multiples of 16, at least 16, so that blocks of 16 need no mask
    d: 16, 32, 64 or 128

    This launches one program for each block of queries of each head.  It is right
    as it stands.
    """
    heads, seq_q, head_dim = q.shape
    seq_k = k.shape[1]
    flash_kernel[(seq_q // BLOCK_Q, heads)](
        q, k, v, out, lse,
        *q.stride(), *k.stride(), *v.stride(), *out.stride(), *lse.stride(),
        head_dim**-0.5, seq_k, HEAD_DIM=head_dim, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K,
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
    """A block of BLOCK_Q queries of one head: its rows of out and of lse.

    q, k, v, out, lse: pointers
    *_stride: how far apart in memory neighbouring heads, rows or columns are, in
        numbers
    scale: 1/√d
    tl.program_id(0): which block of queries   tl.program_id(1): which head

    Maximum, sum, accumulator and lse are FP32.  tl.dot wants both its tables in one
    type, so the exponentials may be rounded to v's type for it.  Give each tl.dot
    input_precision="ieee", or a GPU rounds FP32 to TF32.  tl.trans transposes.
    """
    raise NotImplementedError("write me")
