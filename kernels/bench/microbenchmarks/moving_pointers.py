"""The first kernel with cheaper passes over its row, to see when a pass costs time.

``one_key_kernel`` works out each key's address from the key's number.  An address has 64 bits,
so the compiler counts the keys in 64 bits, too, and to compare a place with such a number takes
two instructions.  Here a pointer moves on to the next key instead.  The number is compared and
no more, so it stays in 32 bits, and one instruction will do.  Loads and sums are the same.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.first.limits import check_contiguous_qkv, check_row


def moving_pointers_with(q: Tensor, k: Tensor, v: Tensor, warps: int) -> Tensor:
    """Returns ``one_key_attention`` of q, k and v, by programs of so many warps.

    Raises what ``one_key_attention`` raises.
    """
    scale = check_contiguous_qkv(moving_pointers_kernel, q, k, v, is_causal=False, scale=None)
    check_row(k)
    batch, heads, seq_q, head_dim = q.shape
    out = torch.empty_like(q)
    if out.numel():
        sizes = {"HEAD_DIM": head_dim, "PADDED_DIM": triton.next_power_of_2(head_dim)}
        sizes |= {"ROW": triton.next_power_of_2(max(1, k.shape[2]))}
        grid = (batch * heads * seq_q,)
        with torch.cuda.device_of(q):
            moving_pointers_kernel[grid](
                q, k, v, out, scale, seq_q, k.shape[2], **sizes, num_warps=warps
            )
    return out


@triton.jit
def moving_pointers_kernel(
    q, k, v, out, scale, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr, ROW: tl.constexpr,
):  # fmt: skip
    """Reads one query, then every key and every value; writes its output."""
    program = tl.cast(tl.program_id(0), tl.int64)
    head = program // seq_q
    column = tl.arange(0, PADDED_DIM)
    mask = column < HEAD_DIM
    offsets = program * HEAD_DIM + column
    query = tl.load(q + offsets, mask, 0.0).to(tl.float32)

    place = tl.arange(0, ROW)
    scores = tl.full([ROW], -float("inf"), tl.float32)
    key_pointer = k + head * seq_k * HEAD_DIM + column
    for key_number in range(seq_k):
        key = tl.load(key_pointer, mask, 0.0).to(tl.float32)
        scores = tl.where(place == key_number, tl.sum(query * key) * scale, scores)
        key_pointer += HEAD_DIM

    exponentials = tl.exp(scores - tl.max(scores))
    weights = exponentials / tl.sum(exponentials)

    accumulator = tl.zeros([PADDED_DIM], tl.float32)
    value_pointer = v + head * seq_k * HEAD_DIM + column
    for key_number in range(seq_k):
        value = tl.load(value_pointer, mask, 0.0).to(tl.float32)
        weight = tl.sum(tl.where(place == key_number, weights, 0.0))
        accumulator += weight * value
        value_pointer += HEAD_DIM
    tl.store(out + offsets, accumulator.to(out.dtype.element_ty), mask)


def one_warp(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return moving_pointers_with(q, k, v, 1)


def four_warps(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return moving_pointers_with(q, k, v, 4)


BY_WARPS = {1: one_warp, 4: four_warps}
