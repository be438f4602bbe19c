"""The decode kernel for Hopper: each warp reads keys of its own and has a softmax of its own.

A *kv tile* is WARPS · BN keys and their values, a *query tile* up to ROWS of the queries that
share a key head.  After the last kv tile of a query tile, the program merges the results of its
warps.  ``kernels.serving.decode`` says how the keys are shared out and how parts are merged.
"""

from __future__ import annotations

import math

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import mma_v2

from kernels.serving.decode_hopper_tiles import (
    fetch,
    load_queries,
    make_stages,
    read_tile,
    safe_max,
    store_rows,
    wait_for_earlier_kernel,
)
from kernels.serving.layouts import (
    FP4_CORRECTION,
    key_operand,
    product_layout,
    reorder_output,
    value_operand,
    words_per_row,
)

LN_2 = gl.constexpr(math.log(2))


@gluon.jit
def add(a, b):
    return a + b


@gluon.jit
def start_of(program, programs, tiles):
    """Returns what ``decode_kernel.start_of`` does: Gluon can't call Triton's functions."""
    return tiles // programs * program + gl.minimum(program, tiles % programs)


@gluon.jit
def my_piece(lengths, batch, query_tiles, TILE: gl.constexpr, BATCH: gl.constexpr):
    """Returns what ``decode_kernel.my_piece`` does, counted in kv tiles, not blocks."""
    sequences = gl.arange(0, BATCH, gl.BlockedLayout([1], [32], [gl.num_warps()], [0]))
    tiles = (gl.load(lengths + sequences, sequences < batch, 0) + (TILE - 1)) // TILE
    ends = gl.associative_scan(tiles * query_tiles, 0, add)
    program, programs = gl.program_id(0), gl.num_programs(0)
    kv_tile = start_of(program, programs, gl.max(ends, 0))
    stop = start_of(program + 1, programs, gl.max(ends, 0))
    sequence_begin = gl.max(gl.where(ends <= kv_tile, ends, 0), 0)
    sequence = gl.sum((ends <= kv_tile).to(gl.int32), 0)
    return kv_tile, stop, sequence, sequence_begin


@gluon.jit(
    do_not_specialize=["batch", "pages_per_sequence", "kv_heads", "group", "new_tokens"],
)
def decode_hopper_kernel(
    q, keys, values, key_scales, value_scales, page_table, lengths,
    out, lse, part_out, part_lse, score_scale, value_scale,
    batch, pages_per_sequence, kv_heads, group, new_tokens,
    HEAD_DIM: gl.constexpr, PAGE_SIZE: gl.constexpr, FORMAT: gl.constexpr,
    ROWS: gl.constexpr, BN: gl.constexpr, WARPS: gl.constexpr, STAGES: gl.constexpr,
    BATCH: gl.constexpr,
):  # fmt: skip
    """Reads its piece of all kv tiles; writes finished rows, and parts of the others.

    keys, values, key_scales, value_scales: tensor descriptors, of 32-bit words
    BN: keys that a warp reads at a time   the rest: as in ``decode_kernel.decode_kernel``
    """
    TILE: gl.constexpr = WARPS * BN  # keys of a kv tile
    mma: gl.constexpr = product_layout(WARPS)
    tensors = (keys, values, key_scales, value_scales)
    stages = make_stages(tensors, STAGES, TILE, HEAD_DIM, FORMAT)
    wait_for_earlier_kernel()

    tiles_per_head = gl.cdiv(group * new_tokens, ROWS)
    query_tiles = kv_heads * tiles_per_head
    kv_tile, stop, sequence, sequence_begin = my_piece(lengths, batch, query_tiles, TILE, BATCH)
    first_kv_tile = kv_tile
    tile_number = gl.to_tensor(0)  # kv tiles so far: number i is in stage i % STAGES
    while kv_tile < stop:
        length = gl.load(lengths + sequence)
        sequence_kv_tiles = gl.cdiv(length, TILE)
        if kv_tile < sequence_begin + sequence_kv_tiles * query_tiles:
            # One query tile's keys, as far as they're in my piece.  The first are on their way.
            query_tile = (kv_tile - sequence_begin) // sequence_kv_tiles
            head, first_row = query_tile // tiles_per_head, query_tile % tiles_per_head * ROWS
            begin = (kv_tile - sequence_begin) % sequence_kv_tiles
            count = gl.minimum(sequence_kv_tiles - begin, stop - kv_tile)
            first = begin * TILE
            end = first + count * TILE
            pages = page_table + sequence.to(gl.int64) * pages_per_sequence
            for i in gl.static_range(STAGES - 1):
                fetch(
                    tensors, stages, tile_number + i, pages, first + i * TILE, end, length,
                    kv_heads, head, PAGE_SIZE, TILE, FORMAT,
                )  # fmt: skip

            # Its queries stay.  Each row sees all keys but those newer than its token.
            queries, row_scale = load_queries(
                q, sequence, head, first_row, score_scale, kv_heads, group, new_tokens,
                HEAD_DIM, ROWS, mma, FORMAT,
            )  # fmt: skip
            row = first_row + gl.arange(0, ROWS, gl.SliceLayout(0, gl.SliceLayout(1, mma)))
            visible_keys = length - (new_tokens - 1) + row // group

            # Its keys and values stream past: fetch a later tile, then work on this one.
            running_max = gl.full(
                [WARPS, ROWS], -float("inf"), gl.float32, gl.SliceLayout(1, mma)
            )
            running_sum = gl.zeros([WARPS, BN, ROWS], gl.float32, mma)  # each lane for itself
            accumulator = gl.zeros([WARPS, HEAD_DIM, ROWS], gl.float32, mma)
            for first_key in range(first, end, TILE):
                # The stage that was read last time is free: what was in it is in registers, and
                # Gluon has all warps meet before something is written over it.
                fetch(
                    tensors, stages, tile_number + STAGES - 1, pages,
                    first_key + (STAGES - 1) * TILE, end, length, kv_heads, head,
                    PAGE_SIZE, TILE, FORMAT,
                )  # fmt: skip
                tile = read_tile(stages, tile_number, first_key, length, BN, HEAD_DIM, FORMAT)
                tile_number += 1
                running_max, running_sum, accumulator = attend_tile(
                    queries, row_scale, visible_keys, first_key, tile,
                    running_max, running_sum, accumulator, FORMAT,
                )  # fmt: skip
            output, row_lse = merge_warps(
                running_max, running_sum, accumulator, value_scale, FORMAT
            )

            # All of its tiles: finished rows.  Some: a part, which ``merge_kernel`` merges.
            row = gl.arange(0, ROWS, gl.SliceLayout(1, output.type.layout))
            head_row = first_row + row
            row_mask = head_row < group * new_tokens
            if count == sequence_kv_tiles:
                query_head = (sequence * kv_heads + head) * group + head_row % group
                query = query_head * new_tokens + head_row // group
                store_rows(output, row_lse * LN_2, out, lse, query, row_mask)
            else:
                slot = 2 * gl.program_id(0) + (kv_tile != first_kv_tile).to(gl.int32)
                store_rows(output, row_lse, part_out, part_lse, slot * ROWS + row, row_mask)
            kv_tile += count
        if kv_tile == sequence_begin + sequence_kv_tiles * query_tiles:
            sequence_begin = kv_tile
            sequence += 1


@gluon.jit
def attend_tile(
    queries, row_scale, visible_keys, first_key, tile, running_max, running_sum, accumulator,
    FORMAT: gl.constexpr,
):  # fmt: skip
    """Returns running_max, running_sum and accumulator after one more kv tile, warp by warp.

    queries: [WARPS, HEAD_DIM, ROWS]   visible_keys: of each row   tile: of
    ``read_tile``   running_max: [WARPS, ROWS]   running_sum: [WARPS, BN, ROWS], not yet summed
    over the keys of a warp   accumulator: [WARPS, HEAD_DIM, ROWS]
    """
    key_words, key_scales, value_words, value_scales = tile
    mma: gl.constexpr = accumulator.type.layout
    LEFT: gl.constexpr = gl.DotOperandLayout(0, mma, 2)
    WARPS: gl.constexpr = running_sum.shape[0]
    BN: gl.constexpr = running_sum.shape[1]
    HEAD_DIM: gl.constexpr = accumulator.shape[1]
    warp = gl.arange(0, WARPS, gl.SliceLayout(1, gl.SliceLayout(2, mma)))
    key_of_warp = gl.arange(0, BN, gl.SliceLayout(0, gl.SliceLayout(2, mma)))
    key = first_key + (warp[:, None] * BN + key_of_warp[None, :])

    # Multiply, squish, multiply: as FlashAttention does, with the product turned around.
    keys = key_operand(key_words, key_scales, BN, HEAD_DIM, LEFT, FORMAT)
    scores = mma_v2(keys, queries, gl.zeros_like(running_sum))
    visible = key[:, :, None] < visible_keys[None, None, :]
    scores = gl.where(visible, scores * row_scale[None, None, :], -float("inf"))
    new_max = gl.maximum(running_max, gl.max(scores, 1))
    weights = gl.exp2(scores - safe_max(new_max)[:, None, :])
    rescale = gl.exp2(running_max - safe_max(new_max))
    running_sum = running_sum * rescale[:, None, :] + weights
    weights = gl.convert_layout(weights.to(queries.dtype), gl.DotOperandLayout(1, mma, 2))
    accumulator = accumulator * rescale[:, None, :]
    values = value_operand(value_words, value_scales, BN, HEAD_DIM, LEFT, FORMAT)
    accumulator = mma_v2(values, weights, accumulator)
    return new_max, running_sum, accumulator


@gluon.jit
def merge_warps(running_max, running_sum, accumulator, value_scale, FORMAT: gl.constexpr):
    """Returns the output of all warps of a program, [ROWS, HEAD_DIM], and its lse in base 2."""
    CORRECTION: gl.constexpr = FP4_CORRECTION if FORMAT == "nvfp4" else 1.0
    HEAD_DIM: gl.constexpr = accumulator.shape[1]
    maximum = gl.max(running_max, 0)
    rescale = gl.exp2(running_max - safe_max(maximum)[None, :])
    total = gl.sum(gl.sum(running_sum, 1) * rescale, 0)
    output = gl.sum(accumulator * rescale[:, None, :], 0)
    total = gl.where(total == 0.0, 1.0, total)  # no key was seen
    factor = CORRECTION * value_scale / total
    factor = gl.convert_layout(factor, gl.SliceLayout(0, output.type.layout))
    output = reorder_output(output * factor[None, :], words_per_row(FORMAT, HEAD_DIM))
    row_lse = maximum + gl.log2(total)
    return output, gl.convert_layout(row_lse, gl.SliceLayout(1, output.type.layout))
