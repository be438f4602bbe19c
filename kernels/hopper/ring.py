"""Rings: tiles in shared memory, used again and again.

Keys and values have a ring each: keys are free one product before the values of the same block,
and the next may come already.
"""

from __future__ import annotations

from typing import NamedTuple

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    tma,
)

ROWS = gl.constexpr(64)  # of queries a consumer: wgmma computes 64, 16 for each of its 4 warps


class Ring(NamedTuple):
    """Tiles, and for each a barrier that says when it is full, and one when it is free.

    Use number i is of tile i % stages.  A barrier goes through phases, of which it remembers
    one bit: 0, 1, 0, 1 and so on.  ``mbarrier.wait(barrier, bit)`` returns once the phase of
    that bit has ended; on a new barrier phase 1 counts as ended.  With two stages:

        use              0  1  2  3  4
        stage            0  1  0  1  0
        wait for full    0  0  1  1  0      the bit of use // stages
        wait for free    1  1  0  0  1      the other: at first all tiles are free
    """

    tiles: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    free: gl.shared_memory_descriptor


@gluon.jit
def barriers(COUNT: gl.constexpr, ARRIVALS: gl.constexpr):
    """COUNT barriers; a phase of each ends after ARRIVALS arrivals."""
    made = gl.allocate_shared_memory(gl.int64, [COUNT, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(COUNT):
        mbarrier.init(made.index(i), count=ARRIVALS)
    return made


@gluon.jit
def make_ring(tensor, STAGES: gl.constexpr, READERS: gl.constexpr):
    """A ring of STAGES tiles of this tensor, each read by READERS consumers."""
    LINES: gl.constexpr = tensor.block_type.shape[2]
    COLUMNS: gl.constexpr = tensor.block_type.shape[3]
    tiles = gl.allocate_shared_memory(
        tensor.dtype, [STAGES, 1, 1, LINES, COLUMNS], tensor.layout
    )
    return Ring(tiles, barriers(STAGES, 1), barriers(STAGES, READERS))


@gluon.jit
def fetch(tensor, ring, use, batch, head, row):
    """The producer's part: once the tile is free, has TMA fill it, and does not wait for that.

    ``expect`` is the one arrival of this phase, and tells the barrier how many bytes must come
    before the phase ends.  What lies outside the tensor comes as zeros.
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
    """A consumer's part: the tile, [rows, columns], once it is full."""
    STAGES: gl.constexpr = ring.tiles.shape[0]
    LINES: gl.constexpr = ring.tiles.shape[3]
    COLUMNS: gl.constexpr = ring.tiles.shape[4]
    stage = use % STAGES
    mbarrier.wait(ring.full.index(stage), use // STAGES & 1)
    return ring.tiles.index(stage).reshape([LINES, COLUMNS])


@gluon.jit
def release(ring, use):
    """A consumer's part: says that it has read the tile; free is when all have."""
    STAGES: gl.constexpr = ring.tiles.shape[0]
    mbarrier.arrive(ring.free.index(use % STAGES), count=1)
