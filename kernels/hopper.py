"""FlashAttention for Hopper, in Gluon: one warp fetches while others compute.

``kernels.flash`` says what is computed.  This file computes the same with specialised warps:
the warps of a program run different code, each group with its own number of registers.

    the producer     one warp.  It has the Tensor Memory Accelerator (TMA) copy tiles of Q, K
                     and V into shared memory, and does nothing else.
    the consumers    two or three warpgroups of 4 warps, each with 64 rows of queries.  They
                     multiply on the tensor cores, straight from shared memory (wgmma), and do
                     softmax in between.

Tiles lie in rings in shared memory.  Each tile has two barriers: one says that it is full, one
that it is free.  Through these alone do producer and consumers wait for each other; no barrier
stops the whole program.

The tensor cores should always have something to multiply.  wgmma is asynchronous: a consumer
starts the scores of one block of keys, right behind them the product of weights and values of
the block before, and then does softmax, while the tensor cores work on what other consumers
have started.  And the kernel is persistent: as many programs as SMs, each of which takes one
block of queries after the other, so that the producer already fetches for the next block while
the consumers finish this one.

    producer      Q  K7 V7 K6 V6 K5 V5 ...      as fast as tiles become free
    consumer 0    scores 7 | softmax 7 | scores 6, values 7 | softmax 6 | scores 5, values 6 ...
    consumer 1       scores 7 | softmax 7 | scores 6, values 7 | softmax 6 | ...

Sources: J. Shah et al., "FlashAttention-3: Fast and Accurate Attention with Asynchrony and
Low-precision", 2024, arXiv:2407.08608, from which this differs in how work is shared out and in
what waits for what; NVIDIA, Parallel Thread Execution ISA, "Asynchronous Warpgroup Level Matrix
Instructions", "mbarrier" and "cp.async.bulk.tensor".
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import torch
import triton
from torch import Tensor
from triton.compiler import CompiledKernel

from kernels.flash import LOG2_E
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
        "hopper_attention needs Gluon for Hopper, as triton 3.6 and 3.7 have it, and here is "
        f"triton {triton.__version__}: use flash_attention"
    ) from error

ROWS = gl.constexpr(64)  # of queries a consumer: wgmma computes 64, 16 for each of its 4 warps
PRODUCER_REGISTERS = gl.constexpr(24)  # the fewest that a thread can be left with
LN_2 = gl.constexpr(math.log(2))


class Plan(NamedTuple):
    """How the work is cut and which of the mechanisms are used.

    consumers: 2 or 3 warpgroups, each with 64 queries     block_k: keys a tile
    q_stages, stages: tiles in each ring of queries, and in those of keys and of values
    registers: of each thread of a consumer, but for the first, which has what the others and
    the producer leave: 240 beside another with 240, 168 beside two with 160
    overlap: the maximum of each row is found before the product with values has ended
    turns: only one consumer at a time starts products (ping-pong)
    persistent: as many programs as SMs, else one for each block of queries
    paired: causal, a block of queries that sees many keys goes with one that sees few
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
        return ROWS.value * self.consumers


LONG = 8192  # queries, from which causal heads of 64 have the plan of those that are not causal
# What was fastest on an H100, by head_dim and is_causal.
PLANS = {
    (64, False): Plan(3, 128, 2, 3, 160),
    (64, True): Plan(2, 128, 2, 3, 240),
    (128, False): Plan(2, 128, 2, 2, 240),
    (128, True): Plan(2, 128, 2, 2, 240),
    (256, False): Plan(2, 64, 1, 2, 240),
    (256, True): Plan(2, 64, 1, 2, 240),
}


def padded(head_dim: int) -> int:
    """The columns of a tile: 64, 128 or 256, of which TMA fills the last with zeros."""
    return next(columns for columns in (64, 128, 256) if head_dim <= columns)


def plan_for(head_dim: int, is_causal: bool, seq_q: int) -> Plan:
    """What was fastest for tiles of so many columns, and so many queries."""
    columns = padded(head_dim)
    # At heads of 64 three consumers are faster, but share out short causal work too coarsely.
    return PLANS[columns, is_causal and (columns, seq_q >= LONG) != (64, True)]


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
    FP16 or BF16, sums in FP32; head_dim a multiple of 8 up to 256: it takes as long as the next
    of 64, 128 and 256.
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
    gradient, and a RuntimeError where the GPU is no Hopper.
    """
    scale = check_shapes(q, k, v, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)
    check_hopper(q, k, v)
    # The kernel takes the maximum before it scales, so its scale must be above 0, in FP32 too.
    if scale < 0:
        q, scale = -q, -scale
    if scale < torch.finfo(torch.float32).tiny:
        q, scale = 0 * q, 1.0
    plan = plan_for(q.shape[-1], is_causal, q.shape[-2]) if plan is None else plan
    if plan.consumers not in (2, 3):
        raise ValueError(f"plan has {plan.consumers} consumers, 2 or 3 are wanted")
    out, lse = hopper_forward(q, k, v, is_causal, scale, return_lse, [int(x) for x in plan])
    return (out, lse) if return_lse else out


@torch.library.custom_op("attention_handbook::hopper_forward", mutates_args=())
def hopper_forward(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool, scale: float, with_lse: bool,
    plan: list[int],
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Output and lse, which is empty unless it is asked for: what torch has to know."""
    out, lse = empty(q, with_lse)
    if out.numel() == 0 or k.shape[-2] == 0:
        return out.zero_(), lse.fill_(-torch.inf)
    launch(q, k, v, out, lse if with_lse else None, is_causal, scale, Plan(*plan))
    return out, lse


@hopper_forward.register_fake
def _(q, k, v, is_causal, scale, with_lse, plan):
    return empty(q, with_lse)


def empty(q: Tensor, with_lse: bool) -> tuple[Tensor, Tensor]:
    """Room for the output, like q but contiguous, and for lse."""
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    rows = q.shape[:-1] if with_lse else (0,)
    return out, torch.empty(rows, dtype=torch.float32, device=q.device)


def check_hopper(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Refuses what ``hopper_kernel`` cannot run on, and says what can."""
    for name, tensor in {"query": q, "key": k, "value": v}.items():
        if tensor.dtype not in (torch.float16, torch.bfloat16):
            raise TypeError(
                f"{name} is {tensor.dtype}, float16 or bfloat16 is wanted: "
                "use kernels.dispatch.attention"
            )
        if tensor.device.type != "cuda":
            raise ValueError(
                f"{name} is on {tensor.device}, where hopper_attention cannot run: "
                "use kernels.dispatch.attention"
            )
    if q.shape[-1] % 8:
        raise ValueError(
            f"query has head_dim {q.shape[-1]}, a multiple of 8 is wanted: use flash_attention"
        )
    check_no_gradient(instead="flash_attention", query=q, key=k, value=v)
    if not is_hopper(q.device):
        raise RuntimeError(
            f"query is on {torch.cuda.get_device_name(q.device)}, and hopper_attention needs "
            "a Hopper GPU, of compute capability 9.0: use flash_attention"
        )


def is_hopper(device: torch.device) -> bool:
    """Whether this GPU is one that the kernel was written for; some of AMD's are 9.0 too."""
    return torch.version.hip is None and torch.cuda.get_device_capability(device) == (9, 0)


def launch(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor | None,
    is_causal: bool, scale: float, plan: Plan,
) -> CompiledKernel:  # fmt: skip
    """Starts the kernel on what was checked, and returns it as it was compiled."""
    batch, heads, seq_q, head_dim = q.shape
    blocks = triton.cdiv(seq_q, plan.block_q)
    sms = torch.cuda.get_device_properties(q.device).multi_processor_count
    # A unit of work is one block of queries, or two.
    paired = is_causal and plan.paired and batch * heads * blocks > sms
    units = batch * heads * (triton.cdiv(blocks, 2) if paired else blocks)
    rows, columns = ROWS.value, padded(head_dim)
    with torch.cuda.device_of(q):
        return hopper_kernel[(min(units, sms) if plan.persistent else units,)](
            described(q, rows, columns), described(k, plan.block_k, columns),
            described(v, plan.block_k, columns),
            described(out.view(1, batch * heads, seq_q, head_dim), rows, columns),
            lse, scale * LOG2_E.value, units, heads, heads // k.shape[1], seq_q, k.shape[2],
            CONSUMERS=plan.consumers, Q_STAGES=plan.q_stages, STAGES=plan.stages,
            REGISTERS=plan.registers, CAUSAL=is_causal, PAIRED=paired,
            OVERLAP=bool(plan.overlap), TURNS=bool(plan.turns), num_warps=4,
        )  # fmt: skip


def described(x: Tensor, rows: int, columns: int) -> TensorDescriptor:
    """Where TMA finds tiles of one head: address, sizes, strides, and how a tile will lie."""
    strides_fit = x.stride(-1) == 1 and all(stride % 8 == 0 for stride in x.stride()[:-1])
    if not strides_fit or x.data_ptr() % 16:
        x = x.clone(memory_format=torch.contiguous_format)
    tile = [1, 1, rows, columns]
    layout = layout_of(rows, columns, x.dtype)
    return TensorDescriptor(x, list(x.shape), list(x.stride()), tile, layout)


@cache
def layout_of(rows: int, columns: int, dtype: torch.dtype) -> gl.NVMMASharedLayout:
    """How a tile lies in shared memory: swizzled, as wgmma reads it.

    The 16-byte pieces of a row are permuted, differently in each of eight rows, so that reading
    one column of eight rows meets no bank twice.
    """
    dtype = gl.float16 if dtype == torch.float16 else gl.bfloat16
    return gl.NVMMASharedLayout.get_default_for([1, 1, rows, columns], dtype)


# Rings: tiles in shared memory, used again and again.  Keys and values have a ring each: keys
# are free one product before the values of the same block, and the next may come already.


class Ring(NamedTuple):
    """Tiles, and for each a barrier that says when it is full, and one when it is free.

    Use number i is of tile i % stages.  A barrier goes through phases, of which it remembers
    one bit: 0, 1, 0, 1 and so on.  ``mbarrier.wait(barrier, bit)`` returns once the phase of
    that bit has ended; on a new barrier phase 1 counts as ended.  With two stages:

        use              0  1  2  3  4
        stage            0  1  0  1  0
        wait for full    0  0  1  1  0      the bit of use // stages
        wait for free    1  1  0  0  1      the other: at first all tiles are free
    """

    tiles: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    free: gl.shared_memory_descriptor


@gluon.jit
def barriers(COUNT: gl.constexpr, ARRIVALS: gl.constexpr):
    """COUNT barriers; a phase of each ends after ARRIVALS arrivals."""
    made = gl.allocate_shared_memory(gl.int64, [COUNT, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(COUNT):
        mbarrier.init(made.index(i), count=ARRIVALS)
    return made


@gluon.jit
def make_ring(tensor, STAGES: gl.constexpr, READERS: gl.constexpr):
    """A ring of STAGES tiles of this tensor, each read by READERS consumers."""
    LINES: gl.constexpr = tensor.block_type.shape[2]
    COLUMNS: gl.constexpr = tensor.block_type.shape[3]
    tiles = gl.allocate_shared_memory(
        tensor.dtype, [STAGES, 1, 1, LINES, COLUMNS], tensor.layout
    )
    return Ring(tiles, barriers(STAGES, 1), barriers(STAGES, READERS))


@gluon.jit
def fetch(tensor, ring, use, batch, head, row):
    """The producer's part: once the tile is free, has TMA fill it, and does not wait for that.

    ``expect`` is the one arrival of this phase, and tells the barrier how many bytes must come
    before the phase ends.  What lies outside the tensor comes as zeros.
    """
    STAGES: gl.constexpr = ring.tiles.shape[0]
    stage = use % STAGES
    mbarrier.wait(ring.free.index(stage), (use // STAGES & 1) ^ 1)
    full = ring.full.index(stage)
    mbarrier.expect(full, tensor.block_type.nbytes)
    tma.async_copy_global_to_shared(
        tensor, [batch, head, row, 0], full, ring.tiles.index(stage)
    )


@gluon.jit
def wait_for_tile(ring, use):
    """A consumer's part: the tile, [rows, columns], once it is full."""
    STAGES: gl.constexpr = ring.tiles.shape[0]
    LINES: gl.constexpr = ring.tiles.shape[3]
    COLUMNS: gl.constexpr = ring.tiles.shape[4]
    stage = use % STAGES
    mbarrier.wait(ring.full.index(stage), use // STAGES & 1)
    return ring.tiles.index(stage).reshape([LINES, COLUMNS])


@gluon.jit
def release(ring, use):
    """A consumer's part: says that it has read the tile; free is when all have."""
    STAGES: gl.constexpr = ring.tiles.shape[0]
    mbarrier.arrive(ring.free.index(use % STAGES), count=1)


# Sharing out.  A unit of work is a block of queries.  Causal, late blocks see many keys and
# early ones few: there a unit is one of each, and all units are equally long (if N_q <= N_k),
# but for a block in the middle, which may be left over.


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
    """Where a block of queries is: number of its head in the batch, first query, key blocks."""
    blocks = gl.cdiv(seq_q, BLOCK_Q)
    units = gl.cdiv(blocks, 2) if PAIRED else blocks
    batch_head = unit // units
    block = blocks - 1 - unit % units  # the longest first
    if PAIRED:
        block = gl.where(which == 0, block, unit % units)
    first_query = block * BLOCK_Q
    seen = gl.minimum(seq_k, first_query + BLOCK_Q) if CAUSAL else seq_k
    return batch_head, first_query, gl.cdiv(seen, BLOCK_K)


@gluon.jit
def produce(
    tensors, sizes, CONSUMERS: gl.constexpr, CAUSAL: gl.constexpr, PAIRED: gl.constexpr
):
    """The producer: all tiles of all units of this program, as fast as they become free.

    The last block of keys comes first: it always gets the mask, for the end of the keys and for
    the diagonal.  The others need none, but near the diagonal where BLOCK_K < BLOCK_Q.
    """
    q, k, v, _, _, query_rings, keys, values, _ = tensors
    _, units, heads, group, seq_q, seq_k = sizes
    BLOCK_Q: gl.constexpr = CONSUMERS * ROWS
    BLOCK_K: gl.constexpr = k.block_type.shape[2]
    q_use = gl.to_tensor(0)
    use = gl.to_tensor(0)
    for unit in range(gl.program_id(0), units, gl.num_programs(0)):
        for which in range(blocks_in(unit, seq_q, BLOCK_Q, PAIRED)):
            batch_head, first_query, blocks = block_of(
                unit, which, seq_q, seq_k, BLOCK_Q, BLOCK_K, CAUSAL, PAIRED
            )
            batch, head = batch_head // heads, batch_head % heads
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
def pinned(number):
    """The same number, through an instruction that the compiler may not move out of a branch.

    Without it the compiler would compute the mask for every block, and select afterwards.
    """
    return gl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [number], dtype=gl.int32, is_pure=False, pack=1
    )


@gluon.jit
def weigh(scores, running_max, running_sum, scale_log2):
    """Online softmax, as in ``kernels.softmax``, in base 2: weights, and the state after them.

    Last, the factor by which sums from before must be rescaled.
    """
    new_max = gl.maximum(running_max, gl.max(scores, 1))
    # Where every score is -inf, subtract 0: (-inf) - (-inf) would be NaN.
    finite = gl.where(new_max == -float("inf"), 0.0, new_max)
    weights = gl.exp2(scores * scale_log2 - (finite * scale_log2)[:, None])
    rescale = gl.exp2((running_max - finite) * scale_log2)
    return weights, new_max, running_sum * rescale + gl.sum(weights, 1), rescale


@gluon.jit
def wait_for_turn(turn_barriers, turn, CONSUMER: gl.constexpr):
    """Waits until the consumer before has started its products; consumer 0 begins."""
    FIRST: gl.constexpr = 1 if CONSUMER == 0 else 0
    mbarrier.wait(turn_barriers.index(CONSUMER), (turn & 1) ^ FIRST)


@gluon.jit
def pass_turn(turn_barriers, CONSUMER: gl.constexpr, CONSUMERS: gl.constexpr):
    """Lets the next consumer start its products."""
    mbarrier.arrive(turn_barriers.index((CONSUMER + 1) % CONSUMERS), count=1)


@gluon.jit
def step(
    queries, keys, values, use, turn_barriers, turn, weights, accumulator,
    running_max, running_sum, scale_log2, first_query, first_key, seq_k, SCORES: gl.constexpr,
    CONSUMER: gl.constexpr, CONSUMERS: gl.constexpr,
    DIAGONAL: gl.constexpr, OVERLAP: gl.constexpr, TURNS: gl.constexpr,
):  # fmt: skip
    """Scores and softmax of a block of keys; the product with the values of the one before."""
    OUTPUT: gl.constexpr = accumulator.type.layout
    these_keys = wait_for_tile(keys, use)
    if TURNS:
        wait_for_turn(turn_barriers, turn, CONSUMER)
    # Start both products.  They end in this order: waiting for the first leaves the second on.
    scores = start_scores(queries, these_keys, SCORES)
    accumulator = warpgroup_mma(
        weights, wait_for_tile(values, use - 1), accumulator, is_async=True
    )
    if TURNS:
        pass_turn(turn_barriers, CONSUMER, CONSUMERS)
    if OVERLAP:
        scores = warpgroup_mma_wait(1, deps=(scores,))
        release(keys, use)
    else:
        scores, accumulator = warpgroup_mma_wait(0, deps=(scores, accumulator))
        release(keys, use)
        release(values, use - 1)
    if DIAGONAL:  # noqa: SIM102, for one is known when compiling
        if first_key + scores.shape[1] > first_query + 1:
            scores = masked(scores, first_query, pinned(first_key), seq_k, True)
    new_weights, running_max, running_sum, rescale = weigh(
        scores, running_max, running_sum, scale_log2
    )
    if OVERLAP:
        # The compiler moves all of softmax but the maximum to after this wait.  Made to stay
        # before it, softmax overlapped whole, and the kernel was slower; we do not know why.
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

    Scores leave wgmma in the layout in which it takes a left operand from registers: the
    weights stay with their threads.
    """
    _, k, _, out, lse, query_rings, keys, values, turn_barriers = tensors
    scale_log2, units, _, _, seq_q, seq_k = sizes
    BLOCK_Q: gl.constexpr = CONSUMERS * ROWS
    BLOCK_K: gl.constexpr = k.block_type.shape[2]
    COLUMNS: gl.constexpr = k.block_type.shape[3]
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_K, 16])
    OUTPUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    LEFT: gl.constexpr = gl.DotOperandLayout(0, OUTPUT, 2)
    BY_ROW: gl.constexpr = gl.SliceLayout(1, SCORES)
    # If BLOCK_K is a multiple of BLOCK_Q, only the last block of keys is cut by the diagonal.
    DIAGONAL: gl.constexpr = CAUSAL and BLOCK_K % BLOCK_Q != 0
    query_ring = query_rings[CONSUMER]
    q_use = gl.to_tensor(0)
    use = gl.to_tensor(0)
    turn = gl.to_tensor(0)
    for unit in range(gl.program_id(0), units, gl.num_programs(0)):
        for which in range(blocks_in(unit, seq_q, BLOCK_Q, PAIRED)):
            batch_head, first_query, blocks = block_of(
                unit, which, seq_q, seq_k, BLOCK_Q, BLOCK_K, CAUSAL, PAIRED
            )
            first_query += CONSUMER * ROWS
            end = use + blocks

            # The last block of keys; there are no weights yet to multiply with values.
            queries = wait_for_tile(query_ring, q_use)
            scores = start_scores(queries, wait_for_tile(keys, use), SCORES)
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
                    queries, keys, values, use, turn_barriers, turn,
                    weights, accumulator, running_max, running_sum, scale_log2,
                    first_query, (end - 1 - use) * BLOCK_K, seq_k, SCORES,
                    CONSUMER, CONSUMERS, DIAGONAL, OVERLAP, TURNS,
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
            queries.store((accumulator * factor[:, None]).to(queries.dtype))
            fence_async_shared()
            Q_STAGES: gl.constexpr = query_ring.tiles.shape[0]
            tile = query_ring.tiles.index(q_use % Q_STAGES)
            tma.async_copy_shared_to_global(out, [0, batch_head, first_query, 0], tile)
            if lse is not None:
                query = first_query + gl.arange(0, ROWS, BY_ROW)
                row_lse = (running_max * scale_log2 + gl.log2(total)) * LN_2
                gl.store(lse + batch_head.to(gl.int64) * seq_q + query, row_lse, query < seq_q)
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
    """Program i of P does units of work i, i + P, i + 2P and so on.

    q, k, v: tensor descriptors of [batch, heads, rows, columns], tiles of one head
    out: one of [1, batch · heads, rows, columns]   lse: a pointer, or None
    units: how many there are; heads: of queries; group: how many of them share keys
    """
    if CONSUMERS == 3:
        query_rings = (
            make_ring(q, Q_STAGES, 1),
            make_ring(q, Q_STAGES, 1),
            make_ring(q, Q_STAGES, 1),
        )
    else:
        query_rings = (make_ring(q, Q_STAGES, 1), make_ring(q, Q_STAGES, 1))
    keys = make_ring(k, STAGES, CONSUMERS)
    values = make_ring(v, STAGES, CONSUMERS)
    turn_barriers = barriers(CONSUMERS, 1)
    fence_async_shared()  # TMA, too, finds the barriers ready
    tensors = (q, k, v, out, lse, query_rings, keys, values, turn_barriers)
    sizes = (scale_log2, units, heads, group, seq_q, seq_k)
    # From here on the warps run different functions: the first in the four warps that are here,
    # the others in as many more as the list says.  All began with equally many registers; now
    # the producer gives up its own, and the consumers take them.  How many functions there are
    # must be known when compiling, and constants stay constants only in tuples written here.
    if CONSUMERS == 3:
        gl.warp_specialize(
            [
                (consume, (tensors, sizes, 0, 3, CAUSAL, PAIRED, OVERLAP, TURNS)),
                (consume, (tensors, sizes, 1, 3, CAUSAL, PAIRED, OVERLAP, TURNS)),
                (consume, (tensors, sizes, 2, 3, CAUSAL, PAIRED, OVERLAP, TURNS)),
                (produce, (tensors, sizes, 3, CAUSAL, PAIRED)),
            ],
            [4, 4, 1],
            [REGISTERS, REGISTERS, PRODUCER_REGISTERS],
        )
    else:
        gl.warp_specialize(
            [
                (consume, (tensors, sizes, 0, 2, CAUSAL, PAIRED, OVERLAP, TURNS)),
                (consume, (tensors, sizes, 1, 2, CAUSAL, PAIRED, OVERLAP, TURNS)),
                (produce, (tensors, sizes, 2, CAUSAL, PAIRED)),
            ],
            [4, 1],
            [REGISTERS, PRODUCER_REGISTERS],
        )
