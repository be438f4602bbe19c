"""The first kernel with parts of its loops left out, to see how much of the time each takes.

Such an ablation is no attention any more.  What the other parts find ends in a sum that counts
for nothing, or the compiler would leave them out, too.  Still it compiles them anew: without
loads it counts keys with 32 bits, without sums it does four turns in one.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.first.limits import check_contiguous_qkv, check_row


def ablation(
    q: Tensor, k: Tensor, v: Tensor, *, loads: bool, sums: bool, passes: bool
) -> Tensor:
    """Returns ``one_key_attention`` of finite q, k and v if all three parts stay.

    Without loads key and value i, from 0, are the query plus i + 1.  Without sums every score
    and every weight is 1/√head_dim.  Without passes no score gets into the row, and weight i is
    the sum of the query's numbers, halved i + 1 times.

    Raises what ``one_key_attention`` raises.
    """
    scale = check_contiguous_qkv(ablation_kernel, q, k, v, is_causal=False, scale=None)
    check_row(k)
    batch, heads, seq_q, head_dim = q.shape
    out = torch.empty_like(q)
    if out.numel():
        sizes = {"HEAD_DIM": head_dim, "PADDED_DIM": triton.next_power_of_2(head_dim)}
        sizes |= {"ROW": triton.next_power_of_2(max(1, k.shape[2]))}
        parts = {"LOADS": loads, "SUMS": sums, "PASSES": passes}
        with torch.cuda.device_of(q):
            ablation_kernel[(batch * heads * seq_q,)](
                q, k, v, out, scale, seq_q, k.shape[2], **sizes, **parts
            )
    return out


@triton.jit
def ablation_kernel(
    q, k, v, out, scale, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr, ROW: tl.constexpr,
    LOADS: tl.constexpr, SUMS: tl.constexpr, PASSES: tl.constexpr,
):  # fmt: skip
    """Reads one query, then, with LOADS, every key and every value; writes its output."""
    program = tl.cast(tl.program_id(0), tl.int64)
    head = program // seq_q
    column = tl.arange(0, PADDED_DIM)
    mask = column < HEAD_DIM
    offsets = program * HEAD_DIM + column
    query = tl.load(q + offsets, mask, 0.0).to(tl.float32)
    unneeded = tl.zeros([PADDED_DIM], tl.float32)

    place = tl.arange(0, ROW)
    scores = tl.full([ROW], -float("inf"), tl.float32)
    keys = k + head * seq_k * HEAD_DIM
    key = query
    for key_number in range(seq_k):
        if LOADS:
            key = tl.load(keys + key_number * HEAD_DIM + column, mask, 0.0).to(tl.float32)
        else:
            key += 1.0
        score = scale
        if SUMS:
            score = tl.sum(query * key) * scale
        else:
            unneeded += query * key
        if PASSES:
            scores = tl.where(place == key_number, score, scores)
        else:
            unneeded += score

    if PASSES:
        exponentials = tl.exp(scores - tl.max(scores))
        weights = exponentials / tl.sum(exponentials)

    accumulator = tl.zeros([PADDED_DIM], tl.float32)
    unneeded_row = tl.zeros([ROW], tl.float32)
    halved = query
    values = v + head * seq_k * HEAD_DIM
    value = query
    for key_number in range(seq_k):
        if LOADS:
            value = tl.load(values + key_number * HEAD_DIM + column, mask, 0.0).to(tl.float32)
        else:
            value += 1.0
        weight = scale
        if PASSES:
            selected = tl.where(place == key_number, weights, 0.0)
            if SUMS:
                weight = tl.sum(selected)
            else:
                unneeded_row += selected
        elif SUMS:  # of what is in registers, as in a row
            halved *= 0.5
            weight = tl.sum(halved)
        accumulator += weight * value
    if not (SUMS and PASSES):  # so that the compiler keeps the parts that stay
        accumulator += 0.0 * (unneeded + tl.sum(unneeded_row))
    tl.store(out + offsets, accumulator.to(out.dtype.element_ty), mask)


def whole(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return ablation(q, k, v, loads=True, sums=True, passes=True)


def without_loads(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return ablation(q, k, v, loads=False, sums=True, passes=True)


def without_passes(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return ablation(q, k, v, loads=True, sums=True, passes=False)


def without_sums(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return ablation(q, k, v, loads=True, sums=False, passes=True)


def without_both(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return ablation(q, k, v, loads=True, sums=False, passes=False)


BY_LEFT_OUT = {
    "nothing": whole,
    "loads": without_loads,
    "passes": without_passes,
    "sums": without_sums,
    "both": without_both,
}
