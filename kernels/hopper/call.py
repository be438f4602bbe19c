"""FlashAttention for Hopper, in Gluon: one warp fetches while others compute.

``kernels.flash.call`` says what is computed.  This file computes the same with specialised
warps: the warps of a program run different code, each group with its own number of registers.

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

from functools import cache

import torch
import triton
from torch import Tensor
from triton.compiler import CompiledKernel
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from kernels.checks import check_no_gradient, check_shapes, is_hopper
from kernels.flash.work import LOG2_E
from kernels.hopper.kernel import hopper_kernel
from kernels.hopper.plan import Plan, padded, plan_for
from kernels.hopper.ring import ROWS


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
