"""What a consumer does: scores, softmax, blend, one block of keys after the other.

A consumer is a warpgroup, 4 warps, with 64 rows of queries.  It starts the scores of one block
and, right behind them, the product of weights and values of the block before; it waits for the
scores, and does softmax while the other product, or those of other consumers, go on.
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
from kernels.hopper.work import block_of, blocks_in, dealt

LN_2 = gl.constexpr(math.log(2))


@gluon.jit
def start_scores(queries, keys, LAYOUT: gl.constexpr):
    """queries · keysᵀ, on their way: they are there after a wait."""
    KEYS: gl.constexpr = keys.shape[0]
    zeros = gl.zeros([ROWS, KEYS], gl.float32, LAYOUT)
    return warpgroup_mma(queries, keys.permute((1, 0)), zeros, use_acc=False, is_async=True)


@gluon.jit
def masked(scores, first_query, first_key, seq_k, CAUSAL: gl.constexpr):
    """-inf where there is no key or, causal, where it comes after the query.

    A key's number is 8 · eight + key.  Which eights a thread has is known when compiling: so it
    compares with constants, and its own part of the number is taken off the limit once.
    """
    LAYOUT: gl.constexpr = scores.type.layout
    KEYS: gl.constexpr = scores.shape[1]
    scores = scores.reshape([ROWS, KEYS // 8, 8])
    IN_EIGHTS: gl.constexpr = scores.type.layout
    BY_ROW: gl.constexpr = gl.SliceLayout(1, gl.SliceLayout(1, IN_EIGHTS))
    eight = gl.arange(0, KEYS // 8, gl.SliceLayout(0, gl.SliceLayout(2, IN_EIGHTS)))
    key = gl.arange(0, 8, gl.SliceLayout(0, gl.SliceLayout(1, IN_EIGHTS)))
    last = gl.full([ROWS], seq_k - 1 - first_key, gl.int32, BY_ROW)
    if CAUSAL:
        last = gl.minimum(last, gl.arange(0, ROWS, BY_ROW) + (first_query - first_key))
    last_eight = (last[:, None] - key[None, :]) >> 3
    visible = eight[None, :, None] <= last_eight[:, None, :]
    scores = gl.where(visible, scores, -float("inf")).reshape([ROWS, KEYS])
    return gl.convert_layout(scores, LAYOUT, assert_trivial=True)


@gluon.jit
def weigh(scores, running_max, running_sum, scale_log2, LAZY: gl.constexpr):
    """Online softmax, as in ``kernels.softmax``, in base 2: weights, and the state after them.

    Last, the factor by which sums from before must be rescaled.  LAZY: a maximum that is
    exceeded by little is kept, and that factor is exactly 1.
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
    queries, keys, use, first_query, first_key, seq_k, scale_log2,
    KEYS: gl.constexpr, SCORES: gl.constexpr, LEFT: gl.constexpr, CAUSAL: gl.constexpr,
):  # fmt: skip
    """Weights of the first block of keys, their maximum and their sum, for each query.

    KEYS: how many keys it computes with, all or half of a tile; past those the weights are 0
    """
    TILE: gl.constexpr = keys.tiles.shape[3]
    PART: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, KEYS, 16])
    BY_ROW: gl.constexpr = gl.SliceLayout(1, PART)
    these_keys = wait_for_tile(keys, use)
    scores = start_scores(queries, these_keys.slice(0, KEYS), PART)
    scores = warpgroup_mma_wait(0, deps=(scores,))
    release(keys, use)
    scores = masked(scores, first_query, first_key, seq_k, CAUSAL)
    running_max = gl.full([ROWS], -float("inf"), gl.float32, BY_ROW)
    running_sum = gl.zeros([ROWS], gl.float32, BY_ROW)
    new_weights, running_max, running_sum, _rescale = weigh(
        scores, running_max, running_sum, scale_log2, False
    )
    weights = new_weights.to(queries.dtype)
    if KEYS < TILE:
        both = gl.join(weights, gl.zeros_like(weights)).permute((0, 2, 1))
        weights = both.reshape([ROWS, TILE])
    # A thread has the same rows, whatever the number of keys.
    ROW: gl.constexpr = gl.SliceLayout(1, SCORES)
    running_max = gl.convert_layout(running_max, ROW, assert_trivial=True)
    running_sum = gl.convert_layout(running_sum, ROW, assert_trivial=True)
    return gl.convert_layout(weights, LEFT), running_max, running_sum


@gluon.jit
def wait_for_turn(turn_barriers, turn, CONSUMER: gl.constexpr):
    """Waits until the consumer before has its scores; consumer 0 begins."""
    FIRST: gl.constexpr = 1 if CONSUMER == 0 else 0
    mbarrier.wait(turn_barriers.index(CONSUMER), (turn & 1) ^ FIRST)


@gluon.jit
def pass_turn(turn_barriers, CONSUMER: gl.constexpr, CONSUMERS: gl.constexpr):
    """Lets the next consumer start its products."""
    mbarrier.arrive(turn_barriers.index((CONSUMER + 1) % CONSUMERS), count=1)


@gluon.jit
def step(
    queries, keys, values, use, turn_barriers, turn, weights, accumulator,
    running_max, running_sum, scale_log2, SCORES: gl.constexpr,
    CONSUMER: gl.constexpr, CONSUMERS: gl.constexpr,
    OVERLAP: gl.constexpr, TURNS: gl.constexpr, LAZY: gl.constexpr,
):  # fmt: skip
    """Scores and softmax of a block of keys; the product with the values of the one before."""
    OUTPUT: gl.constexpr = accumulator.type.layout
    these_keys = wait_for_tile(keys, use)
    if TURNS:
        wait_for_turn(turn_barriers, turn, CONSUMER)
    # Start both products.  They end in this order: waiting for the first leaves
    # the second on.
    scores = start_scores(queries, these_keys, SCORES)
    accumulator = warpgroup_mma(
        weights, wait_for_tile(values, use - 1), accumulator, is_async=True
    )
    if OVERLAP:
        scores = warpgroup_mma_wait(1, deps=(scores,))
    else:
        scores, accumulator = warpgroup_mma_wait(0, deps=(scores, accumulator))
    if TURNS:
        pass_turn(turn_barriers, CONSUMER, CONSUMERS)
    release(keys, use)
    if not OVERLAP:
        release(values, use - 1)
    new_weights, running_max, running_sum, rescale = weigh(
        scores, running_max, running_sum, scale_log2, LAZY
    )
    if OVERLAP:
        # The compiler moves most of softmax to after this wait: the lab notes of
        # chapter 9 have the counts, and what came of moving it back.
        accumulator = warpgroup_mma_wait(0, deps=(accumulator,))
        release(values, use - 1)
    factor = gl.convert_layout(rescale, gl.SliceLayout(1, OUTPUT))[:, None]
    accumulator = rescaled(accumulator, factor) if LAZY else accumulator * factor
    weights = gl.convert_layout(new_weights.to(queries.dtype), weights.type.layout)
    return weights, accumulator, running_max, running_sum


@gluon.jit
def blocks_seen(first_query, blocks, seq_q, BLOCK_K: gl.constexpr, CAUSAL: gl.constexpr):
    """How many of those blocks of keys this consumer's queries see; one if it has no query.

    What it computes of that one, TMA does not store: its rows are after the last query.
    """
    gl.static_assert(BLOCK_K % ROWS == 0, "only the last block a consumer sees may be cut")
    seen = gl.minimum(blocks, gl.cdiv(first_query + ROWS, BLOCK_K)) if CAUSAL else blocks
    return gl.where(first_query < seq_q, seen, 1)


@gluon.jit
def pass_by(
    keys, values, use, turn_barriers, turn,
    CONSUMER: gl.constexpr, CONSUMERS: gl.constexpr, TURNS: gl.constexpr,
):  # fmt: skip
    """A block of keys that other consumers see and this one does not: waits, and releases."""
    wait_for_tile(keys, use)
    release(keys, use)
    wait_for_tile(values, use)
    release(values, use)
    if TURNS:  # last: whoever has the turn may wait for a tile that comes once this one is free
        wait_for_turn(turn_barriers, turn, CONSUMER)
        pass_turn(turn_barriers, CONSUMER, CONSUMERS)


@gluon.jit
def consume(
    tensors, sizes, CONSUMER: gl.constexpr, CONSUMERS: gl.constexpr,
    CAUSAL: gl.constexpr, PAIRED: gl.constexpr, OVERLAP: gl.constexpr, TURNS: gl.constexpr,
    LAZY: gl.constexpr, HELD: gl.constexpr, LATE: gl.constexpr, HALVED: gl.constexpr,
):  # fmt: skip
    """A consumer: its 64 queries of each block, through the blocks of keys that they see.

    Scores leave wgmma in the layout in which it takes a left operand from registers: the
    weights stay with their threads.
    """
    _, k, _, out, lse, query_rings, keys, values, turn_barriers = tensors
    scale_log2, places, work, _, _, seq_q, seq_k = sizes
    BLOCK_Q: gl.constexpr = CONSUMERS * ROWS
    BLOCK_K: gl.constexpr = k.block_type.shape[2]
    COLUMNS: gl.constexpr = k.block_type.shape[3]
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_K, 16])
    OUTPUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    QUERIES: gl.constexpr = gl.DotOperandLayout(0, SCORES, 2)  # in registers, if held
    LEFT: gl.constexpr = gl.DotOperandLayout(0, OUTPUT, 2)
    BY_ROW: gl.constexpr = gl.SliceLayout(1, SCORES)
    query_ring = query_rings[CONSUMER]
    q_use = gl.to_tensor(0)
    use = gl.to_tensor(0)
    turn = gl.to_tensor(0)
    for place in range(gl.program_id(0), places, gl.num_programs(0)):
        unit = dealt(place, PAIRED)
        for which in range(blocks_in(unit, work, seq_q, BLOCK_Q, PAIRED)):
            batch_head, first_query, blocks = block_of(
                unit, which, work, seq_q, seq_k, BLOCK_Q, BLOCK_K, CAUSAL, PAIRED
            )
            first_query += CONSUMER * ROWS
            seen = blocks_seen(first_query, blocks, seq_q, BLOCK_K, CAUSAL)
            for _i in range(blocks - seen):
                pass_by(keys, values, use, turn_barriers, turn, CONSUMER, CONSUMERS, TURNS)
                use += 1
                turn += 1

            # The last block that it sees, which alone can be cut, by the diagonal or by the
            # end of the keys; there are no weights yet to multiply with values.
            own_tile = wait_for_tile(query_ring, q_use)
            queries = own_tile.load(QUERIES) if HELD else own_tile
            first_key = (seen - 1) * BLOCK_K
            if CAUSAL and HALVED and first_query + ROWS - first_key <= BLOCK_K // 2:
                weights, running_max, running_sum = first_weights(
                    queries, keys, use, first_query, first_key, seq_k, scale_log2,
                    BLOCK_K // 2, SCORES, LEFT, CAUSAL,
                )  # fmt: skip
            else:
                weights, running_max, running_sum = first_weights(
                    queries, keys, use, first_query, first_key, seq_k, scale_log2,
                    BLOCK_K, SCORES, LEFT, CAUSAL,
                )  # fmt: skip
            if LATE and q_use > 0:
                # By now TMA should have read the output of the block before.
                tma.store_wait(0)
                release(query_ring, q_use - 1)
            accumulator = gl.zeros([ROWS, COLUMNS], gl.float32, OUTPUT)
            use += 1

            # All others.
            for _i in range(seen - 1):
                weights, accumulator, running_max, running_sum = step(
                    queries, keys, values, use, turn_barriers, turn,
                    weights, accumulator, running_max, running_sum, scale_log2, SCORES,
                    CONSUMER, CONSUMERS, OVERLAP, TURNS, LAZY,
                )  # fmt: skip
                use += 1
                turn += 1

            # The product with the first values: no softmax is left to overlap with it.
            total = gl.where(running_sum == 0.0, 1.0, running_sum)  # no key was seen
            factor = gl.convert_layout(1.0 / total, gl.SliceLayout(1, OUTPUT))
            accumulator = warpgroup_mma(
                weights, wait_for_tile(values, use - 1), accumulator, is_async=True
            )
            accumulator = warpgroup_mma_wait(0, deps=(accumulator,))
            release(values, use - 1)

            # The output overwrites the queries in shared memory, and TMA stores it from there;
            # the fence makes what threads wrote visible to it.
            own_tile.store((accumulator * factor[:, None]).to(own_tile.dtype))
            fence_async_shared()
            Q_STAGES: gl.constexpr = query_ring.tiles.shape[0]
            tile = query_ring.tiles.index(q_use % Q_STAGES)
            tma.async_copy_shared_to_global(out, [0, batch_head, first_query, 0], tile)
            if lse is not None:
                query = first_query + gl.arange(0, ROWS, BY_ROW)
                row_lse = (running_max * scale_log2 + gl.log2(total)) * LN_2
                gl.store(lse + batch_head.to(gl.int64) * seq_q + query, row_lse, query < seq_q)
            if not LATE:
                tma.store_wait(0)
                release(query_ring, q_use)
            q_use += 1
    if LATE:
        tma.store_wait(0)  # shared memory ends with the program
