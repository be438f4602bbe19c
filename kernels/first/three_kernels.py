"""Attention as three kernels, score, normalize, blend, with the square of scores in memory.

    scores_kernel    every query with every key, in tiles     writes the square
    softmax_kernel   each row as shares of 1, in place        reads the square and writes it
    pv_kernel        each row of shares times the values      reads the square

Both matmuls go tile by tile, on tensor cores where these take the dtype.  The square, [batch,
heads, N_q, N_k], is FP32 whatever the inputs are: a score of 30 rounded to FP16 is off by up to
0.008, its share then by 0.8 %, and one above 65504 is lost.  That's 4 bytes a score, as much as
the two 16-bit squares that the three lines of PyTorch hold.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.first.limits import check_contiguous_qkv
from kernels.softmax import softmax_kernel

BLOCK_Q = 64  # queries of a tile
BLOCK_K = 64  # keys of a tile
BLOCK_D = 32  # columns that the first matmul takes at a time


def three_kernel_attention(
    q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool = False, scale: float | None = None
) -> Tensor:
    """Returns ``reference.attention``, forward only: [batch, heads, N_q, head_dim].

    q: [batch, heads, N_q, head_dim]   k, v: [batch, heads, N_k, head_dim], all contiguous
    FP32, FP16 or BF16, sums in FP32; head_dim 1 to 256.  FP32 products are IEEE FP32, or TF32
    where ``torch.backends.cuda.matmul.fp32_precision`` says so.
    is_causal: aligned top-left, as in torch: query i sees keys 0 to i
    scale: 1/√head_dim if None, any sign
    Without keys the output is 0; so is a row whose scores are all -inf.  NaN or inf in a value
    reaches, causal, the whole block of queries that reads it: 0 · NaN = NaN.
    The square takes 4 · N_q · N_k bytes a head and makes five trips: written, read twice and
    written by the softmax, read.

    Raises a ValueError or TypeError that names the argument, also for a tensor that requires a
    gradient, and for one on a CPU outside Triton's interpreter.
    """
    scale = check_contiguous_qkv(scores_kernel, q, k, v, is_causal=is_causal, scale=scale)
    batch, heads, seq_q, head_dim = q.shape
    seq_k = k.shape[2]
    out = torch.empty_like(q)
    if out.numel() == 0 or seq_k == 0:
        return out.zero_()
    square = torch.empty(batch, heads, seq_q, seq_k, dtype=torch.float32, device=q.device)
    tiles_q, tiles_k = triton.cdiv(seq_q, BLOCK_Q), triton.cdiv(seq_k, BLOCK_K)
    tf32 = torch.backends.cuda.matmul.fp32_precision == "tf32"
    options = dict(HEAD_DIM=head_dim, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K)
    options |= dict(CAUSAL=is_causal, PRECISION="tf32" if tf32 else "ieee")
    with torch.cuda.device_of(q):
        scores_kernel[(batch * heads * tiles_q * tiles_k,)](
            q, k, square, scale, seq_q, seq_k, BLOCK_D=BLOCK_D, **options
        )
        softmax_kernel[(batch * heads * seq_q,)](square, square, seq_k, seq_k, 1, BLOCK=1024)
        pv_kernel[(batch * heads * tiles_q,)](
            square, v, out, seq_q, seq_k, PADDED_DIM=max(16, triton.next_power_of_2(head_dim)),
            **options, num_warps=8, num_stages=2,
        )  # fmt: skip
    return out


@triton.jit
def scores_kernel(
    q, k, square, scale, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Writes one tile of the square, BLOCK_Q queries by BLOCK_K keys of one head."""
    # Which tile is mine?  They are counted from left to right, then down, then head after head.
    tiles_q = tl.cdiv(seq_q, BLOCK_Q)
    tiles_k = tl.cdiv(seq_k, BLOCK_K)
    tile = tl.program_id(0)
    head = (tile // tiles_k // tiles_q).to(tl.int64)  # 64 bits, so big offsets don't overflow
    query = tile // tiles_k % tiles_q * BLOCK_Q + tl.arange(0, BLOCK_Q)
    key = tile % tiles_k * BLOCK_K + tl.arange(0, BLOCK_K)
    q += head * seq_q * HEAD_DIM
    k += head * seq_k * HEAD_DIM
    square += head * seq_q * seq_k

    # A few columns at a time: a tile of queries times a tile of keys, summed in FP32.
    scores = tl.zeros([BLOCK_Q, BLOCK_K], tl.float32)
    for first_column in range(0, HEAD_DIM, BLOCK_D):
        column = first_column + tl.arange(0, BLOCK_D)
        column_mask = (column < HEAD_DIM)[None, :]
        q_offsets = query[:, None] * HEAD_DIM + column[None, :]
        queries = tl.load(q + q_offsets, (query < seq_q)[:, None] & column_mask, 0.0)
        k_offsets = key[:, None] * HEAD_DIM + column[None, :]
        keys = tl.load(k + k_offsets, (key < seq_k)[:, None] & column_mask, 0.0)
        scores = tl.dot(queries, keys.T, scores, input_precision=PRECISION)

    # What a query may not see is -inf, which softmax makes 0.
    scores *= scale
    if CAUSAL:
        scores = tl.where(key[None, :] <= query[:, None], scores, -float("inf"))
    mask = (query < seq_q)[:, None] & (key < seq_k)[None, :]
    tl.store(square + query[:, None].to(tl.int64) * seq_k + key[None, :], scores, mask)


@triton.jit
def pv_kernel(
    square, v, out, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr, BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Writes BLOCK_Q rows of the output of one head: reads their shares and the values."""
    tiles_q = tl.cdiv(seq_q, BLOCK_Q)
    head = (tl.program_id(0) // tiles_q).to(tl.int64)
    first_query = tl.program_id(0) % tiles_q * BLOCK_Q
    query = first_query + tl.arange(0, BLOCK_Q)
    column = tl.arange(0, PADDED_DIM)
    query_mask = (query < seq_q)[:, None]
    column_mask = (column < HEAD_DIM)[None, :]
    square += head * seq_q * seq_k
    v += head * seq_k * HEAD_DIM
    out += head * seq_q * HEAD_DIM

    # Where no query of this block sees a key, its share is 0 for all of them: don't read it.
    stop = tl.minimum(seq_k, first_query + BLOCK_Q) if CAUSAL else seq_k

    # A few keys at a time: a tile of shares times a tile of values, summed in FP32.
    accumulator = tl.zeros([BLOCK_Q, PADDED_DIM], tl.float32)
    for first_key in range(0, stop, BLOCK_K):
        key = first_key + tl.arange(0, BLOCK_K)
        square_offsets = query[:, None].to(tl.int64) * seq_k + key[None, :]
        weights = tl.load(square + square_offsets, query_mask & (key < stop)[None, :], 0.0)
        v_offsets = key[:, None] * HEAD_DIM + column[None, :]
        values = tl.load(v + v_offsets, (key < stop)[:, None] & column_mask, 0.0)
        weights = weights.to(values.dtype)
        accumulator = tl.dot(weights, values, accumulator, input_precision=PRECISION)
    out_offsets = query[:, None] * HEAD_DIM + column[None, :]
    tl.store(out + out_offsets, accumulator.to(out.dtype.element_ty), query_mask & column_mask)
