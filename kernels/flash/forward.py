"""FlashAttention's forward pass: a block of queries stays, keys and values stream past."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.flash.schedule import COUNTS, LOG2_E, length_of, load_block, share_of_work
from kernels.flash.tensors import empty_outputs, make_descriptor, precision
from kernels.flash.tiles import tiles


def forward(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None, is_causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """Returns the output, [batch, heads, N_q, head_dim], and lse, [batch, heads, N_q]."""
    batch, heads, seq_q, head_dim = q.shape
    key_heads, seq_k = k.shape[1:3]
    out, lse = empty_outputs(q)
    if out.numel() == 0 or seq_k == 0:
        return out.zero_(), lse.fill_(-torch.inf)
    tile = tiles("forward", head_dim, q.dtype)
    with torch.cuda.device_of(q):
        flash_forward_kernel[(batch * heads * triton.cdiv(seq_q, tile.block_q),)](
            make_descriptor(q, tile.block_q), make_descriptor(k, tile.block_k),
            make_descriptor(v, tile.block_k),
            out, lse, key_lengths, scale * LOG2_E.value,
            heads, heads // key_heads, seq_q, seq_k,
            HEAD_DIM=head_dim, CAUSAL=is_causal, PRECISION=precision(q), **tile.launch,
        )  # fmt: skip
    return out, lse


@triton.jit(do_not_specialize=COUNTS)
def flash_forward_kernel(
    q, k, v, out, lse, key_lengths, scale_log2, heads, group, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Reads one block of queries, its keys and its values; writes its output and lse."""
    BLOCK_Q: tl.constexpr = q.block_shape[2]
    BLOCK_K: tl.constexpr = k.block_shape[2]
    PADDED_DIM: tl.constexpr = q.block_shape[3]
    query_blocks = tl.cdiv(seq_q, BLOCK_Q)
    batch_head, block_number = share_of_work(query_blocks, seq_q, CAUSAL)
    first_query = (query_blocks - 1 - block_number) * BLOCK_Q  # the longest causal work first
    batch, head = batch_head // heads, batch_head % heads
    key_head = head // group
    seq_k = length_of(key_lengths, batch, seq_k)
    query = first_query + tl.arange(0, BLOCK_Q)

    # A block of queries stays.  We haven't read any keys yet.
    queries = load_block(q, batch, head, first_query)
    running_max = tl.full([BLOCK_Q], -float("inf"), tl.float32)
    running_sum = tl.zeros([BLOCK_Q], tl.float32)
    accumulator = tl.zeros([BLOCK_Q, PADDED_DIM], tl.float32)

    # Every query here sees the first blocks whole.  Those at the diagonal and at the end need a
    # mask, and what no query here sees isn't read.
    stop = tl.minimum(seq_k, first_query + BLOCK_Q) if CAUSAL else seq_k
    unmasked_stop = (tl.minimum(stop, first_query + 1) if CAUSAL else stop) // BLOCK_K * BLOCK_K
    PADDED: tl.constexpr = key_lengths is not None
    for first_key in range(0, unmasked_stop, BLOCK_K):
        running_max, running_sum, accumulator = attend(
            queries, k, v, batch, key_head, first_key, query, seq_k, scale_log2,
            running_max, running_sum, accumulator, False, CAUSAL, PADDED, PRECISION,
        )  # fmt: skip
    for first_key in range(unmasked_stop, stop, BLOCK_K):
        running_max, running_sum, accumulator = attend(
            queries, k, v, batch, key_head, first_key, query, seq_k, scale_log2,
            running_max, running_sum, accumulator, True, CAUSAL, PADDED, PRECISION,
        )  # fmt: skip

    # Only now divide.  If there was no key, or every score was -inf, the sum is 0: then the
    # output is 0, too, and lse is -inf.
    safe_sum = tl.where(running_sum == 0.0, 1.0, running_sum)
    row = tl.cast(batch_head, tl.int64) * seq_q + query  # 64 bits: no big offset overflows
    column = tl.arange(0, PADDED_DIM)
    tl.store(lse + row, (running_max + tl.log2(safe_sum)) / LOG2_E, query < seq_q)
    tl.store(
        out + row[:, None] * HEAD_DIM + column[None, :],
        (accumulator / safe_sum[:, None]).to(out.dtype.element_ty),
        (query < seq_q)[:, None] & (column < HEAD_DIM)[None, :],
    )


@triton.jit
def attend(
    queries, k, v, batch, key_head, first_key, query, seq_k, scale_log2,
    running_max, running_sum, accumulator,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, PADDED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Returns running_max, running_sum and accumulator after one more block of keys."""
    key = first_key + tl.arange(0, k.block_shape[2])

    # Multiply: the scores of these queries with these keys.
    keys = load_block(k, batch, key_head, first_key)
    scores = tl.dot(queries, keys.T, input_precision=PRECISION)
    if MASKED:
        visible = (key < seq_k)[None, :]
        if CAUSAL:
            visible = visible & (key[None, :] <= query[:, None])
        scores = tl.where(visible, scores, -float("inf"))

    # Squish: when the maximum moves, rescale what was summed before.
    new_max = tl.maximum(running_max, tl.max(scores, 1) * scale_log2)
    safe_max = tl.where(new_max == -float("inf"), 0.0, new_max)  # (-inf) - (-inf) is NaN
    exponentials = tl.exp2(scores * scale_log2 - safe_max[:, None])
    rescale = tl.exp2(running_max - safe_max)
    running_sum = running_sum * rescale + tl.sum(exponentials, 1)

    # Multiply: sum the values, weighted by the same exponentials.
    values = load_block(v, batch, key_head, first_key)
    if MASKED and PADDED:  # padding may hold NaN, and 0 · NaN is NaN
        values = tl.where((key < seq_k)[:, None], values, 0.0)
    weights = exponentials.to(values.dtype)
    accumulator = accumulator * rescale[:, None]
    accumulator = tl.dot(weights, values, accumulator, input_precision=PRECISION)
    return new_max, running_sum, accumulator
