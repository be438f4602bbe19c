"""The backward pass of ``hopper_attention``, from what the forward pass saved.

``kernels.flash.backward`` has the formulas, and two kernels: one owns queries, one owns keys.
Each recomputes scores and dweights, so together they need seven matmuls.  Here one kernel does
with five.  It owns keys, because dk and dv are two sums over queries, and they can stay in
registers while queries and dout stream past.  Scores are computed transposed, [keys, queries],
so they leave one matmul as the left operand of the next.  Only dq is a sum over keys, which
belong to many programs, so each program adds its part to FP32 sums in global memory.

    backward_preprocess_kernel     computes two numbers for each row; sets the sums to 0
    hopper_backward_kernel         computes dk and dv, and adds to dq: see ``accumulate_dq``
    backward_postprocess_kernel    scales and rounds dq

Heads of 256 use ``hopper_dkdv_kernel`` and ``hopper_dq_kernel`` instead: see ``head_dim_256``.
Where few key heads serve many query heads, several programs share the query heads of one key
head, so fewer SMs idle, and dk and dv are added up in FP32 like dq.
"""

from __future__ import annotations

import math
from functools import cache

import torch
import triton
from torch import Tensor
from triton.compiler import CompiledKernel
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from kernels.checks import check_no_gradient, check_shapes
from kernels.flash.tensors import empty_like
from kernels.hopper.backward.head_dim_256 import hopper_dkdv_kernel
from kernels.hopper.backward.head_dim_256_dq import hopper_dq_kernel
from kernels.hopper.backward.kernel import hopper_backward_kernel
from kernels.hopper.backward.rows import backward_postprocess_kernel, backward_preprocess_kernel
from kernels.hopper.plan import padded_head_dim
from kernels.hopper.ring import WGMMA_M
from kernels.hopper.tensors import check_hopper, check_like, make_descriptor
from kernels.launch_cache import entry_for, launch, memoized

REGISTERS = 240  # a thread of a consumer
BLOCKS = {64: (128, 128), 128: (64, 128), 256: (64, 64)}  # columns: queries and keys a block


def hopper_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    dout: Tensor,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    dlse: Tensor | None = None,
    deterministic: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the gradients of q, k and v, each with the shape of its tensor, contiguous.

    q: [batch, heads, N_q, head_dim]   k, v: [batch, heads or a divisor of it, N_k, head_dim]
    out, lse: what ``hopper_attention`` returned for them with ``return_lse=True``
    dout: the gradient of out, like q   dlse: that of lse, like it, or None
    is_causal, scale, enable_gqa: as in that call
    deterministic: programs add in a fixed order, so two runs agree bit for bit.  Otherwise they
    add as they come, which is faster, and dq may differ in its last bits from run to run; so
    may dk and dv where few key heads serve many query heads; above heads of 128 dq never does
    FP16 or BF16, sums in FP32; head_dim a multiple of 8 up to 256, as slow as 64, 128 or 256
    A query that saw no key has lse -inf; its gradient is 0, and it adds none to others.  NaN or
    inf in a tensor reaches the gradients of all blocks that meet it: 0 · NaN = NaN.
    Up to heads of 128 the sums take 4 bytes for each number of q, in whole tiles.  A tensor
    that TMA can't read in place is copied first.

    Raises a ValueError or TypeError that names the argument, also for one that requires a
    gradient while torch records, and a RuntimeError where the GPU is no Hopper.
    """
    scale = check_shapes(q, k, v, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)
    check_hopper(q, k, v)
    check_no_gradient(instead="hopper_attention", query=q, key=k, value=v)
    check_like("out", out, q.shape, q.dtype, q.device)
    check_like("dout", dout, q.shape, q.dtype, q.device)
    check_like("lse", lse, q.shape[:-1], torch.float32, q.device)
    if dlse is not None:
        check_like("dlse", dlse, q.shape[:-1], torch.float32, q.device)
    if not isinstance(deterministic, bool):
        type_name = type(deterministic).__name__
        raise TypeError(f"deterministic is {type_name}, True or False is wanted")
    if q.numel() == 0 or k.numel() == 0:
        return tuple(torch.zeros(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
    # As in hopper_attention: a scale below 0, or one that's subnormal in FP32
    factor = -1 if scale < 0 else 1
    if abs(scale) < torch.finfo(torch.float32).tiny:
        factor, scale = 0, 1.0
    scaled_q = q if factor == 1 else factor * q
    dq, dk, dv = hopper_gradients(
        scaled_q, k, v, is_causal, abs(scale), out, lse, dout, dlse, deterministic
    )
    return dq if factor == 1 else factor * dq, dk, dv


@torch.library.custom_op("attention_handbook::hopper_backward", mutates_args=())
def hopper_backward_operator(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool, scale: float,
    out: Tensor, lse: Tensor, dout: Tensor, dlse: Tensor | None, deterministic: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """``hopper_gradients`` as an operator, for torch.compile and other tracing."""
    return hopper_gradients(q, k, v, is_causal, scale, out, lse, dout, dlse, deterministic)


@hopper_backward_operator.register_fake
def _(q, k, v, is_causal, scale, out, lse, dout, dlse, deterministic):
    return empty_like(q), empty_like(k), empty_like(v)


def hopper_gradients(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool, scale: float,
    out: Tensor, lse: Tensor, dout: Tensor, dlse: Tensor | None, deterministic: bool,
    launch_entry: dict | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Returns what ``hopper_backward`` returns; arguments are checked, and scale is above 0.

    launch_entry: the launch cache's entry for these arguments, looked up if None
    """
    if launch_entry is None:
        tensors = (q, k, v, out, lse, dout, dlse)
        launch_entry = entry_for(tensors, is_causal, scale, deterministic)
    dq, dk, dv = empty_like(q), empty_like(k), empty_like(v)
    if dq.numel() == 0 or dk.numel() == 0:
        return dq.zero_(), dk.zero_(), dv.zero_()
    out, lse, dout = out.contiguous(), lse.contiguous(), make_tma_compatible(dout)
    dlse = None if dlse is None else dlse.contiguous()
    batch, heads, seq_q, head_dim = q.shape
    columns = padded_head_dim(head_dim)
    block_q, block_k = BLOCKS[columns]
    padded_q = round_up(seq_q, max(block_q, 128) if columns == 256 else block_q)
    lse_log2, delta = torch.empty(2, batch * heads * padded_q, device=q.device).unbind()
    dq_accum = None
    if columns < 256:
        dq_accum = torch.empty(batch * heads * padded_q * columns, device=q.device)
    dq_semaphores = None
    if deterministic and columns < 256:
        counter_count = 1 + 2 * batch * heads * padded_q // block_q
        dq_semaphores = torch.zeros(counter_count, dtype=torch.int32, device=q.device)
    splits, dk_accum, dv_accum = 1, dk, dv  # nothing to accumulate
    if not deterministic:
        splits = memoized(launch_entry, splits_of, lambda: splits_of(q, k, block_k))
    if splits > 1:
        count = k.shape[:2].numel() * round_up(k.shape[2], block_k) * columns
        dk_accum, dv_accum = torch.zeros(2, count, device=q.device).unbind()
    launch_preprocess(out, dout, lse, dlse, lse_log2, delta, dq_accum, padded_q, launch_entry)
    arguments = (q, k, v, dout, lse_log2, delta, is_causal, scale, padded_q)
    launch_keys(*arguments, splits, dq_semaphores, dq_accum, dk_accum, dv_accum, launch_entry)
    if columns == 256:
        launch_queries(*arguments, dq, launch_entry)
    else:
        launch_postprocess(dq_accum, dq, scale, block_q, "dq", launch_entry)
    if splits > 1:
        launch_postprocess(dk_accum, dk, scale, WGMMA_M.value, "dk", launch_entry)
        launch_postprocess(dv_accum, dv, 1.0, WGMMA_M.value, "dv", launch_entry)
    return dq, dk, dv


def launch_preprocess(
    out: Tensor, dout: Tensor, lse: Tensor, dlse: Tensor | None,
    lse_log2: Tensor, delta: Tensor, dq_accum: Tensor | None, padded_q: int,
    launch_entry: dict | None,
) -> CompiledKernel:  # fmt: skip
    """Starts ``backward_preprocess_kernel``, and returns it compiled."""

    def prepare():
        batch, heads, seq_q, head_dim = out.shape
        rows, strides = WGMMA_M.value, (x // 8 for x in dout.stride()[:-1])
        arguments = (
            out, dout, lse, dlse, lse_log2, delta, dq_accum, heads, seq_q, padded_q, *strides
        )  # fmt: skip
        columns = padded_head_dim(head_dim)
        options = dict(HEAD_DIM=head_dim, COLUMNS=columns, BLOCK=rows, num_warps=4)
        return (batch * heads * padded_q // rows,), arguments, options

    tensors = (out, dout, lse, dlse, lse_log2, delta, dq_accum)
    return launch(backward_preprocess_kernel, launch_entry, None, tensors, prepare)


def launch_keys(
    q: Tensor, k: Tensor, v: Tensor, dout: Tensor, lse_log2: Tensor, delta: Tensor,
    is_causal: bool, scale: float, padded_q: int,
    splits: int, dq_semaphores: Tensor | None, dq_accum: Tensor | None, dk: Tensor, dv: Tensor,
    launch_entry: dict | None = None,
) -> CompiledKernel:  # fmt: skip
    """Starts the kernel whose programs own keys, and returns it compiled."""
    is_wide = padded_head_dim(q.shape[-1]) == 256

    def prepare():
        columns, rows = padded_head_dim(q.shape[-1]), WGMMA_M.value
        block_q, block_k = BLOCKS[columns]
        heads, key_heads, seq_k = q.shape[1], k.shape[1], k.shape[2]
        batch_heads = k.shape[0] * key_heads * splits
        inputs = (
            make_descriptor(q, block_q, columns),
            make_descriptor(k, rows, columns), make_descriptor(v, rows, columns),
            make_descriptor(dout, block_q, columns),
            make_row_descriptor(lse_log2, block_q), make_row_descriptor(delta, block_q),
        )  # fmt: skip
        outputs = [
            make_reduce_descriptor(x) if splits > 1 else make_descriptor(x, rows, columns)
            for x in (dk, dv)
        ]
        if not is_wide:
            outputs = [make_reduce_descriptor(dq_accum), *outputs, dq_semaphores]
        arguments = (
            *inputs, *outputs, scale, heads, heads // key_heads, splits, batch_heads,
            interleaved_heads(is_causal, batch_heads, seq_k), q.shape[2], seq_k, padded_q,
        )  # fmt: skip
        options = dict(REGISTERS=REGISTERS, CAUSAL=is_causal, SPLIT=splits > 1, num_warps=4)
        return (batch_heads * triton.cdiv(seq_k, block_k),), arguments, options

    kernel = hopper_dkdv_kernel if is_wide else hopper_backward_kernel
    tensors = (q, k, v, dout, lse_log2, delta, dq_accum, dk, dv, dq_semaphores)
    return launch(kernel, launch_entry, splits, tensors, prepare)


def launch_queries(
    q: Tensor, k: Tensor, v: Tensor, dout: Tensor, lse_log2: Tensor, delta: Tensor,
    is_causal: bool, scale: float, padded_q: int, dq: Tensor, launch_entry: dict | None = None,
) -> CompiledKernel:  # fmt: skip
    """Starts the kernel whose programs own queries, and returns it compiled."""

    def prepare():
        batch, heads, seq_q, head_dim = q.shape
        columns, batch_heads = padded_head_dim(head_dim), batch * heads
        arguments = (
            *(make_descriptor(x, WGMMA_M.value, columns) for x in (q, k, v, dout)),
            lse_log2, delta, make_descriptor(dq, WGMMA_M.value, columns),
            scale, heads, heads // k.shape[1], batch_heads,
            interleaved_heads(is_causal, batch_heads, seq_q), seq_q, k.shape[2], padded_q,
        )  # fmt: skip
        options = dict(REGISTERS=REGISTERS, CAUSAL=is_causal, num_warps=4)
        return (batch_heads * triton.cdiv(seq_q, 128),), arguments, options

    tensors = (q, k, v, dout, lse_log2, delta, dq)
    return launch(hopper_dq_kernel, launch_entry, None, tensors, prepare)


def launch_postprocess(
    accum: Tensor,
    gradient: Tensor,
    scale: float,
    block: int,
    name: str,
    launch_entry: dict | None,
) -> CompiledKernel:
    """Writes gradient = scale · accum, from ``lay_out``'s order, in blocks of so many rows."""

    def prepare():
        *batch_heads, rows, head_dim = gradient.shape
        columns = padded_head_dim(head_dim)
        padded_rows = accum.numel() // (columns * math.prod(batch_heads))
        options = dict(HEAD_DIM=head_dim, COLUMNS=columns, BLOCK=block, num_warps=4)
        arguments = (accum, gradient, scale, rows, padded_rows)
        return (accum.numel() // WGMMA_M.value**2,), arguments, options

    return launch(backward_postprocess_kernel, launch_entry, name, (accum, gradient), prepare)


def splits_of(q: Tensor, k: Tensor, block_k: int) -> int:
    """Returns how many programs share the query heads of a key head, so that no SM idles."""
    group = q.shape[1] // k.shape[1]
    programs = k.shape[:2].numel() * triton.cdiv(k.shape[2], block_k)
    sms = torch.cuda.get_device_properties(q.device).multi_processor_count
    divisors = [x for x in range(1, group + 1) if group % x == 0]
    return next((x for x in divisors if x * programs >= sms), group)


def interleaved_heads(is_causal: bool, batch_heads: int, rows: int) -> int:
    """Returns how many heads are worked on at a time: causal, as many as have 2**15 rows."""
    return min(batch_heads, triton.cdiv(2**15, rows)) if is_causal else 1


def round_up(count: int, block: int) -> int:
    return -(-count // block) * block


def make_tma_compatible(x: Tensor) -> Tensor:
    """Returns x, or a contiguous copy if TMA can't read its rows in pieces of 16 bytes."""
    strides_fit = x.stride(-1) == 1 and all(stride % 8 == 0 for stride in x.stride()[:-1])
    if strides_fit and x.data_ptr() % 16 == 0:
        return x
    return x.clone(memory_format=torch.contiguous_format)


def make_row_descriptor(x: Tensor, count: int) -> TensorDescriptor:
    """Returns a descriptor of one number a row, ``count`` rows at a time."""
    return TensorDescriptor(x, list(x.shape), [1], [count], row_layout(count))


@cache
def row_layout(count: int) -> gl.NVMMASharedLayout:
    return gl.NVMMASharedLayout.get_default_for([count], gl.float32)


def make_reduce_descriptor(x: Tensor) -> TensorDescriptor:
    """Returns a descriptor by which TMA adds 16 rows of 256 numbers, not swizzled."""
    layout = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=2)
    return TensorDescriptor(x, [x.numel() // 256, 256], [256, 1], [16, 256], layout)
