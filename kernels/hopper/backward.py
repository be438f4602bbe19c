"""The gradients of ``hopper_attention``: three kernels, of which the second has the products.

    before_backward_kernel     two numbers of each row: its lse, and dout · out; sums of 0
    hopper_backward_kernel     dk and dv; dq in FP32, added up by all programs that own keys
    after_backward_kernel      dq, rounded

Where one key head serves many query heads and there are few of them, its query heads are shared
out to several programs, and dk and dv are added up in FP32 like dq.
"""

from __future__ import annotations

import math
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
    """How the work is cut: queries and keys a block, and tiles in the rings that stream past.

    Shared memory has little room left: keys and values stay in it, and the sums of dq go
    through it.
    """

    block_q: int
    block_k: int
    q_stages: int = 2
    do_stages: int = 2
    ds_stages: int = 2


BACKWARD_PLANS = {
    64: BackwardPlan(128, 128),
    128: BackwardPlan(64, 128),
    256: BackwardPlan(64, 64, do_stages=1),
}


def hopper_gradients(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool, scale: float,
    out: Tensor, lse: Tensor, dout: Tensor, dlse: Tensor | None,
    deterministic: bool, plan: BackwardPlan | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """dq, dk and dv, contiguous, from what the forward pass has left.

    deterministic: programs add to dq in one order, so that two runs agree bit for bit, and wait
    for each other; else dq may differ in its last bit from run to run
    """
    batch, heads, seq_q, head_dim = q.shape
    columns = padded(head_dim)
    plan = BACKWARD_PLANS[columns] if plan is None else plan
    dq, dk, dv = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
    padded_q, padded_k = round_up(seq_q, plan.block_q), round_up(k.shape[2], plan.block_k)
    shift, delta = torch.empty(2, batch * heads * padded_q, device=q.device)
    sums = torch.empty(batch * heads * padded_q * columns, device=q.device)
    splits = 1 if deterministic else splits_of(q, k, plan)
    turns = None
    if deterministic:
        blocks = batch * heads * padded_q // plan.block_q
        turns = torch.zeros(2 * blocks, dtype=torch.int32, device=q.device)
    to_dk, to_dv = dk, dv
    if splits > 1:
        numbers = batch * k.shape[1] * padded_k * columns
        to_dk, to_dv = torch.zeros(2, numbers, device=q.device)
    if dout.stride(-1) != 1 or any(x % 8 for x in dout.stride()[:-1]) or dout.data_ptr() % 16:
        dout = dout.clone(memory_format=torch.contiguous_format)
    dlse = None if dlse is None else dlse.contiguous()
    with torch.cuda.device_of(q):
        rows = ROWS.value
        before_backward_kernel[(batch * heads * padded_q // rows,)](
            out, dout, lse, dlse, shift, delta, sums, heads, seq_q, padded_q,
            *(x // 8 for x in dout.stride()[:-1]),
            HEAD_DIM=head_dim, COLUMNS=columns, BLOCK=rows, num_warps=4,
        )  # fmt: skip
        launch_backward(
            q, k, v, dout, shift, delta, sums, to_dk, to_dv, turns, is_causal, scale, splits, plan
        )
        finish(sums, dq, scale, plan.block_q)
        if splits > 1:
            finish(to_dk, dk, scale, rows)
            finish(to_dv, dv, 1.0, rows)
    return dq, dk, dv


def launch_backward(
    q: Tensor, k: Tensor, v: Tensor, dout: Tensor, shift: Tensor, delta: Tensor, sums: Tensor,
    dk: Tensor, dv: Tensor, turns: Tensor | None, is_causal: bool, scale: float,
    splits: int, plan: BackwardPlan,
) -> CompiledKernel:  # fmt: skip
    """Starts the kernel with the five products, and returns it as it was compiled."""
    batch, heads, seq_q, head_dim = q.shape
    columns, rows, key_heads, seq_k = padded(head_dim), ROWS.value, k.shape[1], k.shape[2]
    kernel = hopper_backward_wide_kernel if columns == 256 else hopper_backward_kernel
    pairs = batch * key_heads * splits
    grid = pairs * triton.cdiv(seq_k, plan.block_k)
    return kernel[(grid,)](
        described(q, plan.block_q, columns),
        described(k, rows, columns), described(v, rows, columns),
        described(dout, plan.block_q, columns),
        numbers(shift, plan.block_q), numbers(delta, plan.block_q), added(sums),
        *((added(x) if splits > 1 else described(x, rows, columns)) for x in (dk, dv)),
        turns, scale, heads, heads // key_heads, splits,
        pairs, interleaved(is_causal, pairs, seq_k), seq_q, seq_k, round_up(seq_q, plan.block_q),
        Q_STAGES=plan.q_stages, DO_STAGES=plan.do_stages, DS_STAGES=plan.ds_stages,
        REGISTERS=240, CAUSAL=is_causal, SPLIT=splits > 1, num_warps=4,
    )  # fmt: skip


def finish(sums: Tensor, gradient: Tensor, scale: float, block: int) -> None:
    """gradient = scale · sums, which lie as ``add_to`` has them, in blocks of so many rows."""
    *pairs, rows, head_dim = gradient.shape
    columns = padded(head_dim)
    after_backward_kernel[(sums.numel() // ROWS.value**2,)](
        sums, gradient, scale, rows, sums.numel() // (columns * math.prod(pairs)),
        HEAD_DIM=head_dim, COLUMNS=columns, BLOCK=block, num_warps=4,
    )  # fmt: skip


def splits_of(q: Tensor, k: Tensor, plan: BackwardPlan) -> int:
    """Into how many programs the query heads of a key head are divided, so that no SM idles."""
    group = q.shape[1] // k.shape[1]
    programs = k.shape[:2].numel() * triton.cdiv(k.shape[2], plan.block_k)
    sms = torch.cuda.get_device_properties(q.device).multi_processor_count
    divisors = [x for x in range(1, group + 1) if group % x == 0]
    return next((x for x in divisors if x * programs >= sms), group)


def interleaved(is_causal: bool, pairs: int, rows: int) -> int:
    """How many of the last pairs are worked on at a time, causal: 2**15 rows of keys."""
    return min(pairs, triton.cdiv(2**15, rows)) if is_causal else 1


def round_up(count: int, block: int) -> int:
    return triton.cdiv(count, block) * block


def numbers(x: Tensor, count: int) -> TensorDescriptor:
    """Where TMA finds one number a row, ``count`` rows at a time."""
    return TensorDescriptor(x, list(x.shape), [1], [count], layout_of_numbers(count))


@cache
def layout_of_numbers(count: int) -> gl.NVMMASharedLayout:
    return gl.NVMMASharedLayout.get_default_for([count], gl.float32)


def added(x: Tensor) -> TensorDescriptor:
    """Where TMA adds 16 rows of 256 numbers, which lie in shared memory one after the other."""
    layout = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=2)
    return TensorDescriptor(x, [x.numel() // 256, 256], [256, 1], [16, 256], layout)
