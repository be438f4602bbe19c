"""The decode kernel for Hopper: each warp reads keys of its own and has a softmax of its own.

After the last tile of a key head the warps of a program become one.  The rest of the work,
sharing out and merging, is that of ``kernels.serving.decode``.
"""

from __future__ import annotations

import math

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import mma_v2
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

from kernels.serving.decode_hopper_tiles import (
    fetch,
    finite,
    load_queries,
    read,
    read_scales,
    ring,
    store_rows,
    zero_from,
)
from kernels.serving.layouts import (
    FP4_UNIT,
    halved,
    in_order,
    key_layout,
    key_operand,
    pair_layout,
    scales_of_words,
    value_layout,
    value_operand,
    words_of,
)

LN_2 = gl.constexpr(math.log(2))


@gluon.jit
def plus(a, b):
    return a + b


@gluon.jit
def begin_of(program, programs, units):
    """As in ``kernels.serving.decode_kernel``, whose functions Gluon cannot call."""
    return units // programs * program + gl.minimum(program, units % programs)


@gluon.jit(
    do_not_specialize=["batch", "pages_per_sequence", "kv_heads", "group", "new"],
)
def decode_hopper_kernel(
    q, keys, values, key_scales, value_scales, page_table, lengths,
    out, lse, part_out, part_lse, score_scale, value_scale,
    batch, pages_per_sequence, kv_heads, group, new,
    HEAD_DIM: gl.constexpr, PAGE_SIZE: gl.constexpr, FORMAT: gl.constexpr,
    ROWS: gl.constexpr, BN: gl.constexpr, WARPS: gl.constexpr, STAGES: gl.constexpr,
    BATCH: gl.constexpr,
):  # fmt: skip
    """One program's piece of all tiles: as ``decode_kernel.decode_kernel``, and ends as it.

    keys to value_scales: tensor descriptors, of 32-bit words; the rest as there
    """
    TILE: gl.constexpr = WARPS * BN
    WORDS: gl.constexpr = words_of(FORMAT, HEAD_DIM)
    PIECE: gl.constexpr = keys.block_type.shape[0] * keys.block_type.shape[1] // WORDS
    PIECES: gl.constexpr = TILE // PIECE
    DTYPE: gl.constexpr = gl.bfloat16 if FORMAT == "bf16" else gl.float16
    UNIT: gl.constexpr = FP4_UNIT if FORMAT == "nvfp4" else 1.0
    mma: gl.constexpr = gl.NVMMADistributedLayout(
        version=[2, 0], warps_per_cta=[WARPS, 1, 1], instr_shape=[1, 16, 8]
    )
    LEFT: gl.constexpr = gl.DotOperandLayout(0, mma, 2)
    RIGHT: gl.constexpr = gl.DotOperandLayout(1, mma, 2)
    KEYS: gl.constexpr = key_layout(BN, WARPS, WORDS)
    VALUES: gl.constexpr = value_layout(BN, WARPS, WORDS)
    PAIRS: gl.constexpr = pair_layout(BN, WARPS, WORDS)
    KEY_SCALES: gl.constexpr = halved(KEYS)
    VALUE_SCALES: gl.constexpr = halved(PAIRS)

    # A ring of stages, each with a barrier that says when it is full.
    shared_keys = ring(keys, STAGES * PIECES)
    shared_values = ring(values, STAGES * PIECES)
    shared_key_scales = 0
    shared_value_scales = 0
    if FORMAT == "nvfp4":
        shared_key_scales = ring(key_scales, STAGES * PIECES)
        shared_value_scales = ring(value_scales, STAGES * PIECES)
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(ready.index(i), count=1)
    # Up to here nothing was read that an earlier kernel writes: this one may start while that
    # one ends (programmatic dependent launch).  From here on it must have ended.  Likewise the
    # kernel that merges may start now: before it reads parts it waits for this one.
    gl.inline_asm_elementwise(
        "griddepcontrol.wait; griddepcontrol.launch_dependents; mov.u32 $0, 0;", "=r", [],
        dtype=gl.int32, is_pure=False, pack=1,
    )  # fmt: skip

    # My piece, and which sequence it begins in.
    row_tiles = gl.cdiv(group * new, ROWS)
    readers = kv_heads * row_tiles
    sequences = gl.arange(0, BATCH, gl.BlockedLayout([1], [32], [WARPS], [0]))
    tiles = (gl.load(lengths + sequences, sequences < batch, 0) + (TILE - 1)) // TILE
    ends = gl.associative_scan(tiles * readers, 0, plus)
    units = gl.max(ends, 0)
    program = gl.program_id(0)
    unit = begin_of(program, gl.num_programs(0), units)
    stop = begin_of(program + 1, gl.num_programs(0), units)
    first_unit = unit
    before = gl.max(gl.where(ends <= unit, ends, 0), 0)
    sequence = gl.sum((ends <= unit).to(gl.int32), 0)

    used = gl.to_tensor(0)  # tiles so far: number i is in stage i % STAGES

    while unit < stop:
        length = gl.load(lengths + sequence)
        tiles_each = gl.cdiv(length, TILE)
        if unit < before + tiles_each * readers:
            # One reader's tiles, as far as they are in my piece.
            reader = (unit - before) // tiles_each
            head = reader // row_tiles
            tile = (unit - before) % tiles_each
            count = gl.minimum(tiles_each - tile, stop - unit)
            first = tile * TILE
            end = first + count * TILE
            pages = page_table + sequence.to(gl.int64) * pages_per_sequence
            for i in gl.static_range(STAGES - 1):
                fetch(
                    keys, values, key_scales, value_scales,
                    shared_keys, shared_values, shared_key_scales, shared_value_scales,
                    ready, (used + i) % STAGES, pages, first + i * TILE, length,
                    kv_heads, head, i < count, PAGE_SIZE, PIECE, PIECES, FORMAT,
                )  # fmt: skip

            queries, sharpness = load_queries(
                q, sequence, head, reader % row_tiles * ROWS, score_scale,
                kv_heads, group, new, WARPS, HEAD_DIM, ROWS, WORDS, mma, FORMAT,
            )  # fmt: skip

            # Which keys each row sees: all, but the newest of those that come after it.
            warp = gl.arange(0, WARPS, gl.SliceLayout(1, gl.SliceLayout(2, mma)))
            key = gl.arange(0, BN, gl.SliceLayout(0, gl.SliceLayout(2, mma)))
            key = warp[:, None] * BN + key[None, :]
            row = gl.arange(0, ROWS, gl.SliceLayout(0, gl.SliceLayout(1, mma)))
            seen = length - (new - 1) + (reader % row_tiles * ROWS + row) // group

            running_max = gl.full(
                [WARPS, ROWS], -float("inf"), gl.float32, gl.SliceLayout(1, mma)
            )
            running_sum = gl.zeros([WARPS, BN, ROWS], gl.float32, mma)  # each lane for itself
            accumulator = gl.zeros([WARPS, HEAD_DIM, ROWS], gl.float32, mma)
            for first_key in range(first, end, TILE):
                # The stage that was read last time is free: what was in it is in registers, and
                # Gluon has all warps meet before something is written over it.
                ahead = first_key + (STAGES - 1) * TILE
                fetch(
                    keys, values, key_scales, value_scales,
                    shared_keys, shared_values, shared_key_scales, shared_value_scales,
                    ready, (used + STAGES - 1) % STAGES, pages, ahead, length,
                    kv_heads, head, ahead < end, PAGE_SIZE, PIECE, PIECES, FORMAT,
                )  # fmt: skip
                mbarrier.wait(ready.index(used % STAGES), used // STAGES & 1)
                stage = used % STAGES * PIECES
                used += 1
                key_words = read(shared_keys, stage, KEYS)
                value_words = read(shared_values, stage, VALUES)
                value_words = gl.convert_layout(value_words, PAIRS, assert_trivial=True)
                # Past the end lies anything, also NaN, and 0 times that must be 0.
                past_end = first_key + TILE > length
                key_factors = 0
                value_factors = 0
                if FORMAT == "nvfp4":
                    codes = read_scales(shared_key_scales, stage, KEY_SCALES)
                    key_factors = scales_of_words(codes, KEYS)
                    codes = read_scales(shared_value_scales, stage, VALUE_SCALES)
                    if past_end:
                        codes = zero_from(codes, length - first_key)
                    value_factors = scales_of_words(codes, PAIRS)
                elif past_end:
                    value_words = zero_from(value_words, length - first_key)

                scores = mma_v2(
                    key_operand(key_words, key_factors, BN, HEAD_DIM, LEFT, FORMAT),
                    queries,
                    gl.zeros([WARPS, BN, ROWS], gl.float32, mma),
                )
                visible = (first_key + key)[:, :, None] < seen[None, None, :]
                scores = gl.where(visible, scores * sharpness[None, None, :], -float("inf"))
                new_max = gl.maximum(running_max, gl.max(scores, 1))
                weights = gl.exp2(scores - finite(new_max)[:, None, :])
                rescale = gl.exp2(running_max - finite(new_max))
                running_max = new_max
                running_sum = running_sum * rescale[:, None, :] + weights
                weights = gl.convert_layout(weights.to(DTYPE), RIGHT)
                accumulator = accumulator * rescale[:, None, :]
                accumulator = mma_v2(
                    value_operand(value_words, value_factors, BN, HEAD_DIM, LEFT, FORMAT),
                    weights,
                    accumulator,
                )

            # The warps of this program become one, in base 2 as they are.
            top = gl.max(running_max, 0)
            rescale = gl.exp2(running_max - finite(top)[None, :])
            total = gl.sum(gl.sum(running_sum, 1) * rescale, 0)
            output = gl.sum(accumulator * rescale[:, None, :], 0)
            total = gl.where(total == 0.0, 1.0, total)  # no key was seen
            factor = UNIT * value_scale / total
            factor = gl.convert_layout(factor, gl.SliceLayout(0, output.type.layout))
            output = in_order(output * factor[None, :], WORDS)
            BY_OUTPUT_ROW: gl.constexpr = gl.SliceLayout(1, output.type.layout)
            row_lse = gl.convert_layout(top + gl.log2(total), BY_OUTPUT_ROW)

            # Whole, or a part that is to be merged.
            row = gl.arange(0, ROWS, BY_OUTPUT_ROW)
            of_reader = reader % row_tiles * ROWS + row
            real = of_reader < group * new
            if count == tiles_each:
                query_head = (sequence * kv_heads + head) * group + of_reader % group
                query = query_head * new + of_reader // group
                store_rows(output, row_lse * LN_2, out, lse, query, real)
            else:
                slot = 2 * program + (unit != first_unit).to(gl.int32)
                store_rows(output, row_lse, part_out, part_lse, slot * ROWS + row, real)
            unit += count
        if unit == before + tiles_each * readers:
            before = unit
            sequence += 1
