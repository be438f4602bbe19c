"""Starts processes that share one sequence, one a GPU or several on a CPU, and wait for a test to give them work."""

import faulthandler
import os
import socket
import traceback
from collections.abc import Callable
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

GPUS = torch.cuda.device_count()
COUNTS = [count for count in (2, 4, 8) if count <= (GPUS or 4)]
LARGEST = max(COUNTS, default=0)
START = 120  # s for the processes to find one another
GRACE = 90  # s beyond patience, in which NCCL has to end a process that waits; after them we do, and say where it was


class Processes:
    """``run`` has each process call a function with its rank, how many there are, and their group.

    patience: seconds after which one gives up that waits for another
    """

    def __init__(self, count: int, patience: float = START):
        self.count = count
        # A CPU's children are copies of this process, which has imported all; CUDA does not survive a copy.
        context = mp.get_context("spawn" if GPUS else "fork")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.pipes, self.processes = [], []
        for rank in range(count):
            parent_end, child_end = context.Pipe()
            process = context.Process(target=_serve, args=(child_end, rank, count, port, patience), daemon=True)
            process.start()
            self.pipes.append(parent_end)
            self.processes.append(process)

    def run(self, function: Callable, *arguments, count: int | None = None) -> list:
        """What each of the first ``count`` processes returns; RuntimeError with the first one's error if any fails."""
        answers = self.outcomes(function, *arguments, count=count)
        if errors := [error for _, error in answers if error]:
            raise RuntimeError(errors[0])
        return [result for result, _ in answers]

    def outcomes(self, function: Callable, *arguments, count: int | None = None) -> list[tuple[object, str | None]]:
        """What each returns and None, or None and the traceback of its error."""
        count = count or self.count
        for pipe in self.pipes:
            pipe.send((function, arguments, count))
        return [_answer(pipe) for pipe in self.pipes][:count]

    def end(self) -> None:
        for process in self.processes:
            process.terminate()
            process.join()


def _answer(pipe) -> tuple[object, str | None]:
    try:
        return pipe.recv()
    except (EOFError, ConnectionResetError):
        return None, "the process has ended"  # as NCCL ends one that has waited for too long


def _serve(pipe, rank: int, count: int, port: int, patience: float) -> None:
    os.environ |= {"GLOO_SOCKET_IFNAME": "lo"} if not GPUS else {}
    torch.set_num_threads(1)
    faulthandler.dump_traceback_later(START + GRACE, exit=True, file=2)
    if GPUS:
        torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl" if GPUS else "gloo",
        init_method=f"tcp://127.0.0.1:{port}",
        rank=rank,
        world_size=count,
        timeout=timedelta(seconds=START),
        device_id=torch.device("cuda", rank) if GPUS else None,
    )
    groups = {size: dist.new_group(range(size)) for size in COUNTS if size < count} | {count: dist.group.WORLD}
    if patience != START:  # for what they settle among themselves, and not for their start, which may take longer
        groups = {count: dist.new_group(range(count), timeout=timedelta(seconds=patience))}
    while True:
        faulthandler.cancel_dump_traceback_later()
        function, arguments, size = pipe.recv()
        faulthandler.dump_traceback_later(patience + GRACE, exit=True, file=2)
        if rank >= size:
            pipe.send((None, None))
            continue
        try:
            pipe.send((function(rank, size, groups[size], *arguments), None))
        except Exception:
            pipe.send((None, traceback.format_exc()))
