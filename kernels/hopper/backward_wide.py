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

from kernels.hopper.backward_kernel import (
    COUNTS,
    PRODUCER_REGISTERS,
    add_to,
    full_tile,
    masked,
    numbers_of,
    pinned,
    produce,
    ring_of,
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
def consume_wide(tensors, sizes, CONSUMER: gl.constexpr, CAUSAL: gl.constexpr):
    """A consumer: half of the queries of each block, then half of the columns of all sums."""
    (
        q, _, _, _, _, _, dq, dk, dv,
        queries, q_shift, douts, do_delta, keys, values, squares,
    ) = tensors  # fmt: skip
    scale, heads, group, seq_q, seq_k, padded_q = sizes
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
    scale_log2 = scale * 1.4426950408889634
    batch, key_head, first_key, start, blocks = work_of(
        seq_q, seq_k, heads, group, BLOCK_Q, ROWS, CAUSAL
    )
    steps = (blocks - start) * group
    zeros = gl.zeros([ROWS, OWN_Q], gl.float32, SCORES)
    sum_zeros = gl.zeros([ROWS, OWN], gl.float32, SUMS)
    dkeys = gl.zeros([ROWS, OWN], gl.float32, SUMS)
    dvalues = gl.zeros([ROWS, OWN], gl.float32, SUMS)
    all_keys = keys.tiles.index(0).reshape([ROWS, COLUMNS])
    all_values = values.tiles.index(0).reshape([ROWS, COLUMNS])
    own_keys = all_keys.slice(CONSUMER * OWN, OWN, dim=1)
    mbarrier.wait(keys.full.index(0), 0)
    mbarrier.wait(values.full.index(0), 0)
    head_sums = dq + ((batch * heads + key_head * group).to(gl.int64) * padded_q) * COLUMNS
    head_sums += CONSUMER * ROWS * OWN
    block = start
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
        add_to(head_sums + block * (BLOCK_Q * COLUMNS), dqueries, CONSUMER)
        dkeys = warpgroup_mma_wait(0, deps=(dkeys,))
        release(queries, i)
        mbarrier.arrive(squares.free.index(stage), count=1)
        block += 1
        if block == blocks:
            block = start
            head_sums += padded_q * COLUMNS

    # Out through the tiles of keys and values, once both consumers have read them.
    mbarrier.arrive(squares.done.index(0), count=1)
    mbarrier.wait(squares.done.index(0), 0)
    all_values.slice(CONSUMER * OWN, OWN, dim=1).store(dvalues.to(DTYPE))
    own_keys.store((dkeys * scale).to(DTYPE))
    fence_async_shared()
    mbarrier.arrive(squares.done.index(0), count=1)
    mbarrier.wait(squares.done.index(0), 1)
    if CONSUMER == 0:
        tma.async_copy_shared_to_global(dv, [batch, key_head, first_key, 0], values.tiles.index(0))
    else:
        tma.async_copy_shared_to_global(dk, [batch, key_head, first_key, 0], keys.tiles.index(0))
    tma.store_wait(0)


@gluon.jit(do_not_specialize=COUNTS)
def hopper_backward_wide_kernel(
    q, k, v, dout, shift, delta, dq, dk, dv, scale, heads, group, seq_q, seq_k, padded_q,
    Q_STAGES: gl.constexpr, DO_STAGES: gl.constexpr, DS_STAGES: gl.constexpr,
    REGISTERS: gl.constexpr, CAUSAL: gl.constexpr,
):  # fmt: skip
    """One block of 64 keys: dk and dv of it, and its part of dq; see the other kernel."""
    BLOCK_Q: gl.constexpr = q.block_type.shape[2]
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
    fence_async_shared()
    tensors = (
        q, k, v, dout, shift, delta, dq, dk, dv,
        queries, q_shift, douts, do_delta, keys, values, squares,
    )  # fmt: skip
    sizes = (scale, heads, group, seq_q, seq_k, padded_q)
    gl.warp_specialize(
        [
            (consume_wide, (tensors, sizes, 0, CAUSAL)),
            (consume_wide, (tensors, sizes, 1, CAUSAL)),
            (produce, (tensors, sizes, 1, CAUSAL)),
        ],
        [4, 1],
        [REGISTERS, PRODUCER_REGISTERS],
    )
