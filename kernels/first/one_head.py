"""Attention of one head, with nothing in it but attention: one program for each query.

It has no batch, no second head and no mask: just tables [N, head_dim], one row after another.
``kernels.first.one_key`` adds all of these, and not one step of arithmetic.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import REFERENCE, check_attention, check_no_gradient, check_runnable
from kernels.first.limits import LONGEST_ROW, check_contiguous

ONE_KEY = "kernels.one_key_attention"


def one_head_attention(
    q: Tensor, k: Tensor, v: Tensor, *, scale: float | None = None
) -> Tensor:
    """Returns ``reference.attention`` of one head, forward only: [N_q, head_dim].

    q: [N_q, head_dim]   k, v: [N_k, head_dim], all contiguous FP32 on one device
    head_dim: a power of two up to 256   N_q · head_dim: up to 2³¹
    N_k: from 1 to 16384   scale: 1/√head_dim if None
    A row of scores that are all -inf gives NaN.

    Raises a ValueError or TypeError that names the argument, also for a tensor that requires a
    gradient, and for one on a CPU outside Triton's interpreter.
    """
    scale = check_attention(q, k, v, scale=scale)
    tables = {"query": q, "key": k, "value": v}
    for name, table in tables.items():
        if table.ndim != 2:
            raise ValueError(
                f"{name} has {table.ndim} dimensions, [sequence, head_dim] is wanted: "
                f"use {ONE_KEY}"
            )
        if table.dtype != torch.float32:
            raise TypeError(f"{name} is {table.dtype}, float32 is wanted: use {ONE_KEY}")
    check_contiguous(**tables, instead=ONE_KEY)
    head_dim, seq_k = q.shape[-1], len(k)
    if not 1 <= head_dim <= 256 or head_dim & (head_dim - 1):
        raise ValueError(
            f"query has head_dim {head_dim}, a power of two up to 256 is wanted: use {ONE_KEY}"
        )
    if v.shape[-1] != head_dim:
        raise ValueError(
            f"value has head_dim {v.shape[-1]}, query has {head_dim}: they must match"
        )
    if q.numel() > 2**31:
        raise ValueError(
            f"query has {q.numel()} numbers, at most 2**31 are wanted, because the kernel "
            f"counts them in 32 bits: use {ONE_KEY}"
        )
    if not 1 <= seq_k <= LONGEST_ROW:
        raise ValueError(
            f"key has sequence length {seq_k}, 1 to {LONGEST_ROW} is wanted, because a row "
            "of scores is held in registers"
        )
    check_runnable(one_head_kernel, on_cpu=REFERENCE, **tables)
    check_no_gradient(instead=REFERENCE, **tables)
    out = torch.empty_like(q)
    if len(q):
        row = triton.next_power_of_2(seq_k)
        with torch.cuda.device_of(q):
            one_head_kernel[(len(q),)](q, k, v, out, scale, seq_k, HEAD_DIM=head_dim, ROW=row)
    return out


@triton.jit
def one_head_kernel(
    q, k, v, out, scale, seq_k, HEAD_DIM: tl.constexpr, ROW: tl.constexpr
):  # fmt: skip
    """Reads one query, then every key, then every value; writes its output."""
    # Load my query.
    column = tl.arange(0, HEAD_DIM)
    place = tl.arange(0, ROW)
    offsets = tl.program_id(0) * HEAD_DIM + column
    query = tl.load(q + offsets)

    # Score every key.  A place that no key takes stays -inf.
    scores = tl.full([ROW], -float("inf"), tl.float32)
    for key_number in range(seq_k):
        key = tl.load(k + key_number * HEAD_DIM + column)
        score = tl.sum(query * key) * scale
        scores = tl.where(place == key_number, score, scores)

    # Normalize the row.
    exponentials = tl.exp(scores - tl.max(scores))
    weights = exponentials / tl.sum(exponentials)

    # Blend the values.
    output = tl.zeros([HEAD_DIM], tl.float32)
    for key_number in range(seq_k):
        value = tl.load(v + key_number * HEAD_DIM + column)
        weight = tl.sum(tl.where(place == key_number, weights, 0.0))
        output += weight * value

    # Store my row.
    tl.store(out + offsets, output)
