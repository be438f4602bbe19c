"""A call as a CUDA graph: what the GPU does for it, without what the host takes to ask for it.

Short kernels are over before the host has launched the next one, and a time is then that of the
host.  A graph is launched whole.
"""

from __future__ import annotations

from collections.abc import Callable

import torch


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
