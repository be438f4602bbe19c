"""Counts how busy the units of an SM are while a kernel runs, by hardware counter.

``ncu``, from NVIDIA's Nsight Compute, counts while it runs ``dram`` beside this module in a
process of its own.  ``dram`` counts the bytes of HBM.  Here we look inside an SM, where several
units work at the same time, and one of them may limit the others:

    instructions    an SM starts up to four in each clock
    lsu             the unit for loads, stores and shared memory, which also moves numbers
                    between threads (shuffles): one wavefront of 128 bytes in each clock
    shared          the wavefronts of that unit that go to shared memory

Source: NVIDIA, Nsight Compute, "Kernel Profiling Guide", sections on metrics and pipelines.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

METRICS = {
    "nanoseconds": "gpu__time_duration.sum",
    "clocks": "sm__cycles_elapsed.avg",
    "instructions": "sm__inst_executed.avg",
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts.avg",
    "of_shared": "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg",
    "in_lsu": "sm__inst_executed_pipe_lsu.avg",
}


class Busy(NamedTuple):
    """One kernel's milliseconds, SM clock in GHz, and shares of the clocks, where 1 is all.

    instructions: of four in each clock   lsu: wavefronts, of one in each clock
    shared: those to shared memory   starts: instructions of that unit, of one in each clock
    """

    kernel: str
    milliseconds: float
    clock: float
    instructions: float
    lsu: float
    shared: float
    starts: float


def busy(attention: Callable, *shape: int) -> list[Busy]:
    """Returns how busy each kernel of ``attention(q, k, v)`` is, in order, on average over SMs.

    attention: a function of ``kernels``, because another process finds it by its name
    shape: of q, k and v each, which are FP16 and random

    Raises a ValueError for a function without a name of its own, and a RuntimeError if there is
    no ``ncu``, or with its output if it counted nothing.
    """
    name = f"{attention.__module__}:{getattr(attention, '__qualname__', '<nameless>')}"
    if not name.startswith("kernels.") or "<" in name:
        raise ValueError(f"attention is {name}, a function of a module of kernels is wanted")
    ncu = shutil.which("ncu")
    if ncu is None:
        raise RuntimeError("busy needs ncu on the PATH: it comes with CUDA, as Nsight Compute")
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base"]
    command += ["--print-kernel-base", "function", "--metrics", ",".join(METRICS.values())]
    command += ["--profile-from-start", "off", "--clock-control", "none"]
    command += [sys.executable, "-m", "kernels.bench.profiling.dram", name, *map(str, shape)]
    run = subprocess.run(
        command,
        cwd=Path(__file__).resolve().parents[3],
        env=os.environ | {"LC_ALL": "C"},  # in a German locale it would print 1,000 as 1.000
        capture_output=True,
        text=True,
        timeout=300,
    )
    rows = list(csv.reader(line for line in run.stdout.splitlines() if line.startswith('"')))
    if run.returncode or len(rows) < 3:
        raise RuntimeError(f"ncu counted nothing of {name}:\n{run.stdout}{run.stderr}")
    return [_of_kernel(dict(zip(rows[0], cells, strict=True))) for cells in rows[2:]]


def _of_kernel(row: dict[str, str]) -> Busy:
    """Returns what a row of ncu says, by the names of its columns."""
    try:
        found = {name: float(row[at].replace(",", "")) for name, at in METRICS.items()}
    except (KeyError, ValueError) as error:
        raise RuntimeError(f"ncu's numbers cannot be read, {error!r}: {row}") from error
    clocks = found["clocks"]
    return Busy(
        row["Kernel Name"],
        found["nanoseconds"] / 1e6,
        clocks / found["nanoseconds"],
        found["instructions"] / (4 * clocks),
        found["wavefronts"] / clocks,
        found["of_shared"] / clocks,
        found["in_lsu"] / clocks,
    )
