"""Says which kernels a call launches, what a launch costs, and when each of them runs.

    launches          which kernels a call launches
    launch_cost       what one launch takes, of the host's time and of the GPU's
    launch_timeline   when a call hands each kernel over and when the GPU runs it, on one clock

A timeline shows who waits: the GPU for the host, or not, if the host is far ahead.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import NamedTuple

import torch
from torch.autograd import DeviceType

from kernels.bench.timing import Time, _time_of


def launches(function: Callable[[], object]) -> list[str]:
    """Returns the names of the GPU kernels that one call of ``function`` launches, in order.

    They come from CUPTI through PyTorch's profiler, after a call to warm up.  A copy or fill by
    the driver is listed, too, as Memcpy or Memset.  Raises a RuntimeError without a GPU, and if
    the profiler sees nothing.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("launches needs a GPU: without one no kernel is launched")
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    # Some builds of Kineto print a start-up line to stderr; silence it.
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")
    marker = torch.zeros(1, device="cuda")
    marker.neg_()
    function()
    torch.cuda.synchronize()
    with (
        warnings.catch_warnings(action="ignore"),  # it warns that it drops earlier cycles
        profile(activities=[ProfilerActivity.CUDA]) as profiler,
    ):
        function()
        marker.neg_()
        torch.cuda.synchronize()
    kernels = [
        event
        for event in profiler.events()
        if event.device_type == DeviceType.CUDA and not event.is_user_annotation
    ]
    if not kernels:  # it must see the marker at least
        raise RuntimeError("PyTorch's profiler sees no GPU kernel here: does CUPTI work?")
    kernels.sort(key=lambda event: event.time_range.start)
    return [event.name for event in kernels[:-1]]


class LaunchCost(NamedTuple):
    """The times of one more launch: for Python to hand it over, and for the GPU to run it."""

    host: Time
    device: Time


def launch_cost() -> LaunchCost:
    """Returns what launching one of PyTorch's smallest kernels costs, on both sides.

    A kernel that only waits stops the GPU until 500 launches are handed over, so neither side
    waits for the other.  Raises a RuntimeError without a GPU.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("launch_cost needs a GPU: without one no kernel is launched")
    number = torch.zeros(1, device="cuda")
    host, device = [], []
    for _ in range(30):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        torch.cuda._sleep(50_000_000)  # clocks, some 25 ms
        begin.record()
        host_start = perf_counter()
        for _ in range(500):
            number.neg_()
        host.append(1e3 * (perf_counter() - host_start) / 500)
        end.record()
        torch.cuda.synchronize()
        device.append(begin.elapsed_time(end) / 500)
    return LaunchCost(_time_of(host[1:]), _time_of(device[1:]))  # the first warms up


class Event(NamedTuple):
    """A launch or a kernel, in microseconds from the start of the first launch."""

    side: str  # "host": a call that launches; "device": a kernel that runs
    launch: int  # from 1; a launch and its kernel, or its graph's kernels, share it
    name: str
    start: float
    duration: float


def launch_timeline(function: Callable[[], object]) -> list[Event]:
    """Returns launches and kernels of one call of ``function``, a launch before its kernel.

    They come from CUPTI through PyTorch's profiler, after calls to warm both up.  Each launch
    takes longer than it would without the profiler.  A copy or fill by the driver counts as a
    kernel.  Raises a RuntimeError without a GPU, and if the profiler loses an event.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("launch_timeline needs a GPU: without one no kernel is launched")
    from torch.profiler import ProfilerActivity, profile, schedule

    # Some builds of Kineto print a start-up line to stderr; silence it.
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")
    marker = torch.zeros(1, device="cuda")
    with (
        warnings.catch_warnings(action="ignore"),  # it warns that it drops earlier cycles
        profile(
            activities=[ProfilerActivity.CUDA], schedule=schedule(wait=0, warmup=1, active=1)
        ) as profiler,
    ):
        for _ in range(3):
            marker.neg_()
            function()
        torch.cuda.synchronize()
        profiler.step()  # now the profiler records
        marker.neg_()  # makes the slow first launch, and leaves the queue empty
        torch.cuda.synchronize()
        function()
        marker.neg_()
        torch.cuda.synchronize()
    return _between_markers(profiler.events())


def _between_markers(events: Iterable) -> list[Event]:
    """Returns the launches of all kernels except the first and the last, the markers."""
    events = sorted(events, key=lambda event: (event.time_range.start, -event.time_range.end))
    events = [event for event in events if not event.is_user_annotation]
    kernels = [event for event in events if event.device_type == DeviceType.CUDA]
    if len(kernels) < 2 or kernels[0].name != kernels[-1].name:
        raise RuntimeError("PyTorch's profiler sees no GPU kernel here, or loses some")
    calls = {  # by the number that a launch and its kernel share; the outer one of nested calls
        event.id: event
        for event in reversed(events)
        if event.device_type == DeviceType.CPU and event.name.startswith("cu")
    }
    if unlaunched := [_short(kernel.name) for kernel in kernels if kernel.id not in calls]:
        raise RuntimeError(f"PyTorch's profiler has no launch of {', '.join(unlaunched)}")
    origin = calls[kernels[1].id].time_range.start
    timeline = []
    launch_numbers: dict[int, int] = {}
    for kernel in kernels[1:-1]:
        sides = [("device", kernel)]
        if kernel.id not in launch_numbers:
            sides.insert(0, ("host", calls[kernel.id]))
        launch = launch_numbers.setdefault(kernel.id, len(launch_numbers) + 1)
        for side, event in sides:
            start, end = event.time_range.start, event.time_range.end
            timeline.append(
                Event(side, launch, _short(event.name), start - origin, end - start)
            )
    return timeline


def _short(name: str) -> str:
    """Returns a kernel's name without its type, namespaces, template and arguments."""
    qualified = name.replace("(anonymous namespace)", "").split("<")[0].split("(")[0]
    return qualified.split("::")[-1].removeprefix("void ").strip()
