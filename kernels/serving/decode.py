"""Attends with one query, or a few, to a long cache: programs split the keys, then merge.

While a model generates, each step brings one new query for each head and reads the whole cache.
There is little arithmetic, so the bytes decide the time.  Therefore the whole GPU must read,
even if there is one long sequence, and evenly, even if one sequence has 131072 keys and the
next has 3 (split-KV):

    cut     put the blocks of keys of all sequences and heads in one line, and give every
            program an equal piece of it
    read    for each sequence and head that its piece touches, a program keeps what
            ``kernels.flash.attention`` keeps: running maximum, running sum, accumulator
    merge   if a piece doesn't hold all keys of a head, the program leaves its output and
            log-sum-exp as a part, and a second kernel merges the parts of each row

The query heads that share a key head read it together: they are rows of one tile, and so are
the few queries of one step.  The last query is the newest token, so the causal mask is aligned
bottom-right: query i sees all keys except the newest ``new_tokens - 1 - i``.

The kernels read a cache in FP8 or NVFP4 and widen it to FP16; they sum products in FP32.

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
    check_no_gradient,
    check_runnable,
    is_hopper,
    largest_scale,
    sparse_or_nested,
)
from kernels.launch_cache import entry_for, launch, memoized
from kernels.serving.cache import KVCache
from kernels.serving.decode_kernel import decode_kernel, merge_kernel

try:
    from kernels.serving.decode_hopper import (
        hopper_decode_parts,
        hopper_program_count,
        keys_per_tile,
    )

    GLUON = True
except ImportError:  # Gluon is missing, or isn't the one that the kernel was written for
    GLUON = False

BLOCK_K = 64  # keys a step
ROWS = 16  # queries a tile: the fewest that tl.dot takes
PROGRAMS_PER_SM = 4
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def decode_attention(
    q: Tensor,
    cache: KVCache,
    *,
    scale: float | None = None,
    return_lse: bool = False,
    portable: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Returns attention of the new tokens over a paged cache, in the shape of q.

    q: [batch, heads, new_tokens, head_dim], BF16 or FP16, one batch entry for each sequence of
    the cache; if the cache has 16 bits, q has its dtype
    heads: a multiple of the cache's kv_heads
    new_tokens: 1 or a few
    scale: 1/√head_dim if None, any sign
    return_lse: also return the natural logarithm of each row's sum of exp(score), [batch,
    heads, new_tokens] in FP32
    portable: use the kernel of ``serving.decode_kernel`` on a Hopper GPU, too, which otherwise
    runs that of ``serving.decode_hopper`` if head_dim is 64, 128 or 256
    Query i sees all keys except the newest new_tokens - 1 - i.  A query that sees none gets 0,
    lse -inf.  The kernel reads the used part of the cache once for each 16 rows of queries: a
    key head has as many rows as query heads share it, times new_tokens.  It reads the lengths
    on the GPU, so a CUDA graph of this call may be replayed after the cache grew.  Each program
    reads all lengths, which is little for some thousand sequences.

    Raises a ValueError or TypeError that names the argument, also for a tensor that requires a
    gradient, and for one on a CPU outside Triton's interpreter.
    """
    launch_entry = decode_entry(q, cache, scale, portable)
    scale = memoized(launch_entry, "scale", lambda: check_query(q, cache, scale))
    batch, heads, new_tokens, head_dim = q.shape
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    # Slicing q.shape would take longer.
    lse = torch.empty(batch, heads, new_tokens, device=q.device)
    if out.numel() == 0:
        return (out, lse) if return_lse else out
    q = q.contiguous()
    score_scale = scale * cache.key_scale * math.log2(math.e)  # the kernels use exp2, not exp
    group = heads // cache.kv_heads
    use_hopper = not portable and memoized(
        launch_entry, "hopper", lambda: hopper_supports(q, cache)
    )
    if use_hopper:
        rows = 8 if group * new_tokens <= 8 else 16
        read_cache, block_k = hopper_decode_parts, keys_per_tile(cache)
        programs = memoized(
            launch_entry, hopper_program_count, lambda: hopper_program_count(cache, rows)
        )
    else:
        read_cache, rows, block_k = decode_parts, ROWS, BLOCK_K
        programs = memoized(launch_entry, program_count, lambda: program_count(q))
    # At most two heads of a piece are incomplete: the one it begins in, and the one it ends in.
    part_out = torch.empty(programs, 2, rows, head_dim, device=q.device)
    part_lse = torch.empty(programs, 2, rows, device=q.device)
    read_cache(q, cache, out, lse, part_out, part_lse, score_scale, rows, launch_entry)
    merge(cache, out, lse, part_out, part_lse, block_k, use_hopper, launch_entry)
    return (out, lse) if return_lse else out


def decode_entry(q: Tensor, cache: KVCache, scale: float | None, portable: bool) -> dict | None:
    """Returns the launch cache's entry for such a query and KV cache."""
    if not isinstance(cache, KVCache):
        return None  # check_query will name it
    scales = (cache.key_scale, cache.value_scale)
    return entry_for((q,), scale, portable, torch.is_grad_enabled(), *scales, *cache.launch_key)


def check_query(q: Tensor, cache: KVCache, scale: float | None) -> float:
    """Returns the scale to use; raises what ``decode_attention`` says."""
    if not isinstance(q, Tensor):
        raise TypeError(f"query is {type(q).__name__}, a tensor is wanted")
    if not isinstance(cache, KVCache):
        raise TypeError(f"cache is {type(cache).__name__}, a KVCache is wanted")
    if sparse_or_nested(q):
        raise TypeError(f"query is {sparse_or_nested(q)}")
    if q.ndim != 4:
        raise ValueError(
            f"query has {q.ndim} dimensions, [batch, heads, new_tokens, head_dim] is wanted"
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
    check_runnable(decode_kernel, on_cpu=reference, query=q)
    check_no_gradient(instead=reference, query=q)
    if isinstance(scale, int | float) and not abs(scale) <= largest_scale(
        q.dtype, cache.key_scale
    ):
        raise ValueError(
            f"scale is {reprlib.repr(scale)}, the cache has key_scale {cache.key_scale}: "
            f"at most {largest_scale(q.dtype, cache.key_scale):.2g} is wanted"
        )
    return check_attention(q, q, q, scale=scale)


def hopper_supports(q: Tensor, cache: KVCache) -> bool:
    """Returns whether the kernel for Hopper takes this GPU, head_dim and these pages."""
    if not (GLUON and q.is_cuda and is_hopper(q.device)):
        return False
    # TMA can't describe a tensor without rows, and writes to multiples of 128 bytes, so a page
    # needs at least 128 bytes of block scales.
    has_small_pages = cache.format == "nvfp4" and cache.page_size * cache.head_dim // 16 < 128
    return cache.pages > 0 and cache.head_dim in (64, 128, 256) and not has_small_pages


def program_count(q: Tensor) -> int:
    """Returns about as many programs as run at once; in the interpreter 5, so some merge."""
    if not q.is_cuda:
        return 5
    return PROGRAMS_PER_SM * torch.cuda.get_device_properties(q.device).multi_processor_count


def decode_parts(
    q: Tensor, cache: KVCache, out: Tensor, lse: Tensor, part_out: Tensor, part_lse: Tensor,
    score_scale: float, rows: int, launch_entry: dict | None,
) -> None:  # fmt: skip
    """Reads the cache; writes the rows that met all their keys, and the parts of the others.

    score_scale: turns a product of codes into an exponent of exp2
    out, lse: as ``decode_attention`` returns them
    part_out [programs, 2, rows, head_dim], part_lse [programs, 2, rows]: FP32, lse in base 2
    launch_entry: the launch cache's for this call, from ``decode_entry``
    """
    programs = part_out.shape[0]
    tensors = (
        q, cache.keys, cache.values, cache.key_block_scales, cache.value_block_scales,
        cache.page_table, cache.lengths, out, lse, part_out, part_lse,
    )  # fmt: skip

    def prepare():
        batch, heads, new_tokens, head_dim = q.shape
        arguments = (
            *tensors, score_scale, cache.value_scale, batch, cache.page_table.stride(0),
            cache.kv_heads, heads // cache.kv_heads, new_tokens,
        )  # fmt: skip
        # At least 64: triton 3.6 multiplies narrower tiles wrongly if bytes become FP16.
        options = dict(
            HEAD_DIM=head_dim, PADDED_DIM=max(64, triton.next_power_of_2(head_dim)),
            PAGE_SIZE=cache.page_size, FORMAT=cache.format, ROWS=rows, BLOCK_K=BLOCK_K,
            BATCH=triton.next_power_of_2(batch), num_warps=4, num_stages=2,
        )  # fmt: skip
        return (programs,), arguments, options

    launch(decode_kernel, launch_entry, programs, tensors, prepare)


def merge(
    cache: KVCache, out: Tensor, lse: Tensor, part_out: Tensor, part_lse: Tensor,
    block_k: int, use_pdl: bool, launch_entry: dict | None,
) -> None:  # fmt: skip
    """Merges the parts that ``decode_parts`` left into out and lse; no key gives 0 and -inf.

    block_k: how many keys a block had   use_pdl: start before that kernel is done, then wait
    for it (programmatic dependent launch)
    """
    programs, _, rows, _ = part_out.shape
    tensors = (cache.lengths, out, lse, part_out, part_lse)

    def prepare():
        batch, heads, new_tokens, head_dim = out.shape
        group = heads // cache.kv_heads
        query_tiles = cache.kv_heads * triton.cdiv(group * new_tokens, rows)
        arguments = (*tensors, programs, batch, cache.kv_heads, group, new_tokens)
        options = dict(
            HEAD_DIM=head_dim, PADDED_DIM=triton.next_power_of_2(head_dim), ROWS=rows,
            BLOCK_K=block_k, PARTS=16 if batch * query_tiles < 128 else 4,  # fewer: more parts
            BATCH=triton.next_power_of_2(batch), USE_PDL=use_pdl, num_warps=1,
            **({"launch_pdl": True} if use_pdl else {}),
        )  # fmt: skip
        return (batch * query_tiles, min(rows, group * new_tokens)), arguments, options

    launch(merge_kernel, launch_entry, (programs, block_k, use_pdl), tensors, prepare)
