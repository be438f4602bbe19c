"""GPUs swap tokens for heads: each gets all tokens of some heads, and then computes alone.

Before and after attention a GPU holds some tokens of all heads.  In between, one all-to-all for
each of Q, K and V, and one for the output, give it all tokens of some heads.  So attention
itself is the ordinary one over a whole sequence, and knows nothing of other GPUs.  With many
GPUs, what each sends barely grows.  But there can't be more GPUs than key heads, unless we
copied those, and we don't.

Source: S. A. Jacobs et al., "DeepSpeed Ulysses: System Optimizations for Enabling Training of
Extreme Long Sequence Transformer Models", 2023, arXiv:2309.14509.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.distributed import ProcessGroup

from kernels.parallel.local import attend, gradients
from kernels.parallel.order import How, Order, shard, unshard

Way = Callable[[Tensor, ProcessGroup, Order], Tensor]


def all_to_all_attention(
    q: Tensor, k: Tensor, v: Tensor, group: ProcessGroup, how: How
) -> Tensor:
    """Returns this GPU's queries' output over all keys: [batch, heads, N / GPUs, head_dim]."""
    of_my_heads = (Swap.apply(x, to_heads, to_tokens, group, how.order) for x in (q, k, v))
    out = Alone.apply(*of_my_heads, how.is_causal, how.scale)
    return Swap.apply(out, to_tokens, to_heads, group, how.order)


class Alone(torch.autograd.Function):
    """Attends over whole sequences, by the fastest kernels for forward and for backward."""

    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, is_causal: bool, scale: float) -> Tensor:
        out, lse = attend(q, k, v, is_causal=is_causal, scale=scale)
        out = out.to(q.dtype)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.is_causal, ctx.scale = is_causal, scale
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, dout: Tensor):
        q, *_ = saved = ctx.saved_tensors
        found = gradients(*saved, dout, is_causal=ctx.is_causal, scale=ctx.scale)
        return *(x.to(q.dtype) for x in found), None, None


class Swap(torch.autograd.Function):
    """Swaps tokens for heads, or heads for tokens; a gradient takes the opposite way."""

    @staticmethod
    def forward(
        ctx, x: Tensor, there: Way, back: Way, group: ProcessGroup, order: Order
    ) -> Tensor:
        ctx.back = back, group, order
        return there(x, group, order)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor):
        back, group, order = ctx.back
        return back(gradient, group, order), None, None, None, None


def to_heads(x: Tensor, group: ProcessGroup, order: Order) -> Tensor:
    """Returns my heads of all tokens, [batch, heads / GPUs, N, head_dim].

    x: all heads of my tokens, [batch, heads, N / GPUs, head_dim]
    I send each GPU its heads of my tokens, and get from it my heads of its tokens.
    """
    for_each = x.unflatten(1, (group.size(), -1)).movedim(1, 0).contiguous()
    return unshard(list(swapped(for_each, group)), order=order)


def to_tokens(x: Tensor, group: ProcessGroup, order: Order) -> Tensor:
    """Returns all heads of my tokens, [batch, heads, N / GPUs, head_dim].

    x: my heads of all tokens, [batch, heads / GPUs, N, head_dim]
    I send each GPU my heads of its tokens, and get from it its heads of my tokens.
    """
    ranks = group.size()
    for_each = torch.stack([shard(x, rank, ranks, order=order) for rank in range(ranks)])
    return swapped(for_each, group).movedim(0, 1).flatten(1, 2)


def swapped(for_each: Tensor, group: ProcessGroup) -> Tensor:
    """Returns what each GPU had for me, [GPUs, ...]."""
    of_each = torch.empty_like(for_each)
    dist.all_to_all_single(of_each, for_each, group=group)
    return of_each
