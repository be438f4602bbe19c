"""FlashAttention: queries stay, keys and values stream past, and the square is never written.

One program owns a block of queries.  For each it keeps what ``kernels.softmax.OnlineSoftmax``
keeps, a running maximum (here times log2(e), for exp2) and a running sum, and beside them the
blend of the values read so far.  A block of scores lives in registers from the first matmul to
the second; when the maximum moves, all that was summed before is rescaled by the same factor.

Source: Dao et al., "FlashAttention", 2022, arXiv:2205.14135; loops in the order of
FlashAttention-2, arXiv:2307.08691.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.inputs import check_rung


class Tiles(NamedTuple):
    """How the work is cut: queries a program, keys a step, warps a program, steps in flight."""

    block_q: int
    block_k: int
    warps: int
    stages: int


def tiles(head_dim: int, dtype: torch.dtype) -> Tiles:
    """Tiles that were fast on an H100.

    A GPU with less shared memory than its 227 KB a block may refuse them.
    """
    if dtype == torch.float32:  # products on plain FP32 lanes, unrolled into long code
        if head_dim <= 64:
            return Tiles(64, 32, 8, 2)
        return Tiles(32, 64, 8, 1) if head_dim <= 128 else Tiles(16, 32, 8, 1)
    if head_dim <= 64:
        return Tiles(64, 64, 4, 3)
    return Tiles(128, 64, 8, 3) if head_dim <= 128 else Tiles(128, 64, 8, 2)


def flash_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``reference.attention`` in O(N) memory, forward only: [batch, heads, N_q, head_dim].

    q: [batch, heads, N_q, head_dim]   k, v: [batch, heads or a divisor of it, N_k, head_dim]
    FP32, FP16 or BF16, sums in FP32; head_dim 1 to 256.  FP32 products are IEEE FP32, or TF32
    where ``torch.backends.cuda.matmul.fp32_precision`` says so.
    is_causal: aligned top-left, as in torch: query i sees keys 0 to i
    scale: 1/√head_dim if None, any sign   enable_gqa: fewer heads in k and v than in q
    A query without any key gets 0; so does one whose every score is -inf, where the reference
    has NaN.  NaN or inf in v reaches the whole block of queries that reads it: 0 · NaN = NaN.
    Asks for Q and the output once, and for K and V once a block of queries; causal, only for
    those up to the diagonal.

    Raises a ValueError or TypeError that names the argument, also for one that requires a
    gradient, and for one on a CPU outside Triton's interpreter.
    """
    scale = check_rung(flash_kernel, q, k, v, scale=scale, enable_gqa=enable_gqa)
    # The kernel takes the maximum before it scales, so its scale must be above 0, in FP32 too.
    if scale < 0:
        q, scale = -q, -scale
    if scale < torch.finfo(torch.float32).tiny:
        q, scale = 0 * q, 1.0

    batch, heads, seq_q, head_dim = q.shape
    seq_k = k.shape[-2]
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    if out.numel() == 0:
        return out
    tile = tiles(head_dim, q.dtype)
    programs = triton.cdiv(seq_q, tile.block_q) * heads * batch
    with torch.cuda.device_of(q):
        flash_kernel[(programs,)](
            q, k, v, out, *q.stride(), *k.stride(), *v.stride(),
            scale * math.log2(math.e), heads, heads // k.shape[1], seq_q, seq_k,
            HEAD_DIM=head_dim, PADDED_DIM=max(16, triton.next_power_of_2(head_dim)),
            BLOCK_Q=tile.block_q, BLOCK_K=tile.block_k, CAUSAL=is_causal,
            PRECISION="tf32" if torch.backends.cuda.matmul.fp32_precision == "tf32" else "ieee",
            num_warps=tile.warps, num_stages=tile.stages,
        )  # fmt: skip
    return out


# Lengths and head counts get no compilations of their own; strides do (divisible by 16 or not).
@triton.jit(do_not_specialize=["heads", "group", "seq_q", "seq_k"])
def flash_kernel(
    q, k, v, out,
    q_batch, q_head, q_row, q_column,
    k_batch, k_head, k_row, k_column,
    v_batch, v_head, v_row, v_column,
    scale_log2, heads, group, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One block of BLOCK_Q queries of one head: reads its keys and values, writes its output.

    q, k, v, out: pointers; *_batch to *_column: strides in elements; out is contiguous
    scale_log2: scale · log2(e), above 0, so that exp2 can stand for exp
    heads: query heads   group: query heads that share one key head
    """
    query_blocks = tl.cdiv(seq_q, BLOCK_Q)
    pair = tl.program_id(0) // query_blocks  # of batch and head
    block = query_blocks - 1 - tl.program_id(0) % query_blocks  # the longest causal work first
    first_query = block * BLOCK_Q
    batch = tl.cast(pair // heads, tl.int64)  # 64 bits: offsets may pass 2**31
    head = tl.cast(pair % heads, tl.int64)
    row_of_q = tl.arange(0, BLOCK_Q).to(tl.int64)
    row_of_k = tl.arange(0, BLOCK_K).to(tl.int64)
    column = tl.arange(0, PADDED_DIM).to(tl.int64)
    real_column = (column < HEAD_DIM)[None, :]

    # A block of queries stays.  Of keys and values nothing was read yet.
    query = first_query + row_of_q
    real_query = (query < seq_q)[:, None] & real_column
    q += batch * q_batch + head * q_head
    queries = tl.load(q + query[:, None] * q_row + column[None, :] * q_column, real_query, 0.0)
    running_max = tl.full([BLOCK_Q], -float("inf"), tl.float32)
    running_sum = tl.zeros([BLOCK_Q], tl.float32)
    accumulator = tl.zeros([BLOCK_Q, PADDED_DIM], tl.float32)

    # Keys and values stream past, twice the same loop: over the blocks that every query here
    # sees whole, then over those at the diagonal and at the end, which need a mask.  What no
    # query here sees is not read.
    k += batch * k_batch + head // group * k_head
    v += batch * v_batch + head // group * v_head
    k += row_of_k[:, None] * k_row + column[None, :] * k_column
    v += row_of_k[:, None] * v_row + column[None, :] * v_column
    stop = tl.minimum(seq_k, first_query + BLOCK_Q) if CAUSAL else seq_k
    stop = tl.cast(stop, tl.int64)  # and so is first_key, from which key offsets grow
    whole = (tl.minimum(stop, first_query + 1) if CAUSAL else stop) // BLOCK_K * BLOCK_K
    for MASKED in tl.static_range(2):
        for first_key in range(whole if MASKED else 0, stop if MASKED else whole, BLOCK_K):
            key = first_key + row_of_k
            real_key = (key < seq_k)[:, None] & real_column if MASKED else real_column

            # Multiply: the scores of these queries with these keys.
            keys = tl.load(k + first_key * k_row, real_key, 0.0)
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
            values = tl.load(v + first_key * v_row, real_key, 0.0)
            weights = exponentials.to(values.dtype)
            accumulator = accumulator * rescale[:, None]
            accumulator = tl.dot(weights, values, accumulator, input_precision=PRECISION)

    # Only now divide.  The sum is 0 where every score was -inf, or there was no key: a blend of
    # nothing is 0.
    output = accumulator / tl.where(running_sum == 0.0, 1.0, running_sum)[:, None]
    out += tl.cast(pair, tl.int64) * seq_q * HEAD_DIM
    out += query[:, None] * HEAD_DIM + column[None, :]
    tl.store(out, output.to(out.dtype.element_ty), real_query)
