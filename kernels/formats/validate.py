"""Checks that codes and scales belong to a tensor of the shape that a Quantized states.

A kernel computes addresses from the shape alone.  If there were fewer codes, it would read past
their end; if they were in another order, it would read the wrong ones.  Nothing would tell us.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from kernels.checks import unreadable

if TYPE_CHECKING:
    from kernels.formats.block import Quantized


def misfit(quantized: Quantized, *, for_kernel: bool = False) -> TypeError | ValueError | None:
    """Returns the first error in a Quantized, to be raised, or None.  It reads no number.

    for_kernel: the tensors must also be contiguous in memory
    """
    scheme, shape = quantized.scheme, list(quantized.shape)
    if not shape:
        return ValueError("shape has 0 dimensions, [..., n] is wanted")
    *rows, columns = shape
    width = -(-columns * scheme.element.bits // 8)
    blocks = -(-columns // (scheme.block or 1))
    of_scales = torch.float32 if scheme.scale is None else torch.uint8
    for name, tensor, there, dtype, wanted in (
        ("codes", quantized.codes, True, torch.uint8, [*rows, width]),
        ("scales", quantized.scales, scheme.block is not None, of_scales, [*rows, blocks]),
        ("tensor_scale", quantized.tensor_scale, scheme.tensor_scaled, torch.float32, []),
    ):
        if tensor is None and not there:
            continue
        if not there:
            return ValueError(f"{name} is given, scheme {scheme.name} has none")
        if not isinstance(tensor, Tensor):
            return TypeError(f"{name} is {type(tensor).__name__}, a tensor is wanted")
        if for_kernel and unreadable(tensor):
            return TypeError(f"{name} is {unreadable(tensor)}")
        if tensor.dtype != dtype:
            return TypeError(f"{name} is {tensor.dtype}, {dtype} is wanted")
        if list(tensor.shape) != wanted:
            return ValueError(
                f"{name} has shape {list(tensor.shape)}: of {shape} in {scheme.name} "
                f"{wanted} is wanted"
            )
        if tensor.device != quantized.codes.device:
            return ValueError(
                f"{name} is on {tensor.device}, codes is on {quantized.codes.device}: "
                "they must match"
            )
        if for_kernel and not tensor.is_contiguous():
            return ValueError(f"{name} is not contiguous: call .contiguous() first")
    return None
