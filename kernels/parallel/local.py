"""Attends with some queries over some keys, on one GPU of many: forward and backward.

Both passes know one thing more than attention on its own: there may be other keys elsewhere.
Forward returns ``lse`` beside the output, so that we can merge parts.  Backward takes the
output and ``lse`` over *all* keys.  Then the weights that it recomputes are those of the whole
row, and the gradients of parts simply add up.

On a GPU it calls the fastest kernel that takes the tensors, elsewhere it uses plain formulas.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.checks import repeat_heads
from kernels.dispatch import flash_supports, hopper_supports
from kernels.flash.attention import flash_backward, flash_forward


def attend(
    q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """Returns output [batch, heads, N_q, head_dim] and lse [batch, heads, N_q].

    k, v: [batch, heads or a divisor of it, N_k, head_dim]   scale: above 0
    lse is FP32, or FP64 if q is.  Kernels return the output in the dtype of q, the formulas in
    the dtype of lse.
    """
    if hopper_supports(q, k, v):
        # Where this kernel runs there is Gluon, and elsewhere the import fails.
        from kernels.hopper.attention import empty_outputs, launch, plan_for

        out, lse = empty_outputs(q, with_lse=True)
        plan = plan_for(q.shape[-1], is_causal, q.shape[2])
        launch(q, k, v, out, lse, is_causal, scale, plan)
        return out, lse
    if flash_supports(q, k, v):
        return flash_forward(q, k, v, None, is_causal, scale)
    scores, _, values = all_scores(q, k, v, is_causal, scale)
    lse = scores.logsumexp(-1)
    return (scores - lse_to_subtract(lse)).exp() @ values, lse


def gradients(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, dout: Tensor,
    *, is_causal: bool, scale: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Returns what these queries and keys add to the gradients of q, k and v.

    out, lse, dout: of these queries, over all keys that they see anywhere
    Kernels return it in the dtype of q, the formulas in FP32, or FP64 if q is.
    """
    if hopper_supports(q, k, v):
        from kernels.hopper.backward.gradients import hopper_gradients  # there is Gluon

        deterministic = torch.are_deterministic_algorithms_enabled()
        return hopper_gradients(q, k, v, is_causal, scale, out, lse, dout, None, deterministic)
    if flash_supports(q, k, v):
        return flash_backward(
            q, k, v, None, is_causal, scale, out, lse.contiguous(), dout, None
        )
    scores, keys, values = all_scores(q, k, v, is_causal, scale)
    out, dout = out.to(scores.dtype), dout.to(scores.dtype)
    weights = (scores - lse_to_subtract(lse)).exp()
    delta = (dout * out).sum(-1, keepdim=True)
    dscores = weights * (dout @ values.mT - delta)
    dk = dscores.mT @ q.to(scores.dtype) * scale
    dv = weights.mT @ dout
    return dscores @ keys * scale, sum_over_query_heads(dk, k), sum_over_query_heads(dv, v)


def all_scores(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns all scores, and keys and values for each query head, in FP32 or FP64."""
    dtype = torch.promote_types(q.dtype, torch.float32)
    keys, values = (x.to(dtype) for x in repeat_heads(q, k, v))
    scores = q.to(dtype) @ keys.mT * scale
    if is_causal:
        future_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future_mask, -torch.inf)
    return scores, keys, values


def lse_to_subtract(lse: Tensor) -> Tensor:
    """Returns what to subtract from scores: +inf if a row saw nothing, so its weights are 0."""
    return lse.masked_fill(lse == -torch.inf, torch.inf)[..., None]


def sum_over_query_heads(gradient: Tensor, x: Tensor) -> Tensor:
    """Returns the gradient of a key head: the sum over the query heads that share it."""
    return gradient.unflatten(1, (x.shape[1], -1)).sum(2)
