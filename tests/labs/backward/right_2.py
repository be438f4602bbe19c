"""dV one query at a time, the others in steps of eight, with sums of products instead of tl.dot."""

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
    column = tl.arange(0, HEAD_DIM)
    place = key[:, None]
    keys = tl.load(k + place * k_row_stride + column[None, :], place < seq_k, 0.0).to(tl.float32)
    dvalues = tl.zeros([BLOCK_K, HEAD_DIM], tl.float32)
    for query in range(0, seq_q):
        row_lse = tl.load(lse + query)
        if row_lse > -float("inf"):
            one_query = tl.load(q + query * q_row_stride + column).to(tl.float32)
            one_dout = tl.load(dout + query * dout_row_stride + column).to(tl.float32)
            weights = tl.exp(tl.sum(keys * one_query[None, :], 1) * scale - row_lse)
            if CAUSAL:
                weights = tl.where(key <= query, weights, 0.0)
            dvalues += weights[:, None] * one_dout[None, :]
    tl.store(dv + place * dv_row_stride + column[None, :], dvalues, place < seq_k)


def backward_delta(out, dout, delta) -> None:
    seq_q, d = out.shape
    delta_kernel[(triton.cdiv(seq_q, BLOCK_Q),)](
        out, dout, delta, out.stride(0), dout.stride(0), seq_q, HEAD_DIM=d, BLOCK_Q=BLOCK_Q
    )


@triton.jit
def delta_kernel(
    out, dout, delta, out_row_stride, dout_row_stride, seq_q, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr
):
    for step in range(BLOCK_Q):
        row = tl.program_id(0) * BLOCK_Q + step
        if row < seq_q:
            column = tl.arange(0, HEAD_DIM)
            product = tl.load(out + row * out_row_stride + column).to(tl.float32)
            product *= tl.load(dout + row * dout_row_stride + column)
            tl.store(delta + row, tl.sum(product))


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
    column = tl.arange(0, HEAD_DIM)
    mask = query < seq_q
    queries = tl.load(q + query[:, None] * q_row_stride + column[None, :], mask[:, None], 0.0).to(tl.float32)
    douts = tl.load(dout + query[:, None] * dout_row_stride + column[None, :], mask[:, None], 0.0).to(tl.float32)
    row_lse = tl.load(lse + query, mask, -float("inf"))
    row_delta = tl.load(delta + query, mask, 0.0)
    dqueries = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    for first in range(0, seq_k, 8):
        key = first + tl.arange(0, 8)
        there = (key < seq_k)[:, None]
        keys = tl.load(k + key[:, None] * k_row_stride + column[None, :], there, 0.0).to(tl.float32)
        values = tl.load(v + key[:, None] * v_row_stride + column[None, :], there, 0.0).to(tl.float32)
        visible = (row_lse > -float("inf"))[None, :] & there
        if CAUSAL:
            visible = visible & (key[:, None] <= query[None, :])
        scores = tl.sum(keys[:, None, :] * queries[None, :, :], 2) * scale  # [keys, queries]
        weights = tl.exp(tl.where(visible, scores - row_lse[None, :], -float("inf")))
        dscores = weights * (tl.sum(values[:, None, :] * douts[None, :, :], 2) - row_delta[None, :]) * scale
        dqueries += tl.sum(dscores[:, :, None] * keys[:, None, :], 0)
    tl.store(dq + query[:, None] * dq_row_stride + column[None, :], dqueries, mask[:, None])


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
    column = tl.arange(0, HEAD_DIM)
    there = (key < seq_k)[:, None]
    keys = tl.load(k + key[:, None] * k_row_stride + column[None, :], there, 0.0).to(tl.float32)
    values = tl.load(v + key[:, None] * v_row_stride + column[None, :], there, 0.0).to(tl.float32)
    dkeys = tl.zeros([BLOCK_K, HEAD_DIM], tl.float32)
    for first in range(0, seq_q, 8):
        query = first + tl.arange(0, 8)
        mask = query < seq_q
        queries = tl.load(q + query[:, None] * q_row_stride + column[None, :], mask[:, None], 0.0).to(tl.float32)
        douts = tl.load(dout + query[:, None] * dout_row_stride + column[None, :], mask[:, None], 0.0).to(tl.float32)
        row_lse = tl.load(lse + query, mask, -float("inf"))
        visible = (row_lse > -float("inf"))[:, None] & (key >= 0)[None, :]
        if CAUSAL:
            visible = visible & (key[None, :] <= query[:, None])
        scores = tl.sum(queries[:, None, :] * keys[None, :, :], 2) * scale
        weights = tl.exp(tl.where(visible, scores - row_lse[:, None], -float("inf")))
        dweights = tl.sum(douts[:, None, :] * values[None, :, :], 2)
        dscores = weights * (dweights - tl.load(delta + query, mask, 0.0)[:, None]) * scale
        dkeys += tl.sum(dscores[:, :, None] * queries[:, None, :], 0)
    tl.store(dk + key[:, None] * dk_row_stride + column[None, :], dkeys, there)
