"""Tiles [keys, queries], in other blocks; what causal never shows is never read."""

import triton
import triton.language as tl

BLOCK_Q = 32
BLOCK_K = 16


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
    first_key = tl.program_id(0) * BLOCK_K
    key = first_key + tl.arange(0, BLOCK_K)
    column = tl.arange(0, HEAD_DIM)[None, :]
    keys = tl.load(k + key[:, None] * k_row_stride + column, (key < seq_k)[:, None], 0.0).to(tl.float32)
    keys *= scale * 1.4426950408889634  # powers of 2 from here on
    dvalues = tl.zeros([BLOCK_K, HEAD_DIM], tl.float32)
    start = first_key // BLOCK_Q * BLOCK_Q if CAUSAL else 0  # queries before it see none of these keys
    for first in range(start, seq_q, BLOCK_Q):
        query = first + tl.arange(0, BLOCK_Q)
        mask = query < seq_q
        queries = tl.load(q + query[:, None] * q_row_stride + column, mask[:, None], 0.0).to(tl.float32)
        douts = tl.load(dout + query[:, None] * dout_row_stride + column, mask[:, None], 0.0).to(tl.float32)
        row_lse = tl.load(lse + query, mask, 0.0) * 1.4426950408889634
        mask = mask & (row_lse != -float("inf"))
        weights = tl.exp2(tl.dot(keys, queries.T, input_precision="ieee") - tl.where(mask, row_lse, 0.0)[None, :])
        visible = mask[None, :] & ((key[:, None] <= query[None, :]) | (not CAUSAL))
        dvalues = tl.dot(tl.where(visible, weights, 0.0), douts, dvalues, input_precision="ieee")
    tl.store(dv + key[:, None] * dv_row_stride + column, dvalues, (key < seq_k)[:, None])


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
    total = tl.zeros([BLOCK_Q], tl.float32)
    for column in range(HEAD_DIM):
        number = tl.load(out + row * out_row_stride + column, row < seq_q, 0.0).to(tl.float32)
        total += number * tl.load(dout + row * dout_row_stride + column, row < seq_q, 0.0).to(tl.float32)
    tl.store(delta + row, total, row < seq_q)


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
    first_query = tl.program_id(0) * BLOCK_Q
    query = first_query + tl.arange(0, BLOCK_Q)
    column = tl.arange(0, HEAD_DIM)[None, :]
    mask = query < seq_q
    queries = tl.load(q + query[:, None] * q_row_stride + column, mask[:, None], 0.0).to(tl.float32)
    douts = tl.load(dout + query[:, None] * dout_row_stride + column, mask[:, None], 0.0).to(tl.float32)
    row_delta = tl.load(delta + query, mask, 0.0)
    row_lse = tl.load(lse + query, mask, 0.0)
    mask = mask & (row_lse != -float("inf"))
    row_lse = tl.where(mask, row_lse, 0.0)
    dqueries = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    stop = tl.minimum(seq_k, first_query + BLOCK_Q) if CAUSAL else seq_k  # keys behind it nobody sees
    for first in range(0, stop, BLOCK_K):
        key = first + tl.arange(0, BLOCK_K)
        keys = tl.load(k + key[:, None] * k_row_stride + column, (key < seq_k)[:, None], 0.0).to(tl.float32)
        values = tl.load(v + key[:, None] * v_row_stride + column, (key < seq_k)[:, None], 0.0).to(tl.float32)
        visible = mask[None, :] & (key < seq_k)[:, None]
        if CAUSAL:
            visible = visible & (key[:, None] <= query[None, :])
        scores = tl.dot(keys, queries.T, input_precision="ieee") * scale - row_lse[None, :]
        weights = tl.exp(tl.where(visible, scores, -float("inf")))
        dweights = tl.dot(values, douts.T, input_precision="ieee")
        dscores = weights * (dweights - row_delta[None, :]) * scale
        dqueries = tl.dot(dscores.T, keys, dqueries, input_precision="ieee")
    tl.store(dq + query[:, None] * dq_row_stride + column, dqueries, (query < seq_q)[:, None])


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
    first_key = tl.program_id(0) * BLOCK_K
    key = first_key + tl.arange(0, BLOCK_K)
    column = tl.arange(0, HEAD_DIM)[None, :]
    keys = tl.load(k + key[:, None] * k_row_stride + column, (key < seq_k)[:, None], 0.0).to(tl.float32)
    values = tl.load(v + key[:, None] * v_row_stride + column, (key < seq_k)[:, None], 0.0).to(tl.float32)
    dkeys = tl.zeros([BLOCK_K, HEAD_DIM], tl.float32)
    start = first_key // BLOCK_Q * BLOCK_Q if CAUSAL else 0
    for first in range(start, seq_q, BLOCK_Q):
        query = first + tl.arange(0, BLOCK_Q)
        mask = query < seq_q
        queries = tl.load(q + query[:, None] * q_row_stride + column, mask[:, None], 0.0).to(tl.float32)
        douts = tl.load(dout + query[:, None] * dout_row_stride + column, mask[:, None], 0.0).to(tl.float32)
        row_delta = tl.load(delta + query, mask, 0.0)
        row_lse = tl.load(lse + query, mask, 0.0)
        mask = mask & (row_lse != -float("inf"))
        scores = tl.dot(keys, queries.T, input_precision="ieee") * scale - tl.where(mask, row_lse, 0.0)[None, :]
        visible = mask[None, :] & ((key[:, None] <= query[None, :]) | (not CAUSAL))
        weights = tl.exp(tl.where(visible, scores, -float("inf")))
        dweights = tl.dot(values, douts.T, input_precision="ieee")
        dkeys = tl.dot(weights * (dweights - row_delta[None, :]), queries, dkeys, input_precision="ieee")
    tl.store(dk + key[:, None] * dk_row_stride + column, dkeys * scale, (key < seq_k)[:, None])
