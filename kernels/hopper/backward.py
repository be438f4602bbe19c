"""The gradients of ``hopper_attention``: three kernels, of which the second has the products."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
import triton
from torch import Tensor
from triton.compiler import CompiledKernel
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from kernels.hopper.backward_kernel import hopper_backward_kernel
from kernels.hopper.backward_rows import after_backward_kernel, before_backward_kernel
from kernels.hopper.backward_wide import hopper_backward_wide_kernel
from kernels.hopper.call import described
from kernels.hopper.plan import padded
from kernels.hopper.ring import ROWS


class BackwardPlan(NamedTuple):
    """How the work is cut: queries a block, and tiles in the rings of queries, dout, dscores."""

    block_q: int
    q_stages: int = 2
    do_stages: int = 2
    ds_stages: int = 2


BACKWARD_PLANS = {64: BackwardPlan(128), 128: BackwardPlan(64), 256: BackwardPlan(64)}


def hopper_gradients(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool, scale: float,
    out: Tensor, lse: Tensor, dout: Tensor, dlse: Tensor | None,
    plan: BackwardPlan | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """dq, dk and dv."""
    batch, heads, seq_q, head_dim = q.shape
    columns = padded(head_dim)
    plan = BACKWARD_PLANS[columns] if plan is None else plan
    dq, dk, dv = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
    pairs, padded_q = batch * heads, triton.cdiv(seq_q, plan.block_q) * plan.block_q
    shift, delta = torch.empty(2, pairs * padded_q, device=q.device)
    sums = torch.empty(pairs * padded_q * columns, device=q.device)
    dlse = None if dlse is None else dlse.contiguous()
    if dout.stride(-1) != 1 or any(stride % 8 for stride in dout.stride()[:3]) or dout.data_ptr() % 16:
        dout = dout.clone(memory_format=torch.contiguous_format)
    with torch.cuda.device_of(q):
        block = min(plan.block_q, 64)
        before_backward_kernel[(pairs * padded_q // block,)](
            out, dout, lse, dlse, shift, delta, sums, heads, seq_q, padded_q,
            *(stride // 8 for stride in dout.stride()[:3]), HEAD_DIM=head_dim, COLUMNS=columns, BLOCK=block, num_warps=4,
        )  # fmt: skip
        launch_backward(q, k, v, dout, shift, delta, sums, dk, dv, is_causal, scale, plan, padded_q)
        width = max(64, columns // 2)  # of what a consumer added up
        after_backward_kernel[(sums.numel() // (64 * width),)](
            sums, dq, scale, seq_q, padded_q,
            HEAD_DIM=head_dim, COLUMNS=columns, BLOCK=plan.block_q, WIDTH=width, num_warps=4,
        )  # fmt: skip
    return dq, dk, dv


def launch_backward(
    q: Tensor, k: Tensor, v: Tensor, dout: Tensor, shift: Tensor, delta: Tensor, sums: Tensor,
    dk: Tensor, dv: Tensor, is_causal: bool, scale: float, plan: BackwardPlan, padded_q: int,
) -> CompiledKernel:  # fmt: skip
    """Starts the kernel with the five products."""
    batch, heads, seq_q, head_dim = q.shape
    columns, rows = padded(head_dim), ROWS.value
    wide = columns == 256
    kernel = hopper_backward_wide_kernel if wide else hopper_backward_kernel
    key_blocks = triton.cdiv(k.shape[2], rows if wide else 2 * rows)
    return kernel[(batch * k.shape[1] * key_blocks,)](
        described(q, plan.block_q, columns),
        *(described(x, rows, columns) for x in (k, v)),
        described(dout, plan.block_q, columns),
        numbers(shift, plan.block_q), numbers(delta, plan.block_q), sums,
        *(described(x, rows, columns) for x in (dk, dv)),
        scale, heads, heads // k.shape[1], seq_q, k.shape[2], padded_q,
        Q_STAGES=plan.q_stages, DO_STAGES=plan.do_stages, DS_STAGES=plan.ds_stages,
        REGISTERS=240, CAUSAL=is_causal, num_warps=4,
    )  # fmt: skip


def numbers(x: Tensor, count: int) -> TensorDescriptor:
    """Where TMA finds one number a row, ``count`` rows at a time."""
    return TensorDescriptor(x, list(x.shape), [1], [count], layout_of_numbers(count))


@cache
def layout_of_numbers(count: int) -> gl.NVMMASharedLayout:
    return gl.NVMMASharedLayout.get_default_for([count], gl.float32)
