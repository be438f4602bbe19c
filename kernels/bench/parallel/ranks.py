"""Joins the processes of a script, one for each GPU, that work on the same sequence.

    start    joins them; says which of them this is, how many there are, and where it computes

A snippet that imports this module runs in one process for each GPU.  Each runs the whole
script, and they differ only by their rank; only rank 0 prints.  ``torchrun --nproc-per-node 2``
starts two; a script or a notebook that you start by itself is a group of one.
"""

from __future__ import annotations

import atexit
import os
import warnings
from datetime import timedelta
from typing import NamedTuple

import torch
import torch.distributed as dist

TIMEOUT = timedelta(seconds=60)


class Ranks(NamedTuple):
    """The number of this process, from 0; how many there are; and where this one computes."""

    rank: int
    ranks: int
    device: torch.device


def start() -> Ranks:
    """Joins the processes that run this script: ``rank, ranks, device = start()``.

    If each can have a GPU of its own, that becomes the current device, and NCCL connects them.
    Otherwise they compute on the CPU, with one thread each, and gloo connects them.  They find
    each other by what torchrun tells them: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and
    MASTER_PORT.  A process leaves the group when it ends.  If a process has waited for another
    for 60 seconds, it gives up: gloo raises, and NCCL ends the process.
    """
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    local_ranks = int(os.environ.get("LOCAL_WORLD_SIZE", ranks))  # how many run on this machine
    on_gpu = torch.cuda.device_count() >= local_ranks
    if on_gpu:
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    else:
        device = torch.device("cpu")
        if ranks > 1:
            torch.set_num_threads(1)
    # Autograd's thread has no CUDA context when it first multiplies, and torch warns of that.
    warnings.filterwarnings("ignore", "Attempting to run cuBLAS")
    if not dist.is_initialized():
        single_process = {"store": dist.HashStore(), "rank": 0, "world_size": 1}
        dist.init_process_group(
            "nccl" if on_gpu else "gloo",
            device_id=device if on_gpu else None,
            timeout=TIMEOUT,
            **({} if "RANK" in os.environ else single_process),
        )
        atexit.register(_leave)
    return Ranks(dist.get_rank(), ranks, device)


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
