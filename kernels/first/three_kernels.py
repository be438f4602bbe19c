"""Attention as three Triton kernels, multiply, squish, multiply, with the square in memory.

    scores_kernel    every query with every key, in tiles     writes the square
    softmax_kernel   each row as shares of 1, in place        reads the square and writes it
    blend_kernel     each row of shares blends the values     reads the square

The matmuls are tiled, on tensor cores where these take the dtype; between the kernels all goes
through memory.  The square, [batch, heads, N_q, N_k], is FP32 whatever the inputs are, 4 bytes
a score: one of 30 rounded to FP16 is off by up to 0.008, its share then by 0.8 %, and one above
65504 is lost.  That is as much as the two squares of 16 bits that the three lines of PyTorch
hold.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import check_rung
from kernels.softmax import softmax_kernel

BLOCK_Q = 64  # queries a tile
BLOCK_K = 64  # keys a tile
BLOCK_D = 32  # columns a step of the first matmul


def three_kernel_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    key_lengths: Tensor | None = None,
) -> Tensor:
    """``reference.attention`` in three kernels, forward only: [batch, heads, N_q, head_dim].

    q: [batch, heads, N_q, head_dim]   k, v: [batch, heads or a divisor of it, N_k, head_dim]
    FP32, FP16 or BF16, sums in FP32; head_dim 1 to 256.  FP32 products are IEEE FP32, or TF32
    where ``torch.backends.cuda.matmul.fp32_precision`` says so.
    is_causal: aligned top-left, as in torch: query i sees keys 0 to i
    scale: 1/√head_dim if None, any sign   enable_gqa: fewer heads in k and v than in q
    key_lengths: [batch] int32 or int64, on the same device: in sequence b only keys 0 to
    key_lengths[b] - 1 take part; a length above N_k counts as N_k, one below 0 as 0
    A query without any key gets 0; so does one whose every score is -inf, as in torch.
    NaN or inf in a value reaches, causal, the whole block of queries that reads it: 0 · NaN =
    NaN; in a padded value it reaches none.
    Takes 4 · N_q · N_k bytes of memory a head, and five trips of them: written, read twice and
    written by the softmax, read.

    Raises a ValueError or TypeError that names the argument, also for one that requires a
    gradient, and for one on a CPU outside Triton's interpreter.
    """
    options = {"is_causal": is_causal, "key_lengths": key_lengths}
    options |= {"scale": scale, "enable_gqa": enable_gqa}
    scale = check_rung(scores_kernel, q, k, v, **options)
    batch, heads, seq_q, head_dim = q.shape
    key_heads, seq_k = k.shape[1:3]
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    if out.numel() == 0:
        return out
    square = torch.empty(batch, heads, seq_q, seq_k, dtype=torch.float32, device=q.device)
    length_stride = 0 if key_lengths is None else key_lengths.stride(0)
    sizes = (heads, heads // key_heads, seq_q, seq_k)
    tiles_q, tiles_k = triton.cdiv(seq_q, BLOCK_Q), triton.cdiv(seq_k, BLOCK_K)
    precision = "tf32" if torch.backends.cuda.matmul.fp32_precision == "tf32" else "ieee"
    with torch.cuda.device_of(q):
        scores_kernel[(batch * heads * tiles_q * tiles_k,)](
            q, k, square, key_lengths, *q.stride(), *k.stride(), length_stride, scale, *sizes,
            HEAD_DIM=head_dim, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K, BLOCK_D=BLOCK_D,
            CAUSAL=is_causal, PRECISION=precision,
        )  # fmt: skip
        softmax_kernel[(batch * heads * seq_q,)](square, square, seq_k, seq_k, 1, BLOCK=1024)
        blend_kernel[(batch * heads * tiles_q,)](
            square, v, out, key_lengths, *v.stride(), length_stride, *sizes,
            HEAD_DIM=head_dim, PADDED_DIM=max(16, triton.next_power_of_2(head_dim)),
            BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K, CAUSAL=is_causal, PRECISION=precision,
            num_warps=8, num_stages=2,
        )  # fmt: skip
    return out


# Triton does not compile anew when a length or a number of heads changes; it does for a stride
# that is divisible by 16 and one that is not.
@triton.jit(do_not_specialize=["heads", "group", "seq_q", "seq_k"])
def scores_kernel(
    q, k, square, key_lengths,
    q_batch, q_head, q_row, q_column,
    k_batch, k_head, k_row, k_column,
    length_stride, scale, heads, group, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
    BLOCK_D: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One tile of the square, BLOCK_Q queries by BLOCK_K keys of one head: reads both.

    q, k, square: pointers; *_batch to *_column: strides in elements; square is contiguous
    key_lengths: pointer or None   heads: query heads   group: those that share one key head
    """
    # Tiles are counted from left to right, then down, then head after head.
    tiles_q = tl.cdiv(seq_q, BLOCK_Q)
    tiles_k = tl.cdiv(seq_k, BLOCK_K)
    first_key = tl.program_id(0) % tiles_k * BLOCK_K
    first_query = tl.program_id(0) // tiles_k % tiles_q * BLOCK_Q
    pair = tl.program_id(0) // tiles_k // tiles_q  # the number of its head in the batch
    pair = tl.cast(pair, tl.int64)  # 64 bits: offsets may pass 2**31
    batch = pair // heads
    head = pair % heads
    query = first_query + tl.arange(0, BLOCK_Q).to(tl.int64)
    key = first_key + tl.arange(0, BLOCK_K).to(tl.int64)
    q += batch * q_batch + head * q_head
    k += batch * k_batch + head // group * k_head

    # A few columns at a time: a tile of queries times a tile of keys, added up in FP32.
    scores = tl.zeros([BLOCK_Q, BLOCK_K], tl.float32)
    for first_column in range(0, HEAD_DIM, BLOCK_D):
        column = first_column + tl.arange(0, BLOCK_D).to(tl.int64)
        real_column = (column < HEAD_DIM)[None, :]
        at_q = query[:, None] * q_row + column[None, :] * q_column
        queries = tl.load(q + at_q, (query < seq_q)[:, None] & real_column, 0.0)
        at_k = key[:, None] * k_row + column[None, :] * k_column
        keys = tl.load(k + at_k, (key < seq_k)[:, None] & real_column, 0.0)
        scores = tl.dot(queries, keys.T, scores, input_precision=PRECISION)

    # What a query may not see is -inf, which softmax makes 0.
    visible = tl.full([BLOCK_Q, BLOCK_K], True, tl.int1)
    if key_lengths is not None:
        visible &= (key < tl.load(key_lengths + batch * length_stride))[None, :]
    if CAUSAL:
        visible &= key[None, :] <= query[:, None]
    scores = tl.where(visible, scores * scale, -float("inf"))

    square += pair * seq_q * seq_k
    inside = (query < seq_q)[:, None] & (key < seq_k)[None, :]
    tl.store(square + query[:, None] * seq_k + key[None, :], scores, inside)


@triton.jit(do_not_specialize=["heads", "group", "seq_q", "seq_k"])
def blend_kernel(
    square, v, out, key_lengths,
    v_batch, v_head, v_row, v_column,
    length_stride, heads, group, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """BLOCK_Q rows of the output of one head: reads their shares and the values.

    square, v, out: pointers; v_batch to v_column: strides in elements; the others contiguous
    """
    tiles_q = tl.cdiv(seq_q, BLOCK_Q)
    first_query = tl.program_id(0) % tiles_q * BLOCK_Q
    pair = tl.cast(tl.program_id(0) // tiles_q, tl.int64)
    batch = pair // heads
    head = pair % heads
    query = first_query + tl.arange(0, BLOCK_Q).to(tl.int64)
    row_of_v = tl.arange(0, BLOCK_K).to(tl.int64)
    column = tl.arange(0, PADDED_DIM).to(tl.int64)
    real_query = (query < seq_q)[:, None]
    real_column = (column < HEAD_DIM)[None, :]
    square += pair * seq_q * seq_k
    v += batch * v_batch + head // group * v_head

    # Where no query of this block sees a key, its share is 0 for all of them: do not read it.
    stop = tl.cast(seq_k, tl.int64)
    if key_lengths is not None:
        stop = tl.minimum(stop, tl.load(key_lengths + batch * length_stride))
    if CAUSAL:
        stop = tl.minimum(stop, first_query + BLOCK_Q)

    # A few keys at a time: a tile of shares times a tile of values, added up in FP32.
    accumulator = tl.zeros([BLOCK_Q, PADDED_DIM], tl.float32)
    for first_key in range(0, stop, BLOCK_K):
        key = first_key + row_of_v
        at_square = query[:, None] * seq_k + key[None, :]
        shares = tl.load(square + at_square, real_query & (key < stop)[None, :], 0.0)
        at_v = key[:, None] * v_row + column[None, :] * v_column
        values = tl.load(v + at_v, (key < stop)[:, None] & real_column, 0.0)
        shares = shares.to(values.dtype)
        accumulator = tl.dot(shares, values, accumulator, input_precision=PRECISION)

    out += pair * seq_q * HEAD_DIM
    at_out = query[:, None] * HEAD_DIM + column[None, :]
    tl.store(out + at_out, accumulator.to(out.dtype.element_ty), real_query & real_column)
