"""What the first kernels refuse, in words that name the kernel that takes it."""

from __future__ import annotations

from torch import Tensor

from kernels.checks import REFERENCE, check_no_gradient, check_runnable, check_shapes

LONGEST_ROW = 16384  # scores that fit into the registers of one program, in FP32
FLASH = "kernels.flash_attention"


def check_contiguous_qkv(
    kernel, q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool, scale: float | None
) -> float:
    """Returns the scale to use, 1/√head_dim if None.

    Raises a ValueError or TypeError for whatever ``kernel`` doesn't take: tensors that aren't
    contiguous [batch, heads, sequence, head_dim], fewer heads in k and v than in q, a tensor
    that requires a gradient.
    """
    scale = check_shapes(q, k, v, is_causal=is_causal, scale=scale, enable_gqa=True)
    if k.shape[1] != q.shape[1]:
        raise ValueError(f"key has {k.shape[1]} heads, query has {q.shape[1]}: use {FLASH}")
    tensors = {"query": q, "key": k, "value": v}
    check_runnable(kernel, on_cpu=REFERENCE, **tensors)
    check_no_gradient(instead=REFERENCE, **tensors)
    check_contiguous(**tensors)
    return scale


def check_contiguous(*, instead: str = FLASH, **tensors: Tensor) -> None:
    """Refuses a tensor whose rows don't follow one another in memory."""
    for name, tensor in tensors.items():
        if not tensor.is_contiguous():
            raise ValueError(f"{name} is not contiguous: use .contiguous() or {instead}")


def check_row(k: Tensor) -> None:
    """Refuses more keys than a program has registers for."""
    if k.shape[-2] > LONGEST_ROW:
        raise ValueError(
            f"key has sequence length {k.shape[-2]}, at most {LONGEST_ROW} is wanted, because "
            f"a row of scores is held in registers: use {FLASH}"
        )
