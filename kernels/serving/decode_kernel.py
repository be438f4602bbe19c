"""The portable decode kernels: one reads pieces of the cache, one merges the parts of a row.

``kernels.serving.decode`` says how the keys are shared out, and launches both.  A *query tile*
is a key head together with up to ROWS of the queries that share it.  Counts aren't compiled in,
so a cache that grows compiles nothing new.
"""

from __future__ import annotations

import math

import triton
import triton.language as tl

from kernels.formats.value_triton import decode_e2m1, decode_e4m3

LN_2 = tl.constexpr(math.log(2))


# Triton doesn't compile again when one of these changes.
COUNTS = ["batch", "pages_per_sequence", "kv_heads", "group", "new_tokens", "programs"]


@triton.jit
def start_of(program, programs, blocks):
    """Returns where a program's piece begins; the first ``blocks % programs`` have one more."""
    return blocks // programs * program + tl.minimum(program, blocks % programs)


@triton.jit
def owner_of(block, programs, blocks):
    """Returns the program whose piece a block is in."""
    size, long_pieces = blocks // programs, blocks % programs
    long_piece = block // (size + 1)
    short_piece = long_pieces + (block - long_pieces * (size + 1)) // tl.maximum(size, 1)
    return tl.where(long_piece < long_pieces, long_piece, short_piece)


@triton.jit
def my_piece(lengths, batch, query_tiles, BLOCK_K: tl.constexpr, BATCH: tl.constexpr):
    """Returns the first block of my piece, where it stops, its sequence, and where that begins.

    Blocks are counted sequence by sequence, and within a sequence query tile by query tile.
    """
    sequences = tl.arange(0, BATCH)
    blocks = tl.cdiv(tl.load(lengths + sequences, sequences < batch, 0), BLOCK_K)
    ends = tl.cumsum(blocks * query_tiles, 0)
    program, programs = tl.program_id(0), tl.num_programs(0)
    block = start_of(program, programs, tl.max(ends, 0))
    stop = start_of(program + 1, programs, tl.max(ends, 0))
    sequence_begin = tl.max(tl.where(ends <= block, ends, 0), 0)
    sequence = tl.sum((ends <= block).to(tl.int32), 0)
    return block, stop, sequence, sequence_begin


@triton.jit(do_not_specialize=COUNTS)
def decode_kernel(
    q, keys, values, key_block_scales, value_block_scales, page_table, lengths,
    out, lse, part_out, part_lse, score_scale, value_scale,
    batch, pages_per_sequence, kv_heads, group, new_tokens,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr, PAGE_SIZE: tl.constexpr,
    FORMAT: tl.constexpr, ROWS: tl.constexpr, BLOCK_K: tl.constexpr, BATCH: tl.constexpr,
):  # fmt: skip
    """Reads its piece of all blocks of keys; writes finished rows, and parts of the others.

    All tensors are pointers to contiguous ones, laid out as in ``KVCache`` and
    ``decode_parts``.  Row r of a query tile is token r // group of query head r % group.
    """
    tiles_per_head = tl.cdiv(group * new_tokens, ROWS)
    query_tiles = kv_heads * tiles_per_head
    block, stop, sequence, sequence_begin = my_piece(
        lengths, batch, query_tiles, BLOCK_K, BATCH
    )
    first_block = block
    while block < stop:
        length = tl.load(lengths + sequence)
        sequence_blocks = tl.cdiv(length, BLOCK_K)
        if block < sequence_begin + sequence_blocks * query_tiles:
            # One query tile's blocks, as far as they are in my piece.
            query_tile = (block - sequence_begin) // sequence_blocks
            head = query_tile // tiles_per_head
            begin = (block - sequence_begin) % sequence_blocks
            count = tl.minimum(sequence_blocks - begin, stop - block)

            # Its queries stay.  Row r sees all keys but those newer than its token.
            row = query_tile % tiles_per_head * ROWS + tl.arange(0, ROWS)
            row_mask = row < group * new_tokens
            query_head = (sequence.to(tl.int64) * kv_heads + head) * group + row % group
            query = query_head * new_tokens + row // group
            visible_keys = length - (new_tokens - 1) + row // group
            queries, row_scale = load_queries(
                q, query, row_mask, score_scale, HEAD_DIM, PADDED_DIM, FORMAT
            )

            # Its keys and values stream past.
            running_max = tl.full([ROWS], -float("inf"), tl.float32)
            running_sum = tl.zeros([ROWS], tl.float32)
            accumulator = tl.zeros([ROWS, PADDED_DIM], tl.float32)
            pages = page_table + sequence.to(tl.int64) * pages_per_sequence
            cache = keys, values, key_block_scales, value_block_scales
            for first_key in range(begin * BLOCK_K, (begin + count) * BLOCK_K, BLOCK_K):
                running_max, running_sum, accumulator = attend_block(
                    queries, row_scale, visible_keys, first_key, length, pages, cache,
                    kv_heads, head, running_max, running_sum, accumulator,
                    HEAD_DIM, PAGE_SIZE, FORMAT, BLOCK_K,
                )  # fmt: skip

            # All of its blocks: finished rows.  Some: a part, which ``merge_kernel`` merges.
            running_sum = tl.where(running_sum == 0, 1.0, running_sum)  # no key was seen
            output = accumulator * value_scale / running_sum[:, None]
            row_lse = running_max + tl.log2(running_sum)
            if count == sequence_blocks:
                store_rows(output, row_lse * LN_2, out, lse, query, row_mask, HEAD_DIM)
            else:
                slot = 2 * tl.program_id(0) + (block != first_block).to(tl.int32)
                part = slot * ROWS + tl.arange(0, ROWS)
                store_rows(output, row_lse, part_out, part_lse, part, row_mask, HEAD_DIM)
            block += count
        if block == sequence_begin + sequence_blocks * query_tiles:
            sequence_begin = block
            sequence += 1


@triton.jit
def attend_block(
    queries, row_scale, visible_keys, first_key, length, pages, cache, kv_heads, head,
    running_max, running_sum, accumulator,
    HEAD_DIM: tl.constexpr, PAGE_SIZE: tl.constexpr, FORMAT: tl.constexpr,
    BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Returns running_max, running_sum and accumulator after one more block of keys.

    row_scale: a factor for each row's scores   visible_keys: how many keys each row sees
    pages: the sequence's row of the page table   cache: keys, values and their block scales
    """
    keys, values, key_block_scales, value_block_scales = cache
    PADDED_DIM: tl.constexpr = queries.shape[1]

    # Where are these keys?  The page table knows.
    key = first_key + tl.arange(0, BLOCK_K)
    page = tl.load(pages + key // PAGE_SIZE, key < length, 0).to(tl.int64)
    cache_row = (page * kv_heads + head) * PAGE_SIZE + key % PAGE_SIZE

    # Multiply, squish, multiply: as FlashAttention does.
    key_rows = read_rows(
        keys, key_block_scales, cache_row, key < length, HEAD_DIM, PADDED_DIM, FORMAT
    )
    scores = tl.dot(queries, tl.trans(key_rows)) * row_scale[:, None]
    scores = tl.where(key[None, :] < visible_keys[:, None], scores, -float("inf"))
    new_max = tl.maximum(running_max, tl.max(scores, 1))
    safe_max = tl.where(new_max == -float("inf"), 0.0, new_max)  # (-inf) - (-inf) is NaN
    weights = tl.exp2(scores - safe_max[:, None])
    rescale = tl.exp2(running_max - safe_max)
    running_sum = running_sum * rescale + tl.sum(weights, 1)
    value_rows = read_rows(
        values, value_block_scales, cache_row, key < length, HEAD_DIM, PADDED_DIM, FORMAT
    )
    accumulator = tl.dot(
        weights.to(value_rows.dtype), value_rows, accumulator * rescale[:, None]
    )
    return new_max, running_sum, accumulator


@triton.jit
def load_queries(
    q, query, row_mask, score_scale, HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr,
    FORMAT: tl.constexpr,
):  # fmt: skip
    """Returns rows of queries, [ROWS, PADDED_DIM], and what their scores are multiplied by."""
    column = tl.arange(0, PADDED_DIM)
    mask = row_mask[:, None] & (column < HEAD_DIM)[None, :]
    queries = tl.load(q + query[:, None] * HEAD_DIM + column[None, :], mask, 0.0)
    row_scale = tl.full([queries.shape[0]], score_scale, tl.float32)
    if FORMAT == "fp8" or FORMAT == "nvfp4":
        queries, power = scale_to_fp16(queries)
        row_scale *= power
    return queries, row_scale


@triton.jit
def scale_to_fp16(queries):
    """Returns each row in FP16, divided by a power of two, and the powers.

    The largest number of a row is then in [1, 2), so BF16 fits, too, although its range is
    wider than that of FP16.  The division is exact, but what is below 2^-24 of a row's largest
    number is lost.
    """
    queries = queries.to(tl.float32)
    amax_bits = tl.max(tl.abs(queries), 1).to(tl.int32, bitcast=True)
    power = (amax_bits & 0x7F800000).to(tl.float32, bitcast=True)
    power = tl.where(power == 0.0, 1.0, power)
    return (queries / power[:, None]).to(tl.float16), power


@triton.jit
def read_rows(
    pages, block_scales, row, row_mask, HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr,
    FORMAT: tl.constexpr,
):  # fmt: skip
    """Returns rows of the cache in 16 bits, [rows, PADDED_DIM]; zeros by row_mask."""
    if FORMAT == "nvfp4":
        byte = tl.arange(0, PADDED_DIM // 2)
        mask = row_mask[:, None] & (byte < HEAD_DIM // 2)[None, :]
        codes = tl.load(pages + row[:, None] * (HEAD_DIM // 2) + byte[None, :], mask, 0)
        offsets = row[:, None] * (HEAD_DIM // 16) + byte[None, :] // 8
        scale = decode_e4m3(tl.load(block_scales + offsets, mask, 0))
        low, high = decode_e2m1(codes & 15) * scale, decode_e2m1(codes >> 4) * scale
        return tl.interleave(low, high).to(tl.float16)  # exact: 2 bits times 4 bits
    else:
        column = tl.arange(0, PADDED_DIM)
        mask = row_mask[:, None] & (column < HEAD_DIM)[None, :]
        rows = tl.load(pages + row[:, None] * HEAD_DIM + column[None, :], mask, 0)
        if FORMAT == "fp8":
            rows = decode_e4m3(rows).to(tl.float16)
        return rows


@triton.jit
def store_rows(output, row_lse, out, lse, row, row_mask, HEAD_DIM: tl.constexpr):
    """Writes rows of output and lse to the places ``row`` of out and lse, by row_mask."""
    column = tl.arange(0, output.shape[1])
    mask = row_mask[:, None] & (column < HEAD_DIM)[None, :]
    offsets = row[:, None] * HEAD_DIM + column[None, :]
    tl.store(out + offsets, output.to(out.dtype.element_ty), mask)
    tl.store(lse + row, row_lse, row_mask)


@triton.jit(do_not_specialize=COUNTS)
def merge_kernel(
    lengths, out, lse, part_out, part_lse, programs, batch, kv_heads, group, new_tokens,
    HEAD_DIM: tl.constexpr, PADDED_DIM: tl.constexpr, ROWS: tl.constexpr,
    BLOCK_K: tl.constexpr, PARTS: tl.constexpr, BATCH: tl.constexpr, USE_PDL: tl.constexpr,
):  # fmt: skip
    """Merges the parts of one row of a query tile, PARTS at a time, into its output and lse."""
    if USE_PDL:  # lets the next kernel start now; it waits where it needs our results
        tl.extra.cuda.gdc_launch_dependents()
    tiles_per_head = tl.cdiv(group * new_tokens, ROWS)
    query_tiles = kv_heads * tiles_per_head
    sequence, query_tile = tl.program_id(0) // query_tiles, tl.program_id(0) % query_tiles
    row = tl.program_id(1)
    head_row = query_tile % tiles_per_head * ROWS + row

    # Which blocks are this query tile's?  Which programs had the first and the last of them?
    sequences = tl.arange(0, BATCH)
    blocks = tl.cdiv(tl.load(lengths + sequences, sequences < batch, 0), BLOCK_K)
    all_blocks = tl.sum(blocks, 0) * query_tiles
    own_blocks = tl.sum(tl.where(sequences == sequence, blocks, 0), 0)
    first_block = tl.sum(tl.where(sequences < sequence, blocks, 0), 0) * query_tiles
    first_block += query_tile * own_blocks
    first_program = owner_of(first_block, programs, all_blocks)
    last_program = owner_of(first_block + own_blocks - 1, programs, all_blocks)

    # Even a program with nothing to do waits for the kernel before: the next kernel takes the
    # end of this one for the end of both.
    if USE_PDL:
        tl.extra.cuda.gdc_wait()
    # If one program had all blocks, it has written this row.  If there are none, nobody has.
    must_merge = own_blocks == 0 or first_program < last_program
    if must_merge and head_row < group * new_tokens:
        maximum = -float("inf")
        total = 0.0
        output = tl.zeros([PADDED_DIM], tl.float32)
        if own_blocks > 0:
            for first_part in range(first_program, last_program + 1, PARTS):
                program = first_part + tl.arange(0, PARTS)
                # If a piece began before my blocks do, they are its second part.
                is_second = start_of(program, programs, all_blocks) < first_block
                part = (2 * program + is_second.to(tl.int32)) * ROWS + row
                maximum, total, output = merge_parts(
                    part, program <= last_program, part_out, part_lse,
                    maximum, total, output, HEAD_DIM,
                )  # fmt: skip

        total = tl.where(total == 0.0, 1.0, total)
        query_head = (
            sequence * kv_heads + query_tile // tiles_per_head
        ) * group + head_row % group
        query = tl.cast(query_head * new_tokens + head_row // group, tl.int64)
        output = (output / total).to(out.dtype.element_ty)
        dimension = tl.arange(0, PADDED_DIM)
        tl.store(out + query * HEAD_DIM + dimension, output, dimension < HEAD_DIM)
        tl.store(lse + query, (maximum + tl.log2(total)) * LN_2)


@triton.jit
def merge_parts(
    part, part_mask, part_out, part_lse, maximum, total, output, HEAD_DIM: tl.constexpr
):  # fmt: skip
    """Returns maximum, total and output of one row after these parts of it.

    part: their places in part_out and part_lse   part_mask: which of them exist
    """
    part_max = tl.load(part_lse + part, part_mask, -float("inf"))
    dimension = tl.arange(0, output.shape[0])
    mask = part_mask[:, None] & (dimension < HEAD_DIM)[None, :]
    outputs = tl.load(part_out + part[:, None] * HEAD_DIM + dimension[None, :], mask, 0.0)
    new_max = tl.maximum(maximum, tl.max(part_max, 0))
    safe_max = tl.where(new_max == -float("inf"), 0.0, new_max)
    weights = tl.exp2(part_max - safe_max)
    rescale = tl.exp2(maximum - safe_max)
    total = total * rescale + tl.sum(weights, 0)
    output = output * rescale + tl.sum(weights[:, None] * outputs, 0)
    return new_max, total, output
