"""Decode on Hopper, in Gluon: the next keys and values arrive while these are multiplied.

``kernels.decode`` says what is computed, how it is shared out and how parts are merged.  Here a
program reads its share tile by tile, in a way that suits a Hopper GPU:

    fetch     the Tensor Memory Accelerator (TMA) copies the tiles to come into a ring of stages
              in shared memory; each stage has a barrier that says when it is full
    multiply  each warp reads keys of its own, as operands of the tensor cores, and has a
              softmax of its own: running maximum, running sum, accumulator
    merge     after the last tile of a key head, the warps of the program become one

``kernels.decode_operands`` has the layout of those operands, and how 8 or 4 bits become 16.
"""

from __future__ import annotations

import math

import torch
import triton
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import mma_v2
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from kernels.decode_operands import (
    FP4_UNIT,
    halved,
    in_order,
    key_layout,
    key_operand,
    lined,
    pair_layout,
    query_dimension,
    scales_of_words,
    value_layout,
    value_operand,
    words_of,
)
from kernels.hardware import H100
from kernels.kv_cache import KVCache

WARPS = 4
# What was fastest on an H100 at head_dim 128: some 64 KB on their way to each SM, in few and
# large pieces.
PROGRAMS_AN_SM = {"bf16": 1, "fp16": 1, "fp8": 2, "nvfp4": 2}
STAGES = {"bf16": 2, "fp16": 2, "fp8": 2, "nvfp4": 3}  # tiles in use and on their way
SHARED_MEMORY = int(H100["shared memory per SM"].value)  # a program takes 1 KB beside its own
LN_2 = gl.constexpr(math.log(2))


def keys_a_warp(head_dim: int) -> int:
    """How many keys a warp reads at a time."""
    return 32 if head_dim < 256 else 16


def tile_of(cache: KVCache) -> int:
    """How many keys a program reads at a time."""
    return WARPS * keys_a_warp(cache.head_dim)


def programs_of(cache: KVCache, rows: int) -> int:
    """As many as run at once: what is shared out evenly should also start together."""
    tile = tile_of(cache) * cache.bytes_per_token // cache.kv_heads
    merged = WARPS * rows * cache.head_dim * 4  # the output of each warp, at the end
    fit = SHARED_MEMORY // (STAGES[cache.format] * tile + merged + 2**10)
    sms = torch.cuda.get_device_properties(cache.device).multi_processor_count
    return sms * max(1, min(fit, PROGRAMS_AN_SM[cache.format]))


def decode_parts(
    q: Tensor, cache: KVCache, out: Tensor, lse: Tensor, part_out: Tensor, part_lse: Tensor,
    score_scale: float, rows: int,
) -> None:  # fmt: skip
    """``kernels.decode.decode_parts`` for Hopper; a block of keys is a tile of ``tile_of``."""
    batch, heads, new, head_dim = q.shape
    words = words_of(cache.format, head_dim)
    piece = min(cache.page_size, tile_of(cache))
    pages = [described(x, piece, words) for x in (cache.keys, cache.values)]
    block_scales = [None, None]
    if cache.format == "nvfp4":
        scales = (cache.key_block_scales, cache.value_block_scales)
        block_scales = [described_scales(x, piece * words // 8) for x in scales]
    decode_hopper_kernel[(part_out.shape[0],)](
        q, *pages, *block_scales, cache.page_table, cache.lengths,
        out, lse, part_out, part_lse, score_scale, cache.value_scale,
        batch, cache.page_table.stride(0), cache.kv_heads, heads // cache.kv_heads, new,
        HEAD_DIM=head_dim, PAGE_SIZE=cache.page_size, FORMAT=cache.format, ROWS=rows,
        BN=keys_a_warp(head_dim), WARPS=WARPS, STAGES=STAGES[cache.format],
        BATCH=triton.next_power_of_2(batch), num_warps=WARPS, launch_pdl=True,
    )  # fmt: skip


def described(x: Tensor, rows: int, words: int) -> TensorDescriptor:
    """Where TMA finds ``rows`` rows of ``words`` 32-bit words: the whole tensor is a table.

    Its lines are rows, or parts of rows, of at most 128 bytes: as wide as TMA swizzles, so that
    lanes that read below each other meet in different banks of shared memory.
    """
    line = min(words, 32)
    table = x.view(torch.int32).view(-1, line)
    layout = gl.NVMMASharedLayout(swizzle_byte_width=4 * line, element_bitwidth=32, rank=2)
    return TensorDescriptor.from_tensor(table, [rows * words // line, line], layout)


def described_scales(x: Tensor, words: int) -> TensorDescriptor:
    """Where TMA finds the block scales of a piece, ``words`` 32-bit words side by side."""
    layout = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=2)
    return TensorDescriptor.from_tensor(x.view(torch.int32).view(-1, words), [1, words], layout)


# Memory.


@gluon.jit
def ring(tensor, PIECES: gl.constexpr):
    """Room in shared memory for so many pieces of a tensor."""
    LINES: gl.constexpr = tensor.block_type.shape[0]
    LINE: gl.constexpr = tensor.block_type.shape[1]
    return gl.allocate_shared_memory(gl.int32, [PIECES, LINES, LINE], tensor.layout)


@gluon.jit
def fetch(
    keys, values, key_scales, value_scales,
    shared_keys, shared_values, shared_key_scales, shared_value_scales,
    ready, stage, pages, first, length, kv_heads, head, wanted,
    PAGE_SIZE: gl.constexpr, PIECE: gl.constexpr, PIECES: gl.constexpr, FORMAT: gl.constexpr,
):  # fmt: skip
    """Has TMA fetch the tile from key ``first`` into a stage, if wanted.

    A piece lies in one page.  For one that begins at or past ``length`` the last one stands in.
    The warps meet at each piece: pages smaller than a tile are slower.
    """
    LINES: gl.constexpr = keys.block_type.shape[0] // PIECE  # of a row
    BYTES: gl.constexpr = 2 * PIECES * keys.block_type.nbytes
    arrived = ready.index(stage)
    if FORMAT == "nvfp4":
        SCALE_BYTES: gl.constexpr = 2 * PIECES * key_scales.block_type.nbytes
        mbarrier.expect(arrived, BYTES + SCALE_BYTES, pred=wanted)
    else:
        mbarrier.expect(arrived, BYTES, pred=wanted)
    last_piece = (length - 1) // PIECE * PIECE
    for i in gl.static_range(PIECES):
        key = gl.minimum(first + i * PIECE, last_piece)
        page = gl.load(pages + key // PAGE_SIZE)
        row = (page * kv_heads + head) * PAGE_SIZE + key % PAGE_SIZE
        place = stage * PIECES + i
        tma.async_copy_global_to_shared(
            keys, [row * LINES, 0], arrived, shared_keys.index(place), pred=wanted
        )
        if FORMAT == "nvfp4":
            tma.async_copy_global_to_shared(
                key_scales, [row // PIECE, 0], arrived,
                shared_key_scales.index(place), pred=wanted,
            )  # fmt: skip
            tma.async_copy_global_to_shared(
                value_scales, [row // PIECE, 0], arrived,
                shared_value_scales.index(place), pred=wanted,
            )  # fmt: skip
        tma.async_copy_global_to_shared(
            values, [row * LINES, 0], arrived, shared_values.index(place), pred=wanted
        )


@gluon.jit
def read(tiles, place, layout: gl.constexpr):
    """A whole tile of words out of shared memory, in a layout of our choice."""
    LINE: gl.constexpr = tiles.shape[2]
    LINED: gl.constexpr = lined(layout, LINE)
    SWIZZLED: gl.constexpr = tiles.layout
    lines = tiles.index(place)._reinterpret(gl.int32, LINED.shape, SWIZZLED).load(LINED)
    return gl.convert_layout(lines.reshape(layout.shape), layout, assert_trivial=True)


@gluon.jit
def read_scales(tiles, place, layout: gl.constexpr):
    """The block scales of a tile, E4M3 codes, in a layout of our choice."""
    BYTES: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    return tiles.index(place)._reinterpret(gl.uint8, layout.shape, BYTES).load(layout)


@gluon.jit
def zero_from(rows, end):
    """The rows before ``end``, and zeros."""
    row = gl.arange(0, rows.shape[0], gl.SliceLayout(1, rows.type.layout))
    return gl.where((row < end)[:, None], rows, gl.zeros_like(rows))


# Arithmetic.  The first axis of scores [WARPS, BN, ROWS], weights and output is the warp.


@gluon.jit
def finite(maximum):
    """A maximum that can be subtracted: of nothing but -inf it is -inf, and 0 will do."""
    return gl.where(maximum == -float("inf"), 0.0, maximum)


@gluon.jit
def load_queries(
    q, sequence, head, first_row, score_scale, kv_heads, group, new,
    WARPS: gl.constexpr, HEAD_DIM: gl.constexpr, ROWS: gl.constexpr, WORDS: gl.constexpr,
    mma: gl.constexpr, FORMAT: gl.constexpr,
):  # fmt: skip
    """Rows of queries, as ``key_operand`` orders keys, and what their scores are multiplied by.

    Row r is token r // group of the query head r % group of this key head.
    """
    RIGHT: gl.constexpr = gl.DotOperandLayout(1, mma, 2)
    BY_ROW: gl.constexpr = gl.SliceLayout(0, gl.SliceLayout(1, mma))
    row = first_row + gl.arange(0, ROWS, gl.SliceLayout(0, gl.SliceLayout(0, RIGHT)))
    place = gl.arange(0, HEAD_DIM, gl.SliceLayout(1, gl.SliceLayout(0, RIGHT)))
    query = (
        (sequence.to(gl.int64) * kv_heads + head) * group + row % group
    ) * new + row // group
    at = query[None, :] * HEAD_DIM + query_dimension(place, HEAD_DIM, WORDS)[:, None]
    queries = gl.load(q + at, (row < group * new)[None, :], 0.0)
    sharpness = gl.full([ROWS], score_scale, gl.float32, BY_ROW)
    if FORMAT == "fp8" or FORMAT == "nvfp4":
        # FP16 holds a BF16 number exactly once its row is divided by a power of two.
        largest = gl.max(gl.abs(queries.to(gl.float32)), 0).to(gl.int32, bitcast=True)
        power = (largest & 0x7F800000).to(gl.float32, bitcast=True)
        power = gl.where(power == 0.0, 1.0, power)
        queries = (queries.to(gl.float32) / power[None, :]).to(gl.float16)
        sharpness *= gl.convert_layout(power, BY_ROW)
        if FORMAT == "nvfp4":
            sharpness *= FP4_UNIT
    return queries[None, :, :].broadcast_to([WARPS, HEAD_DIM, ROWS]), sharpness


@gluon.jit
def store_rows(output, row_lse, out, lse, query, real):
    """Rows, [ROWS, HEAD_DIM], and their lse to entry ``query`` of out and lse, where real."""
    HEAD_DIM: gl.constexpr = output.shape[1]
    dimension = gl.arange(0, HEAD_DIM, gl.SliceLayout(0, output.type.layout))
    at = query.to(gl.int64)[:, None] * HEAD_DIM + dimension[None, :]
    gl.store(
        out + at, output.to(out.dtype.element_ty), real[:, None] & (dimension >= 0)[None, :]
    )
    gl.store(lse + query, row_lse, real)


@gluon.jit
def plus(a, b):
    return a + b


@gluon.jit
def begin_of(program, programs, units):
    """As in ``kernels.decode``, whose functions Gluon cannot call."""
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
    """One program's share of all tiles: as ``kernels.decode.decode_kernel``, and ends as it.

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

    # My share, and which sequence it begins in.
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
            # One reader's tiles, as far as they are in my share.
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
