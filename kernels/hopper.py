"""FlashAttention for Hopper, in Gluon: one warp fetches while others compute.

``kernels.flash`` says what is computed; here is who does it.  A program is not one piece of
code any more.  Its warps part, each part with registers of its own:

    the producer     one warp.  It has the Tensor Memory Accelerator (TMA) copy tiles of Q, K
                     and V into shared memory, and does nothing else.
    the consumers    two or three warpgroups of 4 warps, each with 64 rows of queries.  They
                     multiply on the tensor cores, straight from shared memory (wgmma), and do
                     softmax in between.

They meet in rings of tiles.  A tile is full or it is free, and two barriers say so: the
producer waits until a tile is free, the consumers until it is full.  Nobody waits for anything
else, and the whole program never.

What makes it fast is that the tensor cores always have something to multiply.  wgmma is
asynchronous: a warpgroup starts the scores of one block of keys, and behind them the blend of
the block before, then does softmax while other products go on, of its own or of the other
warpgroups.  And it is that there is no beginning and no end: a program stays on its SM and
takes one block of queries after the other (a persistent kernel), the producer some way ahead.

Sources: Shah et al., "FlashAttention-3", 2024, arXiv:2407.08608, from which this differs in
how work is shared out and in what waits for what; NVIDIA PTX ISA, "Asynchronous Warpgroup Level
Matrix Instructions", "mbarrier" and "cp.async.bulk.tensor".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import triton
from torch import Tensor
from triton.compiler import CompiledKernel

from kernels.flash import LOG2_E, empty_outputs
from kernels.inputs import check_no_gradient, check_shapes

try:
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.nvidia.hopper import (
        fence_async_shared,
        mbarrier,
        tma,
        warpgroup_mma,
        warpgroup_mma_wait,
    )
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
except ImportError as error:
    raise ImportError(
        f"hopper_attention is written for Gluon as triton 3.6 and 3.7 have it, here is "
        f"{triton.__version__}: use flash_attention"
    ) from error

LN_2 = gl.constexpr(math.log(2))


class Plan(NamedTuple):
    """How the work is cut and which of the mechanisms are used.

    consumers: warpgroups, each with 64 queries     block_k: keys a tile
    q_stages, stages: tiles in each ring of queries, and in those of keys and of values
    registers: of each thread of a consumer
    overlap: softmax may go on while the values before are multiplied
    turns: only one warpgroup at a time starts products (ping-pong)
    persistent: as many programs as SMs, else one for each block of queries
    paired: causal, the longest work of a head goes with its shortest
    """

    consumers: int
    block_k: int
    q_stages: int
    stages: int
    registers: int
    overlap: bool = True
    turns: bool = False
    persistent: bool = True
    paired: bool = True

    @property
    def block_q(self) -> int:
        """How many queries a program works on at a time."""
        return 64 * self.consumers


# What was fastest on an H100, by head_dim and is_causal.
PLANS = {
    (64, False): Plan(3, 128, 2, 3, 160),
    (64, True): Plan(2, 128, 2, 3, 240),
    (128, False): Plan(2, 128, 2, 2, 240),
    (128, True): Plan(2, 128, 2, 2, 240),
    (256, False): Plan(2, 64, 1, 2, 240),
    (256, True): Plan(2, 64, 1, 2, 240),
}


def plan_for(head_dim: int, is_causal: bool) -> Plan:
    """The plan of the smallest head_dim that has room for this one."""
    return PLANS[next(size for size in (64, 128, 256) if head_dim <= size), is_causal]


def hopper_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    plan: Plan | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """What ``flash_attention`` returns, on a Hopper GPU: [batch, heads, N_q, head_dim].

    q: [batch, heads, N_q, head_dim]   k, v: [batch, heads or a divisor of it, N_k, head_dim]
    FP16 or BF16, sums in FP32; head_dim a multiple of 8 up to 256, and as fast as 64, 128 or
    256, the next of them.
    is_causal: aligned top-left, as in torch: query i sees keys 0 to i
    scale: 1/√head_dim if None, any sign; what FP32 holds only as a subnormal counts as 0
    enable_gqa: fewer heads in k and v than in q
    return_lse: also the natural logarithm of each row's sum of exp(score), [batch, heads, N_q]
    in FP32
    plan: another than that of ``plan_for``
    A query without any key gets 0 and lse -inf; so does one whose every score is -inf.  NaN
    or inf in v reaches the whole block of queries that reads it.
    What TMA cannot read in place is copied first: a tensor whose rows are not contiguous, or
    whose start or strides are no multiples of 16 bytes.

    Raises a ValueError or TypeError that names the argument, also for one that requires a
    gradient, and a RuntimeError where the GPU is no Hopper; each names what does the same work.
    """
    scale = check_shapes(q, k, v, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)
    check_hopper(q, k, v)
    # The kernel takes the maximum before it scales, so its scale must be above 0, in FP32 too.
    if scale < 0:
        q, scale = -q, -scale
    if scale < torch.finfo(torch.float32).tiny:
        q, scale = 0 * q, 1.0
    out, lse = empty_outputs(q)
    if out.numel() == 0 or k.shape[-2] == 0:
        out.zero_(), lse.fill_(-torch.inf)
    else:
        launch(q, k, v, out, lse if return_lse else None, is_causal, scale, plan)
    return (out, lse) if return_lse else out


def check_hopper(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Refuses what ``hopper_kernel`` cannot run on, and says what can."""
    instead = "use flash_attention"
    for name, tensor in {"query": q, "key": k, "value": v}.items():
        if tensor.dtype not in (torch.float16, torch.bfloat16):
            raise TypeError(
                f"{name} is {tensor.dtype}, float16 or bfloat16 is wanted: {instead}"
            )
        if tensor.device.type != "cuda":
            raise ValueError(
                f"{name} is on {tensor.device}, where hopper_attention cannot run: {instead}"
            )
    if q.shape[-1] % 8:
        raise ValueError(
            f"query has head_dim {q.shape[-1]}, a multiple of 8 is wanted: {instead}"
        )
    check_no_gradient(instead="flash_attention", query=q, key=k, value=v)
    major, minor = torch.cuda.get_device_capability(q.device)
    if (major, minor) != (9, 0):
        raise RuntimeError(
            f"query is on {torch.cuda.get_device_name(q.device)}, of compute capability "
            f"{major}.{minor}; hopper_attention needs a Hopper GPU, 9.0: {instead}"
        )


def launch(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor | None,
    is_causal: bool, scale: float, plan: Plan | None,
) -> CompiledKernel:  # fmt: skip
    """Starts the kernel on what was checked; also returns it, as it was compiled."""
    batch, heads, seq_q, head_dim = q.shape
    plan = plan or plan_for(head_dim, is_causal)
    blocks = triton.cdiv(seq_q, plan.block_q)
    sms = torch.cuda.get_device_properties(q.device).multi_processor_count
    # A unit of work is one block of queries, or two.
    paired = is_causal and plan.paired and batch * heads * blocks > sms
    units = batch * heads * (triton.cdiv(blocks, 2) if paired else blocks)
    columns = next(size for size in (64, 128, 256) if head_dim <= size)
    with torch.cuda.device_of(q):
        return hopper_kernel[(min(units, sms) if plan.persistent else units,)](
            described(q, 64, columns), described(k, plan.block_k, columns),
            described(v, plan.block_k, columns),
            described(out.view(1, batch * heads, seq_q, head_dim), 64, columns),
            lse, scale * LOG2_E.value, units, heads, heads // k.shape[1], seq_q, k.shape[2],
            CONSUMERS=plan.consumers, Q_STAGES=plan.q_stages, STAGES=plan.stages,
            REGISTERS=plan.registers, CAUSAL=is_causal, PAIRED=paired,
            OVERLAP=plan.overlap, TURNS=plan.turns, num_warps=4,
        )  # fmt: skip


def described(x: Tensor, rows: int, columns: int) -> TensorDescriptor:
    """Where TMA finds tiles of one head: an address, sizes, strides, and how a tile will lie.

    In shared memory the 16-byte pieces of eight rows are swizzled: their order differs from
    row to row, so that the tensor cores, which read down columns, find them in all banks.
    """
    strides_fit = x.stride(-1) == 1 and all(stride % 8 == 0 for stride in x.stride()[:-1])
    if not strides_fit or x.data_ptr() % 16:
        x = x.clone(memory_format=torch.contiguous_format)
    dtype = gl.float16 if x.dtype == torch.float16 else gl.bfloat16
    tile = [1, 1, rows, columns]
    layout = gl.NVMMASharedLayout.get_default_for(tile, dtype)
    return TensorDescriptor(x, list(x.shape), list(x.stride()), tile, layout)


# Rings: tiles in shared memory, used again and again.


class Ring(NamedTuple):
    """Tiles, and for each two barriers: one ends a phase when it is full, one when free.

    Use number i of a ring is of tile i % stages.  A barrier counts its phases by one bit: the
    tile is full for use i when phase i // stages has ended.
    """

    tiles: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    free: gl.shared_memory_descriptor


@gluon.jit
def barriers(COUNT: gl.constexpr, ARRIVALS: gl.constexpr):
    """So many barriers, each of whose phases ends with so many arrivals."""
    made = gl.allocate_shared_memory(gl.int64, [COUNT, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(COUNT):
        mbarrier.init(made.index(i), count=ARRIVALS)
    return made


@gluon.jit
def ring(tensor, STAGES: gl.constexpr, READERS: gl.constexpr):
    """A ring for tiles of this tensor, each of which so many consumers read."""
    ROWS: gl.constexpr = tensor.block_type.shape[2]
    COLUMNS: gl.constexpr = tensor.block_type.shape[3]
    tiles = gl.allocate_shared_memory(
        tensor.dtype, [STAGES, 1, 1, ROWS, COLUMNS], tensor.layout
    )
    return Ring(tiles, barriers(STAGES, 1), barriers(STAGES, READERS))


@gluon.jit
def fetch(tensor, ring, use, batch, head, row):
    """The producer's part: once the tile is free, has TMA fill it, and does not wait for that.

    What lies outside the tensor is filled with zeros.  The barrier counts bytes: its phase ends
    when all of them have come.
    """
    STAGES: gl.constexpr = ring.tiles.shape[0]
    stage = use % STAGES
    mbarrier.wait(ring.free.index(stage), (use // STAGES & 1) ^ 1)  # at first all are free
    full = ring.full.index(stage)
    mbarrier.expect(full, tensor.block_type.nbytes)
    tma.async_copy_global_to_shared(
        tensor, [batch, head, row, 0], full, ring.tiles.index(stage)
    )


@gluon.jit
def arrived(ring, use):
    """A consumer's part: the tile, [rows, columns], once it is full."""
    STAGES: gl.constexpr = ring.tiles.shape[0]
    ROWS: gl.constexpr = ring.tiles.shape[3]
    COLUMNS: gl.constexpr = ring.tiles.shape[4]
    stage = use % STAGES
    mbarrier.wait(ring.full.index(stage), use // STAGES & 1)
    return ring.tiles.index(stage).reshape([ROWS, COLUMNS])


@gluon.jit
def release(ring, use):
    """A consumer's part: says that it has read the tile."""
    STAGES: gl.constexpr = ring.tiles.shape[0]
    mbarrier.arrive(ring.free.index(use % STAGES), count=1)


# Sharing out.  A pair is a head of a sequence.  Causal, the last block of queries sees many
# keys and the first one few: one of each makes a unit, so that all units are equally long.


@gluon.jit
def blocks_in(unit, seq_q, BLOCK_Q: gl.constexpr, PAIRED: gl.constexpr):
    """How many blocks of queries a unit has: two, but one where the middle is left over."""
    count = gl.to_tensor(1)
    if PAIRED:
        blocks = gl.cdiv(seq_q, BLOCK_Q)
        count += (2 * (unit % gl.cdiv(blocks, 2)) + 1 != blocks).to(gl.int32)
    return count


@gluon.jit
def block_of(
    unit, which, seq_q, seq_k,
    BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr, CAUSAL: gl.constexpr, PAIRED: gl.constexpr,
):  # fmt: skip
    """Of this block of a unit: its pair, its first query, how many blocks of keys it sees."""
    blocks = gl.cdiv(seq_q, BLOCK_Q)
    units = gl.cdiv(blocks, 2) if PAIRED else blocks
    pair = unit // units
    block = blocks - 1 - unit % units  # the longest first
    if PAIRED:
        block = gl.where(which == 0, block, unit % units)
    first_query = block * BLOCK_Q
    seen = gl.minimum(seq_k, first_query + BLOCK_Q) if CAUSAL else seq_k
    return pair, first_query, gl.cdiv(seen, BLOCK_K)


@gluon.jit
def produce(
    tensors, sizes, CONSUMERS: gl.constexpr, CAUSAL: gl.constexpr, PAIRED: gl.constexpr
):
    """The producer: all tiles of all units of this program, as fast as they become free.

    Of keys and values the last block comes first, for it may need a mask, and then all others
    need none.
    """
    q, k, v, _, _, query_rings, keys, values, _ = tensors
    _, units, heads, group, seq_q, seq_k = sizes
    ROWS: gl.constexpr = q.block_type.shape[2]
    BLOCK_Q: gl.constexpr = CONSUMERS * ROWS
    BLOCK_K: gl.constexpr = k.block_type.shape[2]
    q_use = gl.to_tensor(0)
    use = gl.to_tensor(0)
    for unit in range(gl.program_id(0), units, gl.num_programs(0)):
        for which in range(blocks_in(unit, seq_q, BLOCK_Q, PAIRED)):
            pair, first_query, blocks = block_of(
                unit, which, seq_q, seq_k, BLOCK_Q, BLOCK_K, CAUSAL, PAIRED
            )
            batch, head = pair // heads, pair % heads
            for i in gl.static_range(CONSUMERS):
                fetch(q, query_rings[i], q_use, batch, head, first_query + i * ROWS)
            q_use += 1
            for i in range(blocks):
                row = (blocks - 1 - i) * BLOCK_K
                fetch(k, keys, use, batch, head // group, row)
                fetch(v, values, use, batch, head // group, row)
                use += 1


# What a consumer does.


@gluon.jit
def start_scores(queries, keys, LAYOUT: gl.constexpr):
    """queries · keysᵀ, on their way: they are there after a wait."""
    ROWS: gl.constexpr = queries.shape[0]
    COLUMNS: gl.constexpr = keys.shape[0]
    zeros = gl.zeros([ROWS, COLUMNS], gl.float32, LAYOUT)
    return warpgroup_mma(queries, keys.permute((1, 0)), zeros, use_acc=False, is_async=True)


@gluon.jit
def masked(scores, first_query, first_key, seq_k, CAUSAL: gl.constexpr):
    """-inf where there is no key or, causal, where it comes after the query."""
    LAYOUT: gl.constexpr = scores.type.layout
    key = gl.arange(0, scores.shape[1], gl.SliceLayout(0, LAYOUT))
    last = seq_k - 1 - first_key
    if CAUSAL:
        query = gl.arange(0, scores.shape[0], gl.SliceLayout(1, LAYOUT))
        last_seen = gl.minimum(query + (first_query - first_key), last)
        visible = key[None, :] <= last_seen[:, None]
    else:
        visible = (key <= last)[None, :]
    return gl.where(visible, scores, -float("inf"))


@gluon.jit
def in_place(number):
    """The number, by an instruction that the compiler may not move.

    What depends on it stays in its branch; else all would be computed, and then chosen from.
    """
    return gl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [number], dtype=gl.int32, is_pure=False, pack=1
    )


@gluon.jit
def weigh(scores, running_max, running_sum, scale_log2):
    """Online softmax, as in ``kernels.softmax``, in base 2: weights, and the state after them.

    Also by what must be multiplied whatever was summed before.
    """
    new_max = gl.maximum(running_max, gl.max(scores, 1))
    finite = gl.where(new_max == -float("inf"), 0.0, new_max)  # of nothing but -inf: 0 will do
    weights = gl.exp2(scores * scale_log2 - (finite * scale_log2)[:, None])
    rescale = gl.exp2((running_max - finite) * scale_log2)
    return weights, new_max, running_sum * rescale + gl.sum(weights, 1), rescale


@gluon.jit
def wait_for_turn(turn, turns, CONSUMER: gl.constexpr):
    """Until the warpgroup before has started its products; the first begins."""
    FIRST: gl.constexpr = 1 if CONSUMER == 0 else 0
    mbarrier.wait(turn.index(CONSUMER), (turns & 1) ^ FIRST)


@gluon.jit
def pass_turn(turn, CONSUMER: gl.constexpr, CONSUMERS: gl.constexpr):
    mbarrier.arrive(turn.index((CONSUMER + 1) % CONSUMERS), count=1)


@gluon.jit
def step(
    queries, keys, values, use, turn, turns, weights, accumulator, running_max, running_sum,
    scale_log2, first_query, first_key, seq_k, SCORES: gl.constexpr,
    CONSUMER: gl.constexpr, CONSUMERS: gl.constexpr,
    DIAGONAL: gl.constexpr, OVERLAP: gl.constexpr, TURNS: gl.constexpr,
):  # fmt: skip
    """One block of keys, number ``use``, and the blend of the values before it."""
    OUTPUT: gl.constexpr = accumulator.type.layout
    these_keys = arrived(keys, use)
    if TURNS:
        wait_for_turn(turn, turns, CONSUMER)
    # Two products at once.  The tensor cores do them in this order; the first is waited for.
    scores = start_scores(queries, these_keys, SCORES)
    accumulator = warpgroup_mma(weights, arrived(values, use - 1), accumulator, is_async=True)
    if TURNS:
        pass_turn(turn, CONSUMER, CONSUMERS)
    if OVERLAP:
        scores = warpgroup_mma_wait(1, deps=(scores,))
        release(keys, use)
    else:
        scores, accumulator = warpgroup_mma_wait(0, deps=(scores, accumulator))
        release(keys, use)
        release(values, use - 1)
    if DIAGONAL:  # noqa: SIM102, for one is known when compiling
        if first_key + scores.shape[1] > first_query + 1:
            scores = masked(scores, first_query, in_place(first_key), seq_k, True)
    new_weights, running_max, running_sum, rescale = weigh(
        scores, running_max, running_sum, scale_log2
    )
    if OVERLAP:
        accumulator = warpgroup_mma_wait(0, deps=(accumulator,))
        release(values, use - 1)
    accumulator = accumulator * gl.convert_layout(rescale, gl.SliceLayout(1, OUTPUT))[:, None]
    weights = gl.convert_layout(new_weights.to(queries.dtype), weights.type.layout)
    return weights, accumulator, running_max, running_sum


@gluon.jit
def consume(
    tensors, sizes, CONSUMER: gl.constexpr, CONSUMERS: gl.constexpr,
    CAUSAL: gl.constexpr, PAIRED: gl.constexpr, OVERLAP: gl.constexpr, TURNS: gl.constexpr,
):  # fmt: skip
    """A consumer: its 64 queries of each block, through all keys that the block sees.

    Accumulators lie as wgmma leaves them, and weights as it takes its left operand from
    registers: no number changes its lane from the scores to the second product.
    """
    q, k, _, out, lse, query_rings, keys, values, turn = tensors
    scale_log2, units, _, _, seq_q, seq_k = sizes
    ROWS: gl.constexpr = q.block_type.shape[2]
    BLOCK_Q: gl.constexpr = CONSUMERS * ROWS
    BLOCK_K: gl.constexpr = k.block_type.shape[2]
    COLUMNS: gl.constexpr = k.block_type.shape[3]
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_K, 16])
    OUTPUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    LEFT: gl.constexpr = gl.DotOperandLayout(0, OUTPUT, 2)
    BY_ROW: gl.constexpr = gl.SliceLayout(1, SCORES)
    # Causal, may more blocks of keys than the last one reach above the diagonal?
    DIAGONAL: gl.constexpr = CAUSAL and BLOCK_K < BLOCK_Q
    query_ring = query_rings[CONSUMER]
    q_use = gl.to_tensor(0)
    use = gl.to_tensor(0)
    turns = gl.to_tensor(0)
    for unit in range(gl.program_id(0), units, gl.num_programs(0)):
        for which in range(blocks_in(unit, seq_q, BLOCK_Q, PAIRED)):
            pair, first_query, blocks = block_of(
                unit, which, seq_q, seq_k, BLOCK_Q, BLOCK_K, CAUSAL, PAIRED
            )
            first_query += CONSUMER * ROWS
            end = use + blocks

            # The last block of keys, before there is anything to blend.
            queries = arrived(query_ring, q_use)
            scores = start_scores(queries, arrived(keys, use), SCORES)
            scores = warpgroup_mma_wait(0, deps=(scores,))
            release(keys, use)
            scores = masked(scores, first_query, (blocks - 1) * BLOCK_K, seq_k, CAUSAL)
            running_max = gl.full([ROWS], -float("inf"), gl.float32, BY_ROW)
            running_sum = gl.zeros([ROWS], gl.float32, BY_ROW)
            new_weights, running_max, running_sum, _rescale = weigh(
                scores, running_max, running_sum, scale_log2
            )
            weights = gl.convert_layout(new_weights.to(queries.dtype), LEFT)
            accumulator = gl.zeros([ROWS, COLUMNS], gl.float32, OUTPUT)
            use += 1

            # All others.
            for _i in range(end - use):
                weights, accumulator, running_max, running_sum = step(
                    queries, keys, values, use, turn, turns,
                    weights, accumulator, running_max, running_sum, scale_log2,
                    first_query, (end - 1 - use) * BLOCK_K, seq_k, SCORES,
                    CONSUMER, CONSUMERS, DIAGONAL, OVERLAP, TURNS,
                )  # fmt: skip
                use += 1
                turns += 1

            # The blend of the first values, which nothing hides.
            total = gl.where(running_sum == 0.0, 1.0, running_sum)  # no key was seen
            factor = gl.convert_layout(1.0 / total, gl.SliceLayout(1, OUTPUT))
            accumulator = warpgroup_mma(
                weights, arrived(values, use - 1), accumulator, is_async=True
            )
            accumulator = warpgroup_mma_wait(0, deps=(accumulator,))
            release(values, use - 1)

            # The output takes the place of the queries, and from there TMA its way out.
            queries.store((accumulator * factor[:, None]).to(queries.dtype))
            fence_async_shared()
            Q_STAGES: gl.constexpr = query_ring.tiles.shape[0]
            tile = query_ring.tiles.index(q_use % Q_STAGES)
            tma.async_copy_shared_to_global(out, [0, pair, first_query, 0], tile)
            if lse is not None:
                query = first_query + gl.arange(0, ROWS, BY_ROW)
                row_lse = (running_max * scale_log2 + gl.log2(total)) * LN_2
                gl.store(lse + pair.to(gl.int64) * seq_q + query, row_lse, query < seq_q)
            tma.store_wait(0)
            release(query_ring, q_use)
            q_use += 1


COUNTS = ["units", "heads", "group", "seq_q", "seq_k"]


@gluon.jit(do_not_specialize=COUNTS)
def hopper_kernel(
    q, k, v, out, lse, scale_log2, units, heads, group, seq_q, seq_k,
    CONSUMERS: gl.constexpr, Q_STAGES: gl.constexpr, STAGES: gl.constexpr,
    REGISTERS: gl.constexpr, CAUSAL: gl.constexpr, PAIRED: gl.constexpr,
    OVERLAP: gl.constexpr, TURNS: gl.constexpr,
):  # fmt: skip
    """Units of work number i, i + programs, i + 2 · programs and so on, of program i.

    q, k, v: tensor descriptors of [batch, heads, rows, columns], tiles of one head
    out: one of [1, batch · heads, rows, columns]   lse: a pointer, or None
    units: how many there are; heads: of queries; group: how many of them share keys
    """
    if CONSUMERS == 3:
        query_rings = (ring(q, Q_STAGES, 1), ring(q, Q_STAGES, 1), ring(q, Q_STAGES, 1))
    else:
        query_rings = (ring(q, Q_STAGES, 1), ring(q, Q_STAGES, 1))
    keys = ring(k, STAGES, CONSUMERS)
    values = ring(v, STAGES, CONSUMERS)
    turn = barriers(CONSUMERS, 1)
    fence_async_shared()
    tensors = (q, k, v, out, lse, query_rings, keys, values, turn)
    sizes = (scale_log2, units, heads, group, seq_q, seq_k)
    # From here on warps go different ways: the first in the 4 warps that are here, the others
    # each in so many of its own, with so many registers a thread.  (Constants must be named in
    # place, in a tuple made before they would no longer be constants.)
    if CONSUMERS == 3:
        gl.warp_specialize(
            [
                (consume, (tensors, sizes, 0, 3, CAUSAL, PAIRED, OVERLAP, TURNS)),
                (consume, (tensors, sizes, 1, 3, CAUSAL, PAIRED, OVERLAP, TURNS)),
                (consume, (tensors, sizes, 2, 3, CAUSAL, PAIRED, OVERLAP, TURNS)),
                (produce, (tensors, sizes, 3, CAUSAL, PAIRED)),
            ],
            [4, 4, 1],
            [REGISTERS, REGISTERS, 24],
        )
    else:
        gl.warp_specialize(
            [
                (consume, (tensors, sizes, 0, 2, CAUSAL, PAIRED, OVERLAP, TURNS)),
                (consume, (tensors, sizes, 1, 2, CAUSAL, PAIRED, OVERLAP, TURNS)),
                (produce, (tensors, sizes, 2, CAUSAL, PAIRED)),
            ],
            [4, 1],
            [REGISTERS, 24],
        )
