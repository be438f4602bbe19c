"""FlashAttention for Hopper, in Gluon: a producer warp fetches while consumers compute.

``kernels.flash.attention`` says what it computes.  Here the warps of a program are specialised:
they run different code, and each group has its own number of registers.

    the producer     one warp.  It has the Tensor Memory Accelerator (TMA) copy tiles of Q, K
                     and V into shared memory, and does nothing else.
    the consumers    two or three warpgroups of 4 warps, each with 64 queries.  They multiply on
                     the tensor cores, straight from shared memory (wgmma), and do softmax in
                     between.

Tiles go through the stages of ring buffers in shared memory.  Each stage has two mbarriers: one
says that it's full, the other that it's empty.  Producer and consumers wait for each other
through these alone.  No barrier stops the whole program.

The tensor cores should always have something to multiply.  wgmma is asynchronous: a consumer
starts the scores of one block of keys, right behind them the product of weights and values of
the block before, and then does softmax, while the tensor cores work on what other consumers
started.  And the kernel is persistent: there are as many programs as SMs, and each takes one
block of queries after another, so the producer already fetches for the next block while the
consumers finish this one.

    producer      Q  K7 V7 K6 V6 K5 V5 ...      as fast as stages become free
    consumer 0    scores 7 | softmax 7 | scores 6, values 7 | softmax 6 | scores 5, values 6 ...
    consumer 1       scores 7 | softmax 7 | scores 6, values 7 | softmax 6 | ...

Sources: J. Shah et al., "FlashAttention-3: Fast and Accurate Attention with Asynchrony and
Low-precision", 2024, arXiv:2407.08608, from which this differs in how it schedules work and in
what waits for what; NVIDIA, Parallel Thread Execution ISA, "Asynchronous Warpgroup Level Matrix
Instructions", "mbarrier" and "cp.async.bulk.tensor".
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton.compiler import CompiledKernel

from kernels.checks import check_shapes
from kernels.flash.schedule import LOG2_E
from kernels.flash.tensors import empty_like
from kernels.hopper.backward.gradients import hopper_backward_operator, hopper_gradients
from kernels.hopper.kernel import hopper_kernel
from kernels.hopper.plan import Plan, check_plan, padded_head_dim, plan_for
from kernels.hopper.ring import WGMMA_M
from kernels.hopper.schedule import work_items_of
from kernels.hopper.tensors import check_hopper, make_descriptor
from kernels.launch_cache import entry_for, gradient_is_wanted, memoized
from kernels.launch_cache import launch as start

TINY = torch.finfo(torch.float32).tiny


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
    """Returns what ``flash_attention`` returns: [batch, heads, N_q, head_dim], on a Hopper GPU.

    q: [batch, heads, N_q, head_dim]   k, v: [batch, heads or a divisor of it, N_k, head_dim]
    FP16 or BF16, sums in FP32; head_dim a multiple of 8 up to 256.  It's as slow as the next
    larger of 64, 128 and 256.
    is_causal: aligned top-left, as in torch: query i sees keys 0 to i
    scale: 1/√head_dim if None, any sign; a subnormal of FP32 counts as 0
    enable_gqa: fewer heads in k and v than in q
    return_lse: also the natural logarithm of each row's sum of exp(score), [batch, heads, N_q]
    in FP32; it has a gradient, too, so you can train through partial results
    plan: in place of the one of ``plan_for``

    torch.autograd differentiates it once, but not its gradients: ``hopper.backward`` has them.
    Programs add them up as they come, or in one order if
    ``torch.use_deterministic_algorithms`` asks for that.  It refuses forward mode and
    torch.func.grad; torch.func.vmap takes one entry after the other.
    A query without any key gets 0 and lse -inf; so does one whose scores are all -inf.  NaN or
    inf in v reaches the whole block of queries that reads it.
    It first copies what TMA can't read in place: a tensor whose rows aren't contiguous, or
    whose start or strides aren't multiples of 16 bytes.

    Raises a ValueError or TypeError that names the argument, and a RuntimeError where the GPU
    is no Hopper.
    """
    # Check.  Calls like an earlier one find in its entry what was computed then.
    launch_entry = entry_for((q, k, v), is_causal, scale, enable_gqa)
    scale = memoized(
        launch_entry, "scale", lambda: check_call(q, k, v, is_causal, scale, enable_gqa)
    )
    if scale < TINY:
        # The kernel takes the maximum before it scales: its scale must be above 0, in FP32 too.
        if scale < 0:
            q, scale = -q, -scale
        if scale < TINY:
            q, scale = 0 * q, 1.0
        launch_entry = entry_for((q, k, v), is_causal, scale)

    # Plan.
    if plan is None:
        plan = memoized(
            launch_entry, "plan", lambda: plan_for(q.shape[-1], is_causal, q.shape[-2])
        )
    check_plan(plan)

    # Launch.  Where torch traces or maps, through an operator that it knows.
    needs_gradient = gradient_is_wanted(q, k, v)
    with_lse = return_lse or needs_gradient
    if launch_entry is None:
        out, lse = hopper_forward(q, k, v, is_causal, scale, with_lse, [int(x) for x in plan])
    elif needs_gradient:
        out, lse = Attention.apply(q, k, v, is_causal, scale, with_lse, plan, launch_entry)
    else:
        out, lse = forward(q, k, v, is_causal, scale, with_lse, plan, launch_entry)
    return (out, lse) if return_lse else out


def check_call(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool, scale: float | None, enable_gqa: bool
) -> float:
    """Returns the scale to use, or raises what ``hopper_attention`` says it raises."""
    scale = check_shapes(q, k, v, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)
    check_hopper(q, k, v)
    return scale


def forward(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool, scale: float, with_lse: bool,
    plan: Plan, launch_entry: dict | None,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Returns the output, and lse or None, of checked arguments; scale is above 0."""
    out, lse = empty_outputs(q, with_lse)
    if out.numel() == 0 or k.shape[-2] == 0:
        return out.zero_(), lse if lse is None else lse.fill_(-torch.inf)
    launch(q, k, v, out, lse, is_causal, scale, plan, launch_entry)
    return out, lse


# What torch has to know: an operator, the shapes of its results and its gradient.  If nobody
# traces or maps, we call the passes directly, which costs the host less.


@torch.library.custom_op("attention_handbook::hopper_forward", mutates_args=())
def hopper_forward(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool, scale: float, with_lse: bool,
    plan: list[int],
) -> tuple[Tensor, Tensor]:  # fmt: skip
    launch_entry = entry_for((q, k, v), is_causal, scale)
    return tensors_of(*forward(q, k, v, is_causal, scale, with_lse, Plan(*plan), launch_entry))


@hopper_forward.register_fake
def _(q, k, v, is_causal, scale, with_lse, plan):
    return tensors_of(*empty_outputs(q, with_lse))


def tensors_of(out: Tensor, lse: Tensor | None) -> tuple[Tensor, Tensor]:
    """Returns both as an operator must, which gives only tensors: an empty one for no lse."""
    return out, out.new_empty(0, dtype=torch.float32) if lse is None else lse


def setup_context(ctx, inputs, output):
    """Saves what the backward pass needs of the forward pass: O(N), and no [N_q, N_k]."""
    q, k, v, ctx.is_causal, ctx.scale, with_lse, _ = inputs
    if not with_lse:
        raise RuntimeError("with_lse is False, and without lse there is no gradient")
    ctx.save_for_backward(q, k, v, *output)
    ctx.set_materialize_grads(False)  # None for an output that was not used


def gradients(ctx, dout, dlse):
    """Returns the gradients of hopper_forward's arguments, from those of its two results."""
    q, k, v, out, lse = ctx.saved_tensors
    dout = torch.zeros_like(out) if dout is None else dout
    deterministic = torch.are_deterministic_algorithms_enabled()
    arguments = (q, k, v, ctx.is_causal, ctx.scale, out, lse, dout, dlse, deterministic)
    launch_entry = None
    # The operator refuses to be differentiated once more; the function wouldn't notice.
    if not torch.is_grad_enabled():
        launch_entry = entry_for(
            (q, k, v, out, lse, dout, dlse), ctx.is_causal, ctx.scale, deterministic
        )
    if launch_entry is None:
        return *hopper_backward_operator(*arguments), None, None, None, None
    return *hopper_gradients(*arguments, launch_entry), None, None, None, None


hopper_forward.register_autograd(gradients, setup_context=setup_context)


class Attention(torch.autograd.Function):
    """The operator and its gradient, for a call that nobody traces or maps."""

    @staticmethod
    def forward(ctx, *inputs):
        output = forward(*inputs)
        setup_context(ctx, inputs[:-1], output)
        return output

    @staticmethod
    def backward(ctx, *arrived):
        return *gradients(ctx, *arrived), None


def empty_outputs(q: Tensor, with_lse: bool) -> tuple[Tensor, Tensor | None]:
    """Returns room for the output, like q but contiguous, and for lse or None."""
    if not with_lse:
        return empty_like(q), None
    return empty_like(q), torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device)


def launch(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor | None,
    is_causal: bool, scale: float, plan: Plan, launch_entry: dict | None = None,
) -> CompiledKernel:  # fmt: skip
    """Returns the compiled kernel, after starting it on checked arguments."""

    def prepare():
        batch, heads, seq_q, head_dim = q.shape
        blocks = triton.cdiv(seq_q, plan.block_q)
        sms = torch.cuda.get_device_properties(q.device).multi_processor_count
        paired = is_causal and plan.pair_blocks and batch * heads * blocks > sms
        tail = plan.longest_first_tail
        work_items, *counts = work_items_of(batch * heads, blocks, sms, paired, tail)
        programs = min(work_items, sms) if plan.persistent else work_items
        slots = triton.cdiv(work_items, programs) * programs if paired else work_items
        rows, columns = WGMMA_M.value, padded_head_dim(head_dim)
        arguments = (
            make_descriptor(q, rows, columns), make_descriptor(k, plan.block_k, columns),
            make_descriptor(v, plan.block_k, columns),
            make_descriptor(out.view(1, batch * heads, seq_q, head_dim), rows, columns),
            lse, scale * LOG2_E.value, slots, *counts,
            heads, heads // k.shape[1], seq_q, k.shape[2],
        )  # fmt: skip
        options = dict(PLAN=plan, CAUSAL=is_causal, PAIRED=paired, num_warps=4)
        return (programs,), arguments, options

    extra_key = (plan, lse is None)
    return start(hopper_kernel, launch_entry, extra_key, (q, k, v, out, lse), prepare)
