"""FlashAttention: queries stay, keys and values stream past, and no score is ever written.

One program owns a block of queries.  For each query it keeps what ``kernels.softmax`` keeps, a
running maximum (here times log2(e), for exp2) and a running sum, and next to them the weighted
sum of the values so far.  A block of scores stays in registers from the first matmul to the
second.  When the maximum moves, everything summed before is rescaled by the same factor.

The backward pass reads no scores either.  The forward pass leaves one number a row, the
log-sum-exp ``lse``, and from it the weights are computed again, block by block.

Blocks are read through tensor descriptors.  On Hopper and later the Tensor Memory Accelerator
(TMA) fetches a whole block, and fills what lies outside of the tensor with zeros.

Sources: T. Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with
IO-Awareness", 2022, arXiv:2205.14135; for the order of the loops T. Dao, "FlashAttention-2:
Faster Attention with Better Parallelism and Work Partitioning", 2023, arXiv:2307.08691.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.checks import REFERENCE, check_runnable, check_shapes, name_of_differentiated
from kernels.flash.backward import backward
from kernels.flash.forward import flash_forward_kernel, forward
from kernels.flash.tensors import empty_like, empty_outputs

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
    """Returns ``reference.attention`` in O(N) memory: [batch, heads, N_q, head_dim].

    q: [batch, heads, N_q, head_dim]   k, v: [batch, heads or a divisor of it, N_k, head_dim]
    FP32, FP16 or BF16, sums in FP32; head_dim 1 to 256.  FP32 products are IEEE FP32, or TF32
    where ``torch.backends.cuda.matmul.fp32_precision`` says so.
    is_causal: aligned top-left, as in torch: query i sees keys 0 to i
    scale: 1/√head_dim if None, any sign; what FP32 holds only as a subnormal counts as 0
    enable_gqa: fewer heads in k and v than in q
    key_lengths: [batch]; in sequence b keys from key_lengths[b] on are padding, and not used
    return_lse: also the natural logarithm of each row's sum of exp(score), [batch, heads, N_q]
    in FP32; it has a gradient, too, so that partial results can be merged and trained through

    torch.autograd differentiates it once, but not its gradients.  It refuses forward mode and
    torch.func.grad; torch.func.vmap takes one entry after the other.
    A query without any key gets 0, lse -inf and gradient 0; so does one whose every score is
    -inf, where the reference has NaN.  NaN or inf in v reaches the whole block of queries that
    reads it, because 0 · NaN = NaN, and in k the gradient of that block.
    It reads Q and writes the output once, and reads K and V once for each block of queries, or
    if causal up to the diagonal.  It first copies what the TMA can't read in place: a tensor
    whose rows aren't contiguous, or whose start or strides aren't multiples of 16 bytes.
    torch.autocast changes nothing.
    Gradients lose digits in two ways, as in every FlashAttention; the output doesn't.  Large
    scores: the weights are made again from lse, which FP32 rounds, and where scores reach 1000,
    gradients are off by up to 1e-4 of their size, and by twice as much for each doubling.  And
    in 16 bits: delta is made from the output, which is rounded.

    Raises a ValueError or TypeError that names the argument, also for one on a CPU outside
    Triton's interpreter.
    """
    options = {"is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
    scale = check_shapes(q, k, v, key_lengths=key_lengths, **options)
    if name_of_differentiated(query=q, key=k, value=v):
        raise TypeError(
            f"{name_of_differentiated(query=q, key=k, value=v)} is differentiated in "
            "forward mode or by torch.func, for which this has no rule: use "
            f"torch.autograd.grad or {REFERENCE}"
        )
    # The kernel takes the maximum before it scales: its scale must be above 0, in FP32 too.
    if scale < 0:
        q, scale = -q, -scale
    if scale < TINY:
        q, scale = 0 * q, 1.0
    key_lengths = None if key_lengths is None else key_lengths.contiguous()
    out, lse = flash_forward(q, k, v, key_lengths, is_causal, scale)
    return (out, lse) if return_lse else out


# What torch has to know: two operators, the shapes of their results, and that the second gives
# the gradients of the first.


@torch.library.custom_op("attention_handbook::flash_forward", mutates_args=())
def flash_forward(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None, is_causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    check_runnable(flash_forward_kernel, on_cpu=REFERENCE, query=q, key=k, value=v)
    return forward(q, k, v, key_lengths, is_causal, scale)


@torch.library.custom_op("attention_handbook::flash_backward", mutates_args=())
def flash_backward(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None, is_causal: bool, scale: float,
    out: Tensor, lse: Tensor, dout: Tensor, dlse: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    return backward(q, k, v, key_lengths, is_causal, scale, out, lse, dout, dlse)


@flash_forward.register_fake
def _(q, k, v, key_lengths, is_causal, scale):
    return empty_outputs(q)


@flash_backward.register_fake
def _(q, k, v, key_lengths, is_causal, scale, out, lse, dout, dlse):
    return empty_like(q), empty_like(k), empty_like(v)


def setup_context(ctx, inputs, output):
    """Keeps what the backward pass needs of the forward pass: O(N), and no [N_q, N_k]."""
    q, k, v, key_lengths, ctx.is_causal, ctx.scale = inputs
    ctx.save_for_backward(q, k, v, key_lengths, *output)
    ctx.set_materialize_grads(False)  # None for an output that was not used


def gradients(ctx, dout, dlse):
    """Returns the gradients of flash_forward's arguments, from those of its two results."""
    q, k, v, key_lengths, out, lse = ctx.saved_tensors
    dout = torch.zeros_like(out) if dout is None else dout
    dqkv = flash_backward(q, k, v, key_lengths, ctx.is_causal, ctx.scale, out, lse, dout, dlse)
    return *dqkv, None, None, None


flash_forward.register_autograd(gradients, setup_context=setup_context)
