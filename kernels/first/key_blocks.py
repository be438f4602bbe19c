"""The same program, a block of keys at a time: wide loads, broadcasting, a reduction.

Still one program a query.  Where ``kernels.first.one_key`` loads one key, this one loads a
block of BLOCK_K keys as one tile, multiplies the query into all of its rows at once, and adds
up along the head dimension: a block of scores for what was one score.

The softmax holds its row whole, as before: N_k scores in FP32 in the registers of one program,
now as a table of blocks, [N_k / BLOCK_K, BLOCK_K], since a block is written and read at once.
16384 scores still fit with a tile of keys beside them.  Still slow: every program reads all the
keys and values again, where a block of queries could share them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import check_rung

LONGEST_ROW = 16384


BLOCK_K = 32  # keys a step; a power of two


def key_blocks_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    key_lengths: Tensor | None = None,
) -> Tensor:
    """``reference.attention``, key blocks, forward only: [batch, heads, N_q, head_dim].

    q: [batch, heads, N_q, head_dim]   k, v: [batch, heads or a divisor of it, N_k, head_dim]
    FP32, FP16 or BF16, arithmetic in FP32; N_k up to 16384, head_dim up to 256
    is_causal: aligned top-left, as in torch: query i sees keys 0 to i
    scale: 1/√head_dim if None, any sign   enable_gqa: fewer heads in k and v than in q
    key_lengths: [batch] int32 or int64, on the same device: in sequence b only keys 0 to
    key_lengths[b] - 1 take part; a length above N_k counts as N_k, one below 0 as 0
    A query without any key gets 0; so does one whose every score is -inf, as in torch.  What a
    query may not see is not read for it.
    Asks for the keys and values once a query: N_q · N_k · head_dim numbers of each, a head.

    Raises a ValueError or TypeError that names the argument, also for an N_k above 16384, for
    a tensor that requires a gradient, and for one on a CPU outside Triton's interpreter.
    """
    options = {"is_causal": is_causal, "key_lengths": key_lengths}
    options |= {"scale": scale, "enable_gqa": enable_gqa}
    scale = check_rung(key_blocks_kernel, q, k, v, **options)
    batch, heads, seq_q, head_dim = q.shape
    seq_k = k.shape[-2]
    if seq_k > LONGEST_ROW:
        raise ValueError(
            f"key has sequence length {seq_k}, at most {LONGEST_ROW} is wanted, for a row of "
            "scores is held in registers: use kernels.flash.call.flash_attention"
        )
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    if out.numel() == 0:
        return out
    with torch.cuda.device_of(q):
        key_blocks_kernel[(batch * heads * seq_q,)](
            q, k, v, out, key_lengths, *q.stride(), *k.stride(), *v.stride(),
            0 if key_lengths is None else key_lengths.stride(0),
            scale, heads, heads // k.shape[1], seq_q, seq_k,
            HEAD_DIM=head_dim, PADDED_DIM=triton.next_power_of_2(head_dim),
            BLOCK_K=BLOCK_K, LINES=triton.next_power_of_2(max(1, triton.cdiv(seq_k, BLOCK_K))),
            CAUSAL=is_causal,
        )  # fmt: skip
    return out


# Triton does not compile anew when a length or a number of heads changes; it does for a stride
# that is divisible by 16 and one that is not.
@triton.jit(do_not_specialize=["heads", "group", "seq_q", "seq_k"])
def key_blocks_kernel(
    q, k, v, out, key_lengths,
    q_batch, q_head, q_row, q_column,
    k_batch, k_head, k_row, k_column,
    v_batch, v_head, v_row, v_column,
    length_stride, scale, heads, group, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr,
    BLOCK_K: tl.constexpr, LINES: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """One query of one head: reads it, then its keys, then its values; writes its output.

    q, k, v, out: pointers; *_batch to *_column: strides in elements; out is contiguous
    key_lengths: pointer or None   heads: query heads   group: those that share one key head
    LINES: blocks of BLOCK_K keys that make a row, up to the next power of two
    """
    # Which query is mine?
    program = tl.cast(tl.program_id(0), tl.int64)  # 64 bits: offsets may pass 2**31
    query_number = program % seq_q
    head = program // seq_q % heads
    batch = program // seq_q // heads

    column = tl.arange(0, PADDED_DIM).to(tl.int64)
    real_column = column < HEAD_DIM
    q += batch * q_batch + head * q_head + query_number * q_row
    query = tl.load(q + column * q_column, real_column, 0.0).to(tl.float32)

    # How many keys may this query see?
    seen = tl.cast(seq_k, tl.int64)
    if key_lengths is not None:
        seen = tl.minimum(seen, tl.load(key_lengths + batch * length_stride))
    if CAUSAL:
        seen = tl.minimum(seen, query_number + 1)

    # A column of row offsets plus a row of column offsets is a table of offsets: [:, None] and
    # [None, :] say along which axis each is repeated.  A tile is a block of keys, one a row.
    row = tl.arange(0, BLOCK_K).to(tl.int64)
    k += batch * k_batch + head // group * k_head
    k += row[:, None] * k_row + column[None, :] * k_column
    v += batch * v_batch + head // group * v_head
    v += row[:, None] * v_row + column[None, :] * v_column

    # Multiply: the query with a block of keys at a time.  Its scores go to their line
    # of the table; where there is no key they are -inf.
    line = tl.arange(0, LINES)[:, None]
    scores = tl.full([LINES, BLOCK_K], -float("inf"), tl.float32)
    for first_key in range(0, seen, BLOCK_K):
        real_key = first_key + row < seen
        real = real_key[:, None] & real_column[None, :]
        keys = tl.load(k + first_key * k_row, real, 0.0).to(tl.float32)
        block = tl.sum(query[None, :] * keys, 1) * scale
        block = tl.where(real_key, block, -float("inf"))
        scores = tl.where(line == first_key // BLOCK_K, block[None, :], scores)

    # Squish: the whole row is here, so this is softmax as it is defined.  A row of nothing but
    # -inf has no shares: its weights are 0, where (-inf) - (-inf) and 0 / 0 would be NaN.
    maximum = tl.max(scores)
    exponentials = tl.exp(scores - tl.where(maximum == -float("inf"), 0.0, maximum))
    total = tl.sum(exponentials)
    weights = exponentials / tl.where(total == 0.0, 1.0, total)

    # Multiply: a block of values at a time, each row by its weight.
    accumulator = tl.zeros([PADDED_DIM], tl.float32)
    for first_key in range(0, seen, BLOCK_K):
        real = (first_key + row < seen)[:, None] & real_column[None, :]
        values = tl.load(v + first_key * v_row, real, 0.0).to(tl.float32)
        block = tl.sum(tl.where(line == first_key // BLOCK_K, weights, 0.0), 0)
        accumulator += tl.sum(block[:, None] * values, 0)

    tl.store(
        out + program * HEAD_DIM + column, accumulator.to(out.dtype.element_ty), real_column
    )
