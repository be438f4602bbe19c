"""How tiles of a paged cache reach the registers of a Hopper GPU, and how rows leave them.

TMA copies chunks of pages into stages of shared memory.  The warps read words out of them, load
the queries in the layout of an operand, and store the finished rows and the parts.
"""

from __future__ import annotations

from typing import NamedTuple

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

from kernels.serving.layouts import (
    FP4_CORRECTION,
    block_scale_layout,
    key_layout,
    line_layout,
    pair_layout,
    query_dimension,
    scale_per_word,
    value_layout,
    words_per_row,
)


class Stages(NamedTuple):
    """Shared memory for the tiles in use and on their way; tile i is in stage i % STAGES.

    All but the last: [STAGES · chunks of a tile, lines, words].  A chunk is the part of a tile
    that is in one page.
    full: a barrier for each stage, which says when its tile has come
    """

    key_tiles: gl.shared_memory_descriptor
    value_tiles: gl.shared_memory_descriptor
    key_scales: gl.shared_memory_descriptor
    value_scales: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor


@gluon.jit
def allocate_chunks(tensor, CHUNKS: gl.constexpr):
    """Returns shared memory for so many chunks of a tensor."""
    LINES: gl.constexpr = tensor.block_type.shape[0]
    LINE: gl.constexpr = tensor.block_type.shape[1]
    return gl.allocate_shared_memory(gl.int32, [CHUNKS, LINES, LINE], tensor.layout)


@gluon.jit
def make_stages(
    tensors, STAGES: gl.constexpr, TILE: gl.constexpr, HEAD_DIM: gl.constexpr,
    FORMAT: gl.constexpr,
):  # fmt: skip
    """Returns empty ``Stages`` for kv tiles: TILE keys, and as many values."""
    keys, values, key_scales, value_scales = tensors
    CHUNK_WORDS: gl.constexpr = keys.block_type.shape[0] * keys.block_type.shape[1]
    CHUNKS: gl.constexpr = STAGES * (TILE * words_per_row(FORMAT, HEAD_DIM) // CHUNK_WORDS)
    shared_keys = allocate_chunks(keys, CHUNKS)
    shared_values = allocate_chunks(values, CHUNKS)
    shared_key_scales = 0  # nobody reads these, but a tuple needs something in their place
    shared_value_scales = 0
    if FORMAT == "nvfp4":
        shared_key_scales = allocate_chunks(key_scales, CHUNKS)
        shared_value_scales = allocate_chunks(value_scales, CHUNKS)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
    return Stages(shared_keys, shared_values, shared_key_scales, shared_value_scales, full)


@gluon.jit
def wait_for_earlier_kernel():
    """Waits for the kernel before this one to end, and lets the next one start.

    This is programmatic dependent launch: a kernel may start while the one before it ends, if
    it reads nothing of that one's before it has waited here.  So does the kernel that merges.
    """
    gl.inline_asm_elementwise(
        "griddepcontrol.wait; griddepcontrol.launch_dependents; mov.u32 $0, 0;", "=r", [],
        dtype=gl.int32, is_pure=False, pack=1,
    )  # fmt: skip


@gluon.jit
def fetch(
    tensors, stages, tile_number, pages, first, end, length, kv_heads, head,
    PAGE_SIZE: gl.constexpr, TILE: gl.constexpr, FORMAT: gl.constexpr,
):  # fmt: skip
    """Has TMA fetch the tile from key ``first`` into a stage, if that's before ``end``.

    A chunk is in one page.  For one that begins at or past ``length``, we fetch the last one
    again.  The warps meet at each chunk, so pages smaller than a tile are slower.
    """
    keys, values, key_scales, value_scales = tensors
    STAGES: gl.constexpr = stages.full.shape[0]
    CHUNKS: gl.constexpr = stages.key_tiles.shape[0] // STAGES  # of a tile
    CHUNK: gl.constexpr = TILE // CHUNKS  # keys
    LINES: gl.constexpr = keys.block_type.shape[0] // CHUNK  # of a row
    BYTES: gl.constexpr = 2 * CHUNKS * keys.block_type.nbytes
    stage = tile_number % STAGES
    full = stages.full.index(stage)
    valid = first < end
    if FORMAT == "nvfp4":
        SCALE_BYTES: gl.constexpr = 2 * CHUNKS * key_scales.block_type.nbytes
        mbarrier.expect(full, BYTES + SCALE_BYTES, pred=valid)
    else:
        mbarrier.expect(full, BYTES, pred=valid)
    last_chunk = (length - 1) // CHUNK * CHUNK
    for i in gl.static_range(CHUNKS):
        key = gl.minimum(first + i * CHUNK, last_chunk)
        page = gl.load(pages + key // PAGE_SIZE)
        row = (page * kv_heads + head) * PAGE_SIZE + key % PAGE_SIZE
        chunk = stage * CHUNKS + i
        tma.async_copy_global_to_shared(
            keys, [row * LINES, 0], full, stages.key_tiles.index(chunk), pred=valid
        )
        if FORMAT == "nvfp4":
            tma.async_copy_global_to_shared(
                key_scales, [row // CHUNK, 0], full, stages.key_scales.index(chunk), pred=valid
            )
            tma.async_copy_global_to_shared(
                value_scales, [row // CHUNK, 0], full, stages.value_scales.index(chunk),
                pred=valid,
            )  # fmt: skip
        tma.async_copy_global_to_shared(
            values, [row * LINES, 0], full, stages.value_tiles.index(chunk), pred=valid
        )


@gluon.jit
def read_tile(
    stages, tile_number, first_key, length, BN: gl.constexpr, HEAD_DIM: gl.constexpr,
    FORMAT: gl.constexpr,
):  # fmt: skip
    """Returns key words, key scales, value words and value scales, once the tile has come.

    Words: [WARPS · BN, words of a row], in ``key_layout`` and ``pair_layout``
    Scales: one for each word, as ``widen`` takes them; 0 but in NVFP4
    Past the end of the sequence a page may hold anything, also NaN.  Values there, or their
    scales, become 0, because their weights are 0, and 0 times NaN is NaN.
    """
    STAGES: gl.constexpr = stages.full.shape[0]
    WARPS: gl.constexpr = gl.num_warps()
    WORDS: gl.constexpr = words_per_row(FORMAT, HEAD_DIM)
    KEYS: gl.constexpr = key_layout(BN, WARPS, WORDS)
    PAIRS: gl.constexpr = pair_layout(BN, WARPS, WORDS)
    mbarrier.wait(stages.full.index(tile_number % STAGES), tile_number // STAGES & 1)
    first_chunk = tile_number % STAGES * (stages.key_tiles.shape[0] // STAGES)
    key_words = read_words(stages.key_tiles, first_chunk, KEYS)
    value_words = read_words(stages.value_tiles, first_chunk, value_layout(BN, WARPS, WORDS))
    value_words = gl.convert_layout(value_words, PAIRS, assert_trivial=True)
    past_end = first_key + WARPS * BN > length
    key_scales = 0
    value_scales = 0
    if FORMAT == "nvfp4":
        codes = read_scales(stages.key_scales, first_chunk, block_scale_layout(KEYS))
        key_scales = scale_per_word(codes, KEYS)
        codes = read_scales(stages.value_scales, first_chunk, block_scale_layout(PAIRS))
        if past_end:
            codes = zero_rows_from(codes, length - first_key)
        value_scales = scale_per_word(codes, PAIRS)
    elif past_end:
        value_words = zero_rows_from(value_words, length - first_key)
    return key_words, key_scales, value_words, value_scales


@gluon.jit
def read_words(tiles, place, layout: gl.constexpr):
    """Returns a whole tile of words from shared memory, in a layout of our choice."""
    LINE: gl.constexpr = tiles.shape[2]
    IN_LINES: gl.constexpr = line_layout(layout, LINE)
    SWIZZLED: gl.constexpr = tiles.layout
    lines = tiles.index(place)._reinterpret(gl.int32, IN_LINES.shape, SWIZZLED).load(IN_LINES)
    return gl.convert_layout(lines.reshape(layout.shape), layout, assert_trivial=True)


@gluon.jit
def read_scales(tiles, place, layout: gl.constexpr):
    """Returns the block scales of a tile, E4M3 codes, in a layout of our choice."""
    BYTES: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    return tiles.index(place)._reinterpret(gl.uint8, layout.shape, BYTES).load(layout)


@gluon.jit
def zero_rows_from(rows, end):
    """Returns the rows before ``end``, and zeros in place of the others."""
    row = gl.arange(0, rows.shape[0], gl.SliceLayout(1, rows.type.layout))
    return gl.where((row < end)[:, None], rows, gl.zeros_like(rows))


@gluon.jit
def safe_max(maximum):
    """Returns the maximum, or 0 if it's -inf: (-inf) - (-inf) would be NaN."""
    return gl.where(maximum == -float("inf"), 0.0, maximum)


@gluon.jit
def load_queries(
    q, sequence, head, first_row, score_scale, kv_heads, group, new_tokens,
    HEAD_DIM: gl.constexpr, ROWS: gl.constexpr, mma: gl.constexpr, FORMAT: gl.constexpr,
):  # fmt: skip
    """Returns rows of queries for each warp, and what their scores are multiplied by.

    The queries, [WARPS, HEAD_DIM, ROWS], are ordered as ``key_operand`` orders keys.  Row r is
    token r // group of query head r % group of this key head.
    """
    WORDS: gl.constexpr = words_per_row(FORMAT, HEAD_DIM)
    RIGHT: gl.constexpr = gl.DotOperandLayout(1, mma, 2)
    BY_ROW: gl.constexpr = gl.SliceLayout(0, gl.SliceLayout(1, mma))
    row = first_row + gl.arange(0, ROWS, gl.SliceLayout(0, gl.SliceLayout(0, RIGHT)))
    position = gl.arange(0, HEAD_DIM, gl.SliceLayout(1, gl.SliceLayout(0, RIGHT)))
    query = (
        (sequence.to(gl.int64) * kv_heads + head) * group + row % group
    ) * new_tokens + row // group
    offsets = query[None, :] * HEAD_DIM + query_dimension(position, HEAD_DIM, WORDS)[:, None]
    queries = gl.load(q + offsets, (row < group * new_tokens)[None, :], 0.0)
    row_scale = gl.full([ROWS], score_scale, gl.float32, BY_ROW)
    if FORMAT == "fp8" or FORMAT == "nvfp4":
        # FP16 holds a BF16 number exactly once its row is divided by a power of two.
        amax_bits = gl.max(gl.abs(queries.to(gl.float32)), 0).to(gl.int32, bitcast=True)
        power = (amax_bits & 0x7F800000).to(gl.float32, bitcast=True)
        power = gl.where(power == 0.0, 1.0, power)
        queries = (queries.to(gl.float32) / power[None, :]).to(gl.float16)
        row_scale *= gl.convert_layout(power, BY_ROW)
        if FORMAT == "nvfp4":
            row_scale *= FP4_CORRECTION
    return queries[None, :, :].broadcast_to([gl.num_warps(), HEAD_DIM, ROWS]), row_scale


@gluon.jit
def store_rows(output, row_lse, out, lse, row, row_mask):
    """Writes rows of output and lse to the places ``row`` of out and lse, by row_mask."""
    HEAD_DIM: gl.constexpr = output.shape[1]
    dimension = gl.arange(0, HEAD_DIM, gl.SliceLayout(0, output.type.layout))
    offsets = row.to(gl.int64)[:, None] * HEAD_DIM + dimension[None, :]
    gl.store(
        out + offsets,
        output.to(out.dtype.element_ty),
        row_mask[:, None] & (dimension >= 0)[None, :],
    )
    gl.store(lse + row, row_lse, row_mask)
