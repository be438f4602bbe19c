"""Reads hardware counters of kernels: runs a module under ``ncu`` and parses its table.

``ncu`` comes with NVIDIA's Nsight Compute.  It runs the module in a process of its own, and
counts between ``torch.cuda.profiler.start`` and ``stop``.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


def ncu_metrics(
    metrics: dict[str, str], module: str, *arguments: object, flush: bool
) -> list[dict]:
    """Returns the name, ``kernel``, and the metrics of each kernel, in the order they ran.

    metrics: our name of each -> ncu's.  They come in ncu's base units: bytes, ns, cycles
    module, arguments: ncu runs ``python -m module arguments``
    flush: write back and empty the caches before each kernel

    Raises a RuntimeError if there is no ``ncu``, or with its output if it counted nothing or
    we can't read it.
    """
    ncu = shutil.which("ncu")
    if ncu is None:
        raise RuntimeError(
            "counting needs ncu on the PATH: it comes with CUDA, as Nsight Compute; "
            "kernels.bench.cost predicts bytes without it"
        )
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base"]
    command += ["--print-kernel-base", "function", "--metrics", ",".join(metrics.values())]
    command += ["--profile-from-start", "off", "--clock-control", "none"]
    command += ["--cache-control", "all" if flush else "none"]
    command += [sys.executable, "-m", module, *map(str, arguments)]
    run = subprocess.run(
        command,
        cwd=Path(__file__).resolve().parents[3],
        env=os.environ | {"LC_ALL": "C"},  # in a German locale it would print 1,000 as 1.000
        capture_output=True,
        text=True,
        timeout=300,
    )
    table = list(csv.reader(line for line in run.stdout.splitlines() if line.startswith('"')))
    if run.returncode or len(table) < 3:  # names, units, a row for each kernel
        message = [line for line in run.stdout.splitlines() if line.startswith("==")]
        message = "\n".join([*message, run.stderr]).strip() or "it said nothing"
        hint = ""
        if "ERR_NVGPUCTRPERM" in message:
            hint = " for want of permission to read the GPU's counters"
        raise RuntimeError(f"ncu counted nothing of {arguments[0]}{hint}:\n{message}")
    return [_kernel(metrics, dict(zip(table[0], row, strict=True))) for row in table[2:]]


def _kernel(metrics: dict[str, str], row: dict[str, str]) -> dict:
    """Returns a kernel's name and metrics from its row, by the names of ncu's columns."""
    try:
        counters = {
            name: float(row[column].replace(",", "")) for name, column in metrics.items()
        }
    except (KeyError, ValueError) as error:
        raise RuntimeError(f"ncu's numbers cannot be read, {error!r}: {row}") from error
    return {"kernel": row["Kernel Name"], **counters}


def qualified_name(attention: Callable) -> str:
    """Returns ``module:function``, by which another process finds a function of ``kernels``.

    Raises a ValueError for a function without a name of its own.
    """
    name = f"{attention.__module__}:{getattr(attention, '__qualname__', '<nameless>')}"
    if not name.startswith("kernels.") or "<" in name:
        raise ValueError(f"attention is {name}, a function of a module of kernels is wanted")
    return name
