"""The Hopper kernel: a producer warp fetches tiles, two or three consumer warpgroups compute.

``kernels.hopper.warp_specialized`` is the same idea without switches: read that first.  This
kernel is persistent, too.  There are as many programs as SMs, and each takes one work item
after another, so the producer already fetches for the next while the consumers finish this one.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
)

from kernels.hopper.arguments import Sizes, Tensors
from kernels.hopper.consumer import consume
from kernels.hopper.ring import WGMMA_M, barriers, fetch, make_ring
from kernels.hopper.schedule import block_of, blocks_in, serpentine

PRODUCER_REGISTERS = gl.constexpr(24)  # the fewest that a thread can be left with


@gluon.jit
def produce(
    tensors, sizes, PLAN: gl.constexpr, CAUSAL: gl.constexpr, PAIRED: gl.constexpr
):  # fmt: skip
    """The producer warp: fetches all tiles of this program, each as soon as its stage is free.

    It fetches the last block of keys first.  Of the blocks that a consumer sees, only that one
    needs a mask, for the end of the keys or for the diagonal of the causal mask.
    """
    CONSUMERS: gl.constexpr = PLAN.consumers
    q_tile_number = gl.to_tensor(0)
    tile_number = gl.to_tensor(0)
    for slot in range(gl.program_id(0), sizes.slots, gl.num_programs(0)):
        work_item = serpentine(slot, PAIRED)
        for member in range(blocks_in(work_item, sizes, PLAN.block_q, PAIRED)):
            batch_head, first_query, blocks = block_of(
                work_item, member, sizes, PLAN.block_q, PLAN.block_k, CAUSAL, PAIRED
            )
            batch, head = batch_head // sizes.heads, batch_head % sizes.heads
            key_head = head // sizes.group
            for i in gl.static_range(CONSUMERS):
                row = first_query + i * WGMMA_M
                fetch(tensors.q, tensors.q_rings[i], q_tile_number, batch, head, row)
            q_tile_number += 1
            for i in range(blocks):
                row = (blocks - 1 - i) * PLAN.block_k
                fetch(tensors.k, tensors.k_ring, tile_number, batch, key_head, row)
                fetch(tensors.v, tensors.v_ring, tile_number, batch, key_head, row)
                tile_number += 1


COUNTS = ["slots", "paired_heads", "single_heads", "heads", "group", "seq_q", "seq_k"]


@gluon.jit(do_not_specialize=COUNTS)
def hopper_kernel(
    q, k, v, out, lse, scale_log2, slots, paired_heads, single_heads,
    heads, group, seq_q, seq_k,
    PLAN: gl.constexpr, CAUSAL: gl.constexpr, PAIRED: gl.constexpr,
):  # fmt: skip
    """Writes out and lse.  Program i of P takes slots i, i + P, i + 2P and so on.

    ``Tensors`` and ``Sizes`` say what the arguments are, and ``Plan`` what PLAN is.
    CAUSAL: query i sees keys 0 to i   PAIRED: a work item is a long block and a short one
    """
    if PLAN.consumers == 3:
        q_rings = (
            make_ring(q, PLAN.q_stages, 1),
            make_ring(q, PLAN.q_stages, 1),
            make_ring(q, PLAN.q_stages, 1),
        )
    else:
        q_rings = (make_ring(q, PLAN.q_stages, 1), make_ring(q, PLAN.q_stages, 1))
    k_ring = make_ring(k, PLAN.stages, PLAN.consumers)
    v_ring = make_ring(v, PLAN.stages, PLAN.consumers)
    # Without ping-pong we make no barriers for it, but something has to fill the field.
    ping_pong = barriers(PLAN.consumers, 1) if PLAN.ping_pong else k_ring.empty
    fence_async_shared()  # TMA sees the barriers, too
    tensors = Tensors(q, k, v, out, lse, q_rings, k_ring, v_ring, ping_pong)
    sizes = Sizes(scale_log2, slots, paired_heads, single_heads, heads, group, seq_q, seq_k)
    # From here on the warps run different functions: the first in these four warps, the others
    # in as many more as the list says.  All began with the same number of registers.  Now the
    # producer gives up most of its own, and the consumers take them.  The compiler has to see
    # how many functions there are.
    if PLAN.consumers == 3:
        gl.warp_specialize(
            [
                (consume, (tensors, sizes, 0, PLAN, CAUSAL, PAIRED)),
                (consume, (tensors, sizes, 1, PLAN, CAUSAL, PAIRED)),
                (consume, (tensors, sizes, 2, PLAN, CAUSAL, PAIRED)),
                (produce, (tensors, sizes, PLAN, CAUSAL, PAIRED)),
            ],
            [4, 4, 1],
            [PLAN.registers, PLAN.registers, PRODUCER_REGISTERS],
        )
    else:
        gl.warp_specialize(
            [
                (consume, (tensors, sizes, 0, PLAN, CAUSAL, PAIRED)),
                (consume, (tensors, sizes, 1, PLAN, CAUSAL, PAIRED)),
                (produce, (tensors, sizes, PLAN, CAUSAL, PAIRED)),
            ],
            [4, 1],
            [PLAN.registers, PRODUCER_REGISTERS],
        )
