"""Computes attention as it's defined: score, normalize, blend, in plain PyTorch.

This is the specification of every kernel here, and we measure them against it.  It's easy to
read, right, and slow, because it writes the scores, ``[N_q, N_k]``, to memory and reads them
back.

Source: A. Vaswani et al., "Attention Is All You Need", 2017, arXiv:1706.03762, equation 1.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.checks import KERNEL_DTYPES, check_attention, repeat_heads, visible


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Returns for each query the sum of the values, weighted by softmax: [..., N_q, d_v].

    q: [..., N_q, d]   k: [..., N_k, d]   v: [..., N_k, d_v]
    ...: batch and heads, usually, or nothing
    attn_mask: [..., N_q, N_k] bool, broadcast; True takes part
    is_causal: query i sees those of keys 0 to i that attn_mask leaves
    scale: 1/√d if None
    enable_gqa: q has a multiple of k's and v's heads; neighbouring heads of q share one
    A query that sees no key gets 0 if v is finite: a hidden key has weight 0, and 0 · NaN and
    0 · inf are NaN.  Bad input raises a ValueError or TypeError that names it.
    """
    scale = check_attention(q, k, v, scale=scale, enable_gqa=enable_gqa)
    if q.dtype not in (torch.float64, *KERNEL_DTYPES):
        raise TypeError(
            f"query is {q.dtype}, float64, float32, float16 or bfloat16 is wanted: "
            "use kernels.dispatch.attention"
        )
    mask = visible(q, k, attn_mask, is_causal)
    k, v = repeat_heads(q, k, v)

    # Score every query with every key.                  [..., N_q, N_k]
    scores = q @ k.transpose(-2, -1) * scale
    # Normalize: a row of scores becomes shares of 1.    [..., N_q, N_k]
    shares = masked_softmax(scores, mask)
    # Blend the values by each row of shares.            [..., N_q, d_v]
    return shares @ v


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Returns softmax of each row, and 0 where ``mask`` is False, even in a whole row."""
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)


def weights(q: Tensor, k: Tensor, **options) -> Tensor:
    """Returns the weights alone, ``[..., N_q, N_k]``: attention with the identity as values.

    It takes the options of ``attention``.  A row has a query's weights, a column a key's.
    """
    check_attention(q, k, k, enable_gqa=options.get("enable_gqa", False))
    identity = torch.eye(k.shape[-2], dtype=k.dtype, device=k.device)
    return attention(q, k, identity.expand(*k.shape[:-1], -1), **options)


def oracle(q: Tensor, k: Tensor, v: Tensor, **options) -> Tensor:
    """Returns ``attention`` in FP64, whatever the dtype: we measure every error against it."""
    check_attention(q, k, v, enable_gqa=options.get("enable_gqa", False))
    return attention(q.double(), k.double(), v.double(), **options)
