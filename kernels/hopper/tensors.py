"""Checks tensors for the Hopper kernels, and describes them to TMA."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from kernels.checks import REFERENCE, is_hopper, name_of_differentiated


def check_hopper(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raises if ``hopper_kernel`` can't take these tensors, and says what can."""
    for name, tensor in {"query": q, "key": k, "value": v}.items():
        if tensor.dtype not in (torch.float16, torch.bfloat16):
            raise TypeError(
                f"{name} is {tensor.dtype}, float16 or bfloat16 is wanted: "
                "use kernels.dispatch.attention"
            )
        if tensor.device.type != "cuda":
            raise ValueError(
                f"{name} is on {tensor.device}, where hopper_attention cannot run: "
                "use kernels.dispatch.attention"
            )
    if q.shape[-1] % 8:
        raise ValueError(
            f"query has head_dim {q.shape[-1]}, a multiple of 8 is wanted: use flash_attention"
        )
    if name_of_differentiated(query=q, key=k, value=v):
        raise TypeError(
            f"{name_of_differentiated(query=q, key=k, value=v)} is differentiated in "
            "forward mode or by torch.func, for which this has no rule: use "
            f"torch.autograd.grad or {REFERENCE}"
        )
    if not is_hopper(q.device):
        raise RuntimeError(
            f"query is on {torch.cuda.get_device_name(q.device)}, and hopper_attention needs "
            "a Hopper GPU, of compute capability 9.0: use flash_attention"
        )


def check_like(
    name: str, tensor: Tensor, shape: torch.Size, dtype: torch.dtype, device: torch.device
) -> None:
    """Raises if ``name`` doesn't have this shape and dtype, or isn't on this device."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} is {type(tensor).__name__}, a tensor is wanted")
    if tensor.dtype != dtype:
        raise TypeError(f"{name} is {tensor.dtype}, {dtype} is wanted")
    if tensor.shape != shape:
        raise ValueError(f"{name} has shape {list(tensor.shape)}, {list(shape)} is wanted")
    if tensor.device != device:
        raise ValueError(f"{name} is on {tensor.device}, query is on {device}: they must match")


def make_descriptor(x: Tensor, rows: int, columns: int) -> TensorDescriptor:
    """Returns a descriptor by which TMA copies tiles of x, or of an aligned copy of it."""
    strides_fit = x.stride(-1) == 1 and all(stride % 8 == 0 for stride in x.stride()[:-1])
    if not strides_fit or x.data_ptr() % 16:
        x = x.clone(memory_format=torch.contiguous_format)
    tile = [1, 1, rows, columns]
    layout = layout_of(rows, columns, x.dtype)
    return TensorDescriptor(x, list(x.shape), list(x.stride()), tile, layout)


@cache
def layout_of(rows: int, columns: int, dtype: torch.dtype) -> gl.NVMMASharedLayout:
    """Returns the layout of a tile in shared memory: swizzled, as wgmma reads it.

    Each of eight rows has its 16-byte pieces in another order, so reading a column of eight
    rows has no bank conflict.
    """
    dtype = gl.float16 if dtype == torch.float16 else gl.bfloat16
    return gl.NVMMASharedLayout.get_default_for([1, 1, rows, columns], dtype)
