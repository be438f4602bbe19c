"""FlashAttention's backward pass: computes the weights again from lse, block by block.

    weights  = exp(scores - lse)                  as they were in the forward pass
    dvalue   = weightsᵀ · dout
    dweights = dout · valueᵀ
    dscores  = weights ∘ (dweights - delta)       delta = rowsum(dout ∘ out), one number a row
    dquery   = dscores · key · scale
    dkey     = dscoresᵀ · query · scale

One kernel owns queries and streams keys, the other owns keys and streams queries.  A program
adds up only what it owns, so each sum has one order, and two runs agree bit for bit.  It costs
us scores and dweights a second time: seven matmuls instead of five.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.flash.schedule import COUNTS, LOG2_E, length_of, load_block, share_of_work
from kernels.flash.tensors import empty_like, make_descriptor, precision
from kernels.flash.tiles import tiles


def backward(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None, is_causal: bool, scale: float,
    out: Tensor, lse: Tensor, dout: Tensor, dlse: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Returns the gradients of q, k and v."""
    batch, heads, seq_q, head_dim = q.shape
    key_heads, seq_k = k.shape[1:3]
    dq, dk, dv = empty_like(q), empty_like(k), empty_like(v)
    if dq.numel() == 0 or dk.numel() == 0:
        return dq.zero_(), dk.zero_(), dv.zero_()
    dlse = None if dlse is None else dlse.contiguous()
    dq_tile, dkdv_tile = tiles("dq", head_dim, q.dtype), tiles("dkdv", head_dim, q.dtype)
    # Room for whole blocks of queries: the second kernel reads its rows without a mask.
    block = max(dq_tile.block_q, dkdv_tile.block_q)
    padded_q = triton.cdiv(seq_q, block) * block
    lse_log2, delta = torch.empty(2, batch, heads, padded_q, device=q.device).unbind()
    counts = (scale, scale * LOG2_E.value, heads, heads // key_heads, seq_q, seq_k, padded_q)
    options = dict(HEAD_DIM=head_dim, CAUSAL=is_causal, PRECISION=precision(q))
    with torch.cuda.device_of(q):
        rows, columns = dq_tile.block_q, dq_tile.block_k
        flash_dq_kernel[(batch * heads * triton.cdiv(padded_q, rows),)](
            make_descriptor(q, rows), make_descriptor(k, columns), make_descriptor(v, columns),
            make_descriptor(out, rows), make_descriptor(dout, rows),
            lse, dlse, lse_log2, delta, dq, key_lengths, *counts, **options, **dq_tile.launch,
        )  # fmt: skip
        rows, columns = dkdv_tile.block_q, dkdv_tile.block_k
        flash_dkdv_kernel[(batch * key_heads * triton.cdiv(seq_k, columns),)](
            make_descriptor(q, rows), make_descriptor(k, columns), make_descriptor(v, columns),
            make_descriptor(dout, rows),
            lse_log2, delta, dk, dv, key_lengths, *counts, **options, **dkdv_tile.launch,
        )  # fmt: skip
    return dq, dk, dv


@triton.jit(do_not_specialize=COUNTS)
def flash_dq_kernel(
    q, k, v, out, dout, lse, dlse, lse_log2, delta, dq, key_lengths,
    scale, scale_log2, heads, group, seq_q, seq_k, padded_q,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Reads one block of queries, its keys and values; writes dq, lse_log2 and delta."""
    BLOCK_Q: tl.constexpr = q.block_shape[2]
    BLOCK_K: tl.constexpr = k.block_shape[2]
    PADDED_DIM: tl.constexpr = q.block_shape[3]
    query_blocks = padded_q // BLOCK_Q
    batch_head, block_number = share_of_work(query_blocks, seq_q, CAUSAL)
    first_query = (query_blocks - 1 - block_number) * BLOCK_Q
    batch, head = batch_head // heads, batch_head % heads
    key_head = head // group
    seq_k = length_of(key_lengths, batch, seq_k)
    query = first_query + tl.arange(0, BLOCK_Q)
    row = tl.cast(batch_head, tl.int64) * seq_q + query

    # delta: how much of dout points along the output, which softmax takes back.
    queries = load_block(q, batch, head, first_query)
    douts = load_block(dout, batch, head, first_query)
    outs = load_block(out, batch, head, first_query)
    row_delta = tl.sum(outs.to(tl.float32) * douts.to(tl.float32), 1)
    if dlse is not None:
        row_delta -= tl.load(dlse + row, query < seq_q, 0.0)
    # lse for exp2.  If a row saw nothing, or doesn't exist, +inf makes its weights 0.
    row_lse_log2 = tl.load(lse + row, query < seq_q, -float("inf")) * LOG2_E
    row_lse_log2 = tl.where(row_lse_log2 == -float("inf"), float("inf"), row_lse_log2)
    padded_row = tl.cast(batch_head, tl.int64) * padded_q + query
    tl.store(delta + padded_row, row_delta)
    tl.store(lse_log2 + padded_row, row_lse_log2)

    # The loops of the forward pass.  These weights are final: there's nothing to rescale.
    dqueries = tl.zeros([BLOCK_Q, PADDED_DIM], tl.float32)
    stop = tl.minimum(seq_k, first_query + BLOCK_Q) if CAUSAL else seq_k
    unmasked_stop = (tl.minimum(stop, first_query + 1) if CAUSAL else stop) // BLOCK_K * BLOCK_K
    PADDED: tl.constexpr = key_lengths is not None
    for first_key in range(0, unmasked_stop, BLOCK_K):
        dqueries = add_dq(
            dqueries, queries, douts, k, v, batch, key_head, first_key, query, seq_k,
            scale_log2, row_lse_log2, row_delta, False, CAUSAL, PADDED, PRECISION,
        )  # fmt: skip
    for first_key in range(unmasked_stop, stop, BLOCK_K):
        dqueries = add_dq(
            dqueries, queries, douts, k, v, batch, key_head, first_key, query, seq_k,
            scale_log2, row_lse_log2, row_delta, True, CAUSAL, PADDED, PRECISION,
        )  # fmt: skip

    column = tl.arange(0, PADDED_DIM)
    tl.store(
        dq + row[:, None] * HEAD_DIM + column[None, :],
        (dqueries * scale).to(dq.dtype.element_ty),
        (query < seq_q)[:, None] & (column < HEAD_DIM)[None, :],
    )


@triton.jit
def add_dq(
    dqueries, queries, douts, k, v, batch, key_head, first_key, query, seq_k,
    scale_log2, row_lse_log2, row_delta,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, PADDED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Returns dqueries plus what one more block of keys and values adds."""
    key = first_key + tl.arange(0, k.block_shape[2])
    keys = load_block(k, batch, key_head, first_key)
    values = load_block(v, batch, key_head, first_key)
    if MASKED and PADDED:  # padding may hold NaN, and 0 · NaN is NaN
        keys = tl.where((key < seq_k)[:, None], keys, 0.0)
    scores = tl.dot(queries, keys.T, input_precision=PRECISION)
    weights = tl.exp2(scores * scale_log2 - row_lse_log2[:, None])
    dweights = tl.dot(douts, values.T, input_precision=PRECISION)
    dscores = weights * (dweights - row_delta[:, None])
    if MASKED:
        visible = (key < seq_k)[None, :]
        if CAUSAL:
            visible = visible & (key[None, :] <= query[:, None])
        dscores = tl.where(visible, dscores, 0.0)
    return tl.dot(dscores.to(keys.dtype), keys, dqueries, input_precision=PRECISION)


@triton.jit(do_not_specialize=COUNTS)
def flash_dkdv_kernel(
    q, k, v, dout, lse_log2, delta, dk, dv, key_lengths,
    scale, scale_log2, heads, group, seq_q, seq_k, padded_q,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Reads one block of keys and the queries that see it, of every head that shares it; writes
    the gradients of its keys and values."""
    BLOCK_Q: tl.constexpr = q.block_shape[2]
    BLOCK_K: tl.constexpr = k.block_shape[2]
    PADDED_DIM: tl.constexpr = q.block_shape[3]
    batch_head, block_number = share_of_work(tl.cdiv(seq_k, BLOCK_K), seq_k, CAUSAL)  # key head
    first_key = block_number * BLOCK_K
    batch, key_head = batch_head // (heads // group), batch_head % (heads // group)
    key = first_key + tl.arange(0, BLOCK_K)
    length = length_of(key_lengths, batch, seq_k)

    # A block of keys and values stays.
    keys = load_block(k, batch, key_head, first_key)
    values = load_block(v, batch, key_head, first_key)
    dkeys = tl.zeros([BLOCK_K, PADDED_DIM], tl.float32)
    dvalues = tl.zeros([BLOCK_K, PADDED_DIM], tl.float32)

    # Queries stream past: first those at the diagonal, which see some of these keys, then those
    # that see all.  Rows beyond the last query have an lse_log2 that makes their weights 0.
    stop = seq_q if first_key < length else 0
    start = first_key // BLOCK_Q * BLOCK_Q if CAUSAL else 0
    unmasked_start = tl.cdiv(first_key + BLOCK_K - 1, BLOCK_Q) * BLOCK_Q if CAUSAL else 0
    for head in range(key_head * group, (key_head + 1) * group):
        first_row = (tl.cast(batch, tl.int64) * heads + head) * padded_q
        if CAUSAL:
            for first_query in range(start, tl.minimum(unmasked_start, stop), BLOCK_Q):
                dkeys, dvalues = add_dkdv(
                    dkeys, dvalues, keys, values, key, q, dout, batch, head, first_query,
                    lse_log2 + first_row, delta + first_row, scale_log2, True, PRECISION,
                )  # fmt: skip
        for first_query in range(unmasked_start, stop, BLOCK_Q):
            dkeys, dvalues = add_dkdv(
                dkeys, dvalues, keys, values, key, q, dout, batch, head, first_query,
                lse_log2 + first_row, delta + first_row, scale_log2, False, PRECISION,
            )  # fmt: skip

    # Padding has gradient 0, whatever it holds.
    key_mask = (key < length)[:, None]
    column = tl.arange(0, PADDED_DIM)
    row = tl.cast(batch_head, tl.int64) * seq_k + key
    offsets = row[:, None] * HEAD_DIM + column[None, :]
    mask = (key < seq_k)[:, None] & (column < HEAD_DIM)[None, :]
    tl.store(dk + offsets, tl.where(key_mask, dkeys * scale, 0.0).to(dk.dtype.element_ty), mask)
    tl.store(dv + offsets, tl.where(key_mask, dvalues, 0.0).to(dv.dtype.element_ty), mask)


@triton.jit
def add_dkdv(
    dkeys, dvalues, keys, values, key, q, dout, batch, head, first_query,
    lse_log2, delta, scale_log2, MASKED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Returns dkeys and dvalues plus what one more block of queries adds.

    The blocks are transposed, [keys, queries], so that the next matmul takes them straight from
    registers.
    """
    query = first_query + tl.arange(0, q.block_shape[2])
    queries = load_block(q, batch, head, first_query)
    row_lse_log2 = tl.load(lse_log2 + query)
    scores = tl.dot(keys, queries.T, input_precision=PRECISION)
    weights = tl.exp2(scores * scale_log2 - row_lse_log2[None, :])
    if MASKED:
        weights = tl.where(key[:, None] <= query[None, :], weights, 0.0)

    douts = load_block(dout, batch, head, first_query)
    dvalues = tl.dot(weights.to(douts.dtype), douts, dvalues, input_precision=PRECISION)
    dweights = tl.dot(values, douts.T, input_precision=PRECISION)
    row_delta = tl.load(delta + query)
    dscores = (weights * (dweights - row_delta[None, :])).to(queries.dtype)
    dkeys = tl.dot(dscores, queries, dkeys, input_precision=PRECISION)
    return dkeys, dvalues
