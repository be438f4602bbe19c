"""Sends keys and values round: in each step a GPU meets those of one more GPU.

    step        0        1        2        3
    GPU 0     K0 V0    K3 V3    K2 V2    K1 V1
    GPU 1     K1 V1    K0 V0    K3 V3    K2 V2
    ...

Queries and outputs stay.  A GPU uses what arrives once and drops it, so it has at most three
parts of K and V, however many GPUs there are: its own, one that it computes with and one that
is on its way.  It merges the parts of a row by their log-sum-exps.

Backward goes round once more.  The gradients of a part of K and V are a sum over the GPUs whose
queries met it.  In each step a GPU sends what it has found for another one straight home, which
adds it up, in FP32 if there are more than two terms.

Source: H. Liu, M. Zaharia and P. Abbeel, "Ring Attention with Blockwise Transformers for
Near-Infinite Context", 2023, arXiv:2310.01889.  There neighbours hand on a part; here we fetch
each from the GPU that owns it, which costs the same on a switch and needs no forwarding.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from kernels.parallel.exchange import GRADIENTS, KEYS, Exchange, PendingFetch
from kernels.parallel.local import attend, gradients
from kernels.parallel.merge_rows import merge_rows
from kernels.parallel.order import CallOptions, visible_block
from kernels.parallel.side_stream import SideStream


class RingAttention(torch.autograd.Function):
    """Returns this GPU's queries' output over all keys: [batch, heads, N / GPUs, head_dim]."""

    @staticmethod
    def forward(
        ctx, q: Tensor, k: Tensor, v: Tensor, exchange: Exchange, options: CallOptions
    ) -> Tensor:
        is_causal, scale, order = options
        rank, ranks, tokens = exchange.rank, exchange.ranks, q.shape[2]
        setting = dict(ranks=ranks, tokens=tokens, is_causal=is_causal, order=order)
        fetch = exchange.publish(k, v, slot=KEYS, max_numel=k.numel())
        pending_fetch = fetch(1, k.shape) if ranks > 1 else None
        side_stream = SideStream(q)
        out, lse = attend(q, k, v, is_causal=is_causal, scale=scale)
        out = as_accumulator(out, parts=ranks)
        with side_stream:
            for step in range(1, ranks):
                keys, values = pending_fetch.result()
                pending_fetch = fetch(step + 1, k.shape) if step + 1 < ranks else None
                owner = (rank - step) % ranks
                block = visible_block(rank, owner, **setting)
                if block.num_keys:
                    kv = keys[:, :, block.keys], values[:, :, block.keys]
                    part = attend(q[:, :, block.queries], *kv, is_causal=False, scale=scale)
                    side_stream.wait_for_main()
                    merge_rows(out, lse, *part, first=block.queries.start)
        out = out.to(q.dtype)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.exchange, ctx.options = exchange, options
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, dout: Tensor):
        q, k, v, out, lse = ctx.saved_tensors
        exchange, (is_causal, scale, order) = ctx.exchange, ctx.options
        rank, ranks, tokens = exchange.rank, exchange.ranks, q.shape[2]
        setting = dict(ranks=ranks, tokens=tokens, is_causal=is_causal, order=order)
        fetch = exchange.publish(k, v, slot=KEYS, max_numel=k.numel())
        pending_fetch = fetch(1, k.shape) if ranks > 1 else None
        side_stream = SideStream(q)
        own_gradients = gradients(q, k, v, out, lse, dout, is_causal=is_causal, scale=scale)
        dq, dk, dv = (as_accumulator(x, parts=ranks) for x in own_gradients)
        incoming = None
        with side_stream:
            for step in range(1, ranks):
                keys, values = pending_fetch.result()
                pending_fetch = fetch(step + 1, k.shape) if step + 1 < ranks else None
                rows, kv_rows = visible_block(rank, (rank - step) % ranks, **setting)
                part_gradients = gradients(
                    q[:, :, rows], keys[:, :, kv_rows], values[:, :, kv_rows],
                    out[:, :, rows], lse[:, :, rows], dout[:, :, rows],
                    is_causal=False, scale=scale,
                )  # fmt: skip
                # These gradients belong to the GPU ``step`` ranks before me.  The one
                # ``step`` ranks behind me has something for me.
                own_rows = visible_block((rank + step) % ranks, rank, **setting).keys
                if incoming is not None:
                    accumulate(incoming, dk, dv)
                fetch_gradients = exchange.publish(
                    *part_gradients[1:], slot=GRADIENTS, max_numel=k.numel()
                )
                incoming = own_rows, fetch_gradients(-step, k[:, :, own_rows].shape)
                side_stream.wait_for_main()
                dq[:, :, rows].add_(part_gradients[0])
            if incoming is not None:
                accumulate(incoming, dk, dv)
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), None, None


def accumulate(incoming: tuple[slice, PendingFetch], dk: Tensor, dv: Tensor) -> None:
    """Adds the gradients of some of my keys that another GPU has found."""
    rows, pending_fetch = incoming
    part_dk, part_dv = pending_fetch.result()
    dk[:, :, rows].add_(part_dk)
    dv[:, :, rows].add_(part_dv)


def as_accumulator(x: Tensor, parts: int) -> Tensor:
    """Returns x as a sum to which the other parts are added: FP32 if there are more than two.

    Two 16-bit numbers are added in FP32 and rounded once, whatever their dtype.  A third would
    be added to a rounded sum.
    """
    return x if parts <= 2 else x.to(torch.promote_types(x.dtype, torch.float32))
