"""The backward pass on Hopper: a program owns keys, and queries stream past.

As in ``kernels.hopper.attention``, a producer warp has TMA fetch tiles, and two consumer
warpgroups multiply.  Each consumer owns 64 keys and their values, and sums their dkeys and
dvalues in its registers.  For each block of queries it computes

    scores   = keys · queriesᵀ                    [64 keys, queries]: transposed, so that
    weights  = exp2(scores · scale_log2 - lse_log2)    what comes out of one product
    dweights = values · doutᵀ                       is the left operand of the next one
    dscores  = weights ∘ (dweights - delta)         without leaving its registers
    dvalues += weights · dout
    dkeys   += dscores · queries
    dqueries = Σ dscoresᵀ · keys                  over the keys of both consumers

For the last line both write dscores into shared memory, and each computes half of dqueries: 64
rows with heads of 64, 64 columns with heads of 128.  TMA adds that to FP32 sums in global
memory, where the programs of all keys meet: see ``accumulate_dq``.

A consumer computes dqueries one step later, so it only waits for the other's dscores if it's
nearly a step ahead.  In a step it

    starts                                    and meanwhile computes
    scores and dweights of this block         its weights
    its dvalues                               its dscores
    dqueries of the block before, its dkeys   nothing, but writes what others are to read

The products of the other consumer fill the time that's left.

A consumer that writes to shared memory for wgmma or TMA has to wait until that's written, and
best does so while products are running.  With heads of 128 it writes dscores behind the last
two products.  With heads of 64 there aren't enough registers for that, so it writes dscores
before these start.  But it hands dqueries to TMA behind the scores of the next step.  And with
128 the sums of dweights begin at -delta, which saves delta's registers.

Sources: J. Shah et al., "FlashAttention-3: Fast and Accurate Attention with Asynchrony and
Low-precision", 2024, arXiv:2407.08608, for warps that fetch and warps that multiply; T. Dao,
"FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning", 2023,
arXiv:2307.08691, for the order of the loops.
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

from kernels.flash.schedule import LOG2_E
from kernels.hopper.backward.accumulate_dq import (
    add_all,
    lay_out,
    release_semaphore,
    send_in_order,
)
from kernels.hopper.backward.arguments import Inputs, Outputs, Sizes
from kernels.hopper.backward.schedule import (
    allocate_row_values,
    allocate_tiles,
    apply_mask,
    make_tiles,
    own_tile,
    pin,
    produce,
    work_of,
)
from kernels.hopper.kernel import PRODUCER_REGISTERS
from kernels.hopper.ring import WGMMA_M, Ring, barriers, make_ring, release, wait_for_tile

STAGES = gl.constexpr(2)  # of every ring


@gluon.jit
def start_dqueries(dscores, tile_number, keys, zeros, CONSUMER: gl.constexpr):
    """Returns this consumer's half of dscoresᵀ · keys, started: it's there after a wait."""
    COLUMNS: gl.constexpr = keys.tiles.shape[4]
    stage = tile_number % STAGES
    mbarrier.wait(dscores.full.index(stage), tile_number // STAGES & 1)
    total = warpgroup_mma_init(zeros)
    for i in gl.static_range(2):
        left = dscores.tiles.index(2 * stage + i)
        right = own_tile(keys, i)
        if COLUMNS == WGMMA_M:
            left = left.slice(CONSUMER * WGMMA_M, WGMMA_M, dim=1)
        else:
            right = right.slice(CONSUMER * WGMMA_M, WGMMA_M, dim=1)
        left = left.permute((1, 0))
        total = warpgroup_mma(left, right, total, use_acc=i > 0, is_async=True)
    return total


@gluon.jit
def share_dscores(dscores, ring, tile_number, CONSUMER: gl.constexpr):
    """Writes this consumer's dscores for both, once those of 2 steps before are multiplied."""
    stage = tile_number % STAGES
    mbarrier.wait(ring.empty.index(stage), (tile_number // STAGES & 1) ^ 1)
    ring.tiles.index(2 * stage + CONSUMER).store(dscores)
    fence_async_shared()  # so that wgmma sees it
    mbarrier.arrive(ring.full.index(stage), count=1)


@gluon.jit
def consume(
    inputs, outputs, sizes, CONSUMER: gl.constexpr,
    CAUSAL: gl.constexpr, DETERMINISTIC: gl.constexpr, SPLIT: gl.constexpr,
):  # fmt: skip
    """A consumer warpgroup: writes dk and dv of its 64 keys, and adds its part of dq.

    After a step the tiles of queries, dout and dscores that it read are empty again: one
    mbarrier of all three rings says so.
    """
    keys, values, queries, douts = inputs.k_tiles, inputs.v_tiles, inputs.q_ring, inputs.do_ring
    dscores_ring, staging, seq_k = outputs.dscores, outputs.staging, sizes.seq_k
    DTYPE: gl.constexpr = inputs.q.dtype
    BLOCK_Q: gl.constexpr = inputs.q.block_type.shape[2]
    COLUMNS: gl.constexpr = inputs.q.block_type.shape[3]
    BLOCK_K: gl.constexpr = 2 * WGMMA_M
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_Q, 16])
    SUMS: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    HALF: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, WGMMA_M, 16])
    LARGE: gl.constexpr = COLUMNS > WGMMA_M
    LEFT: gl.constexpr = gl.DotOperandLayout(0, SUMS, 2)
    BY_QUERY: gl.constexpr = gl.SliceLayout(0, SCORES)
    scale_log2 = sizes.scale * LOG2_E
    work = work_of(sizes, BLOCK_Q, BLOCK_K, CAUSAL, DETERMINISTIC)
    own_key = work.first_key + CONSUMER * WGMMA_M
    steps = (work.blocks - work.start) * (work.end_head - work.first_head)
    zeros = gl.zeros([WGMMA_M, BLOCK_Q], gl.float32, SCORES)
    half_zeros = gl.zeros([WGMMA_M, WGMMA_M], gl.float32, HALF)
    dkeys = gl.zeros([WGMMA_M, COLUMNS], gl.float32, SUMS)
    dvalues = gl.zeros([WGMMA_M, COLUMNS], gl.float32, SUMS)

    mbarrier.wait(keys.full.index(0), 0)
    mbarrier.wait(values.full.index(0), 0)
    # Step i's dscores are tile i + 1 of their ring.  What tile 0 holds doesn't matter.
    mbarrier.arrive(dscores_ring.full.index(0), count=1)
    # Blocks of queries are counted through all heads.
    first_q_block = (work.batch * sizes.heads + work.first_head) * work.blocks
    block = work.start
    previous_q_block = gl.to_tensor(0)  # the number of the block one step ago
    older_q_block = gl.to_tensor(0)  # two steps ago
    sent_q_block = gl.to_tensor(-1)  # the last one whose dqueries were handed to TMA
    for i in range(steps):
        own_keys, own_values = own_tile(keys, CONSUMER), own_tile(values, CONSUMER)
        queries_tile = wait_for_tile(queries, i)
        scores = warpgroup_mma(
            own_keys, queries_tile.permute((1, 0)), zeros, use_acc=False, is_async=True
        )
        douts_tile = wait_for_tile(douts, i)
        if LARGE:
            row_delta = inputs.delta_stages.index(i % STAGES).load(BY_QUERY)
            dweights = zeros - row_delta[None, :]
            dweights = warpgroup_mma(
                own_values, douts_tile.permute((1, 0)), dweights, is_async=True
            )
        else:
            dweights = warpgroup_mma(
                own_values, douts_tile.permute((1, 0)), zeros, use_acc=False, is_async=True
            )
            if i > 1:
                tile = staging.index(STAGES * CONSUMER + (i + 1) % STAGES)
                sent_q_block = send_in_order(
                    outputs, older_q_block, sent_q_block, tile, work, seq_k,
                    CONSUMER, BLOCK_Q, BLOCK_K, CAUSAL,
                )  # fmt: skip
        scores = warpgroup_mma_wait(1, deps=(scores,))
        row_lse_log2 = inputs.lse_stages.index(i % STAGES).load(BY_QUERY)
        weights = gl.exp2(scores * scale_log2 - row_lse_log2[None, :])
        first_query = block * BLOCK_Q
        if (own_key + WGMMA_M > seq_k) | (CAUSAL and own_key + WGMMA_M > first_query + 1):
            weights = apply_mask(weights, own_key, pin(first_query), seq_k, 0, CAUSAL)
        left = gl.convert_layout(weights.to(DTYPE), LEFT)
        dvalues = warpgroup_mma(left, douts_tile, dvalues, is_async=True)
        dweights = warpgroup_mma_wait(1, deps=(dweights,))
        if LARGE:
            dscores = (weights * dweights).to(DTYPE)
        else:
            row_delta = inputs.delta_stages.index(i % STAGES).load(BY_QUERY)
            dscores = (weights * (dweights - row_delta[None, :])).to(DTYPE)
            share_dscores(dscores, dscores_ring, i + 1, CONSUMER)
        left = gl.convert_layout(dscores, LEFT)
        dqueries = start_dqueries(dscores_ring, i, keys, half_zeros, CONSUMER)
        dkeys = warpgroup_mma(left, queries_tile, dkeys, is_async=True)
        if LARGE:
            share_dscores(dscores, dscores_ring, i + 1, CONSUMER)
        dqueries, dvalues = warpgroup_mma_wait(1, deps=(dqueries, dvalues))
        tile = staging.index(STAGES * CONSUMER + i % STAGES)
        if i > 0:
            lay_out(tile, STAGES - 1, dqueries)
            if LARGE:
                sent_q_block = send_in_order(
                    outputs, previous_q_block, sent_q_block, tile, work, seq_k,
                    CONSUMER, BLOCK_Q, BLOCK_K, CAUSAL,
                )  # fmt: skip
        # If a product still ran when the loop begins again, the compiler would let none start
        # until the last has ended.
        dkeys = warpgroup_mma_wait(0, deps=(dkeys,))
        release(queries, i)
        if not LARGE:
            older_q_block = previous_q_block
        previous_q_block = first_q_block + block
        block += 1
        if block == work.blocks:
            block = work.start
            first_q_block += work.blocks
    dqueries = start_dqueries(dscores_ring, steps, keys, half_zeros, CONSUMER)
    dqueries = warpgroup_mma_wait(0, deps=(dqueries,))
    if not LARGE:  # noqa: SIM102  (the one is known when compiling)
        if steps > 1:
            tile = staging.index(STAGES * CONSUMER + (steps + 1) % STAGES)
            sent_q_block = send_in_order(
                outputs, older_q_block, sent_q_block, tile, work, seq_k,
                CONSUMER, BLOCK_Q, BLOCK_K, CAUSAL,
            )  # fmt: skip
    own_staging = staging.index(STAGES * CONSUMER + steps % STAGES)
    lay_out(own_staging, STAGES - 1, dqueries)
    send_in_order(
        outputs, previous_q_block, sent_q_block, own_staging, work, seq_k,
        CONSUMER, BLOCK_Q, BLOCK_K, CAUSAL,
    )  # fmt: skip
    if DETERMINISTIC:
        release_semaphore(outputs.dq_semaphores + (2 * previous_q_block + CONSUMER + 1))

    if SPLIT:
        batch_head = work.batch * (sizes.heads // sizes.group) + work.key_head
        tile = batch_head * gl.cdiv(seq_k, BLOCK_K) * 2 + own_key // WGMMA_M
        add_all(outputs.dv, tile * (WGMMA_M * COLUMNS // 256), own_staging, dvalues)
        add_all(outputs.dk, tile * (WGMMA_M * COLUMNS // 256), own_staging, dkeys)
    else:
        # Out through the tile of values, which nobody else reads.
        tile, own_values = values.tiles.index(CONSUMER), own_tile(values, CONSUMER)
        coordinates = [work.batch, work.key_head, own_key, 0]
        own_values.store(dvalues.to(DTYPE))
        fence_async_shared()
        tma.async_copy_shared_to_global(outputs.dv, coordinates, tile)
        tma.store_wait(0)
        own_values.store((dkeys * sizes.scale).to(DTYPE))
        fence_async_shared()
        tma.async_copy_shared_to_global(outputs.dk, coordinates, tile)
        tma.store_wait(0)


COUNTS = ["heads", "group", "splits", "batch_heads", "interleave", "seq_q", "seq_k", "padded_q"]


@gluon.jit(do_not_specialize=COUNTS)
def hopper_backward_kernel(
    q, k, v, dout, lse_log2, delta, dq, dk, dv, dq_semaphores,
    scale, heads, group, splits, batch_heads, interleave, seq_q, seq_k, padded_q,
    REGISTERS: gl.constexpr, CAUSAL: gl.constexpr, SPLIT: gl.constexpr,
):  # fmt: skip
    """Writes dk and dv of one block of 128 keys, and adds its part of dq.

    q, dout: tensor descriptors of [batch, heads, rows, columns], tiles of a block of queries
    k, v, dk, dv: the same of [batch, key heads, rows, columns], tiles of 64 keys
    lse_log2, delta: one number a row, [batch · heads · padded_q], tiles of a block of queries
    dq: of FP32 sums, 256 a row, tiles of 16 rows: see ``lay_out``
    dq_semaphores: None, or a pointer to counters, all 0: the first numbers programs as they
    start, and the others, one for each block of queries and consumer, keep their additions to
    dq in that order
    splits: how many programs share the query heads of a key head   SPLIT: more than one, and dk
    and dv are sums like dq
    batch_heads: pairs of batch and key head, times splits   interleave: see ``share_of``
    """
    BLOCK_Q: gl.constexpr = q.block_type.shape[2]
    DETERMINISTIC: gl.constexpr = dq_semaphores is not None
    number = gl.program_id(0)
    if DETERMINISTIC:
        number = gl.atomic_add(dq_semaphores, 1, sem="relaxed", scope="gpu")
    queries = make_ring(q, STAGES, 2)
    douts = Ring(allocate_tiles(dout, STAGES), barriers(STAGES, 1), queries.empty)
    lse_stages = allocate_row_values(lse_log2, STAGES)
    delta_stages = allocate_row_values(delta, STAGES)
    keys, values = make_tiles(k, 2), make_tiles(v, 2)  # a tile for each consumer
    SCORE_TILE: gl.constexpr = gl.NVMMASharedLayout(128, 16, 2)
    score_tiles = gl.allocate_shared_memory(q.dtype, [2 * STAGES, WGMMA_M, BLOCK_Q], SCORE_TILE)
    dscores = Ring(score_tiles, barriers(STAGES, 2), queries.empty)
    staging = gl.allocate_shared_memory(gl.float32, [2 * STAGES, 16, 256], dq.layout)
    fence_async_shared()  # TMA sees the barriers, too
    inputs = Inputs(
        q, k, v, dout, lse_log2, delta, keys, values, queries, lse_stages, douts, delta_stages
    )  # fmt: skip
    outputs = Outputs(dq, dk, dv, dq_semaphores, dscores, staging)
    sizes = Sizes(
        scale, heads, group, splits, batch_heads, interleave, seq_q, seq_k, padded_q, number
    )  # fmt: skip
    gl.warp_specialize(
        [
            (consume, (inputs, outputs, sizes, 0, CAUSAL, DETERMINISTIC, SPLIT)),
            (consume, (inputs, outputs, sizes, 1, CAUSAL, DETERMINISTIC, SPLIT)),
            (produce, (inputs, sizes, CAUSAL, DETERMINISTIC)),
        ],
        [4, 1],
        [REGISTERS, PRODUCER_REGISTERS],
    )
