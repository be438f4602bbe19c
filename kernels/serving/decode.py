"""One query, or a few, against a long cache: split over programs, then merged.

While a model generates, each step brings one new query a head and reads the whole cache.  The
arithmetic is small; what costs is the bytes.  So all of the GPU must read, also where there is
one long sequence, and evenly, also where one sequence has 131072 keys and the next has 3:

    cut     the keys of all sequences and heads, in blocks, stand in one line; every program
            gets an equal piece of it
    read    for each sequence and head that its piece touches, a program keeps what
            ``kernels.flash.attention`` keeps: running maximum, running sum, accumulator
    merge   where a piece did not hold all keys, it leaves its output and log-sum-exp, and a
            second kernel merges what belongs together

The query heads that share a key head read it together: they are rows of one tile, as are the
few queries of one step.  The last query is the newest token, so that the causal mask is aligned
bottom-right: query i of ``new`` sees all keys but the newest ``new - 1 - i``.

A cache in FP8 or NVFP4 is widened to FP16 after it was read; products are summed in FP32.

Sources: M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018,
arXiv:1805.02867, for the merge; T. Dao et al., "Flash-Decoding for long-context inference",
2023, for the split.
"""

from __future__ import annotations

import math
import reprlib

import torch
import triton
from torch import Tensor

from kernels.checks import (
    check_attention,
    check_kernel,
    check_no_gradient,
    is_hopper,
    largest_scale,
    sparse_or_nested,
)
from kernels.launch_cache import launch, noted, notes_for
from kernels.serving.cache import KVCache
from kernels.serving.decode_kernel import decode_kernel, merge_kernel

try:
    from kernels.serving.decode_hopper import decode_parts as hopper_parts
    from kernels.serving.decode_hopper import programs_of as hopper_programs
    from kernels.serving.decode_hopper import tile_of

    GLUON = True
except ImportError:  # Gluon is missing, or is not the one that the kernel was written for
    GLUON = False

BLOCK_K = 64  # keys a step
ROWS = 16  # queries a tile: the fewest that tl.dot takes
PROGRAMS_AN_SM = 4
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def decode_attention(
    q: Tensor,
    cache: KVCache,
    *,
    scale: float | None = None,
    return_lse: bool = False,
    portable: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention of the newest tokens over a paged cache: [batch, heads, new, head_dim].

    q: [batch, heads, new, head_dim], one batch entry for each sequence of the cache; heads: a
    multiple of the cache's kv_heads; new: 1 or a few.  BF16 or FP16: of a 16-bit cache its type
    scale: 1/√head_dim if None, any sign
    return_lse: also the natural logarithm of each row's sum of exp(score), [batch, heads, new]
    in FP32
    portable: use the kernel of ``serving.decode_kernel`` also on a Hopper GPU, where
    ``serving.decode_hopper`` would do a head_dim of 64, 128 or 256
    Query i sees all keys but the newest new - 1 - i.  One that sees none gets 0, lse -inf.
    Reads the used part of the cache once, and once more for each further 16 rows of queries,
    which are the heads that share a key head, times new.
    The lengths are read on the GPU: a CUDA graph of this call may be replayed after the cache
    grew.  Each program reads all lengths, which is little for batches up to some thousand.

    Raises a ValueError or TypeError that names the argument, also for a tensor that requires a
    gradient, and for one on a CPU outside Triton's interpreter.
    """
    notes = notes_of(q, cache, scale, portable)
    scale = noted(notes, "scale", lambda: check_query(q, cache, scale))
    batch, heads, new, head_dim = q.shape
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    lse = torch.empty(batch, heads, new, device=q.device)  # a sliced shape costs time
    if out.numel() == 0:
        return (out, lse) if return_lse else out
    q = q.contiguous()
    score_scale = scale * cache.key_scale * math.log2(math.e)  # exp2 stands for exp
    group = heads // cache.kv_heads
    early = not portable and noted(notes, "hopper", lambda: is_for_hopper(q, cache))
    if early:
        read, rows, block_k = hopper_parts, 8 if group * new <= 8 else 16, tile_of(cache)
        programs = noted(notes, hopper_programs, lambda: hopper_programs(cache, rows))
    else:
        read, rows, block_k = decode_parts, ROWS, BLOCK_K
        programs = noted(notes, programs_of, lambda: programs_of(q))
    # A piece has at most two ends at which it does not hold all keys of a head.
    part_out = torch.empty(programs, 2, rows, head_dim, device=q.device)
    part_lse = torch.empty(programs, 2, rows, device=q.device)
    read(q, cache, out, lse, part_out, part_lse, score_scale, rows, notes)
    merge(cache, out, lse, part_out, part_lse, block_k, early, notes)
    return (out, lse) if return_lse else out


def notes_of(q: Tensor, cache: KVCache, scale: float | None, portable: bool) -> dict | None:
    """What is known of such a call: a query like this one, a cache of the same sizes."""
    if not isinstance(cache, KVCache):
        return None  # which will be named
    scales = (cache.key_scale, cache.value_scale)
    return notes_for((q,), scale, portable, torch.is_grad_enabled(), *scales, *cache.sizes)


def check_query(q: Tensor, cache: KVCache, scale: float | None) -> float:
    """Raises what ``decode_attention`` says; the scale to use."""
    if not isinstance(q, Tensor):
        raise TypeError(f"query is {type(q).__name__}, a tensor is wanted")
    if not isinstance(cache, KVCache):
        raise TypeError(f"cache is {type(cache).__name__}, a KVCache is wanted")
    if sparse_or_nested(q):
        raise TypeError(f"query is {sparse_or_nested(q)}")
    if q.ndim != 4:
        raise ValueError(
            f"query has {q.ndim} dimensions, [batch, heads, new, head_dim] is wanted"
        )
    if q.shape[0] != cache.batch:
        raise ValueError(f"query has batch {q.shape[0]}, the cache has {cache.batch} sequences")
    if q.shape[1] == 0 or q.shape[1] % cache.kv_heads:
        raise ValueError(
            f"query has {q.shape[1]} heads, the cache has {cache.kv_heads}: "
            "a whole multiple is wanted"
        )
    if q.shape[3] != cache.head_dim:
        raise ValueError(
            f"query has head_dim {q.shape[3]}, the cache has {cache.head_dim}: they must match"
        )
    dtypes = (DTYPES[cache.format],) if cache.format in DTYPES else tuple(DTYPES.values())
    if q.dtype not in dtypes:
        wanted = " or ".join(str(dtype) for dtype in dtypes)
        raise TypeError(f"query is {q.dtype}, for a cache in {cache.format} {wanted} is wanted")
    if q.device != cache.device:
        raise ValueError(
            f"query is on {q.device}, the cache is on {cache.device}: they must match"
        )
    reference = "KVCache.gather and kernels.reference.attention"
    check_kernel(decode_kernel, on_cpu=reference, query=q)
    check_no_gradient(instead=reference, query=q)
    if isinstance(scale, int | float) and not abs(scale) <= largest_scale(
        q.dtype, cache.key_scale
    ):
        raise ValueError(
            f"scale is {reprlib.repr(scale)}, the cache has key_scale {cache.key_scale}: "
            f"at most {largest_scale(q.dtype, cache.key_scale):.2g} is wanted"
        )
    return check_attention(q, q, q, scale=scale)


def is_for_hopper(q: Tensor, cache: KVCache) -> bool:
    """Whether the kernel for Hopper can do it, here, for this head_dim and these pages."""
    if not (GLUON and q.is_cuda and is_hopper(q.device)):
        return False
    # TMA describes no tensor without rows, and writes to multiples of 128 bytes: the block
    # scales of a page must be as many.
    small = cache.format == "nvfp4" and cache.page_size * cache.head_dim // 16 < 128
    return cache.pages > 0 and cache.head_dim in (64, 128, 256) and not small


def programs_of(q: Tensor) -> int:
    """About as many as run at once; in the interpreter 5, so that there is work to merge."""
    if not q.is_cuda:
        return 5
    return PROGRAMS_AN_SM * torch.cuda.get_device_properties(q.device).multi_processor_count


def decode_parts(
    q: Tensor, cache: KVCache, out: Tensor, lse: Tensor, part_out: Tensor, part_lse: Tensor,
    score_scale: float, rows: int, notes: dict | None,
) -> None:  # fmt: skip
    """Reads the cache: writes the rows that met all their keys, and the parts of the others.

    score_scale: what a product of codes is multiplied by, for exp2
    out, lse: as ``decode_attention`` returns them
    part_out [programs, 2, rows, head_dim], part_lse [programs, 2, rows]: FP32, lse in base 2
    notes: of this call
    """
    programs = part_out.shape[0]
    tensors = (
        q, cache.keys, cache.values, cache.key_block_scales, cache.value_block_scales,
        cache.page_table, cache.lengths, out, lse, part_out, part_lse,
    )  # fmt: skip

    def prepare():
        batch, heads, new, head_dim = q.shape
        arguments = (
            *tensors, score_scale, cache.value_scale, batch, cache.page_table.stride(0),
            cache.kv_heads, heads // cache.kv_heads, new,
        )  # fmt: skip
        # At least 64: where bytes become FP16, triton 3.6 multiplies narrower tiles wrongly.
        options = dict(
            HEAD_DIM=head_dim, PADDED_DIM=max(64, triton.next_power_of_2(head_dim)),
            PAGE_SIZE=cache.page_size, FORMAT=cache.format, ROWS=rows, BLOCK_K=BLOCK_K,
            BATCH=triton.next_power_of_2(batch), num_warps=4, num_stages=2,
        )  # fmt: skip
        return (programs,), arguments, options

    launch(decode_kernel, notes, programs, tensors, prepare)


def merge(
    cache: KVCache, out: Tensor, lse: Tensor, part_out: Tensor, part_lse: Tensor,
    block_k: int, early: bool, notes: dict | None,
) -> None:  # fmt: skip
    """Merges what ``decode_parts`` left, into out and lse; rows without any key get 0, -inf.

    block_k: how many keys a block had   early: may begin before that kernel is done, and waits
    """
    programs, _, rows, _ = part_out.shape
    tensors = (cache.lengths, out, lse, part_out, part_lse)

    def prepare():
        batch, heads, new, head_dim = out.shape
        group = heads // cache.kv_heads
        readers = cache.kv_heads * triton.cdiv(group * new, rows)
        arguments = (*tensors, programs, batch, cache.kv_heads, group, new)
        options = dict(
            HEAD_DIM=head_dim, PADDED_DIM=triton.next_power_of_2(head_dim), ROWS=rows,
            BLOCK_K=block_k, PARTS=16 if batch * readers < 128 else 4,  # few have many parts
            BATCH=triton.next_power_of_2(batch), EARLY=early, num_warps=1,
            **({"launch_pdl": True} if early else {}),
        )  # fmt: skip
        return (batch * readers, min(rows, group * new)), arguments, options

    launch(merge_kernel, notes, (programs, block_k, early), tensors, prepare)
