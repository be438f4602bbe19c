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

from typing import NamedTuple

from triton._C.libtriton import ir
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

from kernels.flash.work import LOG2_E
from kernels.hopper.ring import ROWS, Ring, barriers, release

from triton.experimental.gluon.language._core import builtin


@builtin
def async_add(tensor, coordinates, tile, _semantic=None):
    """tensor += tile, by TMA: Gluon 3.6 has the instruction, and no function for it."""
    coordinates = _semantic._convert_to_ir_values(coordinates, require_i64=False)
    _semantic.builder.create_async_tma_reduce(
        ir.DESCRIPTOR_REDUCE_KIND.ADD, tensor.handle, coordinates, tile.handle
    )


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
def fetch_once(tensor, ring, work, TILES: gl.constexpr):
    """Has TMA fill all tiles of a ring, which stay; they have one barrier."""
    full = ring.full.index(0)
    mbarrier.expect(full, TILES * tensor.block_type.nbytes)
    for i in gl.static_range(TILES):
        row = work.first_key + i * ROWS
        tma.async_copy_global_to_shared(
            tensor, [work.batch, work.key_head, row, 0], full, ring.tiles.index(i)
        )


@gluon.jit
def full_tile(ring, use):
    """The tile of this use, [rows, columns], once it is full."""
    STAGES: gl.constexpr = ring.tiles.shape[0]
    LINES: gl.constexpr = ring.tiles.shape[3]
    COLUMNS: gl.constexpr = ring.tiles.shape[4]
    stage = use % STAGES
    mbarrier.wait(ring.full.index(stage), use // STAGES & 1)
    return ring.tiles.index(stage).reshape([LINES, COLUMNS])


class Work(NamedTuple):
    """What a program does: which keys, the heads of queries that read them, and from which block.

    rank: how many blocks of keys add to dqueries before this one, if they keep an order; causal,
    those at the end of the text come first, because they begin with their diagonal
    """

    batch: gl.tensor
    key_head: gl.tensor
    first_key: gl.tensor
    rank: gl.tensor
    first_head: gl.tensor
    end_head: gl.tensor
    start: gl.tensor
    blocks: gl.tensor


@gluon.jit
def work_of(
    sizes, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr,
    CAUSAL: gl.constexpr, ORDERED: gl.constexpr,
):  # fmt: skip
    """This program's part; causal, blocks of keys that many queries see come first.

    Of the last ``interleave`` pairs first the longest block of each, then the next, so that at
    the end only short work is left.  Programs that keep an order wait for those started before.
    """
    _, heads, group, splits, pairs, interleave, seq_q, seq_k, _ = sizes
    key_blocks = gl.cdiv(seq_k, BLOCK_K)
    program = gl.program_id(0)
    in_order = (pairs - interleave) * key_blocks
    late = program - in_order
    pair = gl.where(late < 0, program // key_blocks, pairs - interleave + late % interleave)
    rank = gl.where(late < 0, program % key_blocks, late // interleave)
    key_block = key_blocks - 1 - rank if CAUSAL and ORDERED else rank
    first_key = key_block * BLOCK_K
    key_heads = heads // group
    batch = pair // (key_heads * splits)
    key_head = pair // splits % key_heads
    first_head = key_head * group + pair % splits * (group // splits)
    blocks = gl.cdiv(seq_q, BLOCK_Q)
    start = gl.minimum(first_key // BLOCK_Q, blocks - 1) if CAUSAL else gl.to_tensor(0)
    end_head = first_head + group // splits
    return Work(batch, key_head, first_key, rank, first_head, end_head, start, blocks)


@gluon.jit
def produce(
    tensors, sizes, KEY_TILES: gl.constexpr, CAUSAL: gl.constexpr, ORDERED: gl.constexpr
):
    """The producer: keys, values, then queries and dout block by block."""
    q, k, v, dout, shift, delta, _, _, _, _, queries, q_shift, douts, do_delta, keys, values, _, _ = tensors
    _, heads, _, _, _, _, _, _, padded_q = sizes
    BLOCK_Q: gl.constexpr = q.block_type.shape[2]
    BLOCK_K: gl.constexpr = KEY_TILES * ROWS
    work = work_of(sizes, BLOCK_Q, BLOCK_K, CAUSAL, ORDERED)
    fetch_once(k, keys, work, KEY_TILES)
    use = gl.to_tensor(0)
    for head in range(work.first_head, work.end_head):
        pair = work.batch * heads + head
        for block in range(work.start, work.blocks):
            row = block * BLOCK_Q
            fetch_rows(q, queries, shift, q_shift, use, work.batch, head, pair, row, padded_q)
            if use == 0:
                fetch_once(v, values, work, KEY_TILES)
            fetch_rows(dout, douts, delta, do_delta, use, work.batch, head, pair, row, padded_q)
            use += 1


@gluon.jit
def add_to(sums, row, staging, block):
    """sums += block, [64, 64] in FP32, by TMA: four numbers of a thread side by side.

    The order is that of the registers, so that nothing moves between threads.
    row: of sums   staging: the tile in shared memory that the block goes through
    """
    # [16 rows a warp, 8 of them twice, columns by eights, pairs]: see the layout of wgmma.
    quads = block.reshape([4, 2, 8, 8, 4, 2]).permute((3, 0, 2, 4, 1, 5))
    tma.store_wait(0)  # what was there has been read
    staging.store(quads.reshape([16, 256]))
    fence_async_shared()
    async_add(sums, [row, 0], staging)


@gluon.jit
def wait_for_rank(turn, rank):
    """Waits until as many programs have added to a block as are to do so before this one."""
    seen = load_acquired(turn)
    while seen != rank:
        seen = load_acquired(turn)


@gluon.jit
def load_acquired(pointer):
    return gl.inline_asm_elementwise(
        "ld.acquire.gpu.global.b32 $0, [$1];", "=r,l", [pointer.to(gl.int64)],
        dtype=gl.int32, is_pure=False, pack=1,
    )  # fmt: skip


@gluon.jit
def pass_on(turn):
    """What this consumer has added is in global memory; says so."""
    gl.inline_asm_elementwise(
        "cp.async.bulk.wait_group 0; mov.b32 $0, $1;", "=r,r", [0],
        dtype=gl.int32, is_pure=False, pack=1,
    )  # fmt: skip
    gl.thread_barrier()
    gl.atomic_add(turn, 1, sem="release", scope="gpu")


@gluon.jit
def rank_in(work, block, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr, CAUSAL: gl.constexpr, key_blocks):
    """How many programs add to this block of queries before this one."""
    rank = work.rank
    if CAUSAL:
        # Blocks of keys after the last query begin with the last block of queries.
        seen_by = gl.minimum(key_blocks, (block * BLOCK_Q + BLOCK_Q - 1) // BLOCK_K + 1)
        seen_by = gl.where(block == work.blocks - 1, key_blocks, seen_by)
        rank -= key_blocks - seen_by
    return rank


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
def add_all(sums, row, staging, block):
    """sums += block of 64 or 128 columns, 64 at a time."""
    COLUMNS: gl.constexpr = block.shape[1]
    if COLUMNS == 64:
        add_to(sums, row, staging, block)
    else:
        low, high = gl.split(block.reshape([ROWS, 2, 64]).permute((0, 2, 1)))
        add_to(sums, row, staging, low)
        add_to(sums, row + 16, staging, high)


@gluon.jit
def consume(
    tensors, sizes, CONSUMER: gl.constexpr,
    CAUSAL: gl.constexpr, ORDERED: gl.constexpr, SPLIT: gl.constexpr,
):  # fmt: skip
    """A consumer: its 64 keys, through all blocks of queries that see them."""
    (
        q, _, _, _, _, _, dq, dk, dv, turns,
        queries, q_shift, douts, do_delta, keys, values, dscores_ring, staging,
    ) = tensors  # fmt: skip
    scale, heads, group, _, _, _, _, seq_k, _ = sizes
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
    scale_log2 = scale * LOG2_E
    work = work_of(sizes, BLOCK_Q, BLOCK_K, CAUSAL, ORDERED)
    key_blocks = gl.cdiv(seq_k, BLOCK_K)
    own_key = work.first_key + CONSUMER * ROWS
    steps = (work.blocks - work.start) * (work.end_head - work.first_head)
    zeros = gl.zeros([ROWS, BLOCK_Q], gl.float32, SCORES)
    dq_zeros = gl.zeros([HALF, HALF], gl.float32, DQ)
    dkeys = gl.zeros([ROWS, COLUMNS], gl.float32, SUMS)
    dvalues = gl.zeros([ROWS, COLUMNS], gl.float32, SUMS)
    own_staging = staging.index(CONSUMER)

    own_keys = keys.tiles.index(CONSUMER).reshape([ROWS, COLUMNS])
    own_values = values.tiles.index(CONSUMER).reshape([ROWS, COLUMNS])
    mbarrier.wait(keys.full.index(0), 0)
    mbarrier.wait(values.full.index(0), 0)
    # The dscores of step i are use i + 1 of their ring; use 0 is of none, and whatever lies there.
    mbarrier.arrive(dscores_ring.full.index(0), count=1)
    # Blocks of queries are counted through all heads: this one, the one before, the one before that.
    head_place = (work.batch * heads + work.first_head) * work.blocks
    block = work.start
    place = gl.to_tensor(0)
    earlier = gl.to_tensor(0)
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
        )  # fmt: skip
        dqueries, dvalues = warpgroup_mma_wait(1, deps=(dqueries, dvalues))
        release(douts, i)
        mbarrier.arrive(dscores_ring.free.index(i % DS_STAGES), count=1)
        if i > 0:
            if ORDERED:
                if i > 1:
                    pass_on(turns + (2 * earlier + CONSUMER))
                rank = rank_in(work, place % work.blocks, BLOCK_Q, BLOCK_K, CAUSAL, key_blocks)
                wait_for_rank(turns + (2 * place + CONSUMER), rank)
                earlier = place
            add_to(dq, place * (BLOCK_Q * COLUMNS // 256) + CONSUMER * 16, own_staging, dqueries)
        # Nothing may be under way when the loop begins again, or the compiler would have every
        # product wait for the one before.
        dkeys = warpgroup_mma_wait(0, deps=(dkeys,))
        release(queries, i)
        place = head_place + block
        block += 1
        if block == work.blocks:
            block = work.start
            head_place += work.blocks
    dqueries = start_dqueries(dscores_ring, steps, keys.tiles, dq_zeros, CONSUMER)
    dqueries = warpgroup_mma_wait(0, deps=(dqueries,))
    if ORDERED:
        if steps > 1:
            pass_on(turns + (2 * earlier + CONSUMER))
        rank = rank_in(work, place % work.blocks, BLOCK_Q, BLOCK_K, CAUSAL, key_blocks)
        wait_for_rank(turns + (2 * place + CONSUMER), rank)
    add_to(dq, place * (BLOCK_Q * COLUMNS // 256) + CONSUMER * 16, own_staging, dqueries)
    if ORDERED:
        pass_on(turns + (2 * place + CONSUMER))

    if SPLIT:
        pair = work.batch * (heads // group) + work.key_head
        row = (pair * key_blocks * 2 + own_key // ROWS) * (ROWS * COLUMNS // 256)
        add_all(dv, row, own_staging, dvalues)
        add_all(dk, row, own_staging, dkeys)
    else:
        # Out through the tile of values, which nobody else reads.
        tile = values.tiles.index(CONSUMER)
        own_values.store(dvalues.to(DTYPE))
        fence_async_shared()
        tma.async_copy_shared_to_global(dv, [work.batch, work.key_head, own_key, 0], tile)
        tma.store_wait(0)
        own_values.store((dkeys * scale).to(DTYPE))
        fence_async_shared()
        tma.async_copy_shared_to_global(dk, [work.batch, work.key_head, own_key, 0], tile)
    tma.store_wait(0)


COUNTS = ["heads", "group", "splits", "pairs", "interleave", "seq_q", "seq_k", "padded_q"]


@gluon.jit(do_not_specialize=COUNTS)
def hopper_backward_kernel(
    q, k, v, dout, shift, delta, dq, dk, dv, turns,
    scale, heads, group, splits, pairs, interleave, seq_q, seq_k, padded_q,
    Q_STAGES: gl.constexpr, DO_STAGES: gl.constexpr, DS_STAGES: gl.constexpr,
    REGISTERS: gl.constexpr, CAUSAL: gl.constexpr, SPLIT: gl.constexpr,
):  # fmt: skip
    """One block of 128 keys: dk and dv of it, and its part of dq.

    q, dout: tensor descriptors of [batch, heads, rows, columns], tiles of a block of queries
    k, v, dk, dv: the same of [batch, key heads, rows, columns], tiles of 64 keys
    shift, delta: one number a row, [batch · heads · padded_q], tiles of a block
    dq: FP32 sums, 256 a row, tiles of 16 rows: see ``add_to``
    turns: None, or how many have added to each block of queries, twice: each consumer its part;
    then they add in one order
    splits: into how many programs the heads are divided that share keys; SPLIT: more than one,
    and dk and dv are FP32 sums like dq
    pairs: of batch and key head, times splits   interleave: see ``work_of``
    """
    BLOCK_Q: gl.constexpr = q.block_type.shape[2]
    ORDERED: gl.constexpr = turns is not None
    queries = ring_of(q, Q_STAGES, 2)
    q_shift = numbers_of(shift, Q_STAGES)
    douts = ring_of(dout, DO_STAGES, 2)
    do_delta = numbers_of(delta, DO_STAGES)
    keys = ring_of(k, 2, 1)  # one tile for each consumer
    values = ring_of(v, 2, 1)
    SQUARE: gl.constexpr = gl.NVMMASharedLayout(128, 16, 2)
    dscores = Ring(
        gl.allocate_shared_memory(q.dtype, [2 * DS_STAGES, ROWS, BLOCK_Q], SQUARE),
        barriers(DS_STAGES, 2),
        barriers(DS_STAGES, 2),
    )
    staging = gl.allocate_shared_memory(gl.float32, [2, 16, 256], dq.layout)
    fence_async_shared()
    tensors = (
        q, k, v, dout, shift, delta, dq, dk, dv, turns,
        queries, q_shift, douts, do_delta, keys, values, dscores, staging,
    )  # fmt: skip
    sizes = (scale, heads, group, splits, pairs, interleave, seq_q, seq_k, padded_q)
    gl.warp_specialize(
        [
            (consume, (tensors, sizes, 0, CAUSAL, ORDERED, SPLIT)),
            (consume, (tensors, sizes, 1, CAUSAL, ORDERED, SPLIT)),
            (produce, (tensors, sizes, 2, CAUSAL, ORDERED)),
        ],
        [4, 1],
        [REGISTERS, PRODUCER_REGISTERS],
    )
