"""Checks that the codes and scales of a Quantized have the shapes that its own shape needs.

A kernel computes addresses from the shape alone.  If there were fewer codes, it would read past
their end; if they were in another order, it would read the wrong ones.  Nothing would tell us.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from kernels.checks import why_unreadable

if TYPE_CHECKING:
    from kernels.formats.block import Quantized


def validation_error(
    quantized: Quantized, *, for_kernel: bool = False
) -> TypeError | ValueError | None:
    """Returns the first error in a Quantized, to be raised, or None.  It reads no number.

    for_kernel: the tensors must also be contiguous in memory
    """
    scheme, shape = quantized.scheme, list(quantized.shape)
    if not shape:
        return ValueError("shape has 0 dimensions, [..., n] is wanted")
    *rows, columns = shape
    row_bytes = -(-columns * scheme.element_format.bits // 8)
    blocks = -(-columns // (scheme.block_size or 1))
    has_blocks = scheme.block_size is not None
    scale_dtype = torch.float32 if scheme.scale_format is None else torch.uint8
    for name, tensor, is_in_scheme, dtype, expected_shape in (
        ("codes", quantized.codes, True, torch.uint8, [*rows, row_bytes]),
        ("scales", quantized.scales, has_blocks, scale_dtype, [*rows, blocks]),
        ("tensor_scale", quantized.tensor_scale, scheme.has_tensor_scale, torch.float32, []),
    ):
        if tensor is None and not is_in_scheme:
            continue
        if not is_in_scheme:
            return ValueError(f"{name} is given, scheme {scheme.name} has none")
        if not isinstance(tensor, Tensor):
            return TypeError(f"{name} is {type(tensor).__name__}, a tensor is wanted")
        if for_kernel and why_unreadable(tensor):
            return TypeError(f"{name} is {why_unreadable(tensor)}")
        if tensor.dtype != dtype:
            return TypeError(f"{name} is {tensor.dtype}, {dtype} is wanted")
        if list(tensor.shape) != expected_shape:
            return ValueError(
                f"{name} has shape {list(tensor.shape)}: of {shape} in {scheme.name} "
                f"{expected_shape} is wanted"
            )
        if tensor.device != quantized.codes.device:
            return ValueError(
                f"{name} is on {tensor.device}, codes is on {quantized.codes.device}: "
                "they must match"
            )
        if for_kernel and not tensor.is_contiguous():
            return ValueError(f"{name} is not contiguous: call .contiguous() first")
    return None
