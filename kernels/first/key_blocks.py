"""Attention with one program for each query, which takes a block of keys at a time.

Where ``kernels.first.one_key`` loads one key, this loads BLOCK_K of them as one tile,
multiplies all its rows by the query at once, and sums along the head dimension: a block of
scores instead of one score.

The softmax still needs its whole row: N_k scores in FP32 in the registers of one program, now
as a table of blocks, [N_k / BLOCK_K, BLOCK_K].  16384 scores just fit with a tile of keys
beside them.  It's still slow, because every program reads all keys and values again, where a
block of queries could share them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.first.limits import check_contiguous_qkv, check_row

BLOCK_K = 32  # keys of a block: a power of two


def key_blocks_attention(
    q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool = False, scale: float | None = None
) -> Tensor:
    """Returns ``reference.attention``, forward only: [batch, heads, N_q, head_dim].

    q: [batch, heads, N_q, head_dim]   k, v: [batch, heads, N_k, head_dim], all contiguous
    FP32, FP16 or BF16, arithmetic in FP32; N_k up to 16384, head_dim up to 256
    is_causal: aligned top-left, as in torch: query i sees keys 0 to i
    scale: 1/√head_dim if None, any sign
    Without keys the output is 0.  A row of scores that are all -inf gives NaN.
    For each query it asks for all the keys and values it sees: up to 2 · N_q · N_k · head_dim
    numbers a head.

    Raises a ValueError or TypeError that names the argument, also for more than 16384 keys, for
    a tensor that requires a gradient, and for one on a CPU outside Triton's interpreter.
    """
    scale = check_contiguous_qkv(key_blocks_kernel, q, k, v, is_causal=is_causal, scale=scale)
    check_row(k)
    batch, heads, seq_q, head_dim = q.shape
    seq_k = k.shape[2]
    out = torch.empty_like(q)
    if out.numel():
        with torch.cuda.device_of(q):
            key_blocks_kernel[(batch * heads * seq_q,)](
                q, k, v, out, scale, seq_q, seq_k,
                HEAD_DIM=head_dim, PADDED_DIM=triton.next_power_of_2(head_dim), BLOCK_K=BLOCK_K,
                LINES=triton.next_power_of_2(max(1, triton.cdiv(seq_k, BLOCK_K))),
                CAUSAL=is_causal,
            )  # fmt: skip
    return out


@triton.jit
def key_blocks_kernel(
    q, k, v, out, scale, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr,
    BLOCK_K: tl.constexpr, LINES: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Reads one query, the keys it sees, then their values; writes its output.

    LINES: blocks of BLOCK_K keys that make a row, up to the next power of two
    """
    # Load my query.  Programs count through the queries of one head after another.
    program = tl.cast(tl.program_id(0), tl.int64)  # 64 bits, so big offsets don't overflow
    head = program // seq_q
    column = tl.arange(0, PADDED_DIM)
    column_mask = column < HEAD_DIM
    offsets = program * HEAD_DIM + column
    query = tl.load(q + offsets, column_mask, 0.0).to(tl.float32)
    seen = tl.minimum(seq_k, program % seq_q + 1) if CAUSAL else seq_k

    # A column plus a row of offsets is a table of offsets: a block of keys, one in each row.
    k += head * seq_k * HEAD_DIM
    v += head * seq_k * HEAD_DIM
    row = tl.arange(0, BLOCK_K)
    tile = row[:, None] * HEAD_DIM + column[None, :]

    # Score a block of keys at a time.  A score is -inf where there is no key.
    line = tl.arange(0, LINES)[:, None]
    scores = tl.full([LINES, BLOCK_K], -float("inf"), tl.float32)
    for first_key in range(0, seen, BLOCK_K):
        key_mask = first_key + row < seen
        mask = key_mask[:, None] & column_mask[None, :]
        keys = tl.load(k + first_key * HEAD_DIM + tile, mask, 0.0).to(tl.float32)
        block = tl.sum(query[None, :] * keys, 1) * scale
        block = tl.where(key_mask, block, -float("inf"))
        scores = tl.where(line == first_key // BLOCK_K, block[None, :], scores)

    # Normalize the row: all of it is here, so this is softmax as it is defined.
    exponentials = tl.exp(scores - tl.max(scores))
    weights = exponentials / tl.sum(exponentials)

    # Blend a block of values at a time, each row by its weight.
    accumulator = tl.zeros([PADDED_DIM], tl.float32)
    for first_key in range(0, seen, BLOCK_K):
        mask = (first_key + row < seen)[:, None] & column_mask[None, :]
        values = tl.load(v + first_key * HEAD_DIM + tile, mask, 0.0).to(tl.float32)
        block = tl.sum(tl.where(line == first_key // BLOCK_K, weights, 0.0), 0)
        accumulator += tl.sum(block[:, None] * values, 0)

    # Store the output.
    tl.store(out + offsets, accumulator.to(out.dtype.element_ty), column_mask)
