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

BOOTSTRAP_RESAMPLES = 1000  # of rounds with replacement, for the bootstrap


class Interval(NamedTuple):
    """A median, and the range that holds it in 95 of 100 draws of as many rounds."""

    median: float
    low: float
    high: float


def time_in_rounds(
    forms: dict[str, Callable[[], object]], *, count: int = 30, calls: int = 1, seed: int = 0
) -> dict[str, list[float]]:
    """Returns the milliseconds of one call of each form in each of ``count`` rounds.

    It uses CUDA events, and calls each form twice before, or once for fewer than 10 rounds.  In
    a group of processes all must make the same call: they start each form together, and the
    time is that of the slowest.
    calls: how many make one measurement, one after the other
    """
    is_group = dist.is_initialized() and dist.get_world_size() > 1
    for form in forms.values():
        form()
        if count >= 10:
            form()
    torch.cuda.synchronize()
    order, rng = list(forms), random.Random(seed)
    times = torch.empty(len(forms), count)
    signal = torch.zeros(1, device="cuda")
    for round_number in range(count):
        rng.shuffle(order)
        for name in order:
            if is_group:
                dist.all_reduce(signal)  # no GPU begins before all are here
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(calls):
                forms[name]()
            end.record()
            end.synchronize()
            times[list(forms).index(name), round_number] = begin.elapsed_time(end) / calls
    return dict(zip(forms, max_over_ranks(times).tolist(), strict=True))


def max_over_ranks(times: Tensor) -> Tensor:
    """Returns the largest value of each number over all processes."""
    if not (dist.is_initialized() and dist.get_world_size() > 1):
        return times
    on_gpu = times.cuda()
    dist.all_reduce(on_gpu, dist.ReduceOp.MAX)
    return on_gpu.cpu()


def ratio(numerator: list[float], denominator: list[float], seed: int = 0) -> Interval:
    """Returns the median ratio of two forms' times, round by round, and its interval."""
    ratios = [a / b for a, b in zip(numerator, denominator, strict=True)]
    rng = random.Random(seed)

    def median_of_resample() -> float:
        return statistics.median(rng.choices(ratios, k=len(ratios)))

    return _interval(statistics.median(ratios), median_of_resample)


def geometric_mean(settings: list[tuple[list[float], list[float]]], seed: int = 0) -> Interval:
    """Returns the geometric mean, over settings, of the median ratio of two forms' times.

    settings: for each, the times above and below the line, round by round.  We draw the rounds
    of each setting separately, so the interval says how well these settings were measured, not
    what other settings would give.
    """
    setting_ratios = [[a / b for a, b in zip(*times, strict=True)] for times in settings]
    rng = random.Random(seed)

    def mean(sample: Callable[[list[float]], list[float]]) -> float:
        return statistics.geometric_mean(statistics.median(sample(x)) for x in setting_ratios)

    return _interval(mean(list), lambda: mean(lambda x: rng.choices(x, k=len(x))))


def _interval(median: float, of_resample: Callable[[], float]) -> Interval:
    """Returns the interval of a bootstrap: it holds 95 of 100 resamples."""
    medians = sorted(of_resample() for _ in range(BOOTSTRAP_RESAMPLES))
    tail = BOOTSTRAP_RESAMPLES // 40
    return Interval(median, medians[tail], medians[-tail - 1])


def clock_and_power() -> tuple[float, float]:
    """Returns the clock of the SMs in MHz and the power in W, as NVML states them now.

    NVML updates them a few times a second, and its power is an average over the recent past.

    Raises a ModuleNotFoundError without nvidia-ml-py, through which PyTorch asks NVML.
    """
    return float(torch.cuda.clock_rate()), torch.cuda.power_draw() / 1000


def repeat_calls(function: Callable[[], object], calls: int) -> Callable[[], None]:
    """Returns a function that makes so many calls, one after the other."""

    def repeated() -> None:
        for _ in range(calls):
            function()

    return repeated
