"""FlashAttention: queries stay, keys and values stream past, and the square is never written.

One program owns a block of queries.  For each it keeps what ``kernels.softmax.OnlineSoftmax``
keeps, a running maximum (here times log2(e), for exp2) and a running sum, and beside them the
blend of the values read so far.  A block of scores lives in registers from the first matmul to
the second; when the maximum moves, all that was summed before is rescaled by the same factor.

The backward pass reads no square either.  Of each row the forward pass leaves one number, the
log-sum-exp ``lse``, and from it the weights are computed again, block by block:

    weights  = exp(scores - lse)                  as they were in the forward pass
    dvalue   = weightsᵀ · dout
    dweights = dout · valueᵀ
    dscores  = weights ∘ (dweights - delta)       delta = rowsum(dout ∘ out), one number a row
    dquery   = dscores · key · scale
    dkey     = dscoresᵀ · query · scale

A program adds up only what it owns, so each sum has one order and two runs agree bit for bit:
one kernel owns queries and streams keys, one owns keys and streams queries.  The price is to
compute scores and dweights twice: seven matmuls instead of five.

Blocks are read through tensor descriptors: on Hopper and later the Tensor Memory Accelerator
(TMA) fetches a whole block, and fills up with zeros what lies outside the tensor.

Sources: T. Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with
IO-Awareness", 2022, arXiv:2205.14135; for the order of the loops T. Dao, "FlashAttention-2:
Faster Attention with Better Parallelism and Work Partitioning", 2023, arXiv:2307.08691.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from kernels.inputs import REFERENCE, check_kernel, check_shapes

LOG2_E = tl.constexpr(math.log2(math.e))


class Tiles(NamedTuple):
    """How the work is cut: queries and keys a block, warps a program, stages in flight.

    registers: the most that a thread may have, so that more programs fit on an SM; None: any
    """

    block_q: int
    block_k: int
    warps: int
    stages: int
    registers: int | None = None

    @property
    def launch(self) -> dict[str, int | None]:
        """The options of a launch: how many warps, stages and registers."""
        return {"num_warps": self.warps, "num_stages": self.stages, "maxnreg": self.registers}


# Tiles that were fast on an H100, for head_dim up to 64, 128 and 256.  A GPU with less shared
# memory than its 227 KB a block may refuse them.
TILES = {
    # FP16 and BF16.  At 128 the forward pass keeps no stage in flight: of three programs on an
    # SM one loads while two compute.
    ("forward", 2): (Tiles(64, 128, 4, 2), Tiles(64, 128, 4, 1, 168), Tiles(128, 64, 8, 2)),
    ("dq", 2): (Tiles(64, 64, 4, 2), Tiles(64, 64, 4, 2), Tiles(128, 32, 8, 2)),
    ("dkdv", 2): (Tiles(128, 64, 4, 2), Tiles(64, 64, 4, 2), Tiles(32, 64, 8, 3)),
    # FP32: products on plain lanes, unrolled into long code.
    ("forward", 4): (Tiles(32, 32, 4, 1), Tiles(32, 64, 8, 1), Tiles(32, 32, 8, 1)),
    ("dq", 4): (Tiles(16, 32, 4, 1), Tiles(16, 16, 8, 1), Tiles(16, 16, 8, 1)),
    ("dkdv", 4): (Tiles(16, 32, 4, 1), Tiles(16, 16, 4, 1), Tiles(16, 16, 8, 1)),
}


def tiles(kernel: Literal["forward", "dq", "dkdv"], head_dim: int, dtype: torch.dtype) -> Tiles:
    """The tiles of one of the kernels."""
    return TILES[kernel, dtype.itemsize][(head_dim > 64) + (head_dim > 128)]


def flash_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    key_lengths: Tensor | None = None,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """``reference.attention`` in O(N) memory: [batch, heads, N_q, head_dim].

    Differentiable, once: the gradients have none.
    q: [batch, heads, N_q, head_dim]   k, v: [batch, heads or a divisor of it, N_k, head_dim]
    FP32, FP16 or BF16, sums in FP32; head_dim 1 to 256.  FP32 products are IEEE FP32, or TF32
    where ``torch.backends.cuda.matmul.fp32_precision`` says so.
    is_causal: aligned top-left, as in torch: query i sees keys 0 to i
    scale: 1/√head_dim if None, any sign; what FP32 holds only as a subnormal counts as 0
    enable_gqa: fewer heads in k and v than in q
    key_lengths: [batch]; in sequence b keys from key_lengths[b] on are padding, and not used
    return_lse: also the natural logarithm of each row's sum of exp(score), [batch, heads, N_q]
    in FP32; it has a gradient, too, so that partial results can be merged and trained through
    A query without any key gets 0, lse -inf and gradient 0; so does one whose every score is
    -inf, where the reference has NaN.  NaN or inf in v reaches the whole block of queries that
    reads it, 0 · NaN = NaN, and in k the gradient of that block.
    Asks for Q and the output once, and for K and V once a block of queries; causal, only for
    those up to the diagonal.  What TMA cannot read in place is copied first: a tensor whose
    rows are not contiguous, or whose start or strides are no multiples of 16 bytes.
    torch.autocast changes nothing.

    Raises a ValueError or TypeError that names the argument, also for one on a CPU outside
    Triton's interpreter.
    """
    scale = check_shapes(
        q, k, v,
        is_causal=is_causal, key_lengths=key_lengths, scale=scale, enable_gqa=enable_gqa,
    )  # fmt: skip
    key_lengths = None if key_lengths is None else key_lengths.contiguous()
    # The kernel takes the maximum before it scales, so its scale must be above 0, in FP32 too.
    if scale < 0:
        q, scale = -q, -scale
    if scale < torch.finfo(torch.float32).tiny:
        q, scale = 0 * q, 1.0
    out, lse = flash_forward(q, k, v, key_lengths, is_causal, scale)
    return (out, lse) if return_lse else out


# What torch has to know: two operators, their shapes, and which is the other's gradient.


@torch.library.custom_op("attention_handbook::flash_forward", mutates_args=())
def flash_forward(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None, is_causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """Output and lse, from one kernel."""
    check_kernel(flash_forward_kernel, on_cpu=REFERENCE, query=q, key=k, value=v)
    batch, heads, seq_q, head_dim = q.shape
    out, lse = empty_outputs(q)
    if out.numel() == 0 or k.shape[-2] == 0:
        return out.zero_(), lse.fill_(-torch.inf)
    tile = tiles("forward", head_dim, q.dtype)
    pairs = batch * heads
    with torch.cuda.device_of(q):
        flash_forward_kernel[(pairs * triton.cdiv(seq_q, tile.block_q),)](
            described(q, tile.block_q), described(k, tile.block_k), described(v, tile.block_k),
            out, lse, key_lengths, scale * LOG2_E.value,
            pairs, interleaved(is_causal, pairs, seq_q), *sizes_of(q, k),
            HEAD_DIM=head_dim, CAUSAL=is_causal, PRECISION=precision(), **tile.launch,
        )  # fmt: skip
    return out, lse


@torch.library.custom_op("attention_handbook::flash_backward", mutates_args=())
def flash_backward(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None, is_causal: bool, scale: float,
    out: Tensor, lse: Tensor, dout: Tensor, dlse: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients of q, k and v, from two kernels; one leaves the other two numbers a row."""
    batch, heads, seq_q, head_dim = q.shape
    dq, dk, dv = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
    if dq.numel() == 0 or dk.numel() == 0:
        return dq.zero_(), dk.zero_(), dv.zero_()
    to_dq, to_dkdv = (tiles(kernel, head_dim, q.dtype) for kernel in ("dq", "dkdv"))
    # Room for whole blocks of queries: the second kernel reads its rows without a mask.
    padded_q = triton.cdiv(seq_q, block := max(to_dq.block_q, to_dkdv.block_q)) * block
    shift, delta = torch.empty(2, batch, heads, padded_q, device=q.device)
    dlse = None if dlse is None else dlse.contiguous()
    shared = dict(HEAD_DIM=head_dim, CAUSAL=is_causal, PRECISION=precision())
    with torch.cuda.device_of(q):
        tile, pairs = to_dq, batch * heads
        flash_dq_kernel[(pairs * triton.cdiv(padded_q, tile.block_q),)](
            described(q, tile.block_q), described(k, tile.block_k), described(v, tile.block_k),
            described(out, tile.block_q), described(dout, tile.block_q),
            lse, dlse, shift, delta, dq, key_lengths, scale, scale * LOG2_E.value,
            pairs, interleaved(is_causal, pairs, seq_q), *sizes_of(q, k), padded_q,
            **shared, **tile.launch,
        )  # fmt: skip
        tile, pairs = to_dkdv, batch * k.shape[1]
        flash_dkdv_kernel[(pairs * triton.cdiv(k.shape[2], tile.block_k),)](
            described(q, tile.block_q), described(k, tile.block_k), described(v, tile.block_k),
            described(dout, tile.block_q), shift, delta, dk, dv, key_lengths,
            scale, scale * LOG2_E.value,
            pairs, interleaved(is_causal, pairs, k.shape[2]), *sizes_of(q, k), padded_q,
            **shared, **tile.launch,
        )  # fmt: skip
    return dq, dk, dv


@flash_forward.register_fake
def _(q, k, v, key_lengths, is_causal, scale):
    return empty_outputs(q)


@flash_backward.register_fake
def _(q, k, v, key_lengths, is_causal, scale, out, lse, dout, dlse):
    return tuple(torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))


def keep_for_backward(ctx, inputs, output):
    """What the backward pass needs of the forward pass: O(N), and no square."""
    q, k, v, key_lengths, ctx.is_causal, ctx.scale = inputs
    ctx.save_for_backward(q, k, v, key_lengths, *output)
    ctx.set_materialize_grads(False)  # None for an output that was not used


def gradients(ctx, dout, dlse):
    """The gradients of flash_forward's arguments, from those of its two results."""
    q, k, v, key_lengths, out, lse = ctx.saved_tensors
    dout = torch.zeros_like(out) if dout is None else dout
    arguments = (q, k, v, key_lengths, ctx.is_causal, ctx.scale, out, lse, dout, dlse)
    return *flash_backward(*arguments), None, None, None


flash_forward.register_autograd(gradients, setup_context=keep_for_backward)


# How tensors reach the kernels.


def empty_outputs(q: Tensor) -> tuple[Tensor, Tensor]:
    """Room for the output, like q but contiguous, and for lse."""
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    return out, torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device)


def described(x: Tensor, rows: int) -> TensorDescriptor:
    """Where blocks of ``rows`` rows of one head are: an address, four sizes, four strides."""
    unit = 16 // x.element_size()  # TMA counts in 16 bytes
    strides_fit = x.stride(-1) == 1 and all(stride % unit == 0 for stride in x.stride()[:-1])
    if not strides_fit or x.data_ptr() % 16:
        width = triton.cdiv(x.shape[-1], unit) * unit
        x = x.new_empty(*x.shape[:-1], width)[..., : x.shape[-1]].copy_(x)
    columns = max(16, triton.next_power_of_2(x.shape[-1]))
    return TensorDescriptor(x, list(x.shape), list(x.stride()), [1, 1, rows, columns])


def sizes_of(q: Tensor, k: Tensor) -> tuple[int, int, int, int]:
    """heads, group, seq_q, seq_k: group is how many query heads share one key head."""
    return q.shape[1], q.shape[1] // k.shape[1], q.shape[2], k.shape[2]


def interleaved(is_causal: bool, pairs: int, rows: int) -> int:
    """How many of the last pairs of batch and head are worked on at a time, causal: 2**15 rows.

    That is about what runs on an H100 at once.  Without it the last long blocks run alone at
    the end; all pairs interleaved would not share what L2 holds.  rows: of one pair
    """
    return min(pairs, triton.cdiv(2**15, rows)) if is_causal else 1


def precision() -> str:
    """How FP32 is multiplied; tensor cores round it to TF32, which torch must have allowed."""
    return "tf32" if torch.backends.cuda.matmul.fp32_precision == "tf32" else "ieee"


# The kernels.  What load_block reads is a descriptor, see above; other tensors are pointers to
# contiguous ones.  scale_log2 is scale · log2(e), so that exp2 can stand for exp.  Lengths and
# counts get no compilations of their own.
COUNTS = ["pairs", "interleave", "heads", "group", "seq_q", "seq_k", "padded_q"]


@triton.jit
def load_block(tensor, batch, head, row):
    """A block of rows, [rows, columns], from ``row`` on; outside of the tensor, zeros."""
    block = tensor.load([batch, head, row, 0])
    return block.reshape(block.shape[2], block.shape[3])


@triton.jit
def share_of_work(blocks, pairs, interleave):
    """Which pair of batch and head is this program's, and which of its blocks, longest first.

    One pair after the other; but of the last ``interleave`` first the longest block of each,
    then the next, so that at the end only short work is left.
    """
    program = tl.program_id(0)
    in_order = (pairs - interleave) * blocks
    if program < in_order:
        pair = program // blocks
        rank = program % blocks
    else:
        pair = pairs - interleave + (program - in_order) % interleave
        rank = (program - in_order) // interleave
    return pair, rank


@triton.jit
def length_of(key_lengths, batch, seq_k):
    """How many keys of this sequence are no padding."""
    if key_lengths is not None:
        seq_k = tl.minimum(tl.maximum(tl.load(key_lengths + batch), 0), seq_k).to(tl.int32)
    return seq_k


@triton.jit(do_not_specialize=COUNTS)
def flash_forward_kernel(
    q, k, v, out, lse, key_lengths, scale_log2, pairs, interleave, heads, group, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One block of queries: reads its keys and values, writes its output and lse."""
    BLOCK_Q: tl.constexpr = q.block_shape[2]
    BLOCK_K: tl.constexpr = k.block_shape[2]
    PADDED_DIM: tl.constexpr = q.block_shape[3]
    query_blocks = tl.cdiv(seq_q, BLOCK_Q)
    pair, rank = share_of_work(query_blocks, pairs, interleave)
    first_query = (query_blocks - 1 - rank) * BLOCK_Q  # the longest causal work first
    batch, head = pair // heads, pair % heads
    key_head = head // group
    seq_k = length_of(key_lengths, batch, seq_k)
    query = first_query + tl.arange(0, BLOCK_Q)

    # A block of queries stays.  Of keys and values nothing was read yet.
    queries = load_block(q, batch, head, first_query)
    running_max = tl.full([BLOCK_Q], -float("inf"), tl.float32)
    running_sum = tl.zeros([BLOCK_Q], tl.float32)
    accumulator = tl.zeros([BLOCK_Q, PADDED_DIM], tl.float32)

    # Keys and values stream past, twice the same loop: over the blocks that every query here
    # sees whole, then over those at the diagonal and at the end, which need a mask.  What no
    # query here sees is not read.
    stop = tl.minimum(seq_k, first_query + BLOCK_Q) if CAUSAL else seq_k
    whole = (tl.minimum(stop, first_query + 1) if CAUSAL else stop) // BLOCK_K * BLOCK_K
    for MASKED in tl.static_range(2):
        for first_key in range(whole if MASKED else 0, stop if MASKED else whole, BLOCK_K):
            key = first_key + tl.arange(0, BLOCK_K)

            # Multiply: the scores of these queries with these keys.
            keys = load_block(k, batch, key_head, first_key)
            scores = tl.dot(queries, keys.T, input_precision=PRECISION)
            if MASKED:
                visible = (key < seq_k)[None, :]
                if CAUSAL:
                    visible = visible & (key[None, :] <= query[:, None])
                scores = tl.where(visible, scores, -float("inf"))

            # Squish, as far as the scores are known: when the maximum moves, what was summed
            # before is rescaled.
            new_max = tl.maximum(running_max, tl.max(scores, 1) * scale_log2)
            # Where nothing was seen yet, (-inf) - (-inf) would be NaN.
            safe_max = tl.where(new_max == -float("inf"), 0.0, new_max)
            exponentials = tl.exp2(scores * scale_log2 - safe_max[:, None])
            rescale = tl.exp2(running_max - safe_max)
            running_max = new_max
            running_sum = running_sum * rescale + tl.sum(exponentials, 1)

            # Multiply: the values, blended by the same exponentials.
            values = load_block(v, batch, key_head, first_key)
            if MASKED and key_lengths is not None:  # padding may hold NaN, and 0 · NaN is NaN
                values = tl.where((key < seq_k)[:, None], values, 0.0)
            weights = exponentials.to(values.dtype)
            accumulator = accumulator * rescale[:, None]
            accumulator = tl.dot(weights, values, accumulator, input_precision=PRECISION)

    # Only now divide.  The sum is 0 where every score was -inf, or there was no key: a blend of
    # nothing is 0, and its lse is -inf.
    safe_sum = tl.where(running_sum == 0.0, 1.0, running_sum)
    row = tl.cast(pair, tl.int64) * seq_q + query  # 64 bits: offsets may pass 2**31
    column = tl.arange(0, PADDED_DIM)
    tl.store(lse + row, (running_max + tl.log2(safe_sum)) / LOG2_E, query < seq_q)
    tl.store(
        out + row[:, None] * HEAD_DIM + column[None, :],
        (accumulator / safe_sum[:, None]).to(out.dtype.element_ty),
        (query < seq_q)[:, None] & (column < HEAD_DIM)[None, :],
    )


@triton.jit(do_not_specialize=COUNTS)
def flash_dq_kernel(
    q, k, v, out, dout, lse, dlse, shift, delta, dq, key_lengths,
    scale, scale_log2, pairs, interleave, heads, group, seq_q, seq_k, padded_q,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One block of queries: reads its keys and values, writes its gradient, shift and delta."""
    BLOCK_Q: tl.constexpr = q.block_shape[2]
    BLOCK_K: tl.constexpr = k.block_shape[2]
    PADDED_DIM: tl.constexpr = q.block_shape[3]
    query_blocks = padded_q // BLOCK_Q
    pair, rank = share_of_work(query_blocks, pairs, interleave)
    first_query = (query_blocks - 1 - rank) * BLOCK_Q
    batch, head = pair // heads, pair % heads
    key_head = head // group
    seq_k = length_of(key_lengths, batch, seq_k)
    query = first_query + tl.arange(0, BLOCK_Q)
    row = tl.cast(pair, tl.int64) * seq_q + query

    # delta: how much of dout points along the output, which softmax takes back.
    queries = load_block(q, batch, head, first_query)
    douts = load_block(dout, batch, head, first_query)
    outs = load_block(out, batch, head, first_query)
    row_delta = tl.sum(outs.to(tl.float32) * douts.to(tl.float32), 1)
    if dlse is not None:
        row_delta -= tl.load(dlse + row, query < seq_q, 0.0)
    # shift: lse for exp2.  +inf makes every weight of a row 0 that saw nothing, or is none.
    row_shift = tl.load(lse + row, query < seq_q, -float("inf")) * LOG2_E
    row_shift = tl.where(row_shift == -float("inf"), float("inf"), row_shift)
    padded_row = tl.cast(pair, tl.int64) * padded_q + query
    tl.store(delta + padded_row, row_delta)
    tl.store(shift + padded_row, row_shift)

    # The loops of the forward pass; the weights are final as soon as they are computed.
    dqueries = tl.zeros([BLOCK_Q, PADDED_DIM], tl.float32)
    stop = tl.minimum(seq_k, first_query + BLOCK_Q) if CAUSAL else seq_k
    whole = (tl.minimum(stop, first_query + 1) if CAUSAL else stop) // BLOCK_K * BLOCK_K
    for MASKED in tl.static_range(2):
        for first_key in range(whole if MASKED else 0, stop if MASKED else whole, BLOCK_K):
            key = first_key + tl.arange(0, BLOCK_K)
            keys = load_block(k, batch, key_head, first_key)
            values = load_block(v, batch, key_head, first_key)
            if MASKED and key_lengths is not None:
                keys = tl.where((key < seq_k)[:, None], keys, 0.0)
            scores = tl.dot(queries, keys.T, input_precision=PRECISION)
            weights = tl.exp2(scores * scale_log2 - row_shift[:, None])
            dweights = tl.dot(douts, values.T, input_precision=PRECISION)
            dscores = weights * (dweights - row_delta[:, None])
            if MASKED:
                visible = (key < seq_k)[None, :]
                if CAUSAL:
                    visible = visible & (key[None, :] <= query[:, None])
                dscores = tl.where(visible, dscores, 0.0)
            dscores = dscores.to(keys.dtype)
            dqueries = tl.dot(dscores, keys, dqueries, input_precision=PRECISION)

    column = tl.arange(0, PADDED_DIM)
    tl.store(
        dq + row[:, None] * HEAD_DIM + column[None, :],
        (dqueries * scale).to(dq.dtype.element_ty),
        (query < seq_q)[:, None] & (column < HEAD_DIM)[None, :],
    )


@triton.jit(do_not_specialize=COUNTS)
def flash_dkdv_kernel(
    q, k, v, dout, shift, delta, dk, dv, key_lengths,
    scale, scale_log2, pairs, interleave, heads, group, seq_q, seq_k, padded_q,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One block of keys: reads the queries that see it, of every head that shares it.

    Its blocks lie the other way round, [keys, queries], so that what is multiplied next comes
    straight from registers.
    """
    BLOCK_Q: tl.constexpr = q.block_shape[2]
    BLOCK_K: tl.constexpr = k.block_shape[2]
    PADDED_DIM: tl.constexpr = q.block_shape[3]
    pair, rank = share_of_work(tl.cdiv(seq_k, BLOCK_K), pairs, interleave)  # of key heads
    first_key = rank * BLOCK_K
    batch, key_head = pair // (heads // group), pair % (heads // group)
    key = first_key + tl.arange(0, BLOCK_K)
    length = length_of(key_lengths, batch, seq_k)

    # A block of keys and values stays.
    keys = load_block(k, batch, key_head, first_key)
    values = load_block(v, batch, key_head, first_key)
    dkeys = tl.zeros([BLOCK_K, PADDED_DIM], tl.float32)
    dvalues = tl.zeros([BLOCK_K, PADDED_DIM], tl.float32)

    # Queries stream past: first those at the diagonal, which see some of these keys, then those
    # that see all.  Rows beyond the last query have a shift that makes their weights 0.
    stop = seq_q if first_key < length else 0
    start = first_key // BLOCK_Q * BLOCK_Q if CAUSAL else 0
    whole = tl.cdiv(first_key + BLOCK_K - 1, BLOCK_Q) * BLOCK_Q if CAUSAL else 0
    for head in range(key_head * group, (key_head + 1) * group):
        first_row = (tl.cast(batch, tl.int64) * heads + head) * padded_q
        for UNMASKED in tl.static_range(0 if CAUSAL else 1, 2):
            for first_query in range(
                whole if UNMASKED else start,
                stop if UNMASKED else tl.minimum(whole, stop),
                BLOCK_Q,
            ):
                query = first_query + tl.arange(0, BLOCK_Q)
                queries = load_block(q, batch, head, first_query)
                row_shift = tl.load(shift + first_row + query)
                scores = tl.dot(keys, queries.T, input_precision=PRECISION)
                weights = tl.exp2(scores * scale_log2 - row_shift[None, :])
                if not UNMASKED:
                    weights = tl.where(key[:, None] <= query[None, :], weights, 0.0)

                douts = load_block(dout, batch, head, first_query)
                dvalues = tl.dot(
                    weights.to(douts.dtype), douts, dvalues, input_precision=PRECISION
                )
                dweights = tl.dot(values, douts.T, input_precision=PRECISION)
                row_delta = tl.load(delta + first_row + query)
                dscores = (weights * (dweights - row_delta[None, :])).to(queries.dtype)
                dkeys = tl.dot(dscores, queries, dkeys, input_precision=PRECISION)

    # Padding has gradient 0, whatever it holds.
    real = (key < length)[:, None]
    column = tl.arange(0, PADDED_DIM)
    row = tl.cast(pair, tl.int64) * seq_k + key
    place = row[:, None] * HEAD_DIM + column[None, :]
    stored = (key < seq_k)[:, None] & (column < HEAD_DIM)[None, :]
    tl.store(dk + place, tl.where(real, dkeys * scale, 0.0).to(dk.dtype.element_ty), stored)
    tl.store(dv + place, tl.where(real, dvalues, 0.0).to(dv.dtype.element_ty), stored)
