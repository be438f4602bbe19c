"""The first kernel with loads that nobody needs, to see what the load-store unit's clocks cost.

As in ``moving_pointers``, a pointer moves on to the next key: an address costs little.  In each
turn of its two loops a program loads the same row once or twice more, each thread what another
warp needs, and adds it to a sum that counts for nothing in the end.  If programs mostly waited,
these loads would cost no time, because nothing waits for them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.first.limits import check_contiguous_qkv, check_row


def more_loads_with(q: Tensor, k: Tensor, v: Tensor, more: int) -> Tensor:
    """Returns ``one_key_attention`` of finite q, k and v, with so many more loads in each turn.

    Raises what ``one_key_attention`` raises.
    """
    scale = check_contiguous_qkv(more_loads_kernel, q, k, v, is_causal=False, scale=None)
    check_row(k)
    batch, heads, seq_q, head_dim = q.shape
    out = torch.empty_like(q)
    if out.numel():
        sizes = {"HEAD_DIM": head_dim, "PADDED_DIM": triton.next_power_of_2(head_dim)}
        sizes |= {"ROW": triton.next_power_of_2(max(1, k.shape[2])), "MORE": more}
        with torch.cuda.device_of(q):
            more_loads_kernel[(batch * heads * seq_q,)](
                q, k, v, out, scale, seq_q, k.shape[2], **sizes
            )
    return out


@triton.jit
def more_loads_kernel(
    q, k, v, out, scale, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr, ROW: tl.constexpr, MORE: tl.constexpr,
):  # fmt: skip
    """Reads one query, then every key and every value, 1 + MORE times; writes its output."""
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
    for key_number in range(seq_k):
        key = tl.load(keys + column, mask, 0.0).to(tl.float32)
        for i in tl.static_range(MORE):
            unneeded += tl.load(keys + (column + 32 * (i + 1)) % HEAD_DIM, mask, 0.0)
        scores = tl.where(place == key_number, tl.sum(query * key) * scale, scores)
        keys += HEAD_DIM

    exponentials = tl.exp(scores - tl.max(scores))
    weights = exponentials / tl.sum(exponentials)

    accumulator = tl.zeros([PADDED_DIM], tl.float32)
    values = v + head * seq_k * HEAD_DIM
    for key_number in range(seq_k):
        value = tl.load(values + column, mask, 0.0).to(tl.float32)
        for i in tl.static_range(MORE):
            unneeded += tl.load(values + (column + 32 * (i + 1)) % HEAD_DIM, mask, 0.0)
        weight = tl.sum(tl.where(place == key_number, weights, 0.0))
        accumulator += weight * value
        values += HEAD_DIM
    accumulator += 0.0 * unneeded  # so that the compiler keeps its loads
    tl.store(out + offsets, accumulator.to(out.dtype.element_ty), mask)


def none_more(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return more_loads_with(q, k, v, 0)


def one_more(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return more_loads_with(q, k, v, 1)


def two_more(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return more_loads_with(q, k, v, 2)


BY_LOADS = {0: none_more, 1: one_more, 2: two_more}
