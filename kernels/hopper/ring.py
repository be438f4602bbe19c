"""Ring buffers of tiles in shared memory: the pipeline between producer and consumers.

Keys and values have a ring each.  A consumer is done with a block's keys one product before
it's done with its values, so the next keys can already come.
"""

from __future__ import annotations

from typing import NamedTuple

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    tma,
)

WGMMA_M = gl.constexpr(64)  # rows of a wgmma, 16 for each of 4 warps: a consumer's queries


class Ring(NamedTuple):
    """The pipeline's stages, each a tile and two mbarriers: full, and empty again.

    Tiles are numbered as they come through, and tile number i takes stage i % stages.  A
    barrier counts phases and remembers one bit of the count: 0, 1, 0, 1 and so on.
    ``mbarrier.wait(barrier, bit)`` returns when the phase with that bit has ended.  On a new
    barrier, phase 1 counts as ended.  With two stages:

        tile number      0  1  2  3  4
        stage            0  1  0  1  0
        wait for full    0  0  1  1  0      the bit of tile number // stages
        wait for empty   1  1  0  0  1      the other bit, since all stages begin empty
    """

    tiles: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor


@gluon.jit
def barriers(COUNT: gl.constexpr, ARRIVALS: gl.constexpr):
    """Returns COUNT barriers; a phase of each ends after ARRIVALS arrivals."""
    mbarriers = gl.allocate_shared_memory(gl.int64, [COUNT, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(COUNT):
        mbarrier.init(mbarriers.index(i), count=ARRIVALS)
    return mbarriers


@gluon.jit
def make_ring(tensor, STAGES: gl.constexpr, READERS: gl.constexpr):
    """Returns a ring of STAGES tiles of this tensor; READERS consumers read each tile."""
    LINES: gl.constexpr = tensor.block_type.shape[2]
    COLUMNS: gl.constexpr = tensor.block_type.shape[3]
    tiles = gl.allocate_shared_memory(
        tensor.dtype, [STAGES, 1, 1, LINES, COLUMNS], tensor.layout
    )
    return Ring(tiles, barriers(STAGES, 1), barriers(STAGES, READERS))


@gluon.jit
def fetch(tensor, ring, tile_number, batch, head, row):
    """Producer: waits until the stage is free, starts a tile's copy by TMA, and goes on.

    ``expect`` is this phase's one arrival.  It also tells the barrier how many bytes must come
    before the phase ends.  Rows outside the tensor arrive as zeros.
    """
    STAGES: gl.constexpr = ring.tiles.shape[0]
    stage = tile_number % STAGES
    mbarrier.wait(ring.empty.index(stage), (tile_number // STAGES & 1) ^ 1)
    full = ring.full.index(stage)
    mbarrier.expect(full, tensor.block_type.nbytes)
    tma.async_copy_global_to_shared(
        tensor, [batch, head, row, 0], full, ring.tiles.index(stage)
    )


@gluon.jit
def wait_for_tile(ring, tile_number):
    """Consumer: waits until the tile is full, and returns it, [rows, columns]."""
    STAGES: gl.constexpr = ring.tiles.shape[0]
    LINES: gl.constexpr = ring.tiles.shape[3]
    COLUMNS: gl.constexpr = ring.tiles.shape[4]
    stage = tile_number % STAGES
    mbarrier.wait(ring.full.index(stage), tile_number // STAGES & 1)
    return ring.tiles.index(stage).reshape([LINES, COLUMNS])


@gluon.jit
def release(ring, tile_number):
    """Consumer: says that it has read the tile.  Its stage is free once all consumers have."""
    STAGES: gl.constexpr = ring.tiles.shape[0]
    mbarrier.arrive(ring.empty.index(tile_number % STAGES), count=1)
