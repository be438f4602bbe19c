"""Runs one snippet: `make run SNIPPET=three_matmuls`; with BOARD=1, only the demo of its sheet.

One that imports ``kernels.bench.parallel.ranks`` is started as torchrun would, in one process a GPU; where there are
not two GPUs, in two processes on the CPU.
"""

from __future__ import annotations

import logging
import os
import re
import runpy
import signal
import sys
import tempfile
from pathlib import Path

import torch

# What a process prints when it has lost its connection to another.
LOST_PEER = re.compile(r"Dist\w*Error|gloo|Connection (closed|reset)|Broken pipe|remote worker")
SNIPPETS = {path.stem: path for path in (Path(__file__).parents[1] / "snippets").glob("*/*.py")}


def main(name: str, board: bool = False) -> None:
    if board:
        return print_board(name)
    if name not in SNIPPETS:
        sys.exit(f"There is no snippet {name!r}; there are: {', '.join(sorted(SNIPPETS))}")
    script = SNIPPETS[name]
    source = script.read_text(encoding="utf-8")
    if "kernels.bench.parallel.ranks" in source:
        sys.exit(run_in_ranks(script, torch.cuda.device_count()))
    if not torch.cuda.is_available():
        print(gpu_notice(source), flush=True)
    sys.path[0] = str(script.parent)  # as if it had been called by its path
    runpy.run_path(str(script), run_name="__main__")


def print_board(name: str) -> None:
    from scripts.chapters import demo

    if name not in demo.chapters():
        sys.exit(f"No sheet has a demo {name!r}; with BOARD=1 there are: {', '.join(demo.chapters())}")
    print("\n".join(demo.lines(name)))


def gpu_notice(source: str, reason: str = "torch finds no GPU") -> str:
    """What to expect of a snippet on a machine without a GPU."""
    switched_on = 'os.environ["TRITON_INTERPRET"] =' in source or os.environ.get("TRITON_INTERPRET") == "1"
    if "TRITON_INTERPRET" in source and switched_on:
        return f"{reason}: Triton's interpreter runs the kernels on the CPU, which can take a minute.\n"
    return f"{reason}: what only a GPU can measure is left out.\n"


def run_in_ranks(script: Path, gpus: int) -> int:
    """Runs a script in several processes; returns 0, or the exit status of the one that failed, and prints only why it
    did.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import parse_args, run

    if gpus < 2:
        ranks = 2
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        print(gpu_notice(script.read_text(encoding="utf-8"), "Two processes, and not two GPUs for them"), flush=True)
    else:
        ranks = 1 << (gpus.bit_length() - 1)  # a power of two, as when it is recorded
        print(f"{ranks} processes, each with a GPU of its own.\n", flush=True)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torchrun would do so, and say so
    logging.disable(logging.CRITICAL)  # what torchrun says of a failure besides what the process says
    with tempfile.TemporaryDirectory() as folder:
        options = ["--standalone", f"--nproc-per-node={ranks}", "--redirects=2", f"--log-dir={folder}"]
        try:
            run(parse_args([*options, str(script)]))
        except ChildFailedError as error:
            logs = {rank: stderr_of(rank, folder) for rank in error.failures}
            first = min(logs, key=lambda rank, failures=error.failures: blame_key(failures[rank], logs[rank]))
            print(logs[first].read_text(), end="", file=sys.stderr)
            print(f"{script.stem} failed in the process of rank {first}; the others were ended", file=sys.stderr)
            status = error.failures[first].exitcode
            if status == -signal.SIGTERM and logs[first].stat().st_size:  # it had failed already
                status = 1
            return status if status > 0 else 128 - status  # of one that a signal ended, as a shell has it
        except SignalException as error:
            return 128 + error.sigval
        for rank in range(ranks):
            print(stderr_of(rank, folder).read_text(), end="", file=sys.stderr)
    return 0


def blame_key(failure, log: Path) -> tuple[int, int]:
    """Sorts the process that failed first before those that torchrun ended by SIGTERM or that lost their peer."""
    stderr_text, terminated = log.read_text(), failure.exitcode == -signal.SIGTERM
    lost_peer = bool(LOST_PEER.search(stderr_text))
    priority = 0 if "Traceback" in stderr_text and not lost_peer else 1 + terminated + (terminated or lost_peer)
    return priority, log.stat().st_mtime_ns


def stderr_of(rank: int, folder: str) -> Path:
    """The file to which torchrun has written what this rank printed to stderr."""
    (path,) = Path(folder).glob(f"*/attempt_0/{rank}/stderr.log")
    return path


if __name__ == "__main__":
    main(next((word for word in sys.argv[1:] if word != "--board"), ""), board="--board" in sys.argv)
