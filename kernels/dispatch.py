"""Calls the fastest rung that takes the tensors; each is within the error budget.

Three rules choose it, from times of graphs on an H200 (``snippets/hopper/fastest_rung.py``):
1. FP16 or BF16 on a Hopper GPU: hopper_attention, up to 1.9 times as fast as flash_attention.
2. FP32: reference_attention, up to 21 times as fast, as long as its scores take little memory.
3. But FP32, causal, forward, heads up to 64, work for all SMs: flash_attention, up to 2 times.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor

from kernels.checks import KERNEL_DTYPES, check_attention, is_hopper
from kernels.reference import attention as three_lines

try:
    from triton import knobs

    from kernels.flash.attention import flash_attention

    COMPILES = not knobs.runtime.interpret  # an interpreted kernel is slow
except ImportError:  # there is no Triton
    COMPILES = False
try:
    from kernels.hopper.attention import hopper_attention

    GLUON = True
except ImportError:  # Gluon is missing, or isn't the one that the kernel was written for
    GLUON = False


def attention(
    q: Tensor, k: Tensor, v: Tensor, *, is_causal=False, scale=None, enable_gqa=False
) -> Tensor:
    """Returns attention by ``fastest_rung``, once differentiable; sums are FP32, or FP64."""
    options = {"is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
    return fastest_rung(q, k, v, **options)(q, k, v, **options)


def fastest_rung(
    q: Tensor, k: Tensor, v: Tensor, *, is_causal=False, scale=None, enable_gqa=False
) -> Callable[..., Tensor]:
    """Returns the function that ``attention`` calls on these arguments; reads no number."""
    check_attention(q, k, v, scale=scale, enable_gqa=enable_gqa)
    if hopper_supports(q, k, v):
        return hopper_attention
    gpu = torch.cuda.get_device_properties(q.device) if q.is_cuda else None
    needs_gradient = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v))
    # How many numbers of [N_q, N_k] the reference holds at once, at most.
    score_elements = q.shape[:-1].numel() * k.shape[-2] * (6 if needs_gradient else 3)
    too_large = gpu and score_elements * max(4, q.element_size()) > gpu.total_memory / 4
    if flash_supports(q, k, v):
        fills_gpu = q.shape[:-2].numel() * -(-q.shape[-2] // 64) >= gpu.multi_processor_count
        skips_half = is_causal and not needs_gradient and q.shape[-1] <= 64 and fills_gpu
        if q.dtype != torch.float32 or too_large or skips_half:
            return flash_attention
    elif too_large:
        raise ValueError(
            f"query has shape {[*q.shape]}, key {[*k.shape]}: scores would fill a quarter of "
            "the GPU's memory: use torch.nn.functional.scaled_dot_product_attention"
        )
    return reference_attention


def hopper_supports(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Returns whether ``hopper_attention`` can: 16 bits, Hopper, rows of whole 16 bytes."""
    fits = q.dtype != torch.float32 and q.shape[-1] % 8 == 0
    return GLUON and fits and flash_supports(q, k, v) and is_hopper(q.device)


def flash_supports(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Returns whether ``flash_attention`` can: 4-D, one head_dim up to 256, GPU 8.0 or up."""
    fits = q.dtype in KERNEL_DTYPES and q.ndim == 4 and q.shape[-1] == v.shape[-1] <= 256
    fits = fits and COMPILES and q.is_cuda
    return fits and torch.cuda.get_device_capability(q.device) >= (8, 0)


def reference_attention(
    q: Tensor, k: Tensor, v: Tensor, *, is_causal=False, scale=None, enable_gqa=False
) -> Tensor:
    """Returns ``reference.attention`` in FP32 or FP64: BF16 puts weights up to 3 % off."""
    options = {"is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
    check_attention(q, k, v, scale=scale, enable_gqa=enable_gqa)
    compute_dtype = torch.float64 if q.dtype == torch.float64 else torch.float32
    has_autocast = torch.amp.is_autocast_available(q.device.type)  # it would go back to 16 bits
    with torch.autocast(q.device.type, enabled=False) if has_autocast else nullcontext():
        return three_lines(*(x.to(compute_dtype) for x in (q, k, v)), **options).to(q.dtype)
