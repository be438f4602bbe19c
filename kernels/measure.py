"""How every number of the handbook is measured, and the table that it is put into.

    time             how long the GPU works on a call, its L2 cache cleared before
    time_attention   the same of attention: forward, or its backward pass alone
    wall_time        how long a call takes from the outside, launches and waiting included
    peak_memory      by how much GPU memory grows
    launches         which kernels a call launches
    launch_cost      what one launch takes
    dram_traffic     what each kernel moves between HBM and the chip, by hardware counter

A time is the median of many, between their 20th and 80th percentile.
"""

from __future__ import annotations

import csv
import math
import os
import pkgutil
import shutil
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import torch
from torch import Tensor

TABLE = "application/vnd.attention-handbook.table+json"
Value = str | int | float | bool | None


class Table:
    """Rows of named columns with units; in a notebook, ``show()`` leaves them for figures too.

    ``Table("squares", n="", square="MiB")`` names columns and their units; ``add(n=8192,
    square=128.0)`` adds a row.
    """

    def __init__(self, name: str, /, **columns: str):
        self.name = name
        self.columns = columns
        self.rows: list[dict[str, Value]] = []

    def add(self, /, **row: Value) -> None:
        """One more row.

        Raises ValueError unless each column is given once, and ValueError or TypeError for what
        JSON cannot hold.
        """
        if row.keys() != self.columns.keys():
            raise ValueError(
                f"table {self.name} has columns {list(self.columns)}, the row has {list(row)}"
            )
        for column, value in row.items():
            if not isinstance(value, Value):
                raise TypeError(
                    f"{column} is {type(value).__name__}: "
                    "a string, a number, a bool or None is wanted"
                )
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(
                    f"{column} is {value}, which JSON cannot hold: give it as text"
                )
        self.rows.append({column: row[column] for column in self.columns})

    def __str__(self) -> str:
        titles = [
            f"{column} ({unit})" if unit else column for column, unit in self.columns.items()
        ]
        lines = [titles, *([_text(value) for value in row.values()] for row in self.rows)]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        words = [
            any(isinstance(row[column], str) for row in self.rows) for column in self.columns
        ]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if left else cell.rjust(width)
                for cell, width, left in zip(line, widths, words, strict=True)
            ).rstrip()
            for line in lines
        )

    def show(self) -> None:
        """Prints the table; in a notebook as one output that also holds names and units."""
        if not _in_notebook():
            print(self)
            return
        from IPython.display import display

        columns = [{"name": column, "unit": unit} for column, unit in self.columns.items()]
        payload = {"name": self.name, "columns": columns, "rows": self.rows}
        display({"text/plain": str(self), TABLE: payload}, raw=True)


class Time(NamedTuple):
    """Milliseconds for one call: the median, and the 20th and 80th percentile around it."""

    median: float
    low: float
    high: float


def time(function: Callable[[], object], *, milliseconds: int = 100) -> Time:
    """How long one call of ``function`` takes: warmed up, repeated, L2 cleared before each.

    On a GPU by CUDA events, so that what is timed is the device's work and not Python's.
    Without one by the wall clock, caches as they are: good enough to see an order of magnitude,
    not to be quoted.
    milliseconds: how long to go on; what is slower than that is timed once, after 7 calls
    """
    if not torch.cuda.is_available():
        return wall_time(function, milliseconds=milliseconds)
    from triton.testing import do_bench

    return Time(*do_bench(function, rep=milliseconds, quantiles=[0.5, 0.2, 0.8]))


def wall_time(function: Callable[[], object], *, milliseconds: int = 100) -> Time:
    """How long one call takes by the clock on the wall, until the GPU has finished, if any.

    Python, launches and waiting included, caches as they are: warmed up, and repeated at least
    5 times.
    """
    finish = torch.cuda.synchronize if torch.cuda.is_available() else bool
    function()
    finish()
    samples = []
    started = perf_counter()
    while len(samples) < 5 or perf_counter() - started < 1e-3 * milliseconds:
        before = perf_counter()
        function()
        finish()
        samples.append(1e3 * (perf_counter() - before))
    return _time_of(samples)


def time_attention(
    attention: Callable,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dout: Tensor | None = None,
    *,
    milliseconds: int = 100,
    **options,
) -> Time:
    """``time`` of attention: forward without autograd, or, given dout, of its backward alone.

    dout: the gradient that arrives from above, of the shape of the output
    milliseconds: as in ``time``   options: is_causal and what else attention takes
    """
    backward = dout is not None
    q, k, v = (tensor.detach().requires_grad_(backward) for tensor in (q, k, v))
    with torch.set_grad_enabled(backward):
        call = partial(attention, q, k, v, **options)
        if backward:
            call = partial(torch.autograd.grad, call(), (q, k, v), dout, retain_graph=True)
        return time(call, milliseconds=milliseconds)


def peak_memory(function: Callable[[], object]) -> int:
    """Bytes by which GPU memory grew, at its highest, while ``function`` ran, result included.

    It runs twice: the first matmul of a process makes cuBLAS take a workspace, and keep it.
    Raises RuntimeError without a GPU: only the CUDA allocator keeps this count.
    """
    if not torch.cuda.is_available():
        raise RuntimeError(
            "peak_memory needs a GPU; kernels.cost computes the size of each tensor"
        )
    function()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    function()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def launches(function: Callable[[], object]) -> list[str]:
    """The names of the GPU kernels that one call of ``function`` launches, in order.

    By CUPTI, through PyTorch's profiler, after a call to warm up.  A copy or fill by the driver
    is listed too, as Memcpy or Memset.  Raises RuntimeError without a GPU, and where the
    profiler sees nothing.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("launches needs a GPU: without one no kernel is launched")
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # or some say on stderr that they start
    marker = torch.zeros(1, device="cuda")
    marker.neg_()
    function()
    torch.cuda.synchronize()
    with (
        warnings.catch_warnings(action="ignore"),  # that only the last of one cycle is kept
        profile(activities=[ProfilerActivity.CUDA]) as profiler,
    ):
        function()
        marker.neg_()
        torch.cuda.synchronize()
    kernels = [
        event
        for event in profiler.events()
        if event.device_type == DeviceType.CUDA and not event.is_user_annotation
    ]
    if not kernels:  # not even the marker
        raise RuntimeError("PyTorch's profiler sees no GPU kernel here: does CUPTI work?")
    kernels.sort(key=lambda event: event.time_range.start)
    return [event.name for event in kernels[:-1]]


class LaunchCost(NamedTuple):
    """What one more launch takes: to hand over, by Python, and to run, on the GPU."""

    host: Time
    device: Time


def launch_cost() -> LaunchCost:
    """What launching one of PyTorch's smallest kernels costs, on both sides.

    A kernel that only waits holds up the GPU until 500 launches are handed over, so that
    neither side waits for the other.  Raises RuntimeError without a GPU.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("launch_cost needs a GPU: without one no kernel is launched")
    number = torch.zeros(1, device="cuda")
    host, device = [], []
    for _ in range(30):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        torch.cuda._sleep(50_000_000)  # clocks, some 25 ms
        begin.record()
        before = perf_counter()
        for _ in range(500):
            number.neg_()
        host.append(1e3 * (perf_counter() - before) / 500)
        end.record()
        torch.cuda.synchronize()
        device.append(begin.elapsed_time(end) / 500)
    return LaunchCost(_time_of(host[1:]), _time_of(device[1:]))  # the first warms up


class DramTraffic(NamedTuple):
    """Bytes that one kernel read from HBM and wrote to it, and the milliseconds it took."""

    kernel: str
    read: int
    written: int
    milliseconds: float


METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum")
UNITS = {"byte": 1, "ns": 1e-6, "nsecond": 1e-6}  # as DramTraffic has them


def dram_traffic(attention: Callable, *shape: int, flush: bool = True) -> list[DramTraffic]:
    """What each kernel of ``attention(q, k, v)`` moves, by hardware counter, in order.

    attention: a function of ``kernels``, for it is looked up by its name in a process of its
        own: ``ncu``, from NVIDIA's Nsight Compute, counts ``python -m kernels.measure``
    shape: of q, k and v each, FP16, random
    flush: write back and empty the caches before each kernel, so that it is charged with all
        that it reads, and not with what the one before it wrote.  Without it they stay as they
        are: lines that a kernel leaves in L2 are read from there, and are written to HBM, if
        at all, while a later kernel runs.

    Raises ValueError for a function that has no name of its own, and RuntimeError without
    ``ncu``, or with what it said if it counted nothing.
    """
    name = f"{attention.__module__}:{getattr(attention, '__qualname__', '<nameless>')}"
    if not name.startswith("kernels.") or "<" in name:
        raise ValueError(f"attention is {name}, a function of a module of kernels is wanted")
    ncu = shutil.which("ncu")
    if ncu is None:
        raise RuntimeError(
            "dram_traffic needs ncu on the PATH: it comes with CUDA, as Nsight Compute; "
            "kernels.cost predicts what it counts"
        )
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base"]
    command += ["--print-kernel-base", "function", "--metrics", ",".join(METRICS)]
    command += ["--profile-from-start", "off", "--clock-control", "none"]
    command += ["--cache-control", "all" if flush else "none"]
    command += [sys.executable, "-m", "kernels.measure", name, *map(str, shape)]
    run = subprocess.run(
        command,
        cwd=Path(__file__).resolve().parents[1],
        env=os.environ | {"LC_ALL": "C"},  # or 1,000 might be 1.000
        capture_output=True,
        text=True,
        timeout=300,
    )
    counted = _parse_ncu(run.stdout)
    if run.returncode or not counted:
        said = [line for line in run.stdout.splitlines() if line.startswith("==")]
        said = "\n".join([*said, run.stderr]).strip() or "it said nothing"
        hint = ""
        if "ERR_NVGPUCTRPERM" in said:
            hint = " for want of permission to read the GPU's counters"
        raise RuntimeError(f"ncu counted nothing of {name}{hint}:\n{said}")
    return counted


def _parse_ncu(text: str) -> list[DramTraffic]:
    """A header, a row of units and a row a kernel, among other things that were said."""
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    found = []
    try:
        for cells in rows[2:]:
            unit, row = (dict(zip(rows[0], values, strict=True)) for values in (rows[1], cells))
            read, written, duration = (
                float(row[metric].replace(",", "")) * UNITS[unit[metric]] for metric in METRICS
            )
            found.append(DramTraffic(row["Kernel Name"], round(read), round(written), duration))
    except (KeyError, ValueError) as error:
        raise RuntimeError(f"ncu's numbers cannot be read, {error!r}:\n{text}") from error
    return found


def _call_for_ncu(name: str, *shape: str) -> None:
    """Calls a function of ``kernels`` twice: to warm up, and for the counters."""
    if not torch.cuda.is_available():
        raise RuntimeError("dram_traffic needs a GPU; kernels.cost predicts what it counts")
    function = pkgutil.resolve_name(name)
    torch.manual_seed(0)
    q, k, v = torch.randn(3, *map(int, shape), device="cuda").half()
    function(q, k, v)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    function(q, k, v)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def _time_of(samples: list[float]) -> Time:
    low, _, _, high = statistics.quantiles(samples, n=5)
    return Time(statistics.median(samples), low, high)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _text(value: Value) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if 9999.5 <= abs(value) < 1e15 else f"{value:.4g}"


if __name__ == "__main__":
    _call_for_ncu(*sys.argv[1:])
