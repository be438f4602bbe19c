"""Merges two partial results: attention over some of the keys, and over the others.

The softmax of a row needs all of its scores.  But if somebody else has read the other scores,
one number of theirs is enough, the log-sum-exp.  It says how much their part weighs:

    out = (exp(lse_a) · out_a + exp(lse_b) · out_b) / (exp(lse_a) + exp(lse_b))
    lse = log(exp(lse_a) + exp(lse_b))

So keys can be split over programs, over GPUs or over time.  ``kernels.softmax.OnlineSoftmax``
is the same algebra before the division: ``merge`` is commutative, associative up to rounding,
and leaves a part as it is if the other is ``(0, -inf)``, the result over no keys at all.

Source: M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018,
arXiv:1805.02867.
"""

from __future__ import annotations

import torch
from torch import Tensor


def merge(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    """Returns attention over the keys of both parts: out [..., N, head_dim] and lse [..., N].

    out_a, out_b: [..., N, head_dim], of one dtype; ...: batch and heads, usually
    lse_a, lse_b: [..., N] FP32 or FP64, the natural logarithm of each row's sum of exp(score),
    as ``return_lse=True`` gives it; -inf where the part had no key that the query sees
    It computes in FP32 at least; out has the dtype of the outputs, lse that of the lses.
    A row that saw no key in either part gets 0 and -inf.  Where an lse is -inf, it doesn't
    matter what the output beside it holds.  Differentiable in all four.

    Raises a ValueError or TypeError that names the argument.
    """
    _check_parts(out_a, lse_a, out_b, lse_b)
    precision = torch.promote_types(out_a.dtype, lse_a.dtype)
    empty_a, empty_b = lse_a == -torch.inf, lse_b == -torch.inf
    both_empty = empty_a & empty_b
    # If both are -inf, take 0 for them: (-inf) - (-inf) would be NaN.
    a, b = (lse.to(precision).masked_fill(both_empty, 0) for lse in (lse_a, lse_b))
    maximum = torch.maximum(a, b).detach()  # any number near them would do
    weight_a, weight_b = (a - maximum).exp(), (b - maximum).exp()
    total = weight_a + weight_b
    weighted_a = weight_a[..., None] * out_a.to(precision).masked_fill(empty_a[..., None], 0)
    weighted_b = weight_b[..., None] * out_b.to(precision).masked_fill(empty_b[..., None], 0)
    out = (weighted_a + weighted_b) / total[..., None]
    lse = (maximum + total.log()).masked_fill(both_empty, -torch.inf)
    return out.to(out_a.dtype), lse.to(lse_a.dtype)


def _check_parts(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> None:
    parts = {"out_a": out_a, "lse_a": lse_a, "out_b": out_b, "lse_b": lse_b}
    for name, tensor in parts.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} is {type(tensor).__name__}, a tensor is wanted")
        if tensor.device != out_a.device:
            raise ValueError(
                f"{name} is on {tensor.device}, out_a is on {out_a.device}: they must match"
            )
    if not out_a.is_floating_point():
        raise TypeError(f"out_a is {out_a.dtype}, a floating-point tensor is wanted")
    if lse_a.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"lse_a is {lse_a.dtype}, float32 is wanted: 16 bits lose its digits")
    if out_a.ndim == 0:
        raise ValueError("out_a has 0 dimensions, [..., N, head_dim] is wanted")
    for name, reference, shape in (
        ("lse_a", lse_a, out_a.shape[:-1]),
        ("out_b", out_a, out_a.shape),
        ("lse_b", lse_a, out_a.shape[:-1]),
    ):
        tensor = parts[name]
        if tensor.shape != shape:
            raise ValueError(
                f"{name} has shape {list(tensor.shape)}, out_a has {list(out_a.shape)}: "
                f"{list(shape)} is wanted"
            )
        if tensor.dtype != reference.dtype:
            prefix = name.split("_")[0]
            raise TypeError(
                f"{name} is {tensor.dtype}, {prefix}_a is {reference.dtype}: they must match"
            )
