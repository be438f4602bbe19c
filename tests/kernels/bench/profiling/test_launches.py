"""Launches are the kernels of one call, in order; each stands beside its own launch, on one clock that begins with the
first; what the profiler lost is said; a launch costs microseconds.
"""

import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.autograd import DeviceType

from kernels.bench.profiling.launches import Event, launch_cost, launch_timeline, launches

ROOT = Path(__file__).resolve().parents[4]


def event(id, name, start, end, *, annotation=False):
    """One of the profiler's: what begins like a call of CUDA runs on the CPU, anything else on the GPU."""
    return SimpleNamespace(
        id=id,
        name=name,
        device_type=DeviceType.CPU if name.startswith(("cu", "Profiler")) else DeviceType.CUDA,
        time_range=SimpleNamespace(start=start, end=end),
        is_user_annotation=annotation,
    )


MARKER = "void at::neg<float>(float*)"
BEFORE = [event(1, "cudaLaunchKernel", 10, 90), event(1, MARKER, 95, 97)]
AFTER = [event(7, "cudaLaunchKernel", 150, 154), event(7, MARKER, 160, 162)]
CALL = [
    event(3, "cudaLaunchKernel", 110, 114),
    event(3, "void at::(anonymous namespace)::softmax<4, int>(int)", 120.5, 130.5),
    event(2, "cudaLaunchKernelExC", 100, 106),
    event(2, "cuLaunchKernelEx", 101, 105),
    event(2, "nvjet_hsh_8x64", 108, 112),
    event(4, "cudaMemcpyAsync", 116, 119),
    event(4, "Memcpy DtoD (Device -> Device)", 131, 133),
]
OTHERS = [
    event(9, "cudaDeviceSynchronize", 98, 99),
    event(2, "ProfilerStep#1", 5, 200, annotation=True),
    event(2, "a step, on the GPU", 5, 200, annotation=True),
]


@pytest.fixture
def pretend(monkeypatch):
    """A profiler that sees what it is told to see, on a GPU that is not there."""

    def sees(*events):
        class Profile:
            def __init__(self, activities, schedule=None):
                assert activities == [torch.profiler.ProfilerActivity.CUDA]
                self.actions = [schedule(step).name for step in range(2)] if schedule else ["RECORD_AND_SAVE"]

            def __enter__(self):
                warnings.warn("Profiler clears events at the end of each cycle", stacklevel=2)
                return self

            def __exit__(self, *error):
                assert self.actions == ["RECORD_AND_SAVE"]

            def step(self):
                assert self.actions.pop(0) == "WARMUP"

            def events(self):
                return list(events)

        zeros = torch.zeros
        monkeypatch.setattr(torch, "zeros", lambda *shape, device: zeros(*shape))
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
        monkeypatch.setattr(torch.profiler, "profile", Profile)

    return sees


def test_each_kernel_stands_beside_its_launch(pretend):
    pretend(*AFTER, *OTHERS, *CALL, *BEFORE)
    calls = []
    with warnings.catch_warnings(action="error"):
        found = launch_timeline(lambda: calls.append(1))
    assert len(calls) == 4  # three to warm up
    assert found == [
        Event("host", 1, "cudaLaunchKernelExC", 0, 6),
        Event("device", 1, "nvjet_hsh_8x64", 8, 4),
        Event("host", 2, "cudaLaunchKernel", 10, 4),
        Event("device", 2, "softmax", 20.5, 10),
        Event("host", 3, "cudaMemcpyAsync", 16, 3),
        Event("device", 3, "Memcpy DtoD", 31, 2),
    ]


def test_kernels_of_one_graph_share_its_launch(pretend):
    first, second = event(5, "a", 109, 110), event(5, "b", 112, 115)
    pretend(*BEFORE, event(5, "cudaGraphLaunch", 100, 108), first, second, *AFTER)
    found = launch_timeline(lambda: None)
    assert [(event.side, event.launch, event.start) for event in found] == [
        ("host", 1, 0),
        ("device", 1, 9),
        ("device", 1, 12),
    ]


def test_a_call_that_launches_nothing_has_no_events(pretend):
    pretend(*BEFORE, *AFTER)
    assert launch_timeline(lambda: None) == []


@pytest.mark.parametrize(
    "events, words",
    [
        ([], "sees no GPU kernel here, or loses some"),
        ([*BEFORE, *CALL], "loses some"),
        ([*BEFORE, *CALL[1:], *AFTER], "has no launch of softmax$"),
    ],
)
def test_what_the_profiler_lost_is_said(pretend, events, words):
    pretend(*events)
    with pytest.raises(RuntimeError, match=words):
        launch_timeline(lambda: None)


def test_launches_are_sorted_and_leave_out_what_is_no_kernel(pretend):
    step = event(2, "a step of the optimiser", 1, 5, annotation=True)
    pretend(AFTER[1], event(3, "second", 130, 131), event(2, "first", 120, 121), step, BEFORE[0])
    calls = []
    with warnings.catch_warnings(action="error"):
        assert launches(lambda: calls.append(1)) == ["first", "second"]
    assert len(calls) == 2  # one to warm up


def test_a_profiler_that_sees_nothing_is_not_taken_for_a_function_that_launches_nothing(pretend):
    pretend()
    with pytest.raises(RuntimeError, match="sees no GPU kernel"):
        launches(lambda: None)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_each_says_so():
    for call, arguments in ((launches, [lambda: None]), (launch_timeline, [lambda: None]), (launch_cost, [])):
        with pytest.raises(RuntimeError, match=f"{call.__name__} needs a GPU"):
            call(*arguments)


@pytest.mark.gpu
def test_a_launch_costs_microseconds_and_a_kernel_less_than_a_millisecond():
    host, device = launch_cost()
    assert 1e-4 < device.low <= device.median <= device.high < 0.1
    assert 1e-4 < host.low <= host.median <= host.high < 1


@pytest.mark.gpu
def test_launches_are_those_of_one_call_in_order(device):
    x = torch.randn(256, 256, device=device)
    names = launches(lambda: (x @ x).softmax(-1))
    assert len(names) > 1 and ["softmax" in name.lower() for name in names] == [False] * (len(names) - 1) + [True]
    assert launches(lambda: None) == []


@pytest.mark.gpu
def test_on_a_gpu_no_kernel_begins_before_its_launch(device):
    x = torch.randn(256, 256, device=device)
    found = launch_timeline(lambda: (x @ x).softmax(-1))
    hosts, kernels = found[::2], found[1::2]
    assert len(hosts) == len(kernels) > 1 and "softmax" in kernels[-1].name
    assert hosts[0].start == 0 and all(event.duration > 0 for event in found)
    for host, kernel in zip(hosts, kernels, strict=True):
        assert (host.side, kernel.side, host.launch) == ("host", "device", kernel.launch)
        assert host.start < kernel.start
    assert all(before.start < after.start for before, after in pairwise(kernels))
    assert launch_timeline(lambda: None) == []


@pytest.mark.gpu
def test_on_a_gpu_a_long_kernel_takes_long():
    kernel = launch_timeline(lambda: torch.cuda._sleep(10**7))[1]
    assert 2_000 < kernel.duration < 50_000  # 10⁷ clocks at 2 GHz are 5 ms


@pytest.mark.gpu
@pytest.mark.parametrize("name, count", [("launches", "1"), ("launch_timeline", "2")])
def test_on_a_gpu_it_says_nothing(name, count):
    code = (
        f"import torch; from kernels.bench.profiling.launches import {name} as call; x = torch.ones(9, device='cuda')"
    )
    code += "; print(len(call(lambda: x + x)), len(call(lambda: x * x)))"  # twice: warnings of a second cycle
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == [count, count] and run.stderr == ""
