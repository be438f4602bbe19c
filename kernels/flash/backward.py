"""FlashAttention's backward pass: weights are computed again from lse, and no square is read.

One kernel owns queries and streams keys, one owns keys and streams queries, so that every sum
has one order and two runs agree bit for bit.  ``kernels.flash.call`` has the formulas.
"""

from __future__ import annotations

import triton
import triton.language as tl

from kernels.flash.work import COUNTS, LOG2_E, length_of, load_block, share_of_work


@triton.jit(do_not_specialize=COUNTS)
def flash_dq_kernel(
    q, k, v, out, dout, lse, dlse, shift, delta, dq, key_lengths,
    scale, scale_log2, pairs, interleave, heads, group, seq_q, seq_k, padded_q,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One block of queries: reads its keys and values, writes its gradient, shift and delta."""
    BLOCK_Q: tl.constexpr = q.block_shape[2]
    BLOCK_K: tl.constexpr = k.block_shape[2]
    PADDED_DIM: tl.constexpr = q.block_shape[3]
    query_blocks = padded_q // BLOCK_Q
    pair, rank = share_of_work(query_blocks, pairs, interleave)
    first_query = (query_blocks - 1 - rank) * BLOCK_Q
    batch, head = pair // heads, pair % heads
    key_head = head // group
    seq_k = length_of(key_lengths, batch, seq_k)
    query = first_query + tl.arange(0, BLOCK_Q)
    row = tl.cast(pair, tl.int64) * seq_q + query

    # delta: how much of dout points along the output, which softmax takes back.
    queries = load_block(q, batch, head, first_query)
    douts = load_block(dout, batch, head, first_query)
    outs = load_block(out, batch, head, first_query)
    row_delta = tl.sum(outs.to(tl.float32) * douts.to(tl.float32), 1)
    if dlse is not None:
        row_delta -= tl.load(dlse + row, query < seq_q, 0.0)
    # shift: lse for exp2.  +inf makes every weight of a row 0 that saw nothing, or is none.
    row_shift = tl.load(lse + row, query < seq_q, -float("inf")) * LOG2_E
    row_shift = tl.where(row_shift == -float("inf"), float("inf"), row_shift)
    padded_row = tl.cast(pair, tl.int64) * padded_q + query
    tl.store(delta + padded_row, row_delta)
    tl.store(shift + padded_row, row_shift)

    # The loops of the forward pass; the weights are final as soon as they are computed.
    dqueries = tl.zeros([BLOCK_Q, PADDED_DIM], tl.float32)
    stop = tl.minimum(seq_k, first_query + BLOCK_Q) if CAUSAL else seq_k
    whole = (tl.minimum(stop, first_query + 1) if CAUSAL else stop) // BLOCK_K * BLOCK_K
    for MASKED in tl.static_range(2):
        for first_key in range(whole if MASKED else 0, stop if MASKED else whole, BLOCK_K):
            key = first_key + tl.arange(0, BLOCK_K)
            keys = load_block(k, batch, key_head, first_key)
            values = load_block(v, batch, key_head, first_key)
            if MASKED and key_lengths is not None:
                keys = tl.where((key < seq_k)[:, None], keys, 0.0)
            scores = tl.dot(queries, keys.T, input_precision=PRECISION)
            weights = tl.exp2(scores * scale_log2 - row_shift[:, None])
            dweights = tl.dot(douts, values.T, input_precision=PRECISION)
            dscores = weights * (dweights - row_delta[:, None])
            if MASKED:
                visible = (key < seq_k)[None, :]
                if CAUSAL:
                    visible = visible & (key[None, :] <= query[:, None])
                dscores = tl.where(visible, dscores, 0.0)
            dscores = dscores.to(keys.dtype)
            dqueries = tl.dot(dscores, keys, dqueries, input_precision=PRECISION)

    column = tl.arange(0, PADDED_DIM)
    tl.store(
        dq + row[:, None] * HEAD_DIM + column[None, :],
        (dqueries * scale).to(dq.dtype.element_ty),
        (query < seq_q)[:, None] & (column < HEAD_DIM)[None, :],
    )


@triton.jit(do_not_specialize=COUNTS)
def flash_dkdv_kernel(
    q, k, v, dout, shift, delta, dk, dv, key_lengths,
    scale, scale_log2, pairs, interleave, heads, group, seq_q, seq_k, padded_q,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One block of keys: reads the queries that see it, of every head that shares it.

    Its blocks lie the other way round, [keys, queries], so that what is multiplied next comes
    straight from registers.
    """
    BLOCK_Q: tl.constexpr = q.block_shape[2]
    BLOCK_K: tl.constexpr = k.block_shape[2]
    PADDED_DIM: tl.constexpr = q.block_shape[3]
    pair, rank = share_of_work(tl.cdiv(seq_k, BLOCK_K), pairs, interleave)  # of key heads
    first_key = rank * BLOCK_K
    batch, key_head = pair // (heads // group), pair % (heads // group)
    key = first_key + tl.arange(0, BLOCK_K)
    length = length_of(key_lengths, batch, seq_k)

    # A block of keys and values stays.
    keys = load_block(k, batch, key_head, first_key)
    values = load_block(v, batch, key_head, first_key)
    dkeys = tl.zeros([BLOCK_K, PADDED_DIM], tl.float32)
    dvalues = tl.zeros([BLOCK_K, PADDED_DIM], tl.float32)

    # Queries stream past: first those at the diagonal, which see some of these keys, then those
    # that see all.  Rows beyond the last query have a shift that makes their weights 0.
    stop = seq_q if first_key < length else 0
    start = first_key // BLOCK_Q * BLOCK_Q if CAUSAL else 0
    whole = tl.cdiv(first_key + BLOCK_K - 1, BLOCK_Q) * BLOCK_Q if CAUSAL else 0
    for head in range(key_head * group, (key_head + 1) * group):
        first_row = (tl.cast(batch, tl.int64) * heads + head) * padded_q
        for UNMASKED in tl.static_range(0 if CAUSAL else 1, 2):
            for first_query in range(
                whole if UNMASKED else start,
                stop if UNMASKED else tl.minimum(whole, stop),
                BLOCK_Q,
            ):
                query = first_query + tl.arange(0, BLOCK_Q)
                queries = load_block(q, batch, head, first_query)
                row_shift = tl.load(shift + first_row + query)
                scores = tl.dot(keys, queries.T, input_precision=PRECISION)
                weights = tl.exp2(scores * scale_log2 - row_shift[None, :])
                if not UNMASKED:
                    weights = tl.where(key[:, None] <= query[None, :], weights, 0.0)

                douts = load_block(dout, batch, head, first_query)
                dvalues = tl.dot(
                    weights.to(douts.dtype), douts, dvalues, input_precision=PRECISION
                )
                dweights = tl.dot(values, douts.T, input_precision=PRECISION)
                row_delta = tl.load(delta + first_row + query)
                dscores = (weights * (dweights - row_delta[None, :])).to(queries.dtype)
                dkeys = tl.dot(dscores, queries, dkeys, input_precision=PRECISION)

    # Padding has gradient 0, whatever it holds.
    real = (key < length)[:, None]
    column = tl.arange(0, PADDED_DIM)
    row = tl.cast(pair, tl.int64) * seq_k + key
    place = row[:, None] * HEAD_DIM + column[None, :]
    stored = (key < seq_k)[:, None] & (column < HEAD_DIM)[None, :]
    tl.store(dk + place, tl.where(real, dkeys * scale, 0.0).to(dk.dtype.element_ty), stored)
    tl.store(dv + place, tl.where(real, dvalues, 0.0).to(dv.dtype.element_ty), stored)
