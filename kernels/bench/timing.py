"""Times a call: on the GPU, by the wall clock, and as a CUDA graph.

    device_time      how long the GPU works on a call, with its L2 cache cleared before
    time_attention   the same for attention: forward, or its backward pass alone
    wall_time        how long a call takes by the wall clock, with launches and waiting
    host_time        how long a call takes the host, which doesn't wait for the GPU
    as_cuda_graph    a call as a CUDA graph: what the GPU does for it, without the host

A time is the median of many, with their 20th and 80th percentile.  A short kernel ends before
the host has launched the next one, so its time is that of the host.  A graph is launched whole.
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


def device_time(function: Callable[[], object], *, milliseconds: int = 100) -> Time:
    """Returns how long one call of ``function`` takes, warm, with L2 cleared before each call.

    On a GPU it uses CUDA events, which time the device's work and not Python's.  Without one it
    uses the wall clock and leaves the caches alone: that shows an order of magnitude, but don't
    quote it.
    milliseconds: how long to repeat; a slower call is timed once, after 7 others
    """
    if not torch.cuda.is_available():
        return wall_time(function, milliseconds=milliseconds)
    from triton.testing import do_bench

    return Time(*do_bench(function, rep=milliseconds, quantiles=[0.5, 0.2, 0.8]))


def wall_time(function: Callable[[], object], *, milliseconds: int = 100) -> Time:
    """Returns how long one call takes by the wall clock, until the GPU, if any, has finished.

    That includes Python, launches and waiting.  It leaves the caches alone, warms up, and
    repeats at least 5 times.
    """
    finish = torch.cuda.synchronize if torch.cuda.is_available() else bool
    function()
    finish()
    samples = []
    start = perf_counter()
    while len(samples) < 5 or perf_counter() - start < 1e-3 * milliseconds:
        call_start = perf_counter()
        function()
        finish()
        samples.append(1e3 * (perf_counter() - call_start))
    return _time_of(samples)


def host_time(function: Callable[[], object], *, calls: int = 100) -> tuple[float, float]:
    """Returns the milliseconds of a call until Python goes on, and until the GPU has finished.

    Both are means of ``calls`` calls one after the other, after all earlier work has ended.
    The first is the host's own time only if the GPU isn't slower than the host.  Otherwise the
    GPU makes the host wait once it has a thousand launches to go.
    """
    finish = torch.cuda.synchronize if torch.cuda.is_available() else bool
    finish()
    start = perf_counter()
    for _ in range(calls):
        function()
    return_time = perf_counter()
    finish()
    return 1e3 * (return_time - start) / calls, 1e3 * (perf_counter() - start) / calls


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
    """Returns the ``device_time`` of attention forward without autograd, or of backward alone.

    dout: the gradient of the output, of its shape; if given, it times the backward pass
    milliseconds: as in ``device_time``   options: is_causal and whatever else attention takes
    """
    backward = dout is not None
    q, k, v = (tensor.detach().requires_grad_(backward) for tensor in (q, k, v))
    with torch.set_grad_enabled(backward):
        call = partial(attention, q, k, v, **options)
        if backward:
            call = partial(torch.autograd.grad, call(), (q, k, v), dout, retain_graph=True)
        return device_time(call, milliseconds=milliseconds)


def _time_of(samples: list[float]) -> Time:
    low, _, _, high = statistics.quantiles(samples, n=5)
    return Time(statistics.median(samples), low, high)


def as_cuda_graph(function: Callable[[], object]) -> Callable[[], None]:
    """Returns a function that repeats on the GPU what ``function`` did, with the same memory.

    It calls the function once as it is, which compiles its kernels, and once to capture it.
    The function must not wait for the GPU.  What it reads stays in memory as long as the
    returned function does.  Source: NVIDIA, CUDA C++ Programming Guide, "CUDA Graphs".

    Raises a RuntimeError without a GPU.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("as_cuda_graph needs a GPU, and torch finds none: call the function")
    function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # Relaxed, because other threads of the process may use the GPU meanwhile, as NCCL's do.
    with torch.cuda.graph(graph, capture_error_mode="relaxed"):
        function()

    def replay(reads: Callable = function) -> None:
        graph.replay()

    return replay
