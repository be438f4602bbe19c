"""Launches are the kernels of one call, in order; a launch costs microseconds."""

import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from kernels.bench.profiling.launches import launch_cost, launches

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.gpu
def test_a_launch_costs_microseconds_and_a_kernel_less_than_a_millisecond():
    host, device = launch_cost()
    assert 1e-4 < device.low <= device.median <= device.high < 0.1
    assert 1e-4 < host.low <= host.median <= host.high < 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_launches_without_a_gpu_say_so():
    with pytest.raises(RuntimeError, match="launches needs a GPU"):
        launches(lambda: None)
    with pytest.raises(RuntimeError, match="launch_cost needs a GPU"):
        launch_cost()


@pytest.mark.gpu
def test_launches_are_those_of_one_call_in_order(device):
    x = torch.randn(256, 256, device=device)
    names = launches(lambda: (x @ x).softmax(-1))
    assert len(names) > 1 and ["softmax" in name.lower() for name in names] == [False] * (len(names) - 1) + [True]
    assert launches(lambda: None) == []


@pytest.mark.gpu
def test_launches_say_nothing():
    code = "import torch; from kernels.bench.profiling.launches import launches; x = torch.ones(9, device='cuda')"
    code += "; print(len(launches(lambda: x + x)), len(launches(lambda: x * x)))"  # twice: warnings of a second cycle
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1", "1"] and run.stderr == ""


def pretend_to_profile(monkeypatch, *events):
    """A profiler that sees these events, ``(start, name, device, annotation)``, on a GPU that is not there."""

    class Profile:
        def __init__(self, activities):
            assert activities == [torch.profiler.ProfilerActivity.CUDA]

        def __enter__(self):
            warnings.warn("Profiler clears events at the end of each cycle", stacklevel=2)
            return self

        def __exit__(self, *error):
            pass

        def events(self):
            names = ("name", "device_type", "is_user_annotation")
            return [SimpleNamespace(time_range=SimpleNamespace(start=start), **dict(zip(names, event, strict=True)))
                    for start, *event in events]  # fmt: skip

    zeros = torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda *shape, device: zeros(*shape))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.profiler, "profile", Profile)


def test_launches_are_sorted_and_leave_out_what_is_no_kernel(monkeypatch):
    gpu, cpu = torch.autograd.DeviceType.CUDA, torch.autograd.DeviceType.CPU
    pretend_to_profile(
        monkeypatch,
        (5, "marker", gpu, False),
        (3, "second", gpu, False),
        (2, "first", gpu, False),
        (1, "a step of the optimiser", gpu, True),
        (1, "cudaLaunchKernel", cpu, False),
    )
    calls = []
    with warnings.catch_warnings(action="error"):
        assert launches(lambda: calls.append(1)) == ["first", "second"]
    assert len(calls) == 2  # one to warm up


def test_a_profiler_that_sees_nothing_is_not_taken_for_a_function_that_launches_nothing(monkeypatch):
    pretend_to_profile(monkeypatch)
    with pytest.raises(RuntimeError, match="sees no GPU kernel"):
        launches(lambda: None)
