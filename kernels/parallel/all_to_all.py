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
from kernels.parallel.order import CallOptions, Order, shard, unshard

Resharding = Callable[[Tensor, ProcessGroup, Order], Tensor]


def all_to_all_attention(
    q: Tensor, k: Tensor, v: Tensor, group: ProcessGroup, options: CallOptions
) -> Tensor:
    """Returns this GPU's queries' output over all keys: [batch, heads, N / GPUs, head_dim]."""
    my_heads = (AllToAll.apply(x, to_heads, to_tokens, group, options.order) for x in (q, k, v))
    out = LocalAttention.apply(*my_heads, options.is_causal, options.scale)
    return AllToAll.apply(out, to_tokens, to_heads, group, options.order)


class LocalAttention(torch.autograd.Function):
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
        dqkv = gradients(*saved, dout, is_causal=ctx.is_causal, scale=ctx.scale)
        return *(x.to(q.dtype) for x in dqkv), None, None


class AllToAll(torch.autograd.Function):
    """Swaps tokens for heads, or heads for tokens; a gradient is resharded inversely."""

    @staticmethod
    def forward(
        ctx,
        x: Tensor,
        reshard: Resharding,
        inverse: Resharding,
        group: ProcessGroup,
        order: Order,
    ) -> Tensor:
        ctx.inverse = inverse, group, order
        return reshard(x, group, order)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor):
        inverse, group, order = ctx.inverse
        return inverse(gradient, group, order), None, None, None, None


def to_heads(x: Tensor, group: ProcessGroup, order: Order) -> Tensor:
    """Returns my heads of all tokens, [batch, heads / GPUs, N, head_dim].

    x: all heads of my tokens, [batch, heads, N / GPUs, head_dim]
    I send each GPU its heads of my tokens, and get from it my heads of its tokens.
    """
    outgoing = x.unflatten(1, (group.size(), -1)).movedim(1, 0).contiguous()
    return unshard(list(all_to_all(outgoing, group)), order=order)


def to_tokens(x: Tensor, group: ProcessGroup, order: Order) -> Tensor:
    """Returns all heads of my tokens, [batch, heads, N / GPUs, head_dim].

    x: my heads of all tokens, [batch, heads / GPUs, N, head_dim]
    I send each GPU my heads of its tokens, and get from it its heads of my tokens.
    """
    ranks = group.size()
    outgoing = torch.stack([shard(x, rank, ranks, order=order) for rank in range(ranks)])
    return all_to_all(outgoing, group).movedim(0, 1).flatten(1, 2)


def all_to_all(outgoing: Tensor, group: ProcessGroup) -> Tensor:
    """Returns what each GPU had for me, [GPUs, ...]."""
    incoming = torch.empty_like(outgoing)
    dist.all_to_all_single(incoming, outgoing, group=group)
    return incoming
