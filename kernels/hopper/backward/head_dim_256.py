"""The backward pass on Hopper for heads of 256, in two kernels.

The sums of 64 keys alone, dkeys and dvalues, fill the registers of both consumers.  With so few
keys a program, dqueries would be added to global memory twice as often as at heads of 128, and
when they were, that took more than a quarter of the time.  So dqueries have a kernel of their
own, in which a program owns queries and keys stream past.  It computes scores and dweights once
more: seven products instead of five, and every sum has one order.

    hopper_dkdv_kernel   64 keys a program.  A consumer computes scores and dweights of half of
                         the queries of a block; weights and dscores of both meet in shared
                         memory; then each has half of the columns of dkeys and dvalues.
    hopper_dq_kernel     128 queries a program, 64 a consumer: as in the forward pass.
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
from kernels.hopper.backward.kernel import COUNTS
from kernels.hopper.backward.work import (
    fetch_once,
    make_tiles,
    masked,
    numbers_of,
    own_tile,
    pinned,
    produce,
    share_of,
    work_of,
)
from kernels.hopper.kernel import PRODUCER_REGISTERS
from kernels.hopper.ring import ROWS, barriers, fetch, make_ring, release, wait_for_tile

STAGES = gl.constexpr(2)


class Squares(NamedTuple):
    """Tiles of [keys, queries], and barriers: both halves are there; both have read them."""

    weights: gl.shared_memory_descriptor
    dscores: gl.shared_memory_descriptor
    weights_full: gl.shared_memory_descriptor
    dscores_full: gl.shared_memory_descriptor
    free: gl.shared_memory_descriptor
    done: gl.shared_memory_descriptor


@gluon.jit
def consume_queries(
    tensors, sizes, CONSUMER: gl.constexpr, CAUSAL: gl.constexpr, SPLIT: gl.constexpr
):
    """A consumer of ``hopper_dkdv_kernel``: half of the queries, then half of the columns."""
    q = tensors[0]
    keys, values, queries, q_shift, douts, do_delta, dk, dv, squares, staging = tensors[6:]
    scale, heads, group, seq_k = sizes[0], sizes[1], sizes[2], sizes[7]
    DTYPE: gl.constexpr = q.dtype
    BLOCK_Q: gl.constexpr = q.block_type.shape[2]
    COLUMNS: gl.constexpr = q.block_type.shape[3]
    OWN_Q: gl.constexpr = BLOCK_Q // 2
    OWN: gl.constexpr = COLUMNS // 2
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, OWN_Q, 16])
    SUMS: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, OWN, 16])
    BY_QUERY: gl.constexpr = gl.SliceLayout(0, SCORES)
    scale_log2 = scale * LOG2_E
    work = work_of(sizes, BLOCK_Q, ROWS, CAUSAL, False)
    first_key = work.first_key
    zeros = gl.zeros([ROWS, OWN_Q], gl.float32, SCORES)
    dkeys = gl.zeros([ROWS, OWN], gl.float32, SUMS)
    dvalues = gl.zeros([ROWS, OWN], gl.float32, SUMS)
    mbarrier.wait(keys.full.index(0), 0)
    mbarrier.wait(values.full.index(0), 0)
    block = work.start
    for i in range((work.blocks - work.start) * (work.end_head - work.first_head)):
        stage, bit = i % STAGES, i // STAGES & 1
        all_keys, all_values = own_tile(keys, 0), own_tile(values, 0)
        query = wait_for_tile(queries, i)
        own = query.slice(CONSUMER * OWN_Q, OWN_Q, dim=0).permute((1, 0))
        scores = warpgroup_mma(all_keys, own, zeros, use_acc=False, is_async=True)
        dout = wait_for_tile(douts, i)
        own = dout.slice(CONSUMER * OWN_Q, OWN_Q, dim=0).permute((1, 0))
        dweights = warpgroup_mma(all_values, own, zeros, use_acc=False, is_async=True)
        row_shift = q_shift.index(stage).slice(CONSUMER * OWN_Q, OWN_Q).load(BY_QUERY)
        row_delta = do_delta.index(stage).slice(CONSUMER * OWN_Q, OWN_Q).load(BY_QUERY)
        mbarrier.wait(squares.free.index(stage), bit ^ 1)

        scores = warpgroup_mma_wait(1, deps=(scores,))
        weights = gl.exp2(scores * scale_log2 - row_shift[None, :])
        first_query = block * BLOCK_Q + CONSUMER * OWN_Q
        if (first_key + ROWS > seq_k) | (CAUSAL and first_key + ROWS > first_query + 1):
            weights = masked(weights, first_key, pinned(first_query), seq_k, 0, CAUSAL)
        weights_tile = squares.weights.index(stage)
        weights_tile.slice(CONSUMER * OWN_Q, OWN_Q, dim=1).store(weights.to(DTYPE))
        fence_async_shared()
        mbarrier.arrive(squares.weights_full.index(stage), count=1)

        dweights = warpgroup_mma_wait(0, deps=(dweights,))
        dscores = (weights * (dweights - row_delta[None, :])).to(DTYPE)
        dscores_tile = squares.dscores.index(stage)
        dscores_tile.slice(CONSUMER * OWN_Q, OWN_Q, dim=1).store(dscores)
        fence_async_shared()
        mbarrier.arrive(squares.dscores_full.index(stage), count=1)

        mbarrier.wait(squares.weights_full.index(stage), bit)
        own = dout.slice(CONSUMER * OWN, OWN, dim=1)
        dvalues = warpgroup_mma(weights_tile, own, dvalues, is_async=True)
        mbarrier.wait(squares.dscores_full.index(stage), bit)
        own = query.slice(CONSUMER * OWN, OWN, dim=1)
        dkeys = warpgroup_mma(dscores_tile, own, dkeys, is_async=True)
        dvalues = warpgroup_mma_wait(1, deps=(dvalues,))
        release(douts, i)
        dkeys = warpgroup_mma_wait(0, deps=(dkeys,))
        release(queries, i)
        mbarrier.arrive(squares.free.index(stage), count=1)
        block += 1
        if block == work.blocks:
            block = work.start

    # Out through the tiles of keys and values, once both consumers have read them.
    mbarrier.arrive(squares.done.index(0), count=1)
    mbarrier.wait(squares.done.index(0), 0)
    all_keys, all_values = own_tile(keys, 0), own_tile(values, 0)
    if SPLIT:
        tile = work.batch * (heads // group) + work.key_head
        tile = tile * gl.cdiv(seq_k, ROWS) + first_key // ROWS
        row = tile * (ROWS * COLUMNS // 256) + CONSUMER * (ROWS * OWN // 256)
        add_all(dv, row, staging.index(CONSUMER), dvalues)
        add_all(dk, row, staging.index(CONSUMER), dkeys)
    else:
        all_values.slice(CONSUMER * OWN, OWN, dim=1).store(dvalues.to(DTYPE))
        all_keys.slice(CONSUMER * OWN, OWN, dim=1).store((dkeys * scale).to(DTYPE))
        fence_async_shared()
        mbarrier.arrive(squares.done.index(0), count=1)
        mbarrier.wait(squares.done.index(0), 1)
        place = [work.batch, work.key_head, first_key, 0]
        if CONSUMER == 0:
            tma.async_copy_shared_to_global(dv, place, values.tiles.index(0))
        else:
            tma.async_copy_shared_to_global(dk, place, keys.tiles.index(0))
        tma.store_wait(0)


@gluon.jit(do_not_specialize=COUNTS)
def hopper_dkdv_kernel(
    q, k, v, dout, shift, delta, dk, dv,
    scale, heads, group, splits, pairs, interleave, seq_q, seq_k, padded_q,
    REGISTERS: gl.constexpr, CAUSAL: gl.constexpr, SPLIT: gl.constexpr,
):  # fmt: skip
    """One block of 64 keys: dk and dv of it.  The arguments of ``hopper_backward_kernel``."""
    BLOCK_Q: gl.constexpr = q.block_type.shape[2]
    queries, douts = make_ring(q, STAGES, 2), make_ring(dout, STAGES, 2)
    q_shift, do_delta = numbers_of(shift, STAGES), numbers_of(delta, STAGES)
    keys, values = make_tiles(k, 1), make_tiles(v, 1)
    SQUARE: gl.constexpr = gl.NVMMASharedLayout(128, 16, 2)
    squares = Squares(
        gl.allocate_shared_memory(q.dtype, [STAGES, ROWS, BLOCK_Q], SQUARE),
        gl.allocate_shared_memory(q.dtype, [STAGES, ROWS, BLOCK_Q], SQUARE),
        barriers(STAGES, 2),
        barriers(STAGES, 2),
        barriers(STAGES, 2),
        barriers(1, 2),
    )
    staging = keys.tiles
    if SPLIT:  # sums go out through the tile of keys, a half for each consumer
        staging = keys.tiles._reinterpret(gl.float32, [2, 16, 256], dk.layout)
    fence_async_shared()
    tensors = (
        q, k, v, dout, shift, delta, keys, values, queries, q_shift, douts, do_delta,
        dk, dv, squares, staging,
    )  # fmt: skip
    number = gl.program_id(0)
    sizes = (scale, heads, group, splits, pairs, interleave, seq_q, seq_k, padded_q, number)
    gl.warp_specialize(
        [
            (consume_queries, (tensors, sizes, 0, CAUSAL, SPLIT)),
            (consume_queries, (tensors, sizes, 1, CAUSAL, SPLIT)),
            (produce, (tensors, sizes, CAUSAL, False)),
        ],
        [4, 1],
        [REGISTERS, PRODUCER_REGISTERS],
    )


@gluon.jit
def queries_of(sizes, CAUSAL: gl.constexpr):
    """This program's batch, head, first of 128 queries, and how many blocks of keys it sees."""
    _, heads, pairs, interleave, seq_q, seq_k = sizes[:6]
    blocks = gl.cdiv(seq_q, 2 * ROWS)
    pair, rank = share_of(blocks, pairs, interleave, gl.program_id(0))
    first_query = (blocks - 1 - rank) * 2 * ROWS
    seen = gl.minimum(seq_k, first_query + 2 * ROWS) if CAUSAL else seq_k
    return pair // heads, pair % heads, first_query, gl.cdiv(seen, ROWS)


@gluon.jit
def produce_keys(tensors, sizes, CAUSAL: gl.constexpr):
    """The producer of ``hopper_dq_kernel``."""
    q, k, v, dout, queries, douts, keys, values = tensors[:8]
    group = sizes[6]
    batch, head, first_query, blocks = queries_of(sizes, CAUSAL)
    fetch_once(q, queries, batch, head, first_query)
    for i in range(blocks):
        fetch(k, keys, i, batch, head // group, i * ROWS)
        if i == 0:
            fetch_once(dout, douts, batch, head, first_query)
        fetch(v, values, i, batch, head // group, i * ROWS)


@gluon.jit
def consume_keys(tensors, sizes, CONSUMER: gl.constexpr, CAUSAL: gl.constexpr):
    """A consumer of ``hopper_dq_kernel``: 64 queries, through all keys that they see."""
    q = tensors[0]
    queries, douts, keys, values, shift, delta, dq = tensors[4:]
    scale, heads, seq_k, padded_q = sizes[0], sizes[1], sizes[5], sizes[7]
    DTYPE: gl.constexpr = q.dtype
    COLUMNS: gl.constexpr = q.block_type.shape[3]
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, ROWS, 16])
    SUMS: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    LEFT: gl.constexpr = gl.DotOperandLayout(0, SUMS, 2)
    scale_log2 = scale * LOG2_E
    batch, head, first_query, blocks = queries_of(sizes, CAUSAL)
    first_query += CONSUMER * ROWS
    row = (batch * heads + head).to(gl.int64) * padded_q + first_query
    row += gl.arange(0, ROWS, gl.SliceLayout(1, SCORES))
    row_shift, row_delta = gl.load(shift + row), gl.load(delta + row)
    zeros = gl.zeros([ROWS, ROWS], gl.float32, SCORES)
    dqueries = gl.zeros([ROWS, COLUMNS], gl.float32, SUMS)
    mbarrier.wait(queries.full.index(0), 0)
    mbarrier.wait(douts.full.index(0), 0)
    for i in range(blocks):
        own_queries, own_dout = own_tile(queries, CONSUMER), own_tile(douts, CONSUMER)
        key = wait_for_tile(keys, i)
        scores = warpgroup_mma(
            own_queries, key.permute((1, 0)), zeros, use_acc=False, is_async=True
        )
        value = wait_for_tile(values, i).permute((1, 0))
        dweights = warpgroup_mma(own_dout, value, zeros, use_acc=False, is_async=True)
        scores = warpgroup_mma_wait(1, deps=(scores,))
        weights = gl.exp2(scores * scale_log2 - row_shift[:, None])
        first_key = i * ROWS
        if (first_key + ROWS > seq_k) | (CAUSAL and first_key + ROWS > first_query + 1):
            weights = masked(weights, pinned(first_key), first_query, seq_k, 1, CAUSAL)
        dweights = warpgroup_mma_wait(0, deps=(dweights,))
        release(values, i)
        dscores = (weights * (dweights - row_delta[:, None])).to(DTYPE)
        left = gl.convert_layout(dscores, LEFT)
        dqueries = warpgroup_mma(left, key, dqueries, is_async=True)
        dqueries = warpgroup_mma_wait(0, deps=(dqueries,))
        release(keys, i)

    # Out through the tile of its queries.
    own_tile(queries, CONSUMER).store((dqueries * scale).to(DTYPE))
    fence_async_shared()
    place = [batch, head, first_query, 0]
    tma.async_copy_shared_to_global(dq, place, queries.tiles.index(CONSUMER))
    tma.store_wait(0)


QUERY_COUNTS = ["heads", "group", "pairs", "interleave", "seq_q", "seq_k", "padded_q"]


@gluon.jit(do_not_specialize=QUERY_COUNTS)
def hopper_dq_kernel(
    q, k, v, dout, shift, delta, dq,
    scale, heads, pairs, interleave, seq_q, seq_k, group, padded_q,
    REGISTERS: gl.constexpr, CAUSAL: gl.constexpr,
):  # fmt: skip
    """128 queries: dq of them.

    q, k, v, dout, dq: tensor descriptors, tiles of 64 rows   shift, delta: pointers
    pairs: of batch and head   interleave: see ``share_of``
    """
    queries, douts = make_tiles(q, 2), make_tiles(dout, 2)  # a tile for each consumer
    keys, values = make_ring(k, 2, 2), make_ring(v, 1, 2)
    fence_async_shared()
    tensors = (q, k, v, dout, queries, douts, keys, values, shift, delta, dq)
    sizes = (scale, heads, pairs, interleave, seq_q, seq_k, group, padded_q)
    gl.warp_specialize(
        [
            (consume_keys, (tensors, sizes, 0, CAUSAL)),
            (consume_keys, (tensors, sizes, 1, CAUSAL)),
            (produce_keys, (tensors, sizes, CAUSAL)),
        ],
        [4, 1],
        [REGISTERS, PRODUCER_REGISTERS],
    )
