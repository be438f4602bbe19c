"""Ring buffers of tiles in shared memory, which a producer fills and consumers empty.

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

ROWS = gl.constexpr(64)  # queries of a consumer: wgmma computes 64 rows, 16 for each of 4 warps


class Ring(NamedTuple):
    """Tiles, and two barriers for each: one says when it's full, the other when it's free.

    Use number i takes tile i % stages.  A barrier counts phases and remembers one bit of the
    count: 0, 1, 0, 1 and so on.  ``mbarrier.wait(barrier, bit)`` returns when the phase with
    that bit has ended.  On a new barrier, phase 1 counts as ended.  With two stages:

        use              0  1  2  3  4
        stage            0  1  0  1  0
        wait for full    0  0  1  1  0      the bit of use // stages
        wait for free    1  1  0  0  1      the other bit, since all tiles begin free
    """

    tiles: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    free: gl.shared_memory_descriptor


@gluon.jit
def barriers(COUNT: gl.constexpr, ARRIVALS: gl.constexpr):
    """Returns COUNT barriers; a phase of each ends after ARRIVALS arrivals."""
    made = gl.allocate_shared_memory(gl.int64, [COUNT, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(COUNT):
        mbarrier.init(made.index(i), count=ARRIVALS)
    return made


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
def fetch(tensor, ring, use, batch, head, row):
    """Producer: waits until the tile is free, starts its copy by TMA, and goes on.

    ``expect`` is this phase's one arrival.  It also tells the barrier how many bytes must come
    before the phase ends.  Rows outside the tensor arrive as zeros.
    """
    STAGES: gl.constexpr = ring.tiles.shape[0]
    stage = use % STAGES
    mbarrier.wait(ring.free.index(stage), (use // STAGES & 1) ^ 1)
    full = ring.full.index(stage)
    mbarrier.expect(full, tensor.block_type.nbytes)
    tma.async_copy_global_to_shared(
        tensor, [batch, head, row, 0], full, ring.tiles.index(stage)
    )


@gluon.jit
def wait_for_tile(ring, use):
    """Consumer: waits until the tile is full, and returns it, [rows, columns]."""
    STAGES: gl.constexpr = ring.tiles.shape[0]
    LINES: gl.constexpr = ring.tiles.shape[3]
    COLUMNS: gl.constexpr = ring.tiles.shape[4]
    stage = use % STAGES
    mbarrier.wait(ring.full.index(stage), use // STAGES & 1)
    return ring.tiles.index(stage).reshape([LINES, COLUMNS])


@gluon.jit
def release(ring, use):
    """Consumer: says that it has read the tile, which is free once all of them have."""
    STAGES: gl.constexpr = ring.tiles.shape[0]
    mbarrier.arrive(ring.free.index(use % STAGES), count=1)
