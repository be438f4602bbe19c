"""How tiles of a paged cache reach the registers of a Hopper GPU, and how rows leave them.

TMA copies pieces of pages into stages of shared memory; the warps read words out of them, load
the queries in the layout of an operand, and store what has met all its keys.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

from kernels.serving.layouts import (
    FP4_UNIT,
    lined,
    query_dimension,
)


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
