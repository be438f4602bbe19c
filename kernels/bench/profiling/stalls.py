"""Counts what a kernel's warps wait for, and how busy the tensor cores are meanwhile.

``ncu`` counts while it runs this module in a process of its own, once for each form of
attention, with all of its settings one after the other.  In each clock, each of an SM's four
schedulers issues an instruction of one of its warps, or none.  Each warp that has begun and not
ended then has a reason why it isn't that one, and ncu counts warps by reason.  The reason of a
warp whose instruction is issued is *selected*.

Fractions are of the clocks that the kernel took.  Waits are fractions of the time of all its
warps, including those that do nothing but wait.

Source: NVIDIA, Nsight Compute, "Kernel Profiling Guide", sections on metrics and pipelines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernels.bench.forward_backward import forms, in_layout_of
from kernels.bench.microbenchmarks.softmax_first import softmax_first_attention
from kernels.bench.profiling.ncu import ncu_metrics
from kernels.hopper.attention import hopper_attention
from kernels.hopper.plan import plan_for

PLAN_OVERRIDES = {  # to the plan of the Hopper kernel
    "ping-pong": {"ping_pong": True},
    "no ping-pong": {"ping_pong": False},
    "always rescaled": {"conditional_rescale": False},
    "queries in shared memory": {"queries_in_registers": False},
    "no overlap": {"overlap_softmax": False},
    "third stage": {"stages": 3, "q_stages": 1, "overlap_epilogue": False},
}
PIPES = {
    "tensor": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "exp2": "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed",
    "fma": "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed",
    "alu": "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed",
}
COUNTS = {
    "nanoseconds": "gpu__time_duration.sum",
    "clocks": "sm__cycles_elapsed.avg",
    "instructions": "sm__inst_executed.avg",
}
REASONS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction",
    "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
STALLS = {x: f"smsp__average_warps_issue_stalled_{x}_per_issue_active.ratio" for x in REASONS}
METRICS = COUNTS | PIPES | STALLS


class Setting(NamedTuple):
    """The shape of q, k and v, [batch, heads, n, head_dim], BF16 and random; and the mask."""

    batch: int
    heads: int
    n: int
    head_dim: int
    is_causal: bool


class Profile(NamedTuple):
    """One kernel's milliseconds, SM clock in GHz, and fractions, where 1 is all.

    issued: instructions, of four in each clock
    tensor: clocks in which the tensor cores worked   exp2, fma, alu: how busy three other units
        were: that of exp2 and the like, of FP32 multiply-adds, of comparisons and integers
    waits: reason -> fraction of the warps' time, the longest first; *selected* is one of them
    """

    kernel: str
    milliseconds: float
    clock: float
    issued: float
    tensor: float
    exp2: float
    fma: float
    alu: float
    waits: dict[str, float]


def profilable() -> dict[str, Callable[..., Tensor]]:
    """Returns all that can be profiled here: q, k, v, is_causal -> the output."""
    functions = {name: form.attention for name, form in forms().items()}
    functions |= {name: partial(_with_overrides, name) for name in PLAN_OVERRIDES}
    return functions | {"softmax first": softmax_first_attention}


def _with_overrides(name: str, q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool) -> Tensor:
    plan = plan_for(q.shape[-1], is_causal, q.shape[-2])._replace(**PLAN_OVERRIDES[name])
    return hopper_attention(q, k, v, is_causal=is_causal, plan=plan)


def profiles(name: str, settings: list[Setting]) -> list[Profile]:
    """Returns the profile of each setting's kernel; of several kernels, that of the longest.

    name: one of ``profilable``

    Raises a RuntimeError if there is no ``ncu``, with its output if it counted nothing, or if
    not equally many kernels of each setting.
    """
    arguments = [",".join(str(int(x)) for x in setting) for setting in settings]
    counters = ncu_metrics(
        METRICS, "kernels.bench.profiling.stalls", name, *arguments, flush=True
    )
    per_setting, remainder = divmod(len(counters), len(settings))
    if per_setting == 0 or remainder:
        raise RuntimeError(
            f"ncu counted {len(counters)} kernels of {name} in {len(settings)} settings"
        )
    kernels = [_profile(kernel) for kernel in counters]
    groups = [
        kernels[first : first + per_setting] for first in range(0, len(kernels), per_setting)
    ]
    return [max(group, key=lambda kernel: kernel.milliseconds) for group in groups]


def _profile(counted: dict) -> Profile:
    warps = sum(counted[reason] for reason in REASONS)
    waits = {reason: counted[reason] / warps for reason in REASONS}
    clocks = counted["clocks"]
    return Profile(
        counted["kernel"],
        counted["nanoseconds"] / 1e6,
        clocks / counted["nanoseconds"],
        counted["instructions"] / (4 * clocks),
        *(counted[pipe] / 100 for pipe in PIPES),
        dict(sorted(waits.items(), key=lambda each: -each[1])),
    )


def _call_for_ncu(name: str, *settings: str) -> None:
    """Calls a form twice in each setting: to warm up, and for the counters."""
    attention = profilable()[name]
    for setting in settings:
        *shape, is_causal = map(int, setting.split(","))
        torch.manual_seed(0)
        qkv = torch.randn(3, *shape, device="cuda", dtype=torch.bfloat16)
        q, k, v = in_layout_of(name, *qkv)
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            attention(q, k, v, is_causal=bool(is_causal))
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            attention(q, k, v, is_causal=bool(is_causal))
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()


if __name__ == "__main__":
    _call_for_ncu(*sys.argv[1:])
