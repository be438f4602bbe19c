"""Attention with one program for each query, which takes one key at a time.

In plain Python attention is a loop over queries.  A kernel is the body of that loop, started
once for each query, and many of them run at a time.  Each run is called a program, and
``tl.program_id`` tells it which query is its own.  A program isn't one thread but a block of
128: they share the work on each row of numbers.

The softmax needs its whole row, so a program keeps all N_k scores of its query in registers, in
FP32.  A thread has at most 255 registers: 128 threads can hold a row of 16384, 128 numbers
each, but not one of 32768.  It's slow on purpose.  For each key, 128 threads add up
across warps twice, and go over the whole row twice, to put one score into its place and to take
one share out.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.first.limits import LONGEST_ROW as LONGEST_ROW
from kernels.first.limits import check_contiguous_qkv, check_row


def one_key_attention(
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
    scale = check_contiguous_qkv(one_key_kernel, q, k, v, is_causal=is_causal, scale=scale)
    check_row(k)
    batch, heads, seq_q, head_dim = q.shape
    seq_k = k.shape[2]
    out = torch.empty_like(q)
    if out.numel():
        with torch.cuda.device_of(q):
            one_key_kernel[(batch * heads * seq_q,)](
                q, k, v, out, scale, seq_q, seq_k,
                HEAD_DIM=head_dim, PADDED_DIM=triton.next_power_of_2(head_dim),
                ROW=triton.next_power_of_2(max(1, seq_k)), CAUSAL=is_causal,
            )  # fmt: skip
    return out


@triton.jit
def one_key_kernel(
    q, k, v, out, scale, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr, ROW: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Reads one query, the keys it sees, then their values; writes its output.

    PADDED_DIM, ROW: head_dim and seq_k, up to the next power of two
    """
    # Load my query.  Programs count through the queries of one head after another.
    program = tl.cast(tl.program_id(0), tl.int64)  # 64 bits, so big offsets don't overflow
    head = program // seq_q
    k += head * seq_k * HEAD_DIM
    v += head * seq_k * HEAD_DIM
    column = tl.arange(0, PADDED_DIM)
    mask = column < HEAD_DIM  # where it's False, nothing is read: the number there is 0
    offsets = program * HEAD_DIM + column
    query = tl.load(q + offsets, mask, 0.0).to(tl.float32)
    seen = tl.minimum(seq_k, program % seq_q + 1) if CAUSAL else seq_k

    # Score every key, one at a time.  A place that no key takes stays -inf.
    place = tl.arange(0, ROW)
    scores = tl.full([ROW], -float("inf"), tl.float32)
    for key_number in range(seen):
        key = tl.load(k + key_number * HEAD_DIM + column, mask, 0.0).to(tl.float32)
        scores = tl.where(place == key_number, tl.sum(query * key) * scale, scores)

    # Normalize the row: all of it is here, so this is softmax as it is defined.
    exponentials = tl.exp(scores - tl.max(scores))
    weights = exponentials / tl.sum(exponentials)

    # Blend the values, one at a time, each by the weight in its place.
    accumulator = tl.zeros([PADDED_DIM], tl.float32)
    for key_number in range(seen):
        value = tl.load(v + key_number * HEAD_DIM + column, mask, 0.0).to(tl.float32)
        weight = tl.sum(tl.where(place == key_number, weights, 0.0))
        accumulator += weight * value

    # Store the output.
    tl.store(out + offsets, accumulator.to(out.dtype.element_ty), mask)
