"""FlashAttention's forward pass: a block of queries stays, keys and values stream past."""

from __future__ import annotations

import triton
import triton.language as tl

from kernels.flash.work import COUNTS, LOG2_E, length_of, load_block, share_of_work


@triton.jit(do_not_specialize=COUNTS)
def flash_forward_kernel(
    q, k, v, out, lse, key_lengths, scale_log2, pairs, interleave, heads, group, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One block of queries: reads its keys and values, writes its output and lse."""
    BLOCK_Q: tl.constexpr = q.block_shape[2]
    BLOCK_K: tl.constexpr = k.block_shape[2]
    PADDED_DIM: tl.constexpr = q.block_shape[3]
    query_blocks = tl.cdiv(seq_q, BLOCK_Q)
    pair, rank = share_of_work(query_blocks, pairs, interleave)
    first_query = (query_blocks - 1 - rank) * BLOCK_Q  # the longest causal work first
    batch, head = pair // heads, pair % heads
    key_head = head // group
    seq_k = length_of(key_lengths, batch, seq_k)
    query = first_query + tl.arange(0, BLOCK_Q)

    # A block of queries stays.  Of keys and values nothing was read yet.
    queries = load_block(q, batch, head, first_query)
    running_max = tl.full([BLOCK_Q], -float("inf"), tl.float32)
    running_sum = tl.zeros([BLOCK_Q], tl.float32)
    accumulator = tl.zeros([BLOCK_Q, PADDED_DIM], tl.float32)

    # Keys and values stream past, twice the same loop: over the blocks that every query here
    # sees whole, then over those at the diagonal and at the end, which need a mask.  What no
    # query here sees is not read.
    stop = tl.minimum(seq_k, first_query + BLOCK_Q) if CAUSAL else seq_k
    whole = (tl.minimum(stop, first_query + 1) if CAUSAL else stop) // BLOCK_K * BLOCK_K
    for MASKED in tl.static_range(2):
        for first_key in range(whole if MASKED else 0, stop if MASKED else whole, BLOCK_K):
            key = first_key + tl.arange(0, BLOCK_K)

            # Multiply: the scores of these queries with these keys.
            keys = load_block(k, batch, key_head, first_key)
            scores = tl.dot(queries, keys.T, input_precision=PRECISION)
            if MASKED:
                visible = (key < seq_k)[None, :]
                if CAUSAL:
                    visible = visible & (key[None, :] <= query[:, None])
                scores = tl.where(visible, scores, -float("inf"))

            # Squish, as far as the scores are known: when the maximum moves, what was summed
            # before is rescaled.
            new_max = tl.maximum(running_max, tl.max(scores, 1) * scale_log2)
            # Where nothing was seen yet, (-inf) - (-inf) would be NaN.
            safe_max = tl.where(new_max == -float("inf"), 0.0, new_max)
            exponentials = tl.exp2(scores * scale_log2 - safe_max[:, None])
            rescale = tl.exp2(running_max - safe_max)
            running_max = new_max
            running_sum = running_sum * rescale + tl.sum(exponentials, 1)

            # Multiply: the values, blended by the same exponentials.
            values = load_block(v, batch, key_head, first_key)
            if MASKED and key_lengths is not None:  # padding may hold NaN, and 0 · NaN is NaN
                values = tl.where((key < seq_k)[:, None], values, 0.0)
            weights = exponentials.to(values.dtype)
            accumulator = accumulator * rescale[:, None]
            accumulator = tl.dot(weights, values, accumulator, input_precision=PRECISION)

    # Only now divide.  The sum is 0 where every score was -inf, or there was no key: a blend of
    # nothing is 0, and its lse is -inf.
    safe_sum = tl.where(running_sum == 0.0, 1.0, running_sum)
    row = tl.cast(pair, tl.int64) * seq_q + query  # 64 bits: offsets may pass 2**31
    column = tl.arange(0, PADDED_DIM)
    tl.store(lse + row, (running_max + tl.log2(safe_sum)) / LOG2_E, query < seq_q)
    tl.store(
        out + row[:, None] * HEAD_DIM + column[None, :],
        (accumulator / safe_sum[:, None]).to(out.dtype.element_ty),
        (query < seq_q)[:, None] & (column < HEAD_DIM)[None, :],
    )
