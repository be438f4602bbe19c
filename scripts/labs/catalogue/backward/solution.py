"""Tiles [queries, keys], as in the forward pass, with tl.dot; the mask of what is visible comes last."""

import triton
import triton.language as tl

BLOCK_Q = 16
BLOCK_K = 32


def backward_dv(q, k, lse, dout, dv, scale: float, causal: bool) -> None:
    (seq_q, d), seq_k = q.shape, len(k)
    dv_kernel[(triton.cdiv(seq_k, BLOCK_K),)](
        q, k, lse, dout, dv, q.stride(0), k.stride(0), dout.stride(0), dv.stride(0), seq_q, seq_k, scale,
        HEAD_DIM=d, CAUSAL=causal, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K,
    )  # fmt: skip


@triton.jit
def dv_kernel(
    q, k, lse, dout, dv, q_row_stride, k_row_stride, dout_row_stride, dv_row_stride, seq_q, seq_k, scale,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    key = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    column = tl.arange(0, HEAD_DIM)[None, :]
    real_key = (key < seq_k)[:, None]
    keys = tl.load(k + key[:, None] * k_row_stride + column, real_key, 0.0).to(tl.float32)
    dvalues = tl.zeros([BLOCK_K, HEAD_DIM], tl.float32)
    for first in range(0, seq_q, BLOCK_Q):
        query = first + tl.arange(0, BLOCK_Q)
        real_query = (query < seq_q)[:, None]
        queries = tl.load(q + query[:, None] * q_row_stride + column, real_query, 0.0).to(tl.float32)
        douts = tl.load(dout + query[:, None] * dout_row_stride + column, real_query, 0.0).to(tl.float32)
        row_lse = tl.load(lse + query, query < seq_q, -float("inf"))
        row_lse = tl.where(row_lse == -float("inf"), float("inf"), row_lse)  # saw no key: weights of 0
        scores = tl.dot(queries, keys.T, input_precision="ieee") * scale
        weights = tl.exp(scores - row_lse[:, None])
        if CAUSAL:
            weights = tl.where(key[None, :] <= query[:, None], weights, 0.0)
        dvalues += tl.dot(weights.T, douts, input_precision="ieee")
    tl.store(dv + key[:, None] * dv_row_stride + column, dvalues.to(dv.dtype.element_ty), real_key)


def backward_delta(out, dout, delta) -> None:
    seq_q, d = out.shape
    delta_kernel[(triton.cdiv(seq_q, BLOCK_Q),)](
        out, dout, delta, out.stride(0), dout.stride(0), seq_q, HEAD_DIM=d, BLOCK_Q=BLOCK_Q
    )


@triton.jit
def delta_kernel(
    out, dout, delta, out_row_stride, dout_row_stride, seq_q, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr
):
    row = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    column = tl.arange(0, HEAD_DIM)[None, :]
    real = (row < seq_q)[:, None]
    outs = tl.load(out + row[:, None] * out_row_stride + column, real, 0.0).to(tl.float32)
    douts = tl.load(dout + row[:, None] * dout_row_stride + column, real, 0.0).to(tl.float32)
    tl.store(delta + row, tl.sum(outs * douts, 1), row < seq_q)


def backward_dq(q, k, v, dout, lse, delta, dq, scale: float, causal: bool) -> None:
    (seq_q, d), seq_k = q.shape, len(k)
    dq_kernel[(triton.cdiv(seq_q, BLOCK_Q),)](
        q, k, v, dout, lse, delta, dq,
        q.stride(0), k.stride(0), v.stride(0), dout.stride(0), dq.stride(0), seq_q, seq_k, scale,
        HEAD_DIM=d, CAUSAL=causal, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K,
    )  # fmt: skip


@triton.jit
def dq_kernel(
    q, k, v, dout, lse, delta, dq, q_row_stride, k_row_stride, v_row_stride, dout_row_stride, dq_row_stride,
    seq_q, seq_k, scale,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    query = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    column = tl.arange(0, HEAD_DIM)[None, :]
    real_query = (query < seq_q)[:, None]
    queries = tl.load(q + query[:, None] * q_row_stride + column, real_query, 0.0).to(tl.float32)
    douts = tl.load(dout + query[:, None] * dout_row_stride + column, real_query, 0.0).to(tl.float32)
    row_delta = tl.load(delta + query, query < seq_q, 0.0)
    row_lse = tl.load(lse + query, query < seq_q, -float("inf"))
    row_lse = tl.where(row_lse == -float("inf"), float("inf"), row_lse)  # saw no key: weights of 0
    dqueries = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    for first in range(0, seq_k, BLOCK_K):
        key = first + tl.arange(0, BLOCK_K)
        real_key = (key < seq_k)[:, None]
        keys = tl.load(k + key[:, None] * k_row_stride + column, real_key, 0.0).to(tl.float32)
        values = tl.load(v + key[:, None] * v_row_stride + column, real_key, 0.0).to(tl.float32)
        scores = tl.dot(queries, keys.T, input_precision="ieee") * scale
        weights = tl.exp(scores - row_lse[:, None])
        visible = key[None, :] < seq_k
        if CAUSAL:
            visible = visible & (key[None, :] <= query[:, None])
        weights = tl.where(visible, weights, 0.0)
        dweights = tl.dot(douts, values.T, input_precision="ieee")
        dscores = weights * (dweights - row_delta[:, None])
        dqueries += tl.dot(dscores, keys, input_precision="ieee")
    dqueries *= scale
    tl.store(dq + query[:, None] * dq_row_stride + column, dqueries.to(dq.dtype.element_ty), real_query)


def backward_dk(q, k, v, dout, lse, delta, dk, scale: float, causal: bool) -> None:
    (seq_q, d), seq_k = q.shape, len(k)
    dk_kernel[(triton.cdiv(seq_k, BLOCK_K),)](
        q, k, v, dout, lse, delta, dk,
        q.stride(0), k.stride(0), v.stride(0), dout.stride(0), dk.stride(0), seq_q, seq_k, scale,
        HEAD_DIM=d, CAUSAL=causal, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K,
    )  # fmt: skip


@triton.jit
def dk_kernel(
    q, k, v, dout, lse, delta, dk, q_row_stride, k_row_stride, v_row_stride, dout_row_stride, dk_row_stride,
    seq_q, seq_k, scale,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    key = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    column = tl.arange(0, HEAD_DIM)[None, :]
    real_key = (key < seq_k)[:, None]
    keys = tl.load(k + key[:, None] * k_row_stride + column, real_key, 0.0).to(tl.float32)
    values = tl.load(v + key[:, None] * v_row_stride + column, real_key, 0.0).to(tl.float32)
    dkeys = tl.zeros([BLOCK_K, HEAD_DIM], tl.float32)
    for first in range(0, seq_q, BLOCK_Q):
        query = first + tl.arange(0, BLOCK_Q)
        real_query = (query < seq_q)[:, None]
        queries = tl.load(q + query[:, None] * q_row_stride + column, real_query, 0.0).to(tl.float32)
        douts = tl.load(dout + query[:, None] * dout_row_stride + column, real_query, 0.0).to(tl.float32)
        row_delta = tl.load(delta + query, query < seq_q, 0.0)
        row_lse = tl.load(lse + query, query < seq_q, -float("inf"))
        row_lse = tl.where(row_lse == -float("inf"), float("inf"), row_lse)  # saw no key: weights of 0
        scores = tl.dot(queries, keys.T, input_precision="ieee") * scale
        weights = tl.exp(scores - row_lse[:, None])
        if CAUSAL:
            weights = tl.where(key[None, :] <= query[:, None], weights, 0.0)
        dweights = tl.dot(douts, values.T, input_precision="ieee")
        dscores = weights * (dweights - row_delta[:, None])
        dkeys += tl.dot(dscores.T, queries, input_precision="ieee")
    dkeys *= scale
    tl.store(dk + key[:, None] * dk_row_stride + column, dkeys.to(dk.dtype.element_ty), real_key)
