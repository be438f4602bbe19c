"""Counts how busy the units of an SM are while a kernel runs, by hardware counter.

``dram`` beside this module counts the bytes of HBM.  Here we look inside an SM, where several
units work at the same time, and one of them may limit the others:

    issue           the schedulers: an SM starts up to four instructions in each clock
    lsu             the unit for loads, stores and shared memory, which also moves numbers
                    between threads (shuffles): it takes one instruction in each clock
    data_path       that behind it: one wavefront of 128 bytes in each clock
    shared          the wavefronts that go to shared memory
    fma, alu        the units for FP32 multiply-adds, and for comparisons and integers

A warp that's on an SM either starts an instruction in a clock or has a reason why not, and ncu
counts warps by reason.  Reasons have ncu's names:

    selected            it starts one
    not_selected        it could, and another warp does
    short_scoreboard    a number from another thread, or from shared memory, isn't there yet
    mio_throttle        the queue to the load-store unit is full
    long_scoreboard     a number from memory or from a cache isn't there yet
    math_pipe_throttle  the unit that it wants, the ALU say, is taken
    barrier             the others of its program haven't come as far
    wait                the instruction before it takes a fixed number of clocks

Source: NVIDIA, Nsight Compute, "Kernel Profiling Guide", sections on metrics and pipelines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kernels.bench.profiling.ncu import ncu_metrics, qualified_name

METRICS = {
    "nanoseconds": "gpu__time_duration.sum",
    "clocks": "sm__cycles_elapsed.avg",
    "instructions": "sm__inst_executed.avg",
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts.avg",
    "of_shared": "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg",
    "in_lsu": "sm__inst_executed_pipe_lsu.avg",
    "fma": "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed",
    "alu": "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed",
    "issued": "smsp__issue_active.avg.per_cycle_active",
    "warps": "sm__warps_active.avg.per_cycle_active",
}
WAIT_REASONS = (
    "selected", "not_selected", "short_scoreboard", "mio_throttle", "long_scoreboard",
    "math_pipe_throttle", "barrier", "wait",
)  # fmt: skip
METRICS |= {
    x: f"smsp__average_warps_issue_stalled_{x}_per_issue_active.ratio" for x in WAIT_REASONS
}
SCHEDULERS = 4  # of an SM


class UnitUsage(NamedTuple):
    """One kernel's milliseconds, SM clock in GHz, and fractions of the clocks.

    issue: instructions, of four in each clock   lsu: those of that unit, of one in each clock
    data_path: its wavefronts, of one in each clock   shared: of them those to shared memory
    fma, alu: instructions of these units, of as many as they can take
    waits: reason -> fraction of the warps' time, not of the clocks
    """

    kernel: str
    milliseconds: float
    clock: float
    issue: float
    lsu: float
    data_path: float
    shared: float
    fma: float
    alu: float
    waits: dict[str, float]


def unit_usage(attention: Callable, *shape: int) -> list[UnitUsage]:
    """Returns how busy each kernel of ``attention(q, k, v)`` is, in order, on average over SMs.

    attention: a function of ``kernels``, because another process finds it by its name
    shape: of q, k and v each, which are FP16 and random

    Raises a ValueError for a function without a name of its own, and a RuntimeError if there is
    no ``ncu``, or with its output if it counted nothing.
    """
    name = qualified_name(attention)
    # Run by itself, dram calls the function that it's given the name of.
    counters = ncu_metrics(METRICS, "kernels.bench.profiling.dram", name, *shape, flush=True)
    return [_usage(kernel) for kernel in counters]


def _usage(counted: dict) -> UnitUsage:
    clocks = counted["clocks"]
    warps_per_issue = counted["warps"] / (SCHEDULERS * counted["issued"])
    return UnitUsage(
        counted["kernel"],
        counted["nanoseconds"] / 1e6,
        clocks / counted["nanoseconds"],
        counted["instructions"] / (SCHEDULERS * clocks),
        counted["in_lsu"] / clocks,
        counted["wavefronts"] / clocks,
        counted["of_shared"] / clocks,
        counted["fma"] / 100,
        counted["alu"] / 100,
        {reason: counted[reason] / warps_per_issue for reason in WAIT_REASONS},
    )
