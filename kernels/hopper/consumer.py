"""A consumer warpgroup: scores, softmax and weighted values, one block of keys after another.

A consumer has 4 warps and 64 rows of queries.  Its work on a block of queries has three parts:

    first_block        the prologue: scores and softmax of the last keys it sees, done first
    remaining_blocks   the main loop: scores of each block, and the values of the block before
    store_output       the epilogue: the values that are left, out and lse

In the main loop it starts a block's scores and, right behind them, the product of weights and
values of the block before.  It waits for the scores alone, and meanwhile does softmax.
"""

from __future__ import annotations

import math

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from kernels.hopper.rescale import reference_max, rescale_rows
from kernels.hopper.ring import WGMMA_M, release, wait_for_tile
from kernels.hopper.schedule import block_of, blocks_in, serpentine
from kernels.hopper.scores import apply_mask, start_scores

LN_2 = gl.constexpr(math.log(2))


@gluon.jit
def online_softmax(scores, running_max, running_sum, scale_log2, CONDITIONAL: gl.constexpr):
    """Returns a block's weights, the new maximum and sum, and the factor for older sums.

    This is online softmax as in ``kernels.softmax``, in base 2.
    CONDITIONAL: keeps the old maximum if it's exceeded by little, so the factor is exactly 1
    """
    new_max = gl.maximum(running_max, gl.max(scores, 1))
    if CONDITIONAL:
        new_max = reference_max(new_max, running_max, scale_log2)
    # Where every score is -inf, subtract 0: (-inf) - (-inf) would be NaN.
    safe_max = gl.where(new_max == -float("inf"), 0.0, new_max)
    weights = gl.exp2(scores * scale_log2 - (safe_max * scale_log2)[:, None])
    rescale = gl.exp2((running_max - safe_max) * scale_log2)
    return weights, new_max, running_sum * rescale + gl.sum(weights, 1), rescale


@gluon.jit
def first_weights(
    queries, tensors, tile_number, first_query, first_key, sizes,
    KEYS: gl.constexpr, BLOCK_K: gl.constexpr, CAUSAL: gl.constexpr,
):  # fmt: skip
    """Returns weights, maximum and sum of the block that comes first: the last that it sees.

    KEYS: how many keys it computes with, all of a tile or half; after those, weights are 0
    """
    NARROW_SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, KEYS, 16])
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_K, 16])
    COLUMNS: gl.constexpr = tensors.v.block_type.shape[3]
    OUTPUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    BY_ROW: gl.constexpr = gl.SliceLayout(1, NARROW_SCORES)
    keys = wait_for_tile(tensors.k_ring, tile_number)
    scores = start_scores(queries, keys.slice(0, KEYS), NARROW_SCORES)
    scores = warpgroup_mma_wait(0, deps=(scores,))
    release(tensors.k_ring, tile_number)
    scores = apply_mask(scores, first_query, first_key, sizes.seq_k, CAUSAL)
    running_max = gl.full([WGMMA_M], -float("inf"), gl.float32, BY_ROW)
    running_sum = gl.zeros([WGMMA_M], gl.float32, BY_ROW)
    new_weights, running_max, running_sum, _rescale = online_softmax(
        scores, running_max, running_sum, sizes.scale_log2, False
    )
    weights = new_weights.to(queries.dtype)
    if KEYS < BLOCK_K:
        padded = gl.join(weights, gl.zeros_like(weights)).permute((0, 2, 1))
        weights = padded.reshape([WGMMA_M, BLOCK_K])
    # A thread has the same rows, whatever the number of keys.
    ROW: gl.constexpr = gl.SliceLayout(1, SCORES)
    running_max = gl.convert_layout(running_max, ROW, assert_trivial=True)
    running_sum = gl.convert_layout(running_sum, ROW, assert_trivial=True)
    # Scores leave wgmma in the layout in which it takes a left operand from registers, so
    # the weights stay with their threads.
    weights = gl.convert_layout(weights, gl.DotOperandLayout(0, OUTPUT, 2))
    return weights, running_max, running_sum


@gluon.jit
def first_block(
    queries, tensors, tile_number, first_query, seen, sizes,
    PLAN: gl.constexpr, CAUSAL: gl.constexpr,
):  # fmt: skip
    """Returns weights, maximum and sum of the last block of keys that it sees: the prologue.

    Only the last of the ``seen`` blocks can be cut.  No weights are there yet for values.
    """
    first_key = (seen - 1) * PLAN.block_k
    HALF: gl.constexpr = PLAN.block_k // 2
    if CAUSAL and PLAN.half_last_block and first_query + WGMMA_M - first_key <= HALF:
        weights, running_max, running_sum = first_weights(
            queries, tensors, tile_number, first_query, first_key, sizes,
            HALF, PLAN.block_k, CAUSAL,
        )  # fmt: skip
    else:
        weights, running_max, running_sum = first_weights(
            queries, tensors, tile_number, first_query, first_key, sizes,
            PLAN.block_k, PLAN.block_k, CAUSAL,
        )  # fmt: skip
    return weights, running_max, running_sum


@gluon.jit
def wait_for_turn(ping_pong, turn_number, CONSUMER: gl.constexpr):
    """Waits until the consumer before has its scores: ping-pong.  Consumer 0 begins."""
    FIRST: gl.constexpr = 1 if CONSUMER == 0 else 0
    mbarrier.wait(ping_pong.index(CONSUMER), (turn_number & 1) ^ FIRST)


@gluon.jit
def pass_turn(ping_pong, CONSUMER: gl.constexpr, CONSUMERS: gl.constexpr):
    """Lets the next consumer start its products: ping-pong."""
    mbarrier.arrive(ping_pong.index((CONSUMER + 1) % CONSUMERS), count=1)


@gluon.jit
def step(
    queries, tensors, tile_number, turn_number, weights, accumulator,
    running_max, running_sum, scale_log2, CONSUMER: gl.constexpr, PLAN: gl.constexpr,
):  # fmt: skip
    """Returns weights, accumulator, running_max and running_sum after another block of keys.

    It does this block's scores and softmax, and multiplies the values of the block before.
    """
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, PLAN.block_k, 16])
    OUTPUT: gl.constexpr = accumulator.type.layout
    keys = wait_for_tile(tensors.k_ring, tile_number)
    if PLAN.ping_pong:
        wait_for_turn(tensors.ping_pong, turn_number, CONSUMER)
    # Start both products.  They end in this order, so the second runs on while we wait.
    scores = start_scores(queries, keys, SCORES)
    values = wait_for_tile(tensors.v_ring, tile_number - 1)
    accumulator = warpgroup_mma(weights, values, accumulator, is_async=True)
    if PLAN.overlap_softmax:
        scores = warpgroup_mma_wait(1, deps=(scores,))
    else:
        scores, accumulator = warpgroup_mma_wait(0, deps=(scores, accumulator))
    if PLAN.ping_pong:
        pass_turn(tensors.ping_pong, CONSUMER, PLAN.consumers)
    release(tensors.k_ring, tile_number)
    if not PLAN.overlap_softmax:
        release(tensors.v_ring, tile_number - 1)
    new_weights, running_max, running_sum, rescale = online_softmax(
        scores, running_max, running_sum, scale_log2, PLAN.conditional_rescale
    )
    if PLAN.overlap_softmax:
        # The compiler moves most of softmax to after this wait: the lab notes of
        # chapter 9 have the counts, and what came of moving it back.
        accumulator = warpgroup_mma_wait(0, deps=(accumulator,))
        release(tensors.v_ring, tile_number - 1)
    factor = gl.convert_layout(rescale, gl.SliceLayout(1, OUTPUT))[:, None]
    accumulator = (
        rescale_rows(accumulator, factor) if PLAN.conditional_rescale else accumulator * factor
    )
    weights = gl.convert_layout(new_weights.to(queries.dtype), weights.type.layout)
    return weights, accumulator, running_max, running_sum


@gluon.jit
def remaining_blocks(
    queries, tensors, tile_number, turn_number, count, weights,
    running_max, running_sum, scale_log2, CONSUMER: gl.constexpr, PLAN: gl.constexpr,
):  # fmt: skip
    """Returns what ``step`` does, after ``count`` more blocks, which the mask doesn't cut.

    This is the main loop.  It also returns the next tile_number and turn_number.  The
    accumulator, [64, columns], has the values of all blocks but the last one's.
    """
    COLUMNS: gl.constexpr = tensors.v.block_type.shape[3]
    OUTPUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    accumulator = gl.zeros([WGMMA_M, COLUMNS], gl.float32, OUTPUT)
    for _i in range(count):
        weights, accumulator, running_max, running_sum = step(
            queries, tensors, tile_number, turn_number, weights, accumulator,
            running_max, running_sum, scale_log2, CONSUMER, PLAN,
        )  # fmt: skip
        tile_number += 1
        turn_number += 1
    return weights, accumulator, running_max, running_sum, tile_number, turn_number


@gluon.jit
def store_output(
    tensors, query_ring, q_tile_number, tile_number, batch_head, first_query,
    weights, accumulator, running_max, running_sum, sizes,
):  # fmt: skip
    """Writes out and lse, after the last product of weights and values: the epilogue.

    tile_number: of the values that the weights belong to
    """
    COLUMNS: gl.constexpr = tensors.v.block_type.shape[3]
    # No softmax is left to overlap with this product.
    total = gl.where(running_sum == 0.0, 1.0, running_sum)  # no key was seen
    factor = gl.convert_layout(1.0 / total, gl.SliceLayout(1, accumulator.type.layout))
    values = wait_for_tile(tensors.v_ring, tile_number)
    accumulator = warpgroup_mma(weights, values, accumulator, is_async=True)
    accumulator = warpgroup_mma_wait(0, deps=(accumulator,))
    release(tensors.v_ring, tile_number)

    # The output overwrites the queries in shared memory, and TMA stores it from there.  The
    # fence makes what threads wrote visible to TMA.
    Q_STAGES: gl.constexpr = query_ring.tiles.shape[0]
    tile = query_ring.tiles.index(q_tile_number % Q_STAGES)
    own_tile = tile.reshape([WGMMA_M, COLUMNS])
    own_tile.store((accumulator * factor[:, None]).to(own_tile.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(tensors.out, [0, batch_head, first_query, 0], tile)
    if tensors.lse is not None:
        query = first_query + gl.arange(0, WGMMA_M, running_max.type.layout)
        row_lse = (running_max * sizes.scale_log2 + gl.log2(total)) * LN_2
        pointers = tensors.lse + batch_head.to(gl.int64) * sizes.seq_q + query
        gl.store(pointers, row_lse, query < sizes.seq_q)


@gluon.jit
def blocks_seen(first_query, blocks, seq_q, BLOCK_K: gl.constexpr, CAUSAL: gl.constexpr):
    """Returns how many of those blocks of keys this consumer's queries see.

    A consumer without a query sees one: its rows are after the last, and TMA won't store them.
    """
    gl.static_assert(BLOCK_K % WGMMA_M == 0, "only the last block a consumer sees may be cut")
    seen = gl.minimum(blocks, gl.cdiv(first_query + WGMMA_M, BLOCK_K)) if CAUSAL else blocks
    return gl.where(first_query < seq_q, seen, 1)


@gluon.jit
def skip_block(tensors, tile_number, turn_number, CONSUMER: gl.constexpr, PLAN: gl.constexpr):
    """Releases a block of keys that other consumers see and this one doesn't."""
    wait_for_tile(tensors.k_ring, tile_number)
    release(tensors.k_ring, tile_number)
    wait_for_tile(tensors.v_ring, tile_number)
    release(tensors.v_ring, tile_number)
    # Last, because the consumer whose turn it is may wait for a tile that needs this stage.
    if PLAN.ping_pong:
        wait_for_turn(tensors.ping_pong, turn_number, CONSUMER)
        pass_turn(tensors.ping_pong, CONSUMER, PLAN.consumers)


@gluon.jit
def consume(
    tensors, sizes, CONSUMER: gl.constexpr, PLAN: gl.constexpr,
    CAUSAL: gl.constexpr, PAIRED: gl.constexpr,
):  # fmt: skip
    """A consumer warpgroup: writes out and lse for its 64 queries of each block."""
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, PLAN.block_k, 16])
    QUERIES: gl.constexpr = gl.DotOperandLayout(0, SCORES, 2)  # in registers
    query_ring = tensors.q_rings[CONSUMER]
    q_tile_number = gl.to_tensor(0)
    tile_number = gl.to_tensor(0)
    turn_number = gl.to_tensor(0)
    for slot in range(gl.program_id(0), sizes.slots, gl.num_programs(0)):
        work_item = serpentine(slot, PAIRED)
        for member in range(blocks_in(work_item, sizes, PLAN.block_q, PAIRED)):
            batch_head, first_query, blocks = block_of(
                work_item, member, sizes, PLAN.block_q, PLAN.block_k, CAUSAL, PAIRED
            )
            first_query += CONSUMER * WGMMA_M
            seen = blocks_seen(first_query, blocks, sizes.seq_q, PLAN.block_k, CAUSAL)
            for _i in range(blocks - seen):
                skip_block(tensors, tile_number, turn_number, CONSUMER, PLAN)
                tile_number += 1
                turn_number += 1

            own_tile = wait_for_tile(query_ring, q_tile_number)
            queries = own_tile.load(QUERIES) if PLAN.queries_in_registers else own_tile
            weights, running_max, running_sum = first_block(
                queries, tensors, tile_number, first_query, seen, sizes, PLAN, CAUSAL
            )
            if PLAN.overlap_epilogue and q_tile_number > 0:
                # By now TMA should have read the output of the block before.
                tma.store_wait(0)
                release(query_ring, q_tile_number - 1)
            tile_number += 1
            (
                weights, accumulator, running_max, running_sum, tile_number, turn_number
            ) = remaining_blocks(
                queries, tensors, tile_number, turn_number, seen - 1, weights,
                running_max, running_sum, sizes.scale_log2, CONSUMER, PLAN,
            )  # fmt: skip
            store_output(
                tensors, query_ring, q_tile_number, tile_number - 1, batch_head, first_query,
                weights, accumulator, running_max, running_sum, sizes,
            )  # fmt: skip
            if not PLAN.overlap_epilogue:
                tma.store_wait(0)
                release(query_ring, q_tile_number)
            q_tile_number += 1
    if PLAN.overlap_epilogue:
        tma.store_wait(0)  # shared memory ends with the program
