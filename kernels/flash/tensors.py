"""Describes tensors to the TMA, and says how FP32 is multiplied."""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor


def empty_like(x: Tensor) -> Tensor:
    """Returns room for a result of this shape, contiguous."""
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def empty_outputs(q: Tensor) -> tuple[Tensor, Tensor]:
    """Returns room for the output, shaped like q, and for lse, one FP32 number a row."""
    return empty_like(q), torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device)


def make_descriptor(x: Tensor, rows: int) -> TensorDescriptor:
    """Returns what the TMA needs to fetch blocks of ``rows`` rows of one head.

    The TMA reads rows of contiguous numbers that begin at multiples of 16 bytes; a tensor that
    lies in memory in another way is copied.
    """
    unit = 16 // x.element_size()
    strides_fit = x.stride(-1) == 1 and all(stride % unit == 0 for stride in x.stride()[:-1])
    if not strides_fit or x.data_ptr() % 16:
        width = triton.cdiv(x.shape[-1], unit) * unit
        x = x.new_empty(*x.shape[:-1], width)[..., : x.shape[-1]].copy_(x)
    columns = max(16, triton.next_power_of_2(x.shape[-1]))
    return TensorDescriptor(x, list(x.shape), list(x.stride()), [1, 1, rows, columns])


def precision(x: Tensor) -> str:
    """Returns how FP32 is multiplied: as TF32, on tensor cores, only where torch allows it."""
    if x.dtype != torch.float32:
        return "ieee"  # products of 16 bits know nothing else
    return "tf32" if torch.backends.cuda.matmul.fp32_precision == "tf32" else "ieee"
