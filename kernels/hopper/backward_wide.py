"""The backward pass on Hopper for heads of 256: sums of 64 keys fill both consumers' registers.

As ``kernels.hopper.backward_kernel``, but a program owns 64 keys, and each consumer sums 128
columns of their dkeys and dvalues.  Of a block of 64 queries a consumer computes the scores of
32 with all keys; weights and dscores of both meet in shared memory.
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

from kernels.flash.work import LOG2_E
from kernels.hopper.backward_kernel import (
    COUNTS,
    PRODUCER_REGISTERS,
    add_all,
    add_to,
    full_tile,
    masked,
    numbers_of,
    pass_on,
    pinned,
    produce,
    rank_in,
    ring_of,
    wait_for_rank,
    work_of,
)
from kernels.hopper.ring import ROWS, barriers, release


class Squares(NamedTuple):
    """Weights and dscores, [keys, queries], and barriers: each is there, both are free."""

    weights: gl.shared_memory_descriptor
    dscores: gl.shared_memory_descriptor
    weights_full: gl.shared_memory_descriptor
    dscores_full: gl.shared_memory_descriptor
    free: gl.shared_memory_descriptor
    done: gl.shared_memory_descriptor


@gluon.jit
def consume_wide(
    tensors, sizes, CONSUMER: gl.constexpr,
    CAUSAL: gl.constexpr, ORDERED: gl.constexpr, SPLIT: gl.constexpr,
):  # fmt: skip
    """A consumer: half of the queries of each block, then half of the columns of all sums."""
    (
        q, _, _, _, _, _, dq, dk, dv, turns,
        queries, q_shift, douts, do_delta, keys, values, squares, staging,
    ) = tensors  # fmt: skip
    scale, heads, group, _, _, _, _, seq_k, _ = sizes
    DTYPE: gl.constexpr = q.dtype
    BLOCK_Q: gl.constexpr = q.block_type.shape[2]
    COLUMNS: gl.constexpr = q.block_type.shape[3]
    OWN_Q: gl.constexpr = BLOCK_Q // 2
    OWN: gl.constexpr = COLUMNS // 2
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, OWN_Q, 16])
    SUMS: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, OWN, 16])
    BY_QUERY: gl.constexpr = gl.SliceLayout(0, SCORES)
    Q_STAGES: gl.constexpr = queries.tiles.shape[0]
    DO_STAGES: gl.constexpr = douts.tiles.shape[0]
    STAGES: gl.constexpr = squares.weights.shape[0]
    scale_log2 = scale * LOG2_E
    work = work_of(sizes, BLOCK_Q, ROWS, CAUSAL, ORDERED)
    first_key = work.first_key
    key_blocks = gl.cdiv(seq_k, ROWS)
    steps = (work.blocks - work.start) * (work.end_head - work.first_head)
    zeros = gl.zeros([ROWS, OWN_Q], gl.float32, SCORES)
    sum_zeros = gl.zeros([ROWS, OWN], gl.float32, SUMS)
    dkeys = gl.zeros([ROWS, OWN], gl.float32, SUMS)
    dvalues = gl.zeros([ROWS, OWN], gl.float32, SUMS)
    all_keys = keys.tiles.index(0).reshape([ROWS, COLUMNS])
    all_values = values.tiles.index(0).reshape([ROWS, COLUMNS])
    own_keys = all_keys.slice(CONSUMER * OWN, OWN, dim=1)
    mbarrier.wait(keys.full.index(0), 0)
    mbarrier.wait(values.full.index(0), 0)
    own_staging = staging.index(CONSUMER)
    head_place = (work.batch * heads + work.first_head) * work.blocks
    block = work.start
    earlier = gl.to_tensor(0)
    for i in range(steps):
        query = full_tile(queries, i)
        scores = warpgroup_mma(
            all_keys, query.slice(CONSUMER * OWN_Q, OWN_Q, dim=0).permute((1, 0)), zeros,
            use_acc=False, is_async=True,
        )  # fmt: skip
        dout = full_tile(douts, i)
        dweights = warpgroup_mma(
            all_values, dout.slice(CONSUMER * OWN_Q, OWN_Q, dim=0).permute((1, 0)), zeros,
            use_acc=False, is_async=True,
        )  # fmt: skip
        row_shift = q_shift.index(i % Q_STAGES).slice(CONSUMER * OWN_Q, OWN_Q).load(BY_QUERY)
        row_delta = do_delta.index(i % DO_STAGES).slice(CONSUMER * OWN_Q, OWN_Q).load(BY_QUERY)
        stage = i % STAGES
        mbarrier.wait(squares.free.index(stage), (i // STAGES & 1) ^ 1)

        scores = warpgroup_mma_wait(1, deps=(scores,))
        weights = gl.exp2(scores * scale_log2 - row_shift[None, :])
        first_query = block * BLOCK_Q + CONSUMER * OWN_Q
        if (first_key + ROWS > seq_k) | (CAUSAL and first_key + ROWS > first_query + 1):
            weights = masked(weights, first_key, pinned(first_query), seq_k, CAUSAL)
        weights_tile = squares.weights.index(stage)
        weights_tile.slice(CONSUMER * OWN_Q, OWN_Q, dim=1).store(weights.to(DTYPE))
        fence_async_shared()
        mbarrier.arrive(squares.weights_full.index(stage), count=1)

        dweights = warpgroup_mma_wait(0, deps=(dweights,))
        dscores = weights * (dweights - row_delta[None, :])
        dscores_tile = squares.dscores.index(stage)
        dscores_tile.slice(CONSUMER * OWN_Q, OWN_Q, dim=1).store(dscores.to(DTYPE))
        fence_async_shared()
        mbarrier.arrive(squares.dscores_full.index(stage), count=1)

        mbarrier.wait(squares.weights_full.index(stage), i // STAGES & 1)
        dvalues = warpgroup_mma(
            weights_tile, dout.slice(CONSUMER * OWN, OWN, dim=1), dvalues, is_async=True
        )
        mbarrier.wait(squares.dscores_full.index(stage), i // STAGES & 1)
        dqueries = warpgroup_mma(
            dscores_tile.permute((1, 0)), own_keys, sum_zeros, use_acc=False, is_async=True
        )
        dkeys = warpgroup_mma(
            dscores_tile, query.slice(CONSUMER * OWN, OWN, dim=1), dkeys, is_async=True
        )
        dvalues, dqueries = warpgroup_mma_wait(1, deps=(dvalues, dqueries))
        release(douts, i)
        place = head_place + block
        row = place * (BLOCK_Q * COLUMNS // 256) + CONSUMER * 32
        if ORDERED:
            if i > 0:
                pass_on(turns + (2 * earlier + CONSUMER))
            rank = rank_in(work, block, BLOCK_Q, ROWS, CAUSAL, key_blocks)
            wait_for_rank(turns + (2 * place + CONSUMER), rank)
            earlier = place
        low, high = gl.split(dqueries.reshape([ROWS, 2, 64]).permute((0, 2, 1)))
        add_to(dq, row, own_staging, low)
        dkeys = warpgroup_mma_wait(0, deps=(dkeys,))
        release(queries, i)
        mbarrier.arrive(squares.free.index(stage), count=1)
        add_to(dq, row + 16, own_staging, high)
        block += 1
        if block == work.blocks:
            block = work.start
            head_place += work.blocks
    if ORDERED:
        pass_on(turns + (2 * earlier + CONSUMER))

    if SPLIT:
        pair = work.batch * (heads // group) + work.key_head
        row = (pair * key_blocks + first_key // ROWS) * (ROWS * COLUMNS // 256) + CONSUMER * 32
        add_all(dv, row, own_staging, dvalues)
        add_all(dk, row, own_staging, dkeys)
    else:
        # Out through the tiles of keys and values, once both consumers have read them.
        mbarrier.arrive(squares.done.index(0), count=1)
        mbarrier.wait(squares.done.index(0), 0)
        all_values.slice(CONSUMER * OWN, OWN, dim=1).store(dvalues.to(DTYPE))
        own_keys.store((dkeys * scale).to(DTYPE))
        fence_async_shared()
        mbarrier.arrive(squares.done.index(0), count=1)
        mbarrier.wait(squares.done.index(0), 1)
        if CONSUMER == 0:
            tile, out = values.tiles.index(0), dv
        else:
            tile, out = keys.tiles.index(0), dk
        tma.async_copy_shared_to_global(out, [work.batch, work.key_head, first_key, 0], tile)
    tma.store_wait(0)


@gluon.jit(do_not_specialize=COUNTS)
def hopper_backward_wide_kernel(
    q, k, v, dout, shift, delta, dq, dk, dv, turns,
    scale, heads, group, splits, pairs, interleave, seq_q, seq_k, padded_q,
    Q_STAGES: gl.constexpr, DO_STAGES: gl.constexpr, DS_STAGES: gl.constexpr,
    REGISTERS: gl.constexpr, CAUSAL: gl.constexpr, SPLIT: gl.constexpr,
):  # fmt: skip
    """One block of 64 keys: dk and dv of it, and its part of dq; see the other kernel."""
    BLOCK_Q: gl.constexpr = q.block_type.shape[2]
    ORDERED: gl.constexpr = turns is not None
    queries = ring_of(q, Q_STAGES, 2)
    q_shift = numbers_of(shift, Q_STAGES)
    douts = ring_of(dout, DO_STAGES, 2)
    do_delta = numbers_of(delta, DO_STAGES)
    keys = ring_of(k, 1, 1)
    values = ring_of(v, 1, 1)
    SQUARE: gl.constexpr = gl.NVMMASharedLayout(128, 16, 2)
    squares = Squares(
        gl.allocate_shared_memory(q.dtype, [DS_STAGES, ROWS, BLOCK_Q], SQUARE),
        gl.allocate_shared_memory(q.dtype, [DS_STAGES, ROWS, BLOCK_Q], SQUARE),
        barriers(DS_STAGES, 2),
        barriers(DS_STAGES, 2),
        barriers(DS_STAGES, 2),
        barriers(1, 2),
    )
    staging = gl.allocate_shared_memory(gl.float32, [2, 16, 256], dq.layout)
    fence_async_shared()
    tensors = (
        q, k, v, dout, shift, delta, dq, dk, dv, turns,
        queries, q_shift, douts, do_delta, keys, values, squares, staging,
    )  # fmt: skip
    sizes = (scale, heads, group, splits, pairs, interleave, seq_q, seq_k, padded_q)
    gl.warp_specialize(
        [
            (consume_wide, (tensors, sizes, 0, CAUSAL, ORDERED, SPLIT)),
            (consume_wide, (tensors, sizes, 1, CAUSAL, ORDERED, SPLIT)),
            (produce, (tensors, sizes, 1, CAUSAL, ORDERED)),
        ],
        [4, 1],
        [REGISTERS, PRODUCER_REGISTERS],
    )
