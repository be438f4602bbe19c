"""The first kernel with 1, 2, 4 or 8 warps a program, to count what each number keeps busy.

Triton starts four warps unless it's told otherwise, and so does ``one_key_attention``.  Each
number has a function of its own here, because a profiler finds a function by its name.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from kernels.first.limits import check_contiguous_qkv, check_row
from kernels.first.one_key import one_key_kernel


def one_key_with(q: Tensor, k: Tensor, v: Tensor, warps: int) -> Tensor:
    """Returns ``one_key_attention`` of q, k and v, by programs of so many warps.

    Raises what ``one_key_attention`` raises.
    """
    scale = check_contiguous_qkv(one_key_kernel, q, k, v, is_causal=False, scale=None)
    check_row(k)
    batch, heads, seq_q, head_dim = q.shape
    out = torch.empty_like(q)
    if out.numel():
        sizes = {"HEAD_DIM": head_dim, "PADDED_DIM": triton.next_power_of_2(head_dim)}
        sizes |= {"ROW": triton.next_power_of_2(max(1, k.shape[2])), "CAUSAL": False}
        grid = (batch * heads * seq_q,)
        with torch.cuda.device_of(q):
            one_key_kernel[grid](
                q, k, v, out, scale, seq_q, k.shape[2], **sizes, num_warps=warps
            )
    return out


def one_warp(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return one_key_with(q, k, v, 1)


def two_warps(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return one_key_with(q, k, v, 2)


def four_warps(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return one_key_with(q, k, v, 4)


def eight_warps(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return one_key_with(q, k, v, 8)


BY_WARPS = {1: one_warp, 2: two_warps, 4: four_warps, 8: eight_warps}
