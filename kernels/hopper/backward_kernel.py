"""The backward pass on Hopper: a program owns keys, and queries stream past.

As in ``kernels.hopper.kernel`` one warp, the producer, has TMA fetch tiles, and warpgroups, the
consumers, multiply.  Here each of two consumers owns 64 keys and their values, and sums what
belongs to them, dkeys and dvalues, in its registers.  Of each block of queries it computes

    scores   = keys · queriesᵀ                    [64 keys, queries]: transposed, so that
    weights  = exp2(scores · scale_log2 - shift)    what comes out of one product
    dweights = values · doutᵀ                       is the left operand of the next one
    dscores  = weights ∘ (dweights - delta)         without leaving its registers
    dvalues += weights · dout
    dkeys   += dscores · queries
    dqueries = Σ dscoresᵀ · keys                  over the keys of both consumers

and for the last of these both write dscores into shared memory, and each computes half of it:
64 rows at heads of 64, 64 columns at heads of 128.  It is added to FP32 sums in global memory,
where the programs of all keys meet; a kernel afterwards scales and rounds them.

dqueries of a block are computed one step late, while the next block's softmax is under way, so
that no consumer waits for the other's dscores unless it is a step ahead.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)

from kernels.hopper.ring import ROWS, Ring, barriers, release

PRODUCER_REGISTERS = gl.constexpr(24)
HALF = gl.constexpr(64)  # rows of dqueries a consumer computes at heads of 64, columns at 128


@gluon.jit
def ring_of(tensor, STAGES: gl.constexpr, READERS: gl.constexpr):
    """A ring of tiles of this tensor, [rows, columns] each, and one number a row beside it."""
    LINES: gl.constexpr = tensor.block_type.shape[2]
    COLUMNS: gl.constexpr = tensor.block_type.shape[3]
    tiles = gl.allocate_shared_memory(
        tensor.dtype, [STAGES, 1, 1, LINES, COLUMNS], tensor.layout
    )
    return Ring(tiles, barriers(STAGES, 1), barriers(STAGES, READERS))


@gluon.jit
def numbers_of(tensor, STAGES: gl.constexpr):
    """Room for one number a row of each tile of a ring."""
    return gl.allocate_shared_memory(
        gl.float32, [STAGES, tensor.block_type.shape[0]], tensor.layout
    )


@gluon.jit
def fetch_rows(tensor, ring, numbers, rows, use, batch, head, pair, row, padded_q):
    """Once the place is free, has TMA fill it with a tile and with one number a row."""
    STAGES: gl.constexpr = ring.tiles.shape[0]
    stage = use % STAGES
    mbarrier.wait(ring.free.index(stage), (use // STAGES & 1) ^ 1)
    full = ring.full.index(stage)
    mbarrier.expect(full, tensor.block_type.nbytes + numbers.block_type.nbytes)
    tma.async_copy_global_to_shared(
        tensor, [batch, head, row, 0], full, ring.tiles.index(stage)
    )
    tma.async_copy_global_to_shared(numbers, [pair * padded_q + row], full, rows.index(stage))


@gluon.jit
def full_tile(ring, use):
    """The tile of this use, [rows, columns], once it is full."""
    STAGES: gl.constexpr = ring.tiles.shape[0]
    LINES: gl.constexpr = ring.tiles.shape[3]
    COLUMNS: gl.constexpr = ring.tiles.shape[4]
    stage = use % STAGES
    mbarrier.wait(ring.full.index(stage), use // STAGES & 1)
    return ring.tiles.index(stage).reshape([LINES, COLUMNS])


@gluon.jit
def work_of(seq_q, seq_k, heads, group, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr, CAUSAL: gl.constexpr):
    """This program's batch, key head, first key, first block of queries, and blocks of a head."""
    key_blocks = gl.cdiv(seq_k, BLOCK_K)
    program = gl.program_id(0)
    pair = program // key_blocks
    first_key = (program % key_blocks) * BLOCK_K
    key_heads = heads // group
    batch = pair // key_heads
    key_head = pair % key_heads
    blocks = gl.cdiv(seq_q, BLOCK_Q)
    start = gl.minimum(first_key // BLOCK_Q, blocks - 1) if CAUSAL else gl.to_tensor(0)
    return batch, key_head, first_key, start, blocks


@gluon.jit
def produce(tensors, sizes, KEY_TILES: gl.constexpr, CAUSAL: gl.constexpr):
    """The producer: keys, values, then queries and dout block by block."""
    q, k, v, dout, shift, delta, _, _, _, queries, q_shift, douts, do_delta, keys, values, _ = tensors
    _, heads, group, seq_q, seq_k, padded_q = sizes
    BLOCK_Q: gl.constexpr = q.block_type.shape[2]
    BLOCK_K: gl.constexpr = KEY_TILES * ROWS
    batch, key_head, first_key, start, blocks = work_of(
        seq_q, seq_k, heads, group, BLOCK_Q, BLOCK_K, CAUSAL
    )
    mbarrier.expect(keys.full.index(0), KEY_TILES * k.block_type.nbytes)
    mbarrier.expect(values.full.index(0), KEY_TILES * v.block_type.nbytes)
    for i in gl.static_range(KEY_TILES):
        row = first_key + i * ROWS
        tma.async_copy_global_to_shared(k, [batch, key_head, row, 0], keys.full.index(0), keys.tiles.index(i))
    use = gl.to_tensor(0)
    for head in range(key_head * group, (key_head + 1) * group):
        pair = batch * heads + head
        for block in range(start, blocks):
            row = block * BLOCK_Q
            fetch_rows(q, queries, shift, q_shift, use, batch, head, pair, row, padded_q)
            if use == 0:
                for i in gl.static_range(KEY_TILES):
                    tma.async_copy_global_to_shared(
                        v, [batch, key_head, first_key + i * ROWS, 0], values.full.index(0), values.tiles.index(i)
                    )
            fetch_rows(dout, douts, delta, do_delta, use, batch, head, pair, row, padded_q)
            use += 1


@gluon.jit
def add_to(sums, block, CONSUMER: gl.constexpr):
    """sums += block, in FP32: 4 numbers of a thread at a time, in the order in which it has them.

    block: [64, columns], as wgmma leaves it   sums: pointer to as many numbers
    """
    COLUMNS: gl.constexpr = block.shape[1]
    quads = block.reshape([4, 2, 8, COLUMNS // 8, 4, 2]).permute((0, 2, 3, 4, 1, 5))
    low, high = gl.split(quads)
    a, b = gl.split(low)
    c, d = gl.split(high)
    LAYOUT: gl.constexpr = a.type.layout
    L3: gl.constexpr = gl.SliceLayout(3, LAYOUT)
    L2: gl.constexpr = gl.SliceLayout(2, LAYOUT)
    warp = gl.arange(0, 4, gl.SliceLayout(1, gl.SliceLayout(2, L3)))[:, None, None, None]
    line = gl.arange(0, 8, gl.SliceLayout(0, gl.SliceLayout(2, L3)))[None, :, None, None]
    eight = gl.arange(0, COLUMNS // 8, gl.SliceLayout(0, gl.SliceLayout(1, L3)))[None, None, :, None]
    pair = gl.arange(0, 4, gl.SliceLayout(0, gl.SliceLayout(1, L2)))[None, None, None, :]
    place = (eight * 128 + (warp * 32 + line * 4 + pair)) * 4
    gl.inline_asm_elementwise(
        "red.global.add.v4.f32 [$1], {$2, $3, $4, $5}; mov.b32 $0, 0;",
        "=r,l,f,f,f,f", [(sums + place).to(gl.int64), a, c, b, d], dtype=gl.int32, is_pure=False, pack=1,
    )


@gluon.jit
def masked(weights, first_key, first_query, seq_k, CAUSAL: gl.constexpr):
    """0 where there is no key or, causal, where it comes after the query."""
    LAYOUT: gl.constexpr = weights.type.layout
    key = gl.arange(0, weights.shape[0], gl.SliceLayout(1, LAYOUT)) + first_key
    query = gl.arange(0, weights.shape[1], gl.SliceLayout(0, LAYOUT))
    visible = (key < seq_k)[:, None] & (query >= 0)[None, :]
    if CAUSAL:
        visible = visible & (query[None, :] >= (key - first_query)[:, None])
    return gl.where(visible, weights, 0.0)


@gluon.jit
def pinned(number):
    """The same number, through an instruction that the compiler may not move out of a branch."""
    return gl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [number], dtype=gl.int32, is_pure=False, pack=1
    )


@gluon.jit
def start_dqueries(dscores, use, key_tiles, zeros, CONSUMER: gl.constexpr):
    """This consumer's half of dscoresᵀ · keys, on its way."""
    STAGES: gl.constexpr = dscores.tiles.shape[0] // 2
    HEADS: gl.constexpr = key_tiles.shape[4]
    stage = use % STAGES
    mbarrier.wait(dscores.full.index(stage), use // STAGES & 1)
    total = warpgroup_mma_init(zeros)
    for i in gl.static_range(2):
        left = dscores.tiles.index(2 * stage + i)
        right = key_tiles.index(i).reshape([ROWS, HEADS])
        if HEADS == 64:
            left = left.slice(CONSUMER * HALF, HALF, dim=1)
        else:
            right = right.slice(CONSUMER * HALF, HALF, dim=1)
        total = warpgroup_mma(left.permute((1, 0)), right, total, use_acc=i > 0, is_async=True)
    return total


@gluon.jit
def consume(tensors, sizes, CONSUMER: gl.constexpr, CAUSAL: gl.constexpr):
    """A consumer: its 64 keys, through all blocks of queries that see them."""
    (
        q, k, _, _, _, _, dq, dk, dv, queries, q_shift, douts, do_delta, keys, values, dscores_ring,
    ) = tensors  # fmt: skip
    scale, heads, group, seq_q, seq_k, padded_q = sizes
    DTYPE: gl.constexpr = q.dtype
    BLOCK_Q: gl.constexpr = q.block_type.shape[2]
    COLUMNS: gl.constexpr = q.block_type.shape[3]
    BLOCK_K: gl.constexpr = 2 * ROWS
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_Q, 16])
    SUMS: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    DQ: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, HALF, 16])
    LEFT: gl.constexpr = gl.DotOperandLayout(0, SUMS, 2)
    BY_QUERY: gl.constexpr = gl.SliceLayout(0, SCORES)
    Q_STAGES: gl.constexpr = queries.tiles.shape[0]
    DO_STAGES: gl.constexpr = douts.tiles.shape[0]
    DS_STAGES: gl.constexpr = dscores_ring.tiles.shape[0] // 2
    scale_log2 = scale * 1.4426950408889634
    batch, key_head, first_key, start, blocks = work_of(
        seq_q, seq_k, heads, group, BLOCK_Q, BLOCK_K, CAUSAL
    )
    own_key = first_key + CONSUMER * ROWS
    steps = (blocks - start) * group
    zeros = gl.zeros([ROWS, BLOCK_Q], gl.float32, SCORES)
    dq_zeros = gl.zeros([HALF, HALF], gl.float32, DQ)
    dkeys = gl.zeros([ROWS, COLUMNS], gl.float32, SUMS)
    dvalues = gl.zeros([ROWS, COLUMNS], gl.float32, SUMS)

    own_keys = keys.tiles.index(CONSUMER).reshape([ROWS, COLUMNS])
    own_values = values.tiles.index(CONSUMER).reshape([ROWS, COLUMNS])
    # The dscores of step i are use i + 1 of their ring; use 0 is of none, and whatever lies there.
    mbarrier.arrive(dscores_ring.full.index(0), count=1)
    mbarrier.wait(keys.full.index(0), 0)
    mbarrier.wait(values.full.index(0), 0)
    head_sums = dq + ((batch * heads + key_head * group).to(gl.int64) * padded_q) * COLUMNS
    head_sums += CONSUMER * HALF * HALF
    block = start
    sums = head_sums
    for i in range(steps):
        scores = warpgroup_mma(
            own_keys, full_tile(queries, i).permute((1, 0)), zeros, use_acc=False, is_async=True
        )
        dout = full_tile(douts, i)
        dweights = warpgroup_mma(
            own_values, dout.permute((1, 0)), zeros, use_acc=False, is_async=True
        )
        scores = warpgroup_mma_wait(1, deps=(scores,))
        row_shift = q_shift.index(i % Q_STAGES).load(BY_QUERY)
        weights = gl.exp2(scores * scale_log2 - row_shift[None, :])
        first_query = block * BLOCK_Q
        if (own_key + ROWS > seq_k) | (CAUSAL and own_key + ROWS > first_query + 1):
            weights = masked(weights, own_key, pinned(first_query), seq_k, CAUSAL)
        dvalues = warpgroup_mma(
            gl.convert_layout(weights.to(DTYPE), LEFT), dout, dvalues, is_async=True
        )
        dweights = warpgroup_mma_wait(1, deps=(dweights,))
        row_delta = do_delta.index(i % DO_STAGES).load(BY_QUERY)
        dscores = (weights * (dweights - row_delta[None, :])).to(DTYPE)
        # For both consumers' dqueries.
        use = i + 1
        stage = use % DS_STAGES
        mbarrier.wait(dscores_ring.free.index(stage), (use // DS_STAGES & 1) ^ 1)
        dscores_ring.tiles.index(2 * stage + CONSUMER).store(dscores)
        fence_async_shared()
        mbarrier.arrive(dscores_ring.full.index(stage), count=1)

        dqueries = start_dqueries(dscores_ring, i, keys.tiles, dq_zeros, CONSUMER)
        dkeys = warpgroup_mma(
            gl.convert_layout(dscores, LEFT),
            queries.tiles.index(i % Q_STAGES).reshape([BLOCK_Q, COLUMNS]),
            dkeys, is_async=True,
        )
        dqueries, dvalues, dkeys = warpgroup_mma_wait(0, deps=(dqueries, dvalues, dkeys))
        release(queries, i)
        release(douts, i)
        mbarrier.arrive(dscores_ring.free.index(i % DS_STAGES), count=1)
        if i > 0:
            add_to(sums, dqueries, CONSUMER)
        sums = head_sums + block * (BLOCK_Q * COLUMNS)
        block += 1
        if block == blocks:
            block = start
            head_sums += padded_q * COLUMNS
    dqueries = start_dqueries(dscores_ring, steps, keys.tiles, dq_zeros, CONSUMER)
    dqueries = warpgroup_mma_wait(0, deps=(dqueries,))
    add_to(sums, dqueries, CONSUMER)

    # Out through the tile of values, which nobody else reads.
    tile = values.tiles.index(CONSUMER)
    own_values.store(dvalues.to(DTYPE))
    fence_async_shared()
    tma.async_copy_shared_to_global(dv, [batch, key_head, own_key, 0], tile)
    tma.store_wait(0)
    own_values.store((dkeys * scale).to(DTYPE))
    fence_async_shared()
    tma.async_copy_shared_to_global(dk, [batch, key_head, own_key, 0], tile)
    tma.store_wait(0)


COUNTS = ["heads", "group", "seq_q", "seq_k", "padded_q"]


@gluon.jit(do_not_specialize=COUNTS)
def hopper_backward_kernel(
    q, k, v, dout, shift, delta, dq, dk, dv, scale, heads, group, seq_q, seq_k, padded_q,
    Q_STAGES: gl.constexpr, DO_STAGES: gl.constexpr, DS_STAGES: gl.constexpr,
    REGISTERS: gl.constexpr, CAUSAL: gl.constexpr,
):  # fmt: skip
    """One block of 128 keys: dk and dv of it, and its part of dq.

    q, dout: tensor descriptors of [batch, heads, rows, columns], tiles of a block of queries
    k, v, dk, dv: the same of [batch, key heads, rows, columns], tiles of 64 keys
    shift, delta: one number a row, [batch · heads · padded_q], tiles of a block
    dq: pointer to FP32 sums, [batch · heads, blocks, numbers of a block], see ``add_to``
    """
    BLOCK_Q: gl.constexpr = q.block_type.shape[2]
    queries = ring_of(q, Q_STAGES, 2)
    q_shift = numbers_of(shift, Q_STAGES)
    douts = ring_of(dout, DO_STAGES, 2)
    do_delta = numbers_of(delta, DO_STAGES)
    # Two tiles each, one a consumer, but fetched once: one barrier.
    keys = ring_of(k, 2, 1)
    values = ring_of(v, 2, 1)
    DS_LAYOUT: gl.constexpr = gl.NVMMASharedLayout(128, 16, 2)
    dscores = Ring(
        gl.allocate_shared_memory(q.dtype, [2 * DS_STAGES, ROWS, BLOCK_Q], DS_LAYOUT),
        barriers(DS_STAGES, 2),
        barriers(DS_STAGES, 2),
    )
    fence_async_shared()
    tensors = (
        q, k, v, dout, shift, delta, dq, dk, dv,
        queries, q_shift, douts, do_delta, keys, values, dscores,
    )  # fmt: skip
    sizes = (scale, heads, group, seq_q, seq_k, padded_q)
    gl.warp_specialize(
        [
            (consume, (tensors, sizes, 0, CAUSAL)),
            (consume, (tensors, sizes, 1, CAUSAL)),
            (produce, (tensors, sizes, 2, CAUSAL)),
        ],
        [4, 1],
        [REGISTERS, PRODUCER_REGISTERS],
    )
