"""Attends over one sequence that is spread over many GPUs: context parallelism.

Every GPU holds the queries, keys and values of some tokens of every head, and gets the output
of its own queries over all keys.  So K and V must travel, or Q and the output as well:

    ring          K and V go round, part by part, and each GPU computes with the parts it has
    all_gather    every GPU gathers all of K and V first
    all_to_all    GPUs swap tokens for heads, and back afterwards (Ulysses)

All three give the same attention, by the kernels of this library on each GPU, and merge parts
in FP32 at least.  They differ in what travels, when, and how much each GPU must hold.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import DeviceMesh, ProcessGroup

from kernels.checks import check_shapes, name_of_differentiated, why_unreadable
from kernels.parallel.all_gather import AllGatherAttention
from kernels.parallel.all_to_all import all_to_all_attention
from kernels.parallel.exchange import EXCHANGES, exchange_of
from kernels.parallel.host_agreement import agree
from kernels.parallel.order import CallOptions, Order, check_order, chunks_of
from kernels.parallel.ring_attention import RingAttention

SCHEMES = ("ring", "all_gather", "all_to_all")


class AttentionCall(NamedTuple):
    """The arguments that must be the same in the calls of all processes."""

    query_shape: tuple[int, ...]
    key_shape: tuple[int, ...]
    dtype: torch.dtype
    device: str
    scheme: str
    order: Order
    exchange: str | None
    is_causal: bool
    scale: float


def context_parallel_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    group: ProcessGroup | DeviceMesh | None = None,
    scheme: str = "ring",
    order: Order = "zigzag",
    exchange: str | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Returns my queries' output over the keys of all GPUs: [batch, heads, N / GPUs, head_dim].

    It's once differentiable, and each process gets the gradients of its own tokens.
    q: [batch, heads, N / GPUs, head_dim]
    k, v: [batch, heads or a divisor of it, N / GPUs, head_dim], as many tokens on every GPU
    group: the processes that hold the sequence, or a mesh of one dimension; all if None.  It
    uses NCCL on GPUs, gloo on CPUs.
    scheme: "ring", "all_gather" or "all_to_all", for which the number of heads, also of k, is a
    multiple of the GPUs
    order: which tokens a process holds, as ``kernels.parallel.order.shard`` deals them out
    exchange: how a ring fetches: by copy engines, "peer memory", or by "messages"; if None, by
    peer memory where all GPUs are in one host that lets them read each other
    is_causal: query i of the whole sequence sees keys 0 to i
    scale: 1/√head_dim if None, any sign   enable_gqa: fewer heads in k and v than in q
    All processes must call with the same shapes, dtypes and options, in the same order, and on
    one stream.  The first call of its kind compares them, and waits for the others for at most
    the group's timeout.  If processes differ later, nothing notices, and one waits for the
    other.  With NCCL it waits for the group's timeout, which ends the process; with gloo as
    long, and then it raises torch.distributed's error; with peer memory for 60 seconds, and
    then its GPU fails with a CUDA error.  If one process has raised, end them all.
    The memory in which a process publishes tensors to others is used again by later calls,
    and grows with them; that of a CUDA graph stays.  Before you capture a call in a graph, make
    the same call once on every process, with its backward pass if the graph has one.  After
    that, graphs and other calls may follow one another in any order, the same on every process.
    Two runs agree bit for bit; gradients of the Hopper kernel do so only under
    ``torch.use_deterministic_algorithms``.

    Raises:
        ValueError or TypeError: names the argument; if processes differ, on all of them.
        RuntimeError: names the processes that didn't make the first call of its kind within the
            group's timeout. If they make it later, theirs names the process that gave up. Also
            in a capture without such a call before it.
        torch.distributed's error: with gloo, if another process fails later.
    """
    scale = check_shapes(q, k, v, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)
    group = check_group(group)
    check_order(order)
    check_call(q, k, v, group, scheme, order, exchange)
    shapes = tuple(q.shape), tuple(k.shape)
    choices = scheme, order, exchange, is_causal, scale
    agree(group, AttentionCall(*shapes, q.dtype, q.device.type, *choices))
    # The kernels take the maximum before they scale, so their scale must be above 0.
    if scale < 0:
        q, scale = -q, -scale
    if scale < torch.finfo(torch.float32).tiny:
        q, scale = 0 * q, 1.0
    options = CallOptions(is_causal, scale, order)
    if scheme == "ring":
        return RingAttention.apply(q, k, v, exchange_of(group, exchange), options)
    if scheme == "all_gather":
        return AllGatherAttention.apply(q, k, v, group, options)
    return all_to_all_attention(q, k, v, group, options)


def check_group(group: ProcessGroup | DeviceMesh | None) -> ProcessGroup:
    """Returns the process group; raises if there is none, or if this process isn't in it."""
    if not dist.is_initialized():
        raise RuntimeError(
            "torch.distributed is not initialized: start with torchrun and call "
            "torch.distributed.init_process_group first"
        )
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise ValueError(
                f"group is a mesh of {group.ndim} dimensions, one of 1 is wanted: mesh['name']"
            )
        return group.get_group()
    if group is None:
        return dist.group.WORLD
    if not isinstance(group, ProcessGroup):
        raise TypeError(
            f"group is {type(group).__name__}, a ProcessGroup or a DeviceMesh is wanted; "
            "a process that is not in the group must not call"
        )
    return group


def check_call(
    q: Tensor, k: Tensor, v: Tensor, group: ProcessGroup, scheme: str, order: Order,
    exchange: str | None,
) -> None:  # fmt: skip
    """Raises a ValueError or TypeError that names an argument which this process can reject."""
    ranks = group.size()
    if scheme not in SCHEMES:
        raise ValueError(f"scheme is {scheme!r}, one of {', '.join(SCHEMES)} is wanted")
    if exchange is not None and exchange not in EXCHANGES:
        raise ValueError(f"exchange is {exchange!r}, one of {', '.join(EXCHANGES)} is wanted")
    if exchange is not None and scheme != "ring":
        raise ValueError(f"exchange is {exchange!r}, which only a ring has: leave it out")
    if exchange == "peer memory" and not q.is_cuda:
        raise ValueError(
            f"exchange is {exchange!r}, and query is on {q.device}: use 'messages'"
        )
    if k.shape[2] != q.shape[2]:
        raise ValueError(
            f"key has {k.shape[2]} tokens, query has {q.shape[2]}: they must match, for a "
            "process holds queries and keys of the same tokens"
        )
    chunk_count = len(chunks_of(0, ranks, order))
    if q.shape[2] == 0 or q.shape[2] % chunk_count:
        raise ValueError(
            f"query has {q.shape[2]} tokens on this process, a multiple of {chunk_count} is "
            f"wanted in {order} order, and at least {chunk_count}"
        )
    if scheme == "all_to_all" and k.shape[1] % ranks:
        raise ValueError(
            f"key has {k.shape[1]} heads, a multiple of the {ranks} processes is wanted: "
            "use another scheme"
        )
    for name, tensor in {"query": q, "key": k, "value": v}.items():
        if why_unreadable(tensor):
            raise TypeError(f"{name} is {why_unreadable(tensor)}")
    if name := name_of_differentiated(query=q, key=k, value=v):
        raise TypeError(
            f"{name} is differentiated in forward mode or by torch.func, for which this has no "
            "rule: use torch.autograd.grad"
        )
