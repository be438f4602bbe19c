"""Compares forms in rounds, each in a new random order, on one GPU or on many.

A GPU's clock depends on its load and its temperature, so two forms measured one after the other
don't have the same conditions.  Therefore we compare two times within a round, and state the
median of those ratios, with an interval that says how far to trust it.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

DRAWS = 1000  # of rounds with replacement, for the bootstrap


class Interval(NamedTuple):
    """A median, and the range that holds it in 95 of 100 draws of as many rounds."""

    median: float
    low: float
    high: float


def rounds(
    forms: dict[str, Callable[[], object]], *, count: int = 30, calls: int = 1, seed: int = 0
) -> dict[str, list[float]]:
    """Returns the milliseconds of one call of each form in each of ``count`` rounds.

    It uses CUDA events, and calls each form twice before, or once for fewer than 10 rounds.  In
    a group of processes all must make the same call: they start each form together, and the
    time is that of the slowest.
    calls: how many make one measurement, one after the other
    """
    together = dist.is_initialized() and dist.get_world_size() > 1
    for form in forms.values():
        form()
        if count >= 10:
            form()
    torch.cuda.synchronize()
    order, drawn = list(forms), random.Random(seed)
    times = torch.empty(len(forms), count)
    signal = torch.zeros(1, device="cuda")
    for number in range(count):
        drawn.shuffle(order)
        for name in order:
            if together:
                dist.all_reduce(signal)  # no GPU begins before all are here
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(calls):
                forms[name]()
            end.record()
            end.synchronize()
            times[list(forms).index(name), number] = begin.elapsed_time(end) / calls
    return dict(zip(forms, slowest(times).tolist(), strict=True))


def slowest(times: Tensor) -> Tensor:
    """Returns the largest value of each number over all processes."""
    if not (dist.is_initialized() and dist.get_world_size() > 1):
        return times
    on_gpu = times.cuda()
    dist.all_reduce(on_gpu, dist.ReduceOp.MAX)
    return on_gpu.cpu()


def ratio(of: list[float], by: list[float], seed: int = 0) -> Interval:
    """Returns the ratio of ``of`` to ``by``, round by round, and its interval."""
    ratios = [a / b for a, b in zip(of, by, strict=True)]
    drawn = random.Random(seed)
    medians = sorted(
        statistics.median(drawn.choices(ratios, k=len(ratios))) for _ in range(DRAWS)
    )
    low, high = medians[int(0.025 * DRAWS)], medians[int(0.975 * DRAWS) - 1]
    return Interval(statistics.median(ratios), low, high)


def geometric_mean(settings: list[tuple[list[float], list[float]]], seed: int = 0) -> Interval:
    """Returns the geometric mean over settings of the median ratio of ``of`` to ``by``.

    settings: for each, the times of ``of`` and of ``by``, round by round.  We draw the rounds
    of each setting separately, so the interval says how well these settings were measured, not
    what other settings would give.
    """
    every = [[a / b for a, b in zip(of, by, strict=True)] for of, by in settings]
    drawn = random.Random(seed)

    def mean(sample: Callable[[list[float]], list[float]]) -> float:
        return statistics.geometric_mean(statistics.median(sample(x)) for x in every)

    means = sorted(mean(lambda x: drawn.choices(x, k=len(x))) for _ in range(DRAWS))
    low, high = means[int(0.025 * DRAWS)], means[int(0.975 * DRAWS) - 1]
    return Interval(mean(list), low, high)


def clock_and_power() -> tuple[float, float]:
    """Returns the clock of the SMs in MHz and the power in W, as NVML states them now.

    NVML updates them a few times a second, and its power is an average over the recent past.

    Raises a ModuleNotFoundError without nvidia-ml-py, through which PyTorch asks NVML.
    """
    return float(torch.cuda.clock_rate()), torch.cuda.power_draw() / 1000


def repeated(function: Callable[[], object], calls: int) -> Callable[[], None]:
    """Returns a function that makes so many calls, one after the other."""

    def repeat() -> None:
        for _ in range(calls):
            function()

    return repeat


def captured(function: Callable[[], object]) -> Callable[[], None]:
    """Returns ``timing.replayed``, in a process whose other threads use the GPU, as NCCL's do.

    What the function reads stays in memory as long as the returned function does.
    """
    function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="relaxed"):
        function()

    def replay(reads: Callable = function) -> None:
        graph.replay()

    return replay
