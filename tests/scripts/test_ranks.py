"""``kernels.bench.parallel.ranks`` in one process; tests/scripts/test_run.py starts two.

It isn't in tests/kernels, because that suite's record is made on one GPU.
"""

import pytest
import torch
from torch import distributed

from kernels.bench.parallel import ranks


@pytest.fixture
def without_launcher(monkeypatch):
    """A process without torchrun's variables, on a machine without a GPU; it leaves its group after the test."""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    yield
    ranks._leave()
    assert not distributed.is_initialized()
    ranks._leave()


def test_a_script_that_is_started_by_itself_is_a_group_of_one(without_launcher):
    threads = torch.get_num_threads()
    assert ranks.start() == ranks.start() == (0, 1, torch.device("cpu"))
    total = torch.ones(1)
    distributed.all_reduce(total)
    assert (int(total), distributed.get_backend(), torch.get_num_threads()) == (1, "gloo", threads)


@pytest.mark.parametrize(
    "environment, gpus, backend_and_device",
    [
        ({}, 1, ("nccl", 0)),
        ({"WORLD_SIZE": "4", "LOCAL_RANK": "2"}, 4, ("nccl", 2)),
        ({"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "LOCAL_RANK": "1"}, 2, ("nccl", 1)),
        ({"WORLD_SIZE": "2", "LOCAL_RANK": "1"}, 1, ("gloo", None)),
    ],
)
def test_nccl_connects_those_that_have_a_gpu_each(without_launcher, monkeypatch, environment, gpus, backend_and_device):
    groups, current_devices = [], []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "set_device", current_devices.append)
    monkeypatch.setattr(torch, "set_num_threads", lambda number: None)
    monkeypatch.setattr(
        distributed, "init_process_group", lambda *backend, **options: groups.append((*backend, options))
    )
    monkeypatch.setattr(distributed, "get_rank", lambda: 0)
    monkeypatch.setattr(ranks.atexit, "register", lambda function: None)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    process = ranks.start()
    ((backend, options),) = groups
    assert (backend, process.device.index) == backend_and_device and process.ranks == int(
        environment.get("WORLD_SIZE", 1)
    )
    assert current_devices == ([process.device] if backend == "nccl" else [])
    assert options["device_id"] == (process.device if backend == "nccl" else None)
    assert options["timeout"].total_seconds() == 60
