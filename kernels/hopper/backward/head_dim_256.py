"""The backward pass on Hopper for heads of 256: dk and dv, by programs that own keys.

With such heads, the sums of only 64 keys, dkeys and dvalues, fill the registers of both
consumers.  With so few keys a program, dqueries would be added to global memory twice as often
as with heads of 128; when they were, that took more than a quarter of the time.  So dqueries
have a kernel of their own, in ``head_dim_256_dq``.  It computes scores and dweights once more:
seven products instead of five, and every sum has one order.

Here a program owns 64 keys.  A consumer computes scores and dweights of half of the queries of
a block.  The weights and dscores of both meet in shared memory.  Then each consumer multiplies
half of the columns of dkeys and dvalues.
"""

from __future__ import annotations

from typing import NamedTuple

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from kernels.flash.schedule import LOG2_E
from kernels.hopper.backward.accumulate_dq import add_all
from kernels.hopper.backward.arguments import Inputs, Sizes
from kernels.hopper.backward.kernel import COUNTS
from kernels.hopper.backward.schedule import (
    allocate_row_values,
    apply_mask,
    make_tiles,
    own_tile,
    pin,
    produce,
    work_of,
)
from kernels.hopper.kernel import PRODUCER_REGISTERS
from kernels.hopper.ring import WGMMA_M, barriers, make_ring, release, wait_for_tile

STAGES = gl.constexpr(2)


class ScoreTiles(NamedTuple):
    """Tiles of [keys, queries], which both consumers write and read, and their mbarriers.

    full: both halves are written   empty: both consumers have read them   done: both have ended
    """

    weights: gl.shared_memory_descriptor
    dscores: gl.shared_memory_descriptor
    weights_full: gl.shared_memory_descriptor
    dscores_full: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor
    done: gl.shared_memory_descriptor


class Outputs(NamedTuple):
    """TMA descriptors of dk and dv, and the shared memory that sums go through.

    staging: for sums that TMA adds, a tile for each consumer
    """

    dk: tma.tensor_descriptor
    dv: tma.tensor_descriptor
    score_tiles: ScoreTiles
    staging: gl.shared_memory_descriptor


@gluon.jit
def consume_queries(
    inputs, outputs, sizes, CONSUMER: gl.constexpr, CAUSAL: gl.constexpr, SPLIT: gl.constexpr
):  # fmt: skip
    """A consumer warpgroup: writes half of the columns of dk and dv.

    For each block of queries it first computes the scores of one half of them.
    """
    keys, values, queries, douts = inputs.k_tiles, inputs.v_tiles, inputs.q_ring, inputs.do_ring
    score_tiles, staging, seq_k = outputs.score_tiles, outputs.staging, sizes.seq_k
    DTYPE: gl.constexpr = inputs.q.dtype
    BLOCK_Q: gl.constexpr = inputs.q.block_type.shape[2]
    COLUMNS: gl.constexpr = inputs.q.block_type.shape[3]
    OWN_Q: gl.constexpr = BLOCK_Q // 2
    OWN_COLUMNS: gl.constexpr = COLUMNS // 2
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, OWN_Q, 16])
    SUMS: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, OWN_COLUMNS, 16])
    BY_QUERY: gl.constexpr = gl.SliceLayout(0, SCORES)
    scale_log2 = sizes.scale * LOG2_E
    work = work_of(sizes, BLOCK_Q, WGMMA_M, CAUSAL, False)
    first_key = work.first_key
    zeros = gl.zeros([WGMMA_M, OWN_Q], gl.float32, SCORES)
    dkeys = gl.zeros([WGMMA_M, OWN_COLUMNS], gl.float32, SUMS)
    dvalues = gl.zeros([WGMMA_M, OWN_COLUMNS], gl.float32, SUMS)
    mbarrier.wait(keys.full.index(0), 0)
    mbarrier.wait(values.full.index(0), 0)
    block = work.start
    for i in range((work.blocks - work.start) * (work.end_head - work.first_head)):
        stage, bit = i % STAGES, i // STAGES & 1
        all_keys, all_values = own_tile(keys, 0), own_tile(values, 0)
        query = wait_for_tile(queries, i)
        own_part = query.slice(CONSUMER * OWN_Q, OWN_Q, dim=0).permute((1, 0))
        scores = warpgroup_mma(all_keys, own_part, zeros, use_acc=False, is_async=True)
        dout = wait_for_tile(douts, i)
        own_part = dout.slice(CONSUMER * OWN_Q, OWN_Q, dim=0).permute((1, 0))
        dweights = warpgroup_mma(all_values, own_part, zeros, use_acc=False, is_async=True)
        lse_tile, delta_tile = inputs.lse_stages.index(stage), inputs.delta_stages.index(stage)
        row_lse_log2 = lse_tile.slice(CONSUMER * OWN_Q, OWN_Q).load(BY_QUERY)
        row_delta = delta_tile.slice(CONSUMER * OWN_Q, OWN_Q).load(BY_QUERY)
        mbarrier.wait(score_tiles.empty.index(stage), bit ^ 1)

        scores = warpgroup_mma_wait(1, deps=(scores,))
        weights = gl.exp2(scores * scale_log2 - row_lse_log2[None, :])
        first_query = block * BLOCK_Q + CONSUMER * OWN_Q
        if (first_key + WGMMA_M > seq_k) | (CAUSAL and first_key + WGMMA_M > first_query + 1):
            weights = apply_mask(weights, first_key, pin(first_query), seq_k, 0, CAUSAL)
        weights_tile = score_tiles.weights.index(stage)
        weights_tile.slice(CONSUMER * OWN_Q, OWN_Q, dim=1).store(weights.to(DTYPE))
        fence_async_shared()
        mbarrier.arrive(score_tiles.weights_full.index(stage), count=1)

        dweights = warpgroup_mma_wait(0, deps=(dweights,))
        dscores = (weights * (dweights - row_delta[None, :])).to(DTYPE)
        dscores_tile = score_tiles.dscores.index(stage)
        dscores_tile.slice(CONSUMER * OWN_Q, OWN_Q, dim=1).store(dscores)
        fence_async_shared()
        mbarrier.arrive(score_tiles.dscores_full.index(stage), count=1)

        mbarrier.wait(score_tiles.weights_full.index(stage), bit)
        own_part = dout.slice(CONSUMER * OWN_COLUMNS, OWN_COLUMNS, dim=1)
        dvalues = warpgroup_mma(weights_tile, own_part, dvalues, is_async=True)
        mbarrier.wait(score_tiles.dscores_full.index(stage), bit)
        own_part = query.slice(CONSUMER * OWN_COLUMNS, OWN_COLUMNS, dim=1)
        dkeys = warpgroup_mma(dscores_tile, own_part, dkeys, is_async=True)
        dvalues = warpgroup_mma_wait(1, deps=(dvalues,))
        release(douts, i)
        dkeys = warpgroup_mma_wait(0, deps=(dkeys,))
        release(queries, i)
        mbarrier.arrive(score_tiles.empty.index(stage), count=1)
        block += 1
        if block == work.blocks:
            block = work.start

    # Out through the tiles of keys and values, once both consumers have read them.
    mbarrier.arrive(score_tiles.done.index(0), count=1)
    mbarrier.wait(score_tiles.done.index(0), 0)
    all_keys, all_values = own_tile(keys, 0), own_tile(values, 0)
    if SPLIT:
        tile = work.batch * (sizes.heads // sizes.group) + work.key_head
        tile = tile * gl.cdiv(seq_k, WGMMA_M) + first_key // WGMMA_M
        row = tile * (WGMMA_M * COLUMNS // 256) + CONSUMER * (WGMMA_M * OWN_COLUMNS // 256)
        add_all(outputs.dv, row, staging.index(CONSUMER), dvalues)
        add_all(outputs.dk, row, staging.index(CONSUMER), dkeys)
    else:
        all_values.slice(CONSUMER * OWN_COLUMNS, OWN_COLUMNS, dim=1).store(dvalues.to(DTYPE))
        all_keys.slice(CONSUMER * OWN_COLUMNS, OWN_COLUMNS, dim=1).store(
            (dkeys * sizes.scale).to(DTYPE)
        )
        fence_async_shared()
        mbarrier.arrive(score_tiles.done.index(0), count=1)
        mbarrier.wait(score_tiles.done.index(0), 1)
        coordinates = [work.batch, work.key_head, first_key, 0]
        if CONSUMER == 0:
            tma.async_copy_shared_to_global(outputs.dv, coordinates, values.tiles.index(0))
        else:
            tma.async_copy_shared_to_global(outputs.dk, coordinates, keys.tiles.index(0))
        tma.store_wait(0)


@gluon.jit(do_not_specialize=COUNTS)
def hopper_dkdv_kernel(
    q, k, v, dout, lse_log2, delta, dk, dv,
    scale, heads, group, splits, batch_heads, interleave, seq_q, seq_k, padded_q,
    REGISTERS: gl.constexpr, CAUSAL: gl.constexpr, SPLIT: gl.constexpr,
):  # fmt: skip
    """Writes dk and dv of one block of 64 keys.  Arguments as in ``hopper_backward_kernel``."""
    BLOCK_Q: gl.constexpr = q.block_type.shape[2]
    queries, douts = make_ring(q, STAGES, 2), make_ring(dout, STAGES, 2)
    lse_stages = allocate_row_values(lse_log2, STAGES)
    delta_stages = allocate_row_values(delta, STAGES)
    keys, values = make_tiles(k, 1), make_tiles(v, 1)
    SCORE_TILE: gl.constexpr = gl.NVMMASharedLayout(128, 16, 2)
    score_tiles = ScoreTiles(
        gl.allocate_shared_memory(q.dtype, [STAGES, WGMMA_M, BLOCK_Q], SCORE_TILE),
        gl.allocate_shared_memory(q.dtype, [STAGES, WGMMA_M, BLOCK_Q], SCORE_TILE),
        barriers(STAGES, 2),
        barriers(STAGES, 2),
        barriers(STAGES, 2),
        barriers(1, 2),
    )
    staging = keys.tiles
    if SPLIT:  # sums go out through the tile of keys, a half for each consumer
        staging = keys.tiles._reinterpret(gl.float32, [2, 16, 256], dk.layout)
    fence_async_shared()
    inputs = Inputs(
        q, k, v, dout, lse_log2, delta, keys, values, queries, lse_stages, douts, delta_stages
    )  # fmt: skip
    outputs = Outputs(dk, dv, score_tiles, staging)
    number = gl.program_id(0)
    sizes = Sizes(
        scale, heads, group, splits, batch_heads, interleave, seq_q, seq_k, padded_q, number
    )  # fmt: skip
    gl.warp_specialize(
        [
            (consume_queries, (inputs, outputs, sizes, 0, CAUSAL, SPLIT)),
            (consume_queries, (inputs, outputs, sizes, 1, CAUSAL, SPLIT)),
            (produce, (inputs, sizes, CAUSAL, False)),
        ],
        [4, 1],
        [REGISTERS, PRODUCER_REGISTERS],
    )
