"""The error budget: at most twice the error of PyTorch at the same precision, both against FP64.

One budget for a whole tensor passes a head of zeros beside a head of large values, and one for a whole head passes a
row of zeros beside a row of large values.  So each row's error is taken as a fraction of that row's size, and each head
has the budget of its own worst row in PyTorch's result, plus two units in the last place of the row's size.
"""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from kernels.reference import oracle, weights


def budget_used(
    actual: Tensor, baseline: Tensor, truth: Tensor, size: Tensor, score_rounding: Tensor | float = 0.0
) -> float:
    """The largest error as a share of what is allowed: at most 1 passes.  NaN is inf, and a row of size 0 must be 0.

    actual, baseline, truth: [..., rows, columns]   size: [..., rows, 1], what an error in that row is measured by
    score_rounding: [..., rows, 1], what rounding the row's scores does to its shares, beside rounding the output
    """
    assert actual.shape == truth.shape and actual.dtype == baseline.dtype, "not even the right shape and dtype"
    assert baseline.isfinite().all(), "the baseline is no use: it is not finite"
    if truth.numel() == 0:
        return 0.0
    empty = size == 0
    relative_error = ((baseline.double() - truth).abs() / size).masked_fill(empty, 0)
    worst = relative_error.amax((-2, -1), keepdim=True)
    assert worst.amax() < 0.25, "the baseline is no use: it is far from the truth itself"
    allowed = 2 * (worst + torch.finfo(actual.dtype).eps + score_rounding) * size
    error = (actual.double() - truth).abs()
    used = (error / allowed).masked_fill(empty & (error == 0), 0)
    return used.nan_to_num(nan=torch.inf).max().item()


def attention_budget_used(attention, q: Tensor, k: Tensor, v: Tensor, **options) -> float:
    """``budget_used`` by an attention function on these inputs; the baseline is torch's own attention.

    Size: how large a row of the output is if signs fall at random, √(Σ (share · value)²) in its largest column.
    Rounding errors of the terms add up to this times their relative size; the row itself may cancel to nothing.
    A score of s is known to s · 2⁻²³ in FP32 at best, which is then its share's relative error.
    """
    shares = weights(q.double(), k.double(), **options)
    values, keys = (x.double().repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (v, k))
    size = (shares.square() @ values.square()).sqrt().amax(-1, keepdim=True)
    scale = options.get("scale")
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = (q.double() @ keys.transpose(-2, -1)).mul(scale).abs()
    return budget_used(
        attention(q, k, v, **options),
        scaled_dot_product_attention(q, k, v, **options),
        oracle(q, k, v, **options),
        size,
        torch.finfo(torch.float32).eps * scores.amax(-1, keepdim=True),
    )
