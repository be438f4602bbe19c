"""A first Triton kernel: one program a query, which meets one key at a time.

In plain Python attention is a loop over the queries.  A kernel is the body of that loop,
started once for each query and run many at a time; each run is called a program, and learns
from ``tl.program_id`` which query is its own.  A program is no single thread: it is a block of
them, and what is written below about a row of numbers they do together, each a part of it.

The softmax holds its row whole: a program keeps all N_k scores of its query in registers, in
FP32.  A thread has at most 255 registers, so the 128 threads of a program can hold a row of
16384, 128 numbers each, but not one of 32768.  Slow on purpose: every program reads all the
keys and values again, and places each score by going over the row that it belongs to.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import check_rung

LONGEST_ROW = 16384


def one_key_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    key_lengths: Tensor | None = None,
) -> Tensor:
    """``reference.attention``, one key at a time, forward only: [batch, heads, N_q, head_dim].

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
    scale = check_rung(one_key_kernel, q, k, v, **options)
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
        one_key_kernel[(batch * heads * seq_q,)](
            q, k, v, out, key_lengths, *q.stride(), *k.stride(), *v.stride(),
            0 if key_lengths is None else key_lengths.stride(0),
            scale, heads, heads // k.shape[1], seq_q, seq_k,
            HEAD_DIM=head_dim, PADDED_DIM=triton.next_power_of_2(head_dim),
            ROW=triton.next_power_of_2(max(1, seq_k)), CAUSAL=is_causal,
        )  # fmt: skip
    return out


# Triton does not compile anew when a length or a number of heads changes; it does for a stride
# that is divisible by 16 and one that is not.
@triton.jit(do_not_specialize=["heads", "group", "seq_q", "seq_k"])
def one_key_kernel(
    q, k, v, out, key_lengths,
    q_batch, q_head, q_row, q_column,
    k_batch, k_head, k_row, k_column,
    v_batch, v_head, v_row, v_column,
    length_stride, scale, heads, group, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr, ROW: tl.constexpr,
    CAUSAL: tl.constexpr,
):  # fmt: skip
    """One query of one head: reads it, its keys, then its values; writes its output.

    q, k, v, out: pointers   *_batch to *_column: strides in elements
    out is contiguous   key_lengths: pointer or None
    heads: query heads   group: those that share one key head
    PADDED_DIM, ROW: head_dim and seq_k, up to the next power of two
    """
    # Which query is mine?  The programs count through the queries of one head
    # after another.
    program = tl.cast(tl.program_id(0), tl.int64)  # 64 bits: offsets may pass 2**31
    query_number = program % seq_q
    head = program // seq_q % heads
    batch = program // seq_q // heads

    # A pointer is an address; a pointer plus a row of offsets is a row of
    # addresses, and loads a row of numbers.  Where the mask is False nothing is
    # read: the number there is 0.
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

    # Multiply: the query with one key at a time.  Each score goes to its place in
    # the row; the places that no key takes stay -inf.
    k += batch * k_batch + head // group * k_head + column * k_column
    place = tl.arange(0, ROW)
    scores = tl.full([ROW], -float("inf"), tl.float32)
    for key_number in range(seen):
        key = tl.load(k + key_number * k_row, real_column, 0.0).to(tl.float32)
        score = tl.sum(query * key) * scale
        scores = tl.where(place == key_number, score, scores)

    # Squish: the whole row is here, so this is softmax as it is defined.  A row of
    # nothing but -inf has no shares: its weights are 0, where (-inf) - (-inf) and
    # 0 / 0 would be NaN.
    maximum = tl.max(scores)
    exponentials = tl.exp(scores - tl.where(maximum == -float("inf"), 0.0, maximum))
    total = tl.sum(exponentials)
    weights = exponentials / tl.where(total == 0.0, 1.0, total)

    # Multiply: one value at a time, by the weight that is taken out of its place.
    v += batch * v_batch + head // group * v_head + column * v_column
    accumulator = tl.zeros([PADDED_DIM], tl.float32)
    for key_number in range(seen):
        value = tl.load(v + key_number * v_row, real_column, 0.0).to(tl.float32)
        weight = tl.sum(tl.where(place == key_number, weights, 0.0))
        accumulator += weight * value

    tl.store(
        out + program * HEAD_DIM + column,
        accumulator.to(out.dtype.element_ty),
        real_column,
    )
