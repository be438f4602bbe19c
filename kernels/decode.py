"""One query, or a few, against a long cache: split over programs, then merged.

While a model generates, each step brings one new query a head and reads the whole cache.  The
arithmetic is small; what costs is the bytes.  So all of the GPU must read, also where there is
one long sequence, and evenly, also where one sequence has 131072 keys and the next has 3:

    share   the keys of all sequences and heads, in blocks, stand in one line; every program
            gets an equal piece of it
    read    for each sequence and head that its piece touches, a program keeps what
            ``kernels.flash`` keeps: running maximum, running sum, accumulator
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

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.formats import decode_e2m1, decode_e4m3
from kernels.inputs import check_attention, check_kernel, check_no_gradient
from kernels.kv_cache import KVCache

LN_2 = tl.constexpr(math.log(2))
BLOCK_K = 64  # keys a step
ROWS = 16  # queries a tile: what tl.dot takes at least
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
    portable: not ``kernels.decode_hopper``, which does this on a Hopper GPU for a head_dim of
    64, 128 or 256, but the kernel of this file
    Query i sees all keys but the newest new - 1 - i.  One that sees none gets 0, lse -inf.
    Reads the used part of the cache once, and once more for each further 16 rows of queries,
    heads that share a key head times new.  The lengths are read on the GPU: a CUDA graph of
    this call may be replayed after the cache grew.  Each program reads all lengths, which is
    little for batches up to some thousand.

    Raises a ValueError or TypeError that names the argument, also for a tensor that requires a
    gradient, and for one on a CPU outside Triton's interpreter.
    """
    scale = check_query(q, cache, scale)
    _, heads, new, head_dim = q.shape
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], device=q.device)
    if out.numel() == 0:
        return (out, lse) if return_lse else out
    q = q.contiguous()
    score_scale = scale * cache.key_scale * math.log2(math.e)  # exp2 stands for exp
    group = heads // cache.kv_heads
    with torch.cuda.device_of(q):
        if not portable and is_for_hopper(q, cache):
            from kernels.decode_hopper import decode_parts as hopper_parts
            from kernels.decode_hopper import programs_of as hopper_programs
            from kernels.decode_hopper import tile_of

            read, rows, block_k = hopper_parts, 8 if group * new <= 8 else 16, tile_of(cache)
            programs = hopper_programs(cache, rows)
        else:
            read, rows, programs, block_k = decode_parts, ROWS, programs_of(q), BLOCK_K
        # A piece has at most two ends at which it does not hold all keys of a head.
        part_out = torch.empty(programs, 2, rows, head_dim, device=q.device)
        part_lse = torch.empty(programs, 2, rows, device=q.device)
        read(q, cache, out, lse, part_out, part_lse, score_scale, rows)
        merge(cache, out, lse, part_out, part_lse, block_k, early=read is not decode_parts)
    return (out, lse) if return_lse else out


def check_query(q: Tensor, cache: KVCache, scale: float | None) -> float:
    """Raises what ``decode_attention`` says; the scale to use."""
    if not isinstance(q, Tensor):
        raise TypeError(f"query is {type(q).__name__}, a tensor is wanted")
    if not isinstance(cache, KVCache):
        raise TypeError(f"cache is {type(cache).__name__}, a KVCache is wanted")
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
    return check_attention(q, q, q, scale=scale)


def is_for_hopper(q: Tensor, cache: KVCache) -> bool:
    """Whether ``kernels.decode_hopper`` can do it: this GPU, this head_dim, these pages."""
    if not q.is_cuda or torch.cuda.get_device_capability(q.device) != (9, 0):
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
    score_scale: float, rows: int,
) -> None:  # fmt: skip
    """Reads the cache: writes the rows that met all their keys, and the parts of the others.

    score_scale: what a product of codes is multiplied by, for exp2
    out, lse: as ``decode_attention`` returns them
    part_out [programs, 2, rows, head_dim], part_lse [programs, 2, rows]: FP32, lse in base 2
    """
    batch, heads, new, head_dim = q.shape
    decode_kernel[(part_out.shape[0],)](
        q, cache.keys, cache.values, cache.key_block_scales, cache.value_block_scales,
        cache.page_table, cache.lengths, out, lse, part_out, part_lse,
        score_scale, cache.value_scale,
        batch, cache.page_table.stride(0), cache.kv_heads, heads // cache.kv_heads, new,
        # At least 64: where bytes become FP16, triton 3.6 multiplies narrower tiles wrongly.
        HEAD_DIM=head_dim, PADDED_DIM=max(64, triton.next_power_of_2(head_dim)),
        PAGE_SIZE=cache.page_size, FORMAT=cache.format, ROWS=rows, BLOCK_K=BLOCK_K,
        BATCH=triton.next_power_of_2(batch), num_warps=4, num_stages=2,
    )  # fmt: skip


def merge(
    cache: KVCache, out: Tensor, lse: Tensor, part_out: Tensor, part_lse: Tensor,
    block_k: int, early: bool,
) -> None:  # fmt: skip
    """Merges what ``decode_parts`` left, into out and lse; rows without any key get 0, -inf.

    block_k: how many keys a block had   early: may begin before that kernel is done, and waits
    """
    batch, heads, new, head_dim = out.shape
    programs, _, rows, _ = part_out.shape
    group = heads // cache.kv_heads
    readers = cache.kv_heads * triton.cdiv(group * new, rows)
    merge_kernel[(batch * readers, min(rows, group * new))](
        cache.lengths, out, lse, part_out, part_lse,
        programs, batch, cache.kv_heads, group, new,
        HEAD_DIM=head_dim, PADDED_DIM=triton.next_power_of_2(head_dim), ROWS=rows,
        BLOCK_K=block_k, PARTS=16 if batch * readers < 128 else 4,  # few have many parts
        BATCH=triton.next_power_of_2(batch), EARLY=early, num_warps=1,
        **({"launch_pdl": True} if early else {}),
    )  # fmt: skip


# The kernels.  Counts get no compilations of their own.
COUNTS = ["batch", "pages_per_sequence", "kv_heads", "group", "new", "programs"]


@triton.jit
def begin_of(program, programs, blocks):
    """Where a program's share begins; the first ``blocks % programs`` have one more."""
    return blocks // programs * program + tl.minimum(program, blocks % programs)


@triton.jit
def owner_of(block, programs, blocks):
    """Whose share a block is in."""
    share, larger = blocks // programs, blocks % programs
    of_larger = block // (share + 1)
    of_others = larger + (block - larger * (share + 1)) // tl.maximum(share, 1)
    return tl.where(of_larger < larger, of_larger, of_others)


@triton.jit(do_not_specialize=COUNTS)
def decode_kernel(
    q, keys, values, key_block_scales, value_block_scales, page_table, lengths,
    out, lse, part_out, part_lse, score_scale, value_scale,
    batch, pages_per_sequence, kv_heads, group, new,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr, PAGE_SIZE: tl.constexpr,
    FORMAT: tl.constexpr, ROWS: tl.constexpr, BLOCK_K: tl.constexpr, BATCH: tl.constexpr,
):  # fmt: skip
    """One program's share of all blocks of keys.

    All tensors are pointers to contiguous ones, laid out as in ``KVCache`` and
    ``decode_parts``.  A reader is a key head and a tile of ROWS of the queries that share it;
    row r is token r // group of query head r % group.  Blocks are counted sequence by sequence,
    reader by reader.
    """
    # My share, and which sequence it begins in.
    row_tiles = tl.cdiv(group * new, ROWS)
    readers = kv_heads * row_tiles
    sequences = tl.arange(0, BATCH)
    blocks = tl.cdiv(tl.load(lengths + sequences, sequences < batch, 0), BLOCK_K)
    ends = tl.cumsum(blocks * readers, 0)
    program = tl.program_id(0)
    block = begin_of(program, tl.num_programs(0), tl.max(ends, 0))
    stop = begin_of(program + 1, tl.num_programs(0), tl.max(ends, 0))
    first_block = block
    before = tl.max(tl.where(ends <= block, ends, 0), 0)
    sequence = tl.sum((ends <= block).to(tl.int32), 0)

    column = tl.arange(0, PADDED_DIM)
    while block < stop:
        length = tl.load(lengths + sequence)
        blocks_each = tl.cdiv(length, BLOCK_K)
        if block < before + blocks_each * readers:
            # One reader's blocks, as far as they are in my share.
            reader = (block - before) // blocks_each
            head = reader // row_tiles
            begin = (block - before) % blocks_each
            count = tl.minimum(blocks_each - begin, stop - block)

            # Its queries stay.  Row r sees all keys but the newest of those after its token.
            row = reader % row_tiles * ROWS + tl.arange(0, ROWS)
            real_row = row < group * new
            query_head = (sequence.to(tl.int64) * kv_heads + head) * group + row % group
            query = query_head * new + row // group
            real = real_row[:, None] & (column < HEAD_DIM)[None, :]
            queries = tl.load(q + query[:, None] * HEAD_DIM + column[None, :], real, 0.0)
            seen = length - (new - 1) + row // group
            sharpness = tl.full([ROWS], score_scale, tl.float32)
            if FORMAT == "fp8" or FORMAT == "nvfp4":
                queries, power = in_fp16(queries)
                sharpness *= power

            # Its keys and values stream past.
            running_max = tl.full([ROWS], -float("inf"), tl.float32)
            running_sum = tl.zeros([ROWS], tl.float32)
            accumulator = tl.zeros([ROWS, PADDED_DIM], tl.float32)
            pages = page_table + sequence.to(tl.int64) * pages_per_sequence
            for first_key in range(begin * BLOCK_K, (begin + count) * BLOCK_K, BLOCK_K):
                key = first_key + tl.arange(0, BLOCK_K)
                page = tl.load(pages + key // PAGE_SIZE, key < length, 0).to(tl.int64)
                cached = (page * kv_heads + head) * PAGE_SIZE + key % PAGE_SIZE
                key_rows = read_rows(
                    keys, key_block_scales, cached, key < length, HEAD_DIM, PADDED_DIM, FORMAT
                )
                scores = tl.dot(queries, tl.trans(key_rows)) * sharpness[:, None]
                scores = tl.where(key[None, :] < seen[:, None], scores, -float("inf"))
                new_max = tl.maximum(running_max, tl.max(scores, 1))
                safe_max = tl.where(new_max == -float("inf"), 0.0, new_max)
                weights = tl.exp2(scores - safe_max[:, None])
                rescale = tl.exp2(running_max - safe_max)
                running_max = new_max
                running_sum = running_sum * rescale + tl.sum(weights, 1)
                value_rows = read_rows(
                    values, value_block_scales, cached, key < length,
                    HEAD_DIM, PADDED_DIM, FORMAT,
                )  # fmt: skip
                accumulator = tl.dot(
                    weights.to(value_rows.dtype), value_rows, accumulator * rescale[:, None]
                )

            running_sum = tl.where(running_sum == 0, 1.0, running_sum)  # no key was seen
            output = accumulator * value_scale / running_sum[:, None]
            row_lse = running_max + tl.log2(running_sum)
            if count == blocks_each:
                at = query[:, None] * HEAD_DIM + column[None, :]
                tl.store(out + at, output.to(out.dtype.element_ty), real)
                tl.store(lse + query, row_lse * LN_2, real_row)
            else:
                slot = 2 * program + (block != first_block).to(tl.int32)
                part = slot * ROWS + tl.arange(0, ROWS)
                place = part[:, None] * HEAD_DIM + column[None, :]
                tl.store(part_out + place, output, real)
                tl.store(part_lse + part, row_lse, real_row)
            block += count
        if block == before + blocks_each * readers:
            before = block
            sequence += 1


@triton.jit
def in_fp16(queries):
    """Rows in FP16, divided by a power of two so that the largest is in [1, 2), and the powers.

    That is exact also for BF16, whose range FP16 does not have; what is below 2^-24 of a row's
    largest number gets lost.
    """
    queries = queries.to(tl.float32)
    largest = tl.max(tl.abs(queries), 1).to(tl.int32, bitcast=True)
    power = (largest & 0x7F800000).to(tl.float32, bitcast=True)
    power = tl.where(power == 0.0, 1.0, power)
    return (queries / power[:, None]).to(tl.float16), power


@triton.jit
def read_rows(
    pages, block_scales, row, real, HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr,
    FORMAT: tl.constexpr,
):  # fmt: skip
    """Rows of the cache in 16 bits, [rows, PADDED_DIM]; zeros where not real."""
    if FORMAT == "nvfp4":
        byte = tl.arange(0, PADDED_DIM // 2)
        real = real[:, None] & (byte < HEAD_DIM // 2)[None, :]
        codes = tl.load(pages + row[:, None] * (HEAD_DIM // 2) + byte[None, :], real, 0)
        at = row[:, None] * (HEAD_DIM // 16) + byte[None, :] // 8
        scale = decode_e4m3(tl.load(block_scales + at, real, 0))
        low, high = decode_e2m1(codes & 15) * scale, decode_e2m1(codes >> 4) * scale
        return tl.interleave(low, high).to(tl.float16)  # exact: 2 bits times 4 bits
    else:
        column = tl.arange(0, PADDED_DIM)
        real = real[:, None] & (column < HEAD_DIM)[None, :]
        rows = tl.load(pages + row[:, None] * HEAD_DIM + column[None, :], real, 0)
        if FORMAT == "fp8":
            rows = decode_e4m3(rows).to(tl.float16)
        return rows


@triton.jit(do_not_specialize=COUNTS)
def merge_kernel(
    lengths, out, lse, part_out, part_lse, programs, batch, kv_heads, group, new,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr, ROWS: tl.constexpr,
    BLOCK_K: tl.constexpr, PARTS: tl.constexpr, BATCH: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """One row of one reader: its parts, PARTS at a time, become its output and lse."""
    if EARLY:  # the kernel that comes next may begin, too, up to where it waits
        tl.extra.cuda.gdc_launch_dependents()
    row_tiles = tl.cdiv(group * new, ROWS)
    readers = kv_heads * row_tiles
    sequence, reader = tl.program_id(0) // readers, tl.program_id(0) % readers
    row = tl.program_id(1)
    row_of_head = reader % row_tiles * ROWS + row

    # Which blocks are this reader's, and who had the first and the last of them?
    sequences = tl.arange(0, BATCH)
    blocks = tl.cdiv(tl.load(lengths + sequences, sequences < batch, 0), BLOCK_K)
    all_blocks = tl.sum(blocks, 0) * readers
    mine = tl.sum(tl.where(sequences == sequence, blocks, 0), 0)
    first = tl.sum(tl.where(sequences < sequence, blocks, 0), 0) * readers + reader * mine
    first_program = owner_of(first, programs, all_blocks)
    last_program = owner_of(first + mine - 1, programs, all_blocks)

    # This kernel must not end before the one that it follows, also where it has nothing to do:
    # the next one would take its end for that of both.
    if EARLY:
        tl.extra.cuda.gdc_wait()
    # One program that had all blocks has written this row.  Where there are none, nobody has.
    missing = mine == 0 or first_program < last_program
    if missing and row_of_head < group * new:
        dimension = tl.arange(0, PADDED_DIM)
        maximum = -float("inf")
        total = 0.0
        output = tl.zeros([PADDED_DIM], tl.float32)
        if mine > 0:
            for first_part in range(first_program, last_program + 1, PARTS):
                program = first_part + tl.arange(0, PARTS)
                there = program <= last_program
                # A share that began before my blocks did has them in its second part.
                second = begin_of(program, programs, all_blocks) < first
                part = (2 * program + second.to(tl.int32)) * ROWS + row
                part_max = tl.load(part_lse + part, there, -float("inf"))
                real = there[:, None] & (dimension < HEAD_DIM)[None, :]
                at = part[:, None] * HEAD_DIM + dimension[None, :]
                outputs = tl.load(part_out + at, real, 0.0)
                new_max = tl.maximum(maximum, tl.max(part_max, 0))
                safe_max = tl.where(new_max == -float("inf"), 0.0, new_max)
                weights = tl.exp2(part_max - safe_max)
                rescale = tl.exp2(maximum - safe_max)
                maximum = new_max
                total = total * rescale + tl.sum(weights, 0)
                output = output * rescale + tl.sum(weights[:, None] * outputs, 0)

        total = tl.where(total == 0.0, 1.0, total)
        query_head = (sequence * kv_heads + reader // row_tiles) * group + row_of_head % group
        query = tl.cast(query_head * new + row_of_head // group, tl.int64)
        output = (output / total).to(out.dtype.element_ty)
        tl.store(out + query * HEAD_DIM + dimension, output, dimension < HEAD_DIM)
        tl.store(lse + query, (maximum + tl.log2(total)) * LN_2)
