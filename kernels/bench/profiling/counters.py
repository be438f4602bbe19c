"""Counts how busy the units of an SM are while a kernel runs, by hardware counter.

``dram`` beside this module counts the bytes of HBM.  Here we look inside an SM, where several
units work at the same time, and one of them may limit the others:

    instructions    an SM starts up to four in each clock
    lsu             the unit for loads, stores and shared memory, which also moves numbers
                    between threads (shuffles): one wavefront of 128 bytes in each clock
    shared          the wavefronts of that unit that go to shared memory
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
REASONS = (
    "selected", "not_selected", "short_scoreboard", "mio_throttle", "long_scoreboard",
    "math_pipe_throttle", "barrier", "wait",
)  # fmt: skip
METRICS |= {x: f"smsp__average_warps_issue_stalled_{x}_per_issue_active.ratio" for x in REASONS}
SCHEDULERS = 4  # of an SM


class Utilization(NamedTuple):
    """One kernel's milliseconds, SM clock in GHz, and fractions of the clocks.

    instructions: of four in each clock   lsu: wavefronts, of one in each clock
    shared: those to shared memory   lsu_instructions: of that unit, of one in each clock
    fma, alu: instructions of these units, of as many as they can take
    waits: reason -> fraction of the warps' time, not of the clocks
    """

    kernel: str
    milliseconds: float
    clock: float
    instructions: float
    lsu: float
    shared: float
    lsu_instructions: float
    fma: float
    alu: float
    waits: dict[str, float]


def utilization(attention: Callable, *shape: int) -> list[Utilization]:
    """Returns how busy each kernel of ``attention(q, k, v)`` is, in order, on average over SMs.

    attention: a function of ``kernels``, because another process finds it by its name
    shape: of q, k and v each, which are FP16 and random

    Raises a ValueError for a function without a name of its own, and a RuntimeError if there is
    no ``ncu``, or with its output if it counted nothing.
    """
    name = qualified_name(attention)
    counters = ncu_metrics(METRICS, "kernels.bench.profiling.dram", name, *shape, flush=True)
    return [_utilization(kernel) for kernel in counters]


def _utilization(counted: dict) -> Utilization:
    clocks = counted["clocks"]
    warps_per_issue = counted["warps"] / (SCHEDULERS * counted["issued"])
    return Utilization(
        counted["kernel"],
        counted["nanoseconds"] / 1e6,
        clocks / counted["nanoseconds"],
        counted["instructions"] / (SCHEDULERS * clocks),
        counted["wavefronts"] / clocks,
        counted["of_shared"] / clocks,
        counted["in_lsu"] / clocks,
        counted["fma"] / 100,
        counted["alu"] / 100,
        {reason: counted[reason] / warps_per_issue for reason in REASONS},
    )
