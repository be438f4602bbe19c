"""How long a call takes: on the GPU, from the outside, and as a CUDA graph.

    time             how long the GPU works on a call, its L2 cache cleared before
    time_attention   the same of attention: forward, or its backward pass alone
    wall_time        how long a call takes from the outside, launches and waiting included
    host_time        how long a call takes the host, which does not wait for the GPU
    replayed         a call as a CUDA graph: what the GPU does for it, without the host

A time is the median of many, between their 20th and 80th percentile.  Short kernels are over
before the host has launched the next one, and the time is then that of the host; a graph is
launched whole.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import NamedTuple

import torch
from torch import Tensor


class Time(NamedTuple):
    """Milliseconds for one call: the median, and the 20th and 80th percentile around it."""

    median: float
    low: float
    high: float


def time(function: Callable[[], object], *, milliseconds: int = 100) -> Time:
    """How long one call of ``function`` takes: warmed up, repeated, L2 cleared before each.

    On a GPU by CUDA events, so that what is timed is the device's work and not Python's.
    Without one by the wall clock, caches as they are: good enough to see an order of magnitude,
    not to be quoted.
    milliseconds: how long to go on; what is slower than that is timed once, after 7 calls
    """
    if not torch.cuda.is_available():
        return wall_time(function, milliseconds=milliseconds)
    from triton.testing import do_bench

    return Time(*do_bench(function, rep=milliseconds, quantiles=[0.5, 0.2, 0.8]))


def wall_time(function: Callable[[], object], *, milliseconds: int = 100) -> Time:
    """How long one call takes by the clock on the wall, until the GPU has finished, if any.

    Python, launches and waiting included, caches as they are: warmed up, and repeated at least
    5 times.
    """
    finish = torch.cuda.synchronize if torch.cuda.is_available() else bool
    function()
    finish()
    samples = []
    started = perf_counter()
    while len(samples) < 5 or perf_counter() - started < 1e-3 * milliseconds:
        before = perf_counter()
        function()
        finish()
        samples.append(1e3 * (perf_counter() - before))
    return _time_of(samples)


def host_time(function: Callable[[], object], *, calls: int = 100) -> tuple[float, float]:
    """Milliseconds a call: until Python goes on, and until the GPU has finished, too.

    The mean of ``calls``, one after the other; what came before them is waited for.  The first
    is the host's own time as long as the GPU has no more to do than it: else a GPU that has a
    thousand launches before it lets the host wait.
    """
    finish = torch.cuda.synchronize if torch.cuda.is_available() else bool
    finish()
    started = perf_counter()
    for _ in range(calls):
        function()
    returned = perf_counter()
    finish()
    return 1e3 * (returned - started) / calls, 1e3 * (perf_counter() - started) / calls


def time_attention(
    attention: Callable,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dout: Tensor | None = None,
    *,
    milliseconds: int = 100,
    **options,
) -> Time:
    """``time`` of attention: forward without autograd, or, given dout, of its backward alone.

    dout: the gradient that arrives from above, of the shape of the output
    milliseconds: as in ``time``   options: is_causal and what else attention takes
    """
    backward = dout is not None
    q, k, v = (tensor.detach().requires_grad_(backward) for tensor in (q, k, v))
    with torch.set_grad_enabled(backward):
        call = partial(attention, q, k, v, **options)
        if backward:
            call = partial(torch.autograd.grad, call(), (q, k, v), dout, retain_graph=True)
        return time(call, milliseconds=milliseconds)


def _time_of(samples: list[float]) -> Time:
    low, _, _, high = statistics.quantiles(samples, n=5)
    return Time(statistics.median(samples), low, high)


def replayed(function: Callable[[], object]) -> Callable[[], None]:
    """What does on the GPU again what ``function`` did, with the same memory.

    The function is called once as it is, which compiles its kernels, and once captured.  It
    must not wait for the GPU.  Source: NVIDIA, CUDA C++ Programming Guide, "CUDA Graphs".

    Raises a RuntimeError without a GPU.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("replayed needs a GPU, and torch finds none: call the function")
    function()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph.replay
