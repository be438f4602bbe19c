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

import torch
import triton
from torch import Tensor

from kernels.checks import REFERENCE, check_kernel, check_shapes, transformed
from kernels.flash.backward import flash_dkdv_kernel, flash_dq_kernel
from kernels.flash.forward import flash_forward_kernel
from kernels.flash.tensors import (
    described,
    empty_like,
    empty_outputs,
    interleaved,
    precision,
    sizes_of,
)
from kernels.flash.tiles import tiles
from kernels.flash.work import LOG2_E
from kernels.launch import gradient_is_wanted, launch, noted, notes_for

TINY = torch.finfo(torch.float32).tiny


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

    Differentiable, once, by torch.autograd: the gradients have none.  Forward mode and
    torch.func.grad are refused; torch.func.vmap takes one entry after the other.
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
    Large scores cost the gradients digits, and the output none: the weights are made again from
    lse, which FP32 rounds.  Where scores reach 1000, gradients are off by up to 1e-4 of their
    size, as in every FlashAttention, and by twice as much for each doubling.

    Raises a ValueError or TypeError that names the argument, also for one on a CPU outside
    Triton's interpreter.
    """
    notes = notes_for((q, k, v, key_lengths), is_causal, scale, enable_gqa)
    scale = noted(
        notes, "scale",
        lambda: check(q, k, v, key_lengths, is_causal, scale, enable_gqa, notes is not None),
    )  # fmt: skip
    lengths_apart = key_lengths is not None and not key_lengths.is_contiguous()
    if scale < TINY or lengths_apart:
        # The kernel takes the maximum before it scales: its scale must be above 0, in FP32 too.
        if scale < 0:
            q, scale = -q, -scale
        if scale < TINY:
            q, scale = 0 * q, 1.0
        key_lengths = key_lengths.contiguous() if lengths_apart else key_lengths
        notes = notes_for((q, k, v, key_lengths), is_causal, scale)
    if notes is None:
        out, lse = flash_forward(q, k, v, key_lengths, is_causal, scale)
    elif gradient_is_wanted(q, k, v):
        out, lse = Attention.apply(q, k, v, key_lengths, is_causal, scale, notes)
    else:
        out, lse = forward(q, k, v, key_lengths, is_causal, scale, notes)
    return (out, lse) if return_lse else out


def check(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None,
    is_causal: bool, scale: float | None, enable_gqa: bool, skips_operator: bool,
) -> float:  # fmt: skip
    """Raises what ``flash_attention`` says of its arguments; the scale to use."""
    scale = check_shapes(
        q, k, v,
        is_causal=is_causal, key_lengths=key_lengths, scale=scale, enable_gqa=enable_gqa,
    )  # fmt: skip
    if transformed(query=q, key=k, value=v):
        raise TypeError(
            f"{transformed(query=q, key=k, value=v)} is differentiated in forward mode or by "
            f"torch.func, for which this has no rule: use torch.autograd.grad or {REFERENCE}"
        )
    if skips_operator:
        check_kernel(flash_forward_kernel, on_cpu=REFERENCE, query=q, key=k, value=v)
    return scale


# The two passes.


def forward(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None, is_causal: bool, scale: float,
    notes: dict | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Output and lse, from one kernel."""
    batch, heads, seq_q, head_dim = q.shape
    out, lse = empty_outputs(q)
    if out.numel() == 0 or k.shape[-2] == 0:
        return out.zero_(), lse.fill_(-torch.inf)
    tile, multiply = tiles("forward", head_dim, q.dtype), precision(q)

    def prepare():
        pairs = batch * heads
        arguments = (
            described(q, tile.block_q), described(k, tile.block_k), described(v, tile.block_k),
            out, lse, key_lengths, scale * LOG2_E.value,
            pairs, interleaved(is_causal, pairs, seq_q), *sizes_of(q, k),
        )  # fmt: skip
        options = dict(HEAD_DIM=head_dim, CAUSAL=is_causal, PRECISION=multiply, **tile.launch)
        return (pairs * triton.cdiv(seq_q, tile.block_q),), arguments, options

    addressed = (q, k, v, out, lse, key_lengths)
    launch(flash_forward_kernel, notes, (tile, multiply), addressed, prepare)
    return out, lse


def backward(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None, is_causal: bool, scale: float,
    out: Tensor, lse: Tensor, dout: Tensor, dlse: Tensor | None, notes: dict | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients of q, k and v, from two kernels; one leaves the other two numbers a row."""
    batch, heads, seq_q, head_dim = q.shape
    dq, dk, dv = empty_like(q), empty_like(k), empty_like(v)
    if dq.numel() == 0 or dk.numel() == 0:
        return dq.zero_(), dk.zero_(), dv.zero_()
    dlse = None if dlse is None else dlse.contiguous()
    to_dq, to_dkdv = tiles("dq", head_dim, q.dtype), tiles("dkdv", head_dim, q.dtype)
    # Room for whole blocks of queries: the second kernel reads its rows without a mask.
    padded_q = -(-seq_q // (block := max(to_dq.block_q, to_dkdv.block_q))) * block
    shift, delta = torch.empty(2, batch, heads, padded_q, device=q.device).unbind()
    multiply = precision(q)
    further = (to_dq, to_dkdv, multiply)
    shared = dict(HEAD_DIM=head_dim, CAUSAL=is_causal, PRECISION=multiply)

    def prepare_dq():
        tile, pairs = to_dq, batch * heads
        arguments = (
            described(q, tile.block_q), described(k, tile.block_k), described(v, tile.block_k),
            described(out, tile.block_q), described(dout, tile.block_q),
            lse, dlse, shift, delta, dq, key_lengths, scale, scale * LOG2_E.value,
            pairs, interleaved(is_causal, pairs, seq_q), *sizes_of(q, k), padded_q,
        )  # fmt: skip
        grid = (pairs * triton.cdiv(padded_q, tile.block_q),)
        return grid, arguments, {**shared, **tile.launch}

    def prepare_dkdv():
        tile, pairs = to_dkdv, batch * k.shape[1]
        arguments = (
            described(q, tile.block_q), described(k, tile.block_k), described(v, tile.block_k),
            described(dout, tile.block_q), shift, delta, dk, dv, key_lengths,
            scale, scale * LOG2_E.value,
            pairs, interleaved(is_causal, pairs, k.shape[2]), *sizes_of(q, k), padded_q,
        )  # fmt: skip
        grid = (pairs * triton.cdiv(k.shape[2], tile.block_k),)
        return grid, arguments, {**shared, **tile.launch}

    addressed = (q, k, v, out, dout, lse, dlse, shift, delta, dq, key_lengths)
    launch(flash_dq_kernel, notes, further, addressed, prepare_dq)
    addressed = (q, k, v, dout, shift, delta, dk, dv, key_lengths)
    launch(flash_dkdv_kernel, notes, further, addressed, prepare_dkdv)
    return dq, dk, dv


# What torch has to know: two operators, their shapes, and which is the other's gradient.  Where
# nobody traces or maps them the passes are called by themselves, which costs the host less.


@torch.library.custom_op("attention_handbook::flash_forward", mutates_args=())
def flash_forward(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None, is_causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    check_kernel(flash_forward_kernel, on_cpu=REFERENCE, query=q, key=k, value=v)
    notes = notes_for((q, k, v, key_lengths), is_causal, scale)
    return forward(q, k, v, key_lengths, is_causal, scale, notes)


@torch.library.custom_op("attention_handbook::flash_backward", mutates_args=())
def flash_backward(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None, is_causal: bool, scale: float,
    out: Tensor, lse: Tensor, dout: Tensor, dlse: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    notes = notes_for((q, k, v, key_lengths, out, lse, dout, dlse), is_causal, scale)
    return backward(q, k, v, key_lengths, is_causal, scale, out, lse, dout, dlse, notes)


@flash_forward.register_fake
def _(q, k, v, key_lengths, is_causal, scale):
    return empty_outputs(q)


@flash_backward.register_fake
def _(q, k, v, key_lengths, is_causal, scale, out, lse, dout, dlse):
    return empty_like(q), empty_like(k), empty_like(v)


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
    notes = None
    # The operator refuses to be differentiated once more, which the function would not notice.
    if not torch.is_grad_enabled():
        tensors = (q, k, v, key_lengths, out, lse, dout, dlse)
        notes = notes_for(tensors, ctx.is_causal, ctx.scale)
    found = flash_backward(*arguments) if notes is None else backward(*arguments, notes)
    return *found, None, None, None


flash_forward.register_autograd(gradients, setup_context=keep_for_backward)


class Attention(torch.autograd.Function):
    """The operator and its gradient, for a call that nobody traces or maps."""

    @staticmethod
    def forward(ctx, *inputs):
        output = forward(*inputs)
        keep_for_backward(ctx, inputs[:-1], output)
        return output

    @staticmethod
    def backward(ctx, *arrived):
        return *gradients(ctx, *arrived), None
