"""What the backward kernels share: which keys and queries a program has, and its producer.

A program owns a block of keys, and queries stream past.  With a causal mask, all queries see
the first keys of a text and few see the last, so long work starts first.

We only make mbarriers that somebody waits for.  If nobody does, the compiler takes the barrier
for dead and gives its bytes to the next tile.  To the GPU it stays a barrier until
``mbarrier.invalidate``, and PTX doesn't say what then becomes of the tile.
"""

from __future__ import annotations

from typing import NamedTuple

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    tma,
)

from kernels.hopper.ring import WGMMA_M, barriers


class Work(NamedTuple):
    """What a program does: its keys, and the queries that stream past.

    rank: how many blocks of the same keys are started before this one
    first_head, end_head: of queries   start, blocks: the first block of queries, and the end
    """

    batch: gl.tensor
    key_head: gl.tensor
    first_key: gl.tensor
    rank: gl.tensor
    first_head: gl.tensor
    end_head: gl.tensor
    start: gl.tensor
    blocks: gl.tensor


class Tiles(NamedTuple):
    """Tiles in shared memory that are filled once, and the mbarrier that says they are."""

    tiles: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor


@gluon.jit
def share_of(blocks, batch_heads, interleave, number):
    """Returns this program's pair of batch and head, and the number of its block.

    As in ``kernels.flash.schedule``, programs take one pair after another.  The last
    ``interleave`` pairs are interleaved: first the longest block of each, then the next, so at
    the end only short work is left.
    number: of this program
    """
    interleaved_number = number - (batch_heads - interleave) * blocks
    is_alone = interleaved_number < 0
    first_interleaved = batch_heads - interleave
    batch_head = gl.where(
        is_alone, number // blocks, first_interleaved + interleaved_number % interleave
    )
    return batch_head, gl.where(is_alone, number % blocks, interleaved_number // interleave)


@gluon.jit
def work_of(
    sizes, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr,
    CAUSAL: gl.constexpr, DETERMINISTIC: gl.constexpr,
):  # fmt: skip
    """Returns this program's ``Work``.

    DETERMINISTIC: programs add to dqueries in the order of their numbers.  If causal, those
    with the last keys of a text then start first, because each of them begins with queries to
    which no other program has to add before it.
    """
    group, splits = sizes.group, sizes.splits
    key_blocks = gl.cdiv(sizes.seq_k, BLOCK_K)
    batch_head, rank = share_of(key_blocks, sizes.batch_heads, sizes.interleave, sizes.number)
    first_key = (key_blocks - 1 - rank if CAUSAL and DETERMINISTIC else rank) * BLOCK_K
    key_heads = sizes.heads // group
    batch = batch_head // (key_heads * splits)
    key_head = batch_head // splits % key_heads
    first_head = key_head * group + batch_head % splits * (group // splits)
    end_head = first_head + group // splits
    blocks = gl.cdiv(sizes.seq_q, BLOCK_Q)
    # Keys after the last query still get its block, which gives them 0.
    start = gl.minimum(first_key // BLOCK_Q, blocks - 1) if CAUSAL else gl.to_tensor(0)
    return Work(batch, key_head, first_key, rank, first_head, end_head, start, blocks)


@gluon.jit
def allocate_tiles(tensor, COUNT: gl.constexpr):
    """Returns COUNT tiles of shared memory for this tensor."""
    LINES: gl.constexpr = tensor.block_type.shape[2]
    COLUMNS: gl.constexpr = tensor.block_type.shape[3]
    return gl.allocate_shared_memory(tensor.dtype, [COUNT, 1, 1, LINES, COLUMNS], tensor.layout)


@gluon.jit
def make_tiles(tensor, COUNT: gl.constexpr):
    """Returns COUNT tiles for ``fetch_once``."""
    return Tiles(allocate_tiles(tensor, COUNT), barriers(1, 1))


@gluon.jit
def allocate_row_values(tensor, STAGES: gl.constexpr):
    """Returns shared memory for one number for each row of a ring's tiles."""
    LINES: gl.constexpr = tensor.block_type.shape[0]
    return gl.allocate_shared_memory(gl.float32, [STAGES, LINES], tensor.layout)


@gluon.jit
def fetch_rows(tensor, ring, numbers, rows, tile_number, coordinates, sizes):
    """Producer: ``ring.fetch``, and one number for each of the tile's rows, by one mbarrier.

    coordinates: batch, head and first row
    """
    batch, head, row = coordinates
    STAGES: gl.constexpr = ring.tiles.shape[0]
    stage = tile_number % STAGES
    mbarrier.wait(ring.empty.index(stage), (tile_number // STAGES & 1) ^ 1)
    full = ring.full.index(stage)
    mbarrier.expect(full, tensor.block_type.nbytes + numbers.block_type.nbytes)
    tma.async_copy_global_to_shared(
        tensor, [batch, head, row, 0], full, ring.tiles.index(stage)
    )
    first_number = (batch * sizes.heads + head) * sizes.padded_q + row
    tma.async_copy_global_to_shared(numbers, [first_number], full, rows.index(stage))


@gluon.jit
def fetch_once(tensor, tiles, batch, head, row):
    """Producer: starts TMA's copies into all these tiles, from ``row`` on, by one mbarrier."""
    TILES: gl.constexpr = tiles.tiles.shape[0]
    full = tiles.full.index(0)
    mbarrier.expect(full, TILES * tensor.block_type.nbytes)
    for i in gl.static_range(TILES):
        tile = tiles.tiles.index(i)
        tma.async_copy_global_to_shared(tensor, [batch, head, row + i * WGMMA_M, 0], full, tile)


@gluon.jit
def produce(inputs, sizes, CAUSAL: gl.constexpr, DETERMINISTIC: gl.constexpr):
    """The producer warp: keys and values once, queries and dout as soon as a stage is free."""
    BLOCK_Q: gl.constexpr = inputs.q.block_type.shape[2]
    BLOCK_K: gl.constexpr = inputs.k_tiles.tiles.shape[0] * WGMMA_M
    work = work_of(sizes, BLOCK_Q, BLOCK_K, CAUSAL, DETERMINISTIC)
    fetch_once(inputs.k, inputs.k_tiles, work.batch, work.key_head, work.first_key)
    tile_number = gl.to_tensor(0)
    for head in range(work.first_head, work.end_head):
        for block in range(work.start, work.blocks):
            coordinates = (work.batch, head, block * BLOCK_Q)
            fetch_rows(
                inputs.q, inputs.q_ring, inputs.lse_log2, inputs.lse_stages, tile_number,
                coordinates, sizes,
            )  # fmt: skip
            if tile_number == 0:
                fetch_once(inputs.v, inputs.v_tiles, work.batch, work.key_head, work.first_key)
            fetch_rows(
                inputs.dout, inputs.do_ring, inputs.delta, inputs.delta_stages, tile_number,
                coordinates, sizes,
            )  # fmt: skip
            tile_number += 1


@gluon.jit
def pin(number):
    """Returns the same number, from an instruction that stays in its branch or its loop.

    Without it the compiler would compute the mask for every block, and select afterwards.
    """
    return gl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [number], dtype=gl.int32, is_pure=False, pack=1
    )


@gluon.jit
def own_tile(tiles, number):
    """Returns one of these tiles, [rows, columns], and computes its address right here.

    A tile that's kept has the same address in every step.  So the compiler would compute its
    wgmma descriptor before the loop, and keep that in registers of every thread, or spill it.
    In the loop it's computed once for all threads of a warp.
    """
    LINES: gl.constexpr = tiles.tiles.shape[3]
    COLUMNS: gl.constexpr = tiles.tiles.shape[4]
    return tiles.tiles.index(pin(number)).reshape([LINES, COLUMNS])


@gluon.jit
def apply_mask(
    weights, first_key, first_query, seq_k, KEYS: gl.constexpr, CAUSAL: gl.constexpr
):
    """Returns weights with 0 where there's no key or, causal, where it's after the query.

    KEYS: the axis of the keys, 0 or 1
    """
    LAYOUT: gl.constexpr = weights.type.layout
    QUERIES: gl.constexpr = 1 - KEYS
    key = gl.arange(0, weights.shape[KEYS], gl.SliceLayout(QUERIES, LAYOUT)) + first_key
    visible = gl.expand_dims(key < seq_k, QUERIES)
    if CAUSAL:
        query = gl.arange(0, weights.shape[QUERIES], gl.SliceLayout(KEYS, LAYOUT)) + first_query
        visible = visible & (gl.expand_dims(key, QUERIES) <= gl.expand_dims(query, KEYS))
    return gl.where(visible, weights, 0.0)
