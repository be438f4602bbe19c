"""Every GPU gathers all keys and values first, and then computes as if it were alone.

There is one exchange, the work comes in few and large pieces, and nothing has to overlap.  But
no GPU can compute a score until the exchange is over, and every GPU holds K and V of the whole
sequence, which a ring avoids.

A chunk of queries sees its own keys down to the diagonal, and all keys before them.  These are
two calls, whose results we merge.  In zigzag order each GPU's two chunks together see equally
many keys.

Source: Llama Team, "The Llama 3 Herd of Models", 2024, arXiv:2407.21783, section 3.3.2, which
gathers because few key heads make K and V small.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.distributed import ProcessGroup

from kernels.parallel.local import attend, gradients
from kernels.parallel.merge_rows import merge_rows
from kernels.parallel.order import CallOptions, Order, chunks_of, shard, unshard


class AllGatherAttention(torch.autograd.Function):
    """Returns this GPU's queries' output over all keys: [batch, heads, N / GPUs, head_dim]."""

    @staticmethod
    def forward(
        ctx, q: Tensor, k: Tensor, v: Tensor, group: ProcessGroup, options: CallOptions
    ) -> Tensor:
        is_causal, scale, order = options
        keys, values = gather_kv(k, v, group, order)
        out = q.new_empty(q.shape)
        lse = q.new_empty(q.shape[:-1], dtype=torch.promote_types(q.dtype, torch.float32))
        for rows, kv_rows, at_diagonal in attention_calls(q.shape[2], group, is_causal, order):
            queries, kv_rows = q[:, :, rows], (keys[:, :, kv_rows], values[:, :, kv_rows])
            part = attend(queries, *kv_rows, is_causal=at_diagonal, scale=scale)
            if at_diagonal or not is_causal:
                out[:, :, rows], lse[:, :, rows] = part
            else:
                merge_rows(out, lse, *part, first=rows.start)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.group, ctx.options = group, options
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, dout: Tensor):
        q, k, v, out, lse = ctx.saved_tensors
        group, (is_causal, scale, order) = ctx.group, ctx.options
        keys, values = gather_kv(k, v, group, order)
        dtype = torch.promote_types(q.dtype, torch.float32)
        dq, dk, dv = (torch.zeros_like(x, dtype=dtype) for x in (q, keys, values))
        for rows, kv_rows, at_diagonal in attention_calls(q.shape[2], group, is_causal, order):
            part_gradients = gradients(
                q[:, :, rows], keys[:, :, kv_rows], values[:, :, kv_rows],
                out[:, :, rows], lse[:, :, rows], dout[:, :, rows],
                is_causal=at_diagonal, scale=scale,
            )  # fmt: skip
            dq[:, :, rows].add_(part_gradients[0])
            dk[:, :, kv_rows].add_(part_gradients[1])
            dv[:, :, kv_rows].add_(part_gradients[2])
        dk, dv = reduce_scatter_dkv(dk, dv, group, order)
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), None, None


def attention_calls(
    tokens: int, group: ProcessGroup, is_causal: bool, order: Order
) -> Iterator[tuple[slice, slice, bool]]:
    """Yields which of my queries meet which keys, and whether that is at the diagonal."""
    rank, ranks = dist.get_rank(group), group.size()
    if not is_causal:
        yield slice(0, tokens), slice(0, ranks * tokens), False
        return
    chunks = chunks_of(rank, ranks, order)
    size = tokens // len(chunks)
    for index, chunk in enumerate(chunks):
        rows, start = slice(index * size, (index + 1) * size), chunk * size
        yield rows, slice(start, start + size), True
        if start:
            yield rows, slice(0, start), False


def gather_kv(k: Tensor, v: Tensor, group: ProcessGroup, order: Order) -> tuple[Tensor, Tensor]:
    """Returns the keys and values of the whole sequence, in its order."""
    own_kv = torch.stack([k, v])
    parts = own_kv.new_empty(group.size(), *own_kv.shape)
    dist.all_gather(list(parts), own_kv, group)
    keys, values = unshard(list(parts), order=order)
    return keys, values


def reduce_scatter_dkv(
    dk: Tensor, dv: Tensor, group: ProcessGroup, order: Order
) -> tuple[Tensor, Tensor]:
    """Returns the gradients of my keys and values, summed over all GPUs."""
    dkdv = torch.stack([dk, dv])
    ranks = group.size()
    parts = torch.stack([shard(dkdv, rank, ranks, order=order) for rank in range(ranks)])
    own_dkdv = parts.new_empty(parts.shape[1:])
    dist.reduce_scatter(own_dkdv, list(parts), group=group)
    return own_dkdv[0], own_dkdv[1]
