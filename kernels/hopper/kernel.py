"""The Hopper kernel: one warp fetches tiles, two or three warpgroups consume them.

The kernel is persistent: as many programs as SMs, each of which takes one unit of work after
the other, so that the producer already fetches for the next while the consumers finish this
one.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
)

from kernels.hopper.consumer import consume
from kernels.hopper.ring import ROWS, barriers, fetch, make_ring
from kernels.hopper.work import block_of, blocks_in, dealt

PRODUCER_REGISTERS = gl.constexpr(24)  # the fewest that a thread can be left with


@gluon.jit
def produce(
    tensors, sizes, CONSUMERS: gl.constexpr, CAUSAL: gl.constexpr, PAIRED: gl.constexpr
):
    """The producer: all tiles of all units of this program, as fast as they become free.

    The last block of keys comes first: of those that a consumer sees, the first alone needs a
    mask, for the end of the keys and for the diagonal.
    """
    q, k, v, _, _, query_rings, keys, values, _ = tensors
    _, places, work, heads, group, seq_q, seq_k = sizes
    BLOCK_Q: gl.constexpr = CONSUMERS * ROWS
    BLOCK_K: gl.constexpr = k.block_type.shape[2]
    q_use = gl.to_tensor(0)
    use = gl.to_tensor(0)
    for place in range(gl.program_id(0), places, gl.num_programs(0)):
        unit = dealt(place, PAIRED)
        for which in range(blocks_in(unit, work, seq_q, BLOCK_Q, PAIRED)):
            batch_head, first_query, blocks = block_of(
                unit, which, work, seq_q, seq_k, BLOCK_Q, BLOCK_K, CAUSAL, PAIRED
            )
            batch, head = batch_head // heads, batch_head % heads
            for i in gl.static_range(CONSUMERS):
                fetch(q, query_rings[i], q_use, batch, head, first_query + i * ROWS)
            q_use += 1
            for i in range(blocks):
                row = (blocks - 1 - i) * BLOCK_K
                fetch(k, keys, use, batch, head // group, row)
                fetch(v, values, use, batch, head // group, row)
                use += 1


COUNTS = ["places", "paired", "single", "heads", "group", "seq_q", "seq_k"]


@gluon.jit(do_not_specialize=COUNTS)
def hopper_kernel(
    q, k, v, out, lse, scale_log2, places, paired, single, heads, group, seq_q, seq_k,
    CONSUMERS: gl.constexpr, Q_STAGES: gl.constexpr, STAGES: gl.constexpr,
    REGISTERS: gl.constexpr, CAUSAL: gl.constexpr, PAIRED: gl.constexpr,
    OVERLAP: gl.constexpr, TURNS: gl.constexpr, LAZY: gl.constexpr, HELD: gl.constexpr,
    LATE: gl.constexpr, HALVED: gl.constexpr,
):  # fmt: skip
    """Program i of P does what comes to places i, i + P, i + 2P and so on: units of work.

    q, k, v: tensor descriptors of [batch, heads, rows, columns], tiles of one head
    out: one of [1, batch · heads, rows, columns]   lse: a pointer, or None
    places: as many as units, up to whole rounds where some go back   paired, single: heads
    whose blocks go so, of all sequences   heads: of queries; group: how many share keys
    """
    if CONSUMERS == 3:
        query_rings = (
            make_ring(q, Q_STAGES, 1),
            make_ring(q, Q_STAGES, 1),
            make_ring(q, Q_STAGES, 1),
        )
    else:
        query_rings = (make_ring(q, Q_STAGES, 1), make_ring(q, Q_STAGES, 1))
    keys = make_ring(k, STAGES, CONSUMERS)
    values = make_ring(v, STAGES, CONSUMERS)
    # Without turns none are made: a place in the tuple wants to be filled, and no consumer uses
    # as turns what fills it.
    turn_barriers = barriers(CONSUMERS, 1) if TURNS else keys.free
    fence_async_shared()  # TMA, too, finds the barriers ready
    tensors = (q, k, v, out, lse, query_rings, keys, values, turn_barriers)
    sizes = (scale_log2, places, (paired, single), heads, group, seq_q, seq_k)
    # From here on the warps run different functions: the first in the four warps that
    # are here, the others in as many more as the list says.  All began with equally many
    # registers; now the producer gives up its own, and the consumers take them.  How many
    # functions there are must be known when compiling, and constants stay constants only
    # in tuples written here.
    if CONSUMERS == 3:
        gl.warp_specialize(
            [
                (consume, (
                    tensors, sizes, 0, 3, CAUSAL, PAIRED,
                    OVERLAP, TURNS, LAZY, HELD, LATE, HALVED,
                )),
                (consume, (
                    tensors, sizes, 1, 3, CAUSAL, PAIRED,
                    OVERLAP, TURNS, LAZY, HELD, LATE, HALVED,
                )),
                (consume, (
                    tensors, sizes, 2, 3, CAUSAL, PAIRED,
                    OVERLAP, TURNS, LAZY, HELD, LATE, HALVED,
                )),
                (produce, (tensors, sizes, 3, CAUSAL, PAIRED)),
            ],
            [4, 4, 1],
            [REGISTERS, REGISTERS, PRODUCER_REGISTERS],
        )  # fmt: skip
    else:
        gl.warp_specialize(
            [
                (consume, (
                    tensors, sizes, 0, 2, CAUSAL, PAIRED,
                    OVERLAP, TURNS, LAZY, HELD, LATE, HALVED,
                )),
                (consume, (
                    tensors, sizes, 1, 2, CAUSAL, PAIRED,
                    OVERLAP, TURNS, LAZY, HELD, LATE, HALVED,
                )),
                (produce, (tensors, sizes, 2, CAUSAL, PAIRED)),
            ],
            [4, 1],
            [REGISTERS, PRODUCER_REGISTERS],
        )  # fmt: skip
