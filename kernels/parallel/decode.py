"""Decodes with keys on many GPUs: only outputs and log-sum-exps travel.

While a model generates, a step brings one query for each head, and the cache of a long sequence
may not fit on one GPU.  Here each GPU keeps the keys and values of some tokens in a cache of
its own, and answers the query from those.  Its answer is a row and a number for each head, far
less than all its keys.  Every GPU gathers all answers and merges them in the same order, so all
get the same result.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import DeviceMesh, ProcessGroup

from kernels.flash.partial import merge
from kernels.parallel.call import check_group
from kernels.parallel.host_agreement import agree
from kernels.serving.cache import KVCache
from kernels.serving.decode import check_query, decode_attention


class DecodeCall(NamedTuple):
    """The arguments that must be the same in the calls of all processes."""

    query_shape: tuple[int, ...]
    dtype: torch.dtype
    device: str
    scale: float


def context_parallel_decode(
    q: Tensor,
    cache: KVCache,
    *,
    group: ProcessGroup | DeviceMesh | None = None,
    scale: float | None = None,
) -> Tensor:
    """Returns attention of the newest token over all GPUs' caches: [batch, heads, 1, head_dim].

    q: [batch, heads, 1, head_dim], the same on every GPU
    cache: the keys and values of this GPU's tokens, whichever and however many; a sequence
    without tokens here adds nothing
    group: the processes that hold the sequences, or a mesh of one dimension; all if None
    scale: 1/√head_dim if None, any sign
    It merges in FP32.  Every GPU gets the same numbers, to the last bit.

    The first call of its kind compares the arguments of all processes, as
    ``context_parallel_attention`` does.

    Raises:
        ValueError or TypeError: as ``decode_attention`` does; if processes differ, on all of
            them.
        RuntimeError: names the processes that didn't make the first call of its kind within the
            group's timeout.

    If processes differ later, it fails as ``context_parallel_attention`` with messages does.
    """
    group = check_group(group)
    scale = check_query(q, cache, scale)
    if q.shape[2] != 1:
        raise ValueError(
            f"query has {q.shape[2]} tokens, 1 is wanted: which keys came after the first of "
            "several, no GPU knows of the others'"
        )
    agree(group, DecodeCall(tuple(q.shape), q.dtype, q.device.type, scale))
    out, lse = decode_attention(q, cache, scale=scale, return_lse=True)
    own_part = torch.cat([out.float(), lse[..., None]], -1)
    parts = own_part.new_empty(group.size(), *own_part.shape)
    dist.all_gather(list(parts), own_part, group)
    merged = parts[0, ..., :-1], parts[0, ..., -1]
    for part in parts[1:]:
        merged = merge(*merged, part[..., :-1], part[..., -1])
    return merged[0].to(q.dtype)
