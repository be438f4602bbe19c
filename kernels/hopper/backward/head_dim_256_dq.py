"""The backward pass on Hopper for heads of 256: dq, by programs that own queries.

A program owns 128 queries, 64 for each consumer, and keys stream past as in the forward pass.
``head_dim_256`` says why dq has a kernel of its own.
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
from kernels.hopper.backward.arguments import QuerySizes
from kernels.hopper.backward.schedule import (
    Tiles,
    apply_mask,
    fetch_once,
    make_tiles,
    own_tile,
    pin,
    share_of,
)
from kernels.hopper.kernel import PRODUCER_REGISTERS
from kernels.hopper.ring import WGMMA_M, Ring, fetch, make_ring, release, wait_for_tile


class QueryTensors(NamedTuple):
    """Tensors in global memory, and the shared memory that they're fetched into.

    q, k, v, dout, dq: TMA descriptors, tiles of 64 rows   lse_log2, delta: pointers
    q_tiles, do_tiles: filled once, a tile for each consumer   k_ring, v_ring: ring buffers
    """

    q: tma.tensor_descriptor
    k: tma.tensor_descriptor
    v: tma.tensor_descriptor
    dout: tma.tensor_descriptor
    q_tiles: Tiles
    do_tiles: Tiles
    k_ring: Ring
    v_ring: Ring
    lse_log2: gl.tensor
    delta: gl.tensor
    dq: tma.tensor_descriptor


@gluon.jit
def queries_of(sizes, CAUSAL: gl.constexpr):
    """Returns batch, head, first query and blocks of keys of this program."""
    seq_k = sizes.seq_k
    blocks = gl.cdiv(sizes.seq_q, 2 * WGMMA_M)
    batch_head, block_number = share_of(
        blocks, sizes.batch_heads, sizes.interleave, gl.program_id(0)
    )
    first_query = (blocks - 1 - block_number) * 2 * WGMMA_M
    visible_keys = gl.minimum(seq_k, first_query + 2 * WGMMA_M) if CAUSAL else seq_k
    batch, head = batch_head // sizes.heads, batch_head % sizes.heads
    return batch, head, first_query, gl.cdiv(visible_keys, WGMMA_M)


@gluon.jit
def produce_keys(tensors, sizes, CAUSAL: gl.constexpr):
    """The producer warp: queries and dout once, keys and values as soon as a stage is free."""
    batch, head, first_query, blocks = queries_of(sizes, CAUSAL)
    fetch_once(tensors.q, tensors.q_tiles, batch, head, first_query)
    for i in range(blocks):
        key_head, row = head // sizes.group, i * WGMMA_M
        fetch(tensors.k, tensors.k_ring, i, batch, key_head, row)
        if i == 0:
            fetch_once(tensors.dout, tensors.do_tiles, batch, head, first_query)
        fetch(tensors.v, tensors.v_ring, i, batch, key_head, row)


@gluon.jit
def consume_keys(tensors, sizes, CONSUMER: gl.constexpr, CAUSAL: gl.constexpr):
    """A consumer warpgroup: writes dq of its 64 queries, from all keys that they see."""
    queries, douts, keys, values = (
        tensors.q_tiles, tensors.do_tiles, tensors.k_ring, tensors.v_ring
    )  # fmt: skip
    seq_k = sizes.seq_k
    DTYPE: gl.constexpr = tensors.q.dtype
    COLUMNS: gl.constexpr = tensors.q.block_type.shape[3]
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, WGMMA_M, 16])
    SUMS: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    LEFT: gl.constexpr = gl.DotOperandLayout(0, SUMS, 2)
    scale_log2 = sizes.scale * LOG2_E
    batch, head, first_query, blocks = queries_of(sizes, CAUSAL)
    first_query += CONSUMER * WGMMA_M
    row = (batch * sizes.heads + head).to(gl.int64) * sizes.padded_q + first_query
    row += gl.arange(0, WGMMA_M, gl.SliceLayout(1, SCORES))
    row_lse_log2, row_delta = gl.load(tensors.lse_log2 + row), gl.load(tensors.delta + row)
    zeros = gl.zeros([WGMMA_M, WGMMA_M], gl.float32, SCORES)
    dqueries = gl.zeros([WGMMA_M, COLUMNS], gl.float32, SUMS)
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
        weights = gl.exp2(scores * scale_log2 - row_lse_log2[:, None])
        first_key = i * WGMMA_M
        if (first_key + WGMMA_M > seq_k) | (CAUSAL and first_key + WGMMA_M > first_query + 1):
            weights = apply_mask(weights, pin(first_key), first_query, seq_k, 1, CAUSAL)
        dweights = warpgroup_mma_wait(0, deps=(dweights,))
        release(values, i)
        dscores = (weights * (dweights - row_delta[:, None])).to(DTYPE)
        left = gl.convert_layout(dscores, LEFT)
        dqueries = warpgroup_mma(left, key, dqueries, is_async=True)
        dqueries = warpgroup_mma_wait(0, deps=(dqueries,))
        release(keys, i)

    # Out through the tile of its queries.
    own_tile(queries, CONSUMER).store((dqueries * sizes.scale).to(DTYPE))
    fence_async_shared()
    coordinates = [batch, head, first_query, 0]
    tma.async_copy_shared_to_global(tensors.dq, coordinates, queries.tiles.index(CONSUMER))
    tma.store_wait(0)


QUERY_COUNTS = ["heads", "group", "batch_heads", "interleave", "seq_q", "seq_k", "padded_q"]


@gluon.jit(do_not_specialize=QUERY_COUNTS)
def hopper_dq_kernel(
    q, k, v, dout, lse_log2, delta, dq,
    scale, heads, group, batch_heads, interleave, seq_q, seq_k, padded_q,
    REGISTERS: gl.constexpr, CAUSAL: gl.constexpr,
):  # fmt: skip
    """Writes dq of 128 queries.

    q, k, v, dout, dq: tensor descriptors, tiles of 64 rows   lse_log2, delta: pointers
    batch_heads: pairs of batch and head   interleave: see ``share_of``
    """
    queries, douts = make_tiles(q, 2), make_tiles(dout, 2)  # a tile for each consumer
    keys, values = make_ring(k, 2, 2), make_ring(v, 1, 2)
    fence_async_shared()
    tensors = QueryTensors(q, k, v, dout, queries, douts, keys, values, lse_log2, delta, dq)
    sizes = QuerySizes(scale, heads, group, batch_heads, interleave, seq_q, seq_k, padded_q)
    gl.warp_specialize(
        [
            (consume_keys, (tensors, sizes, 0, CAUSAL)),
            (consume_keys, (tensors, sizes, 1, CAUSAL)),
            (produce_keys, (tensors, sizes, CAUSAL)),
        ],
        [4, 1],
        [REGISTERS, PRODUCER_REGISTERS],
    )
