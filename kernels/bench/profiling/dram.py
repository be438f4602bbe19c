"""Counts the bytes that each kernel moves between HBM and the chip, by hardware counter.

``ncu`` counts while it runs this module in a process of its own.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable
from typing import NamedTuple

import torch

from kernels.bench.profiling.ncu import ncu_metrics, qualified_name

METRICS = {
    "read": "dram__bytes_read.sum",
    "written": "dram__bytes_write.sum",
    "nanoseconds": "gpu__time_duration.sum",
}


class DramTraffic(NamedTuple):
    """Bytes that one kernel read from HBM and wrote to it, and the milliseconds it took."""

    kernel: str
    read: int
    written: int
    milliseconds: float


def dram_traffic(attention: Callable, *shape: int, flush: bool = True) -> list[DramTraffic]:
    """Returns the bytes that each kernel of ``attention(q, k, v)`` moves, in order.

    attention: a function of ``kernels``, because a process of its own finds it by its name:
        ``ncu`` counts ``python -m kernels.bench.profiling.dram``
    shape: of q, k and v each, which are FP16 and random
    flush: write back and empty the caches before each kernel, so it pays for everything that it
        reads, and not for what the one before it wrote.  Without it the caches stay as they
        are.  Then a kernel finds in L2 what an earlier one left there, and those lines go to
        HBM, if at all, while a later kernel runs.

    Raises a ValueError for a function without a name of its own, and a RuntimeError if there is
    no ``ncu``, or with its output if it counted nothing.
    """
    name = qualified_name(attention)
    counters = ncu_metrics(METRICS, "kernels.bench.profiling.dram", name, *shape, flush=flush)
    return [
        DramTraffic(x["kernel"], round(x["read"]), round(x["written"]), x["nanoseconds"] / 1e6)
        for x in counters
    ]


def _call_for_ncu(name: str, *shape: str) -> None:
    """Calls a function of ``kernels`` twice: to warm up, and for the counters."""
    if not torch.cuda.is_available():
        raise RuntimeError(
            "dram_traffic needs a GPU; kernels.bench.cost predicts what it counts"
        )
    function = pkgutil.resolve_name(name)
    torch.manual_seed(0)
    q, k, v = torch.randn(3, *map(int, shape), device="cuda").half()
    function(q, k, v)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    function(q, k, v)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    _call_for_ncu(*sys.argv[1:])
