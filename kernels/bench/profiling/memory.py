"""Measures by how much GPU memory grows while a call runs."""

from __future__ import annotations

from collections.abc import Callable

import torch


def peak_memory(function: Callable[[], object]) -> int:
    """Returns the bytes by which GPU memory grew at its peak, with the result, in ``function``.

    It runs twice, because the first matmul of a process makes cuBLAS take a workspace for good.
    Raises a RuntimeError without a GPU: only the CUDA allocator keeps this count.
    """
    if not torch.cuda.is_available():
        raise RuntimeError(
            "peak_memory needs a GPU; kernels.bench.cost computes the size of each tensor"
        )
    function()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    bytes_before = torch.cuda.memory_allocated()
    function()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - bytes_before
