"""Counts the bytes that each kernel moves between HBM and the chip, by hardware counter.

``ncu``, from NVIDIA's Nsight Compute, counts while it runs this module in a process of
its own.
"""

from __future__ import annotations

import csv
import os
import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch


class DramTraffic(NamedTuple):
    """Bytes that one kernel read from HBM and wrote to it, and the milliseconds it took."""

    kernel: str
    read: int
    written: int
    milliseconds: float


METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum")
UNITS = {"byte": 1, "ns": 1e-6, "nsecond": 1e-6}  # to bytes and milliseconds


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
    name = f"{attention.__module__}:{getattr(attention, '__qualname__', '<nameless>')}"
    if not name.startswith("kernels.") or "<" in name:
        raise ValueError(f"attention is {name}, a function of a module of kernels is wanted")
    ncu = shutil.which("ncu")
    if ncu is None:
        raise RuntimeError(
            "dram_traffic needs ncu on the PATH: it comes with CUDA, as Nsight Compute; "
            "kernels.bench.cost predicts what it counts"
        )
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base"]
    command += ["--print-kernel-base", "function", "--metrics", ",".join(METRICS)]
    command += ["--profile-from-start", "off", "--clock-control", "none"]
    command += ["--cache-control", "all" if flush else "none"]
    command += [sys.executable, "-m", "kernels.bench.profiling.dram", name, *map(str, shape)]
    run = subprocess.run(
        command,
        cwd=Path(__file__).resolve().parents[3],
        env=os.environ | {"LC_ALL": "C"},  # in a German locale it would print 1,000 as 1.000
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
    """Returns the counts in ncu's output: a header, units, and a row for each kernel."""
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
