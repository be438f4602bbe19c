"""How tensors reach the kernels of FlashAttention: descriptors, sizes, and room for results."""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor


def empty_outputs(q: Tensor) -> tuple[Tensor, Tensor]:
    """Room for the output, like q but contiguous, and for lse."""
    return empty_like(q), torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device)


def empty_like(x: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def described(x: Tensor, rows: int) -> TensorDescriptor:
    """Where blocks of ``rows`` rows of one head are: an address, four sizes, four strides."""
    unit = 16 // x.element_size()  # TMA counts in 16 bytes
    strides_fit = x.stride(-1) == 1 and all(stride % unit == 0 for stride in x.stride()[:-1])
    if not strides_fit or x.data_ptr() % 16:
        width = triton.cdiv(x.shape[-1], unit) * unit
        x = x.new_empty(*x.shape[:-1], width)[..., : x.shape[-1]].copy_(x)
    columns = max(16, triton.next_power_of_2(x.shape[-1]))
    return TensorDescriptor(x, list(x.shape), list(x.stride()), [1, 1, rows, columns])


def sizes_of(q: Tensor, k: Tensor) -> tuple[int, int, int, int]:
    """heads, group, seq_q, seq_k: group is how many query heads share one key head."""
    return q.shape[1], q.shape[1] // k.shape[1], q.shape[2], k.shape[2]


def interleaved(is_causal: bool, pairs: int, rows: int) -> int:
    """How many of the last pairs of batch and head are worked on at a time, causal: 2**15 rows.

    That is about what runs on an H100 at once.  Without it the last long blocks run alone at
    the end; all pairs interleaved would not share what L2 holds.  rows: of one pair
    """
    return min(pairs, triton.cdiv(2**15, rows)) if is_causal else 1


def precision(x: Tensor) -> str:
    """How FP32 is multiplied; tensor cores round it to TF32, which torch must have allowed."""
    if x.dtype != torch.float32:
        return "ieee"  # products of 16 bits know nothing else
    return "tf32" if torch.backends.cuda.matmul.fp32_precision == "tf32" else "ieee"
