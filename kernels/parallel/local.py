"""The share of one GPU: attention of some queries over some keys, forward and backward.

Both passes know one thing more than attention on its own: these keys may be a part of all.
Forward returns ``lse`` beside the output, so that parts can be merged.  Backward takes the
output and ``lse`` of *all* keys, for then the weights that it computes again are those of the
whole row, and the gradients of parts simply add up.

On a GPU this is the fastest kernel that takes the tensors, everywhere else the plain formulas.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.checks import repeat_heads
from kernels.dispatch import flash_takes, hopper_takes
from kernels.flash.attention import flash_backward, flash_forward


def attend(
    q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """Output [batch, heads, N_q, head_dim] and lse [batch, heads, N_q], FP32 (FP64 for FP64).

    k, v: [batch, heads or a divisor of it, N_k, head_dim]   scale: above 0
    Kernels give the output in the dtype of q, the formulas as they have it inside.
    """
    if hopper_takes(q, k, v):
        from kernels.hopper.attention import (
            empty,
            launch,
            plan_for,
        )  # there is Gluon if it takes them

        out, lse = empty(q, with_lse=True)
        launch(
            q, k, v, out, lse, is_causal, scale, plan_for(q.shape[-1], is_causal, q.shape[2])
        )
        return out, lse
    if flash_takes(q, k, v):
        return flash_forward(q, k, v, None, is_causal, scale)
    scores, _, values = squared(q, k, v, is_causal, scale)
    lse = scores.logsumexp(-1)
    return (scores - finite(lse)).exp() @ values, lse


def gradients(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, dout: Tensor,
    *, is_causal: bool, scale: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """What these queries and keys add to the gradients of q, k and v.

    out, lse, dout: of these queries, over all keys that they see anywhere
    Kernels give it in the dtype of q, the formulas as they have it inside.
    """
    if hopper_takes(q, k, v):
        from kernels.hopper.backward.gradients import hopper_gradients  # there is Gluon

        order = torch.are_deterministic_algorithms_enabled()
        return hopper_gradients(q, k, v, is_causal, scale, out, lse, dout, None, order)
    if flash_takes(q, k, v):
        return flash_backward(
            q, k, v, None, is_causal, scale, out, lse.contiguous(), dout, None
        )
    scores, keys, values = squared(q, k, v, is_causal, scale)
    out, dout = out.to(scores.dtype), dout.to(scores.dtype)
    weights = (scores - finite(lse)).exp()
    delta = (dout * out).sum(-1, keepdim=True)
    dscores = weights * (dout @ values.mT - delta)
    dk = dscores.mT @ q.to(scores.dtype) * scale
    return dscores @ keys * scale, shared(dk, k), shared(weights.mT @ dout, v)


def squared(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The square of scores, and keys and values for each query head, in FP32 or FP64."""
    inside = torch.promote_types(q.dtype, torch.float32)
    keys, values = (x.to(inside) for x in repeat_heads(q, k, v))
    scores = q.to(inside) @ keys.mT * scale
    if is_causal:
        unseen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(unseen, -torch.inf)
    return scores, keys, values


def finite(lse: Tensor) -> Tensor:
    """What to subtract from scores: +inf where a row saw nothing, so that its weights are 0."""
    return lse.masked_fill(lse == -torch.inf, torch.inf)[..., None]


def shared(gradient: Tensor, x: Tensor) -> Tensor:
    """The gradient of a key head: the sum over the query heads that share it."""
    return gradient.unflatten(1, (x.shape[1], -1)).sum(2)
