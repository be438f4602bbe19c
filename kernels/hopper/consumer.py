"""A consumer warpgroup: scores, softmax and weighted values, one block of keys after another.

A consumer has 4 warps and 64 rows of queries.  Its work on a block of queries has three parts:

    first_block        scores and softmax of the last keys that it sees; no values yet
    remaining_blocks   scores of each block, and the values of the block before
    store_output       the values that are left; divides, and stores out and lse

In the middle part it starts the scores of one block and, right behind them, the product of
weights and values of the block before.  It waits for the scores alone, and does softmax while
the tensor cores multiply the values or work for other consumers.
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

from kernels.hopper.rescale import mark, rescaled
from kernels.hopper.ring import ROWS, release, wait_for_tile
from kernels.hopper.schedule import block_of, blocks_in, dealt
from kernels.hopper.scores import masked, start_scores

LN_2 = gl.constexpr(math.log(2))


@gluon.jit
def weigh(scores, running_max, running_sum, scale_log2, LAZY: gl.constexpr):
    """Returns a block's weights, the new maximum and sum, and the factor for older sums.

    This is online softmax as in ``kernels.softmax``, in base 2.
    LAZY: keeps a maximum that is exceeded by little, so the factor is exactly 1
    """
    new_max = gl.maximum(running_max, gl.max(scores, 1))
    if LAZY:
        new_max = mark(new_max, running_max, scale_log2)
    # Where every score is -inf, subtract 0: (-inf) - (-inf) would be NaN.
    finite = gl.where(new_max == -float("inf"), 0.0, new_max)
    weights = gl.exp2(scores * scale_log2 - (finite * scale_log2)[:, None])
    rescale = gl.exp2((running_max - finite) * scale_log2)
    return weights, new_max, running_sum * rescale + gl.sum(weights, 1), rescale


@gluon.jit
def first_weights(
    queries, tensors, use, first_query, first_key, sizes,
    KEYS: gl.constexpr, BLOCK_K: gl.constexpr, CAUSAL: gl.constexpr,
):  # fmt: skip
    """Returns the weights of the first block of keys, and each query's maximum and sum.

    KEYS: how many keys it computes with, all of a tile or half; after those, weights are 0
    """
    PART: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, KEYS, 16])
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_K, 16])
    COLUMNS: gl.constexpr = tensors.v.block_type.shape[3]
    OUTPUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    BY_ROW: gl.constexpr = gl.SliceLayout(1, PART)
    these_keys = wait_for_tile(tensors.k_ring, use)
    scores = start_scores(queries, these_keys.slice(0, KEYS), PART)
    scores = warpgroup_mma_wait(0, deps=(scores,))
    release(tensors.k_ring, use)
    scores = masked(scores, first_query, first_key, sizes.seq_k, CAUSAL)
    running_max = gl.full([ROWS], -float("inf"), gl.float32, BY_ROW)
    running_sum = gl.zeros([ROWS], gl.float32, BY_ROW)
    new_weights, running_max, running_sum, _rescale = weigh(
        scores, running_max, running_sum, sizes.scale_log2, False
    )
    weights = new_weights.to(queries.dtype)
    if KEYS < BLOCK_K:
        both = gl.join(weights, gl.zeros_like(weights)).permute((0, 2, 1))
        weights = both.reshape([ROWS, BLOCK_K])
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
    queries, tensors, use, first_query, seen, sizes, PLAN: gl.constexpr, CAUSAL: gl.constexpr
):  # fmt: skip
    """Part 1: the last block of keys that it sees.  Returns weights, maximum and sum.

    Only this block can be cut, by the diagonal or by the end of the keys.  There are no
    weights yet to multiply by values.
    """
    first_key = (seen - 1) * PLAN.block_k
    HALF: gl.constexpr = PLAN.block_k // 2
    if CAUSAL and PLAN.halved and first_query + ROWS - first_key <= HALF:
        weights, running_max, running_sum = first_weights(
            queries, tensors, use, first_query, first_key, sizes, HALF, PLAN.block_k, CAUSAL
        )
    else:
        weights, running_max, running_sum = first_weights(
            queries, tensors, use, first_query, first_key, sizes,
            PLAN.block_k, PLAN.block_k, CAUSAL,
        )  # fmt: skip
    return weights, running_max, running_sum


@gluon.jit
def wait_for_turn(turns, turn, CONSUMER: gl.constexpr):
    """Ping-pong: waits until the consumer before has its scores.  Consumer 0 begins."""
    FIRST: gl.constexpr = 1 if CONSUMER == 0 else 0
    mbarrier.wait(turns.index(CONSUMER), (turn & 1) ^ FIRST)


@gluon.jit
def pass_turn(turns, CONSUMER: gl.constexpr, CONSUMERS: gl.constexpr):
    """Ping-pong: lets the next consumer start its products."""
    mbarrier.arrive(turns.index((CONSUMER + 1) % CONSUMERS), count=1)


@gluon.jit
def step(
    queries, tensors, use, turn, weights, accumulator, running_max, running_sum, scale_log2,
    CONSUMER: gl.constexpr, PLAN: gl.constexpr,
):  # fmt: skip
    """One block of keys: its scores and softmax, and the values of the block before.

    Returns weights, accumulator, running_max and running_sum after it.
    """
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, PLAN.block_k, 16])
    OUTPUT: gl.constexpr = accumulator.type.layout
    these_keys = wait_for_tile(tensors.k_ring, use)
    if PLAN.turns:
        wait_for_turn(tensors.turns, turn, CONSUMER)
    # Start both products.  They end in this order: waiting for the first leaves
    # the second on.
    scores = start_scores(queries, these_keys, SCORES)
    values = wait_for_tile(tensors.v_ring, use - 1)
    accumulator = warpgroup_mma(weights, values, accumulator, is_async=True)
    if PLAN.overlap:
        scores = warpgroup_mma_wait(1, deps=(scores,))
    else:
        scores, accumulator = warpgroup_mma_wait(0, deps=(scores, accumulator))
    if PLAN.turns:
        pass_turn(tensors.turns, CONSUMER, PLAN.consumers)
    release(tensors.k_ring, use)
    if not PLAN.overlap:
        release(tensors.v_ring, use - 1)
    new_weights, running_max, running_sum, rescale = weigh(
        scores, running_max, running_sum, scale_log2, PLAN.lazy
    )
    if PLAN.overlap:
        # The compiler moves most of softmax to after this wait: the lab notes of
        # chapter 9 have the counts, and what came of moving it back.
        accumulator = warpgroup_mma_wait(0, deps=(accumulator,))
        release(tensors.v_ring, use - 1)
    factor = gl.convert_layout(rescale, gl.SliceLayout(1, OUTPUT))[:, None]
    accumulator = rescaled(accumulator, factor) if PLAN.lazy else accumulator * factor
    weights = gl.convert_layout(new_weights.to(queries.dtype), weights.type.layout)
    return weights, accumulator, running_max, running_sum


@gluon.jit
def remaining_blocks(
    queries, tensors, use, turn, count, weights, running_max, running_sum, scale_log2,
    CONSUMER: gl.constexpr, PLAN: gl.constexpr,
):  # fmt: skip
    """Part 2: ``count`` more blocks of keys, which the mask doesn't cut.

    Returns weights, accumulator, running_max and running_sum, and the next use and turn.  The
    accumulator, [64, columns], has the values of all blocks but the last one's.
    """
    COLUMNS: gl.constexpr = tensors.v.block_type.shape[3]
    OUTPUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    accumulator = gl.zeros([ROWS, COLUMNS], gl.float32, OUTPUT)
    for _i in range(count):
        weights, accumulator, running_max, running_sum = step(
            queries, tensors, use, turn, weights, accumulator, running_max, running_sum,
            scale_log2, CONSUMER, PLAN,
        )  # fmt: skip
        use += 1
        turn += 1
    return weights, accumulator, running_max, running_sum, use, turn


@gluon.jit
def store_output(
    tensors, query_ring, q_use, use, batch_head, first_query,
    weights, accumulator, running_max, running_sum, sizes,
):  # fmt: skip
    """Part 3: multiplies the last weights by their values, divides, and stores out and lse.

    use: of the block of keys that the weights are of
    """
    COLUMNS: gl.constexpr = tensors.v.block_type.shape[3]
    # No softmax is left to overlap with this product.
    total = gl.where(running_sum == 0.0, 1.0, running_sum)  # no key was seen
    factor = gl.convert_layout(1.0 / total, gl.SliceLayout(1, accumulator.type.layout))
    values = wait_for_tile(tensors.v_ring, use)
    accumulator = warpgroup_mma(weights, values, accumulator, is_async=True)
    accumulator = warpgroup_mma_wait(0, deps=(accumulator,))
    release(tensors.v_ring, use)

    # The output overwrites the queries in shared memory, and TMA stores it from there.  The
    # fence makes what threads wrote visible to TMA.
    Q_STAGES: gl.constexpr = query_ring.tiles.shape[0]
    tile = query_ring.tiles.index(q_use % Q_STAGES)
    own_tile = tile.reshape([ROWS, COLUMNS])
    own_tile.store((accumulator * factor[:, None]).to(own_tile.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(tensors.out, [0, batch_head, first_query, 0], tile)
    if tensors.lse is not None:
        query = first_query + gl.arange(0, ROWS, running_max.type.layout)
        row_lse = (running_max * sizes.scale_log2 + gl.log2(total)) * LN_2
        row = tensors.lse + batch_head.to(gl.int64) * sizes.seq_q + query
        gl.store(row, row_lse, query < sizes.seq_q)


@gluon.jit
def blocks_seen(first_query, blocks, seq_q, BLOCK_K: gl.constexpr, CAUSAL: gl.constexpr):
    """Returns how many of those blocks of keys this consumer's queries see.

    Without a query it's one.  TMA doesn't store what comes of it: its rows are after the last.
    """
    gl.static_assert(BLOCK_K % ROWS == 0, "only the last block a consumer sees may be cut")
    seen = gl.minimum(blocks, gl.cdiv(first_query + ROWS, BLOCK_K)) if CAUSAL else blocks
    return gl.where(first_query < seq_q, seen, 1)


@gluon.jit
def pass_by(tensors, use, turn, CONSUMER: gl.constexpr, PLAN: gl.constexpr):
    """Releases a block of keys that other consumers see and this one doesn't."""
    wait_for_tile(tensors.k_ring, use)
    release(tensors.k_ring, use)
    wait_for_tile(tensors.v_ring, use)
    release(tensors.v_ring, use)
    if PLAN.turns:  # last: who has the turn may wait for a tile that needs this stage
        wait_for_turn(tensors.turns, turn, CONSUMER)
        pass_turn(tensors.turns, CONSUMER, PLAN.consumers)


@gluon.jit
def consume(
    tensors, sizes, CONSUMER: gl.constexpr, PLAN: gl.constexpr,
    CAUSAL: gl.constexpr, PAIRED: gl.constexpr,
):  # fmt: skip
    """A consumer warpgroup: its 64 queries of each block, through the keys that they see."""
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, PLAN.block_k, 16])
    QUERIES: gl.constexpr = gl.DotOperandLayout(0, SCORES, 2)  # in registers, if held
    query_ring = tensors.q_rings[CONSUMER]
    q_use = gl.to_tensor(0)
    use = gl.to_tensor(0)
    turn = gl.to_tensor(0)
    for place in range(gl.program_id(0), sizes.places, gl.num_programs(0)):
        unit = dealt(place, PAIRED)
        for which in range(blocks_in(unit, sizes, PLAN.block_q, PAIRED)):
            batch_head, first_query, blocks = block_of(
                unit, which, sizes, PLAN.block_q, PLAN.block_k, CAUSAL, PAIRED
            )
            first_query += CONSUMER * ROWS
            seen = blocks_seen(first_query, blocks, sizes.seq_q, PLAN.block_k, CAUSAL)
            for _i in range(blocks - seen):
                pass_by(tensors, use, turn, CONSUMER, PLAN)
                use += 1
                turn += 1

            own_tile = wait_for_tile(query_ring, q_use)
            queries = own_tile.load(QUERIES) if PLAN.held else own_tile
            weights, running_max, running_sum = first_block(
                queries, tensors, use, first_query, seen, sizes, PLAN, CAUSAL
            )
            if PLAN.late and q_use > 0:
                # By now TMA should have read the output of the block before.
                tma.store_wait(0)
                release(query_ring, q_use - 1)
            use += 1
            weights, accumulator, running_max, running_sum, use, turn = remaining_blocks(
                queries, tensors, use, turn, seen - 1, weights, running_max, running_sum,
                sizes.scale_log2, CONSUMER, PLAN,
            )  # fmt: skip
            store_output(
                tensors, query_ring, q_use, use - 1, batch_head, first_query,
                weights, accumulator, running_max, running_sum, sizes,
            )  # fmt: skip
            if not PLAN.late:
                tma.store_wait(0)
                release(query_ring, q_use)
            q_use += 1
    if PLAN.late:
        tma.store_wait(0)  # shared memory ends with the program
