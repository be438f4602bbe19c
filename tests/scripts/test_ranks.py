"""``kernels.bench.parallel.ranks`` by itself; in two processes tests/scripts/test_run.py has it.

Not in tests/kernels: the record of that suite is made on one GPU.
"""

import pytest
import torch
from torch import distributed

from kernels.bench.parallel import ranks


@pytest.fixture
def alone(monkeypatch):
    """A process that nobody told of others."""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    yield
    ranks._leave()
    assert not distributed.is_initialized()
    ranks._leave()


def test_a_script_that_is_started_by_itself_is_a_group_of_one(alone):
    threads = torch.get_num_threads()
    assert ranks.start() == ranks.start() == (0, 1, torch.device("cpu"))
    total = torch.ones(1)
    distributed.all_reduce(total)
    assert (int(total), distributed.get_backend(), torch.get_num_threads()) == (1, "gloo", threads)


@pytest.mark.parametrize(
    "told, gpus, wanted",
    [
        ({}, 1, ("nccl", 0)),
        ({"WORLD_SIZE": "4", "LOCAL_RANK": "2"}, 4, ("nccl", 2)),
        ({"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "LOCAL_RANK": "1"}, 2, ("nccl", 1)),
        ({"WORLD_SIZE": "2", "LOCAL_RANK": "1"}, 1, ("gloo", None)),
    ],
)
def test_nccl_connects_those_that_have_a_gpu_each(alone, monkeypatch, told, gpus, wanted):
    joined, current = [], []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    monkeypatch.setattr(torch, "set_num_threads", lambda number: None)
    monkeypatch.setattr(distributed, "init_process_group", lambda *backend, **how: joined.append((*backend, how)))
    monkeypatch.setattr(distributed, "get_rank", lambda: 0)
    monkeypatch.setattr(ranks.atexit, "register", lambda function: None)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    place = ranks.start()
    ((backend, how),) = joined
    assert (backend, place.device.index) == wanted and place.ranks == int(told.get("WORLD_SIZE", 1))
    assert current == ([place.device] if backend == "nccl" else [])
    assert how["device_id"] == (place.device if backend == "nccl" else None)
    assert how["timeout"].total_seconds() == 60
