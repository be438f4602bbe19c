"""The backward pass of one head, in four kernels.

The square of weights is made again, tile by tile, and never stored.

Query i sees key j if j < seq_k, and where causal is True only if j <= i.  Its
weight is

    weights[i, j] = exp(scale · (q[i] · k[j]) - lse[i])

A query whose lse is -inf saw no key at all: its weights are 0, so its gradient is 0
and it adds nothing to others.  Tables may be FP16: widen what you load with
.to(tl.float32), and compute in FP32.  On a GPU tl.dot needs
input_precision="ieee", or it rounds FP32 to TF32 first.
"""

import triton
import triton.language as tl

BLOCK_Q = 16
BLOCK_K = 32


def backward_dv(q, k, lse, dout, dv, scale: float, causal: bool) -> None:
    """Writes the gradient of the values: weightsᵀ · dout.

    q, dout: [seq_q, d]   k, dv: [seq_k, d]   FP32 or FP16; d is 16, 32 or 64
    lse: [seq_q], FP32, the logarithm of each row's sum of exp(score), from forward
    The numbers of a row are neighbours; rows may lie apart.

    One program owns a block of keys.  This launch is right as it stands, and so
    are the three below.
    """
    (seq_q, d), seq_k = q.shape, len(k)
    dv_kernel[(triton.cdiv(seq_k, BLOCK_K),)](
        q, k, lse, dout, dv, q.stride(0), k.stride(0), dout.stride(0), dv.stride(0),
        seq_q, seq_k, scale,
        HEAD_DIM=d, CAUSAL=causal, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K,
    )  # fmt: skip


@triton.jit
def dv_kernel(
    q, k, lse, dout, dv, q_row_stride, k_row_stride, dout_row_stride, dv_row_stride,
    seq_q, seq_k, scale,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """A block of keys: streams all queries past it, and adds up what each owes.

    q, k, lse, dout, dv: pointers
    *_stride: how far apart in memory neighbouring rows are, in numbers
    """
    raise NotImplementedError("write me")


def backward_delta(out, dout, delta) -> None:
    """Writes the sum of dout times out, place by place, of each row.

    out, dout: [seq_q, d], FP32 or FP16   delta: [seq_q], FP32
    """
    seq_q, d = out.shape
    delta_kernel[(triton.cdiv(seq_q, BLOCK_Q),)](
        out, dout, delta, out.stride(0), dout.stride(0), seq_q,
        HEAD_DIM=d, BLOCK_Q=BLOCK_Q,
    )  # fmt: skip


@triton.jit
def delta_kernel(
    out, dout, delta, out_row_stride, dout_row_stride, seq_q,
    HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr,
):  # fmt: skip
    """A block of rows, a number for each."""
    raise NotImplementedError("write me")


def backward_dq(q, k, v, dout, lse, delta, dq, scale: float, causal: bool) -> None:
    """Writes the gradient of the queries: dscores · k · scale.

    q, dout, dq: [seq_q, d]   k, v: [seq_k, d]   FP32 or FP16
    lse, delta: [seq_q], FP32

        dweights = dout · vᵀ
        dscores  = weights ∘ (dweights - delta)      ∘ multiplies place by place

    One program owns a block of queries.
    """
    (seq_q, d), seq_k = q.shape, len(k)
    dq_kernel[(triton.cdiv(seq_q, BLOCK_Q),)](
        q, k, v, dout, lse, delta, dq,
        q.stride(0), k.stride(0), v.stride(0), dout.stride(0), dq.stride(0),
        seq_q, seq_k, scale,
        HEAD_DIM=d, CAUSAL=causal, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K,
    )  # fmt: skip


@triton.jit
def dq_kernel(
    q, k, v, dout, lse, delta, dq, q_row_stride, k_row_stride, v_row_stride,
    dout_row_stride, dq_row_stride, seq_q, seq_k, scale,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """A block of queries: streams keys and values past it."""
    raise NotImplementedError("write me")


def backward_dk(q, k, v, dout, lse, delta, dk, scale: float, causal: bool) -> None:
    """Writes the gradient of the keys: dscoresᵀ · q · scale.

    q, dout: [seq_q, d]   k, v, dk: [seq_k, d]   FP32 or FP16
    lse, delta: [seq_q], FP32

    One program owns a block of keys.
    """
    (seq_q, d), seq_k = q.shape, len(k)
    dk_kernel[(triton.cdiv(seq_k, BLOCK_K),)](
        q, k, v, dout, lse, delta, dk,
        q.stride(0), k.stride(0), v.stride(0), dout.stride(0), dk.stride(0),
        seq_q, seq_k, scale,
        HEAD_DIM=d, CAUSAL=causal, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K,
    )  # fmt: skip


@triton.jit
def dk_kernel(
    q, k, v, dout, lse, delta, dk, q_row_stride, k_row_stride, v_row_stride,
    dout_row_stride, dk_row_stride, seq_q, seq_k, scale,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """A block of keys: streams queries past it."""
    raise NotImplementedError("write me")
