"""How the log-sum-exp of a random case is judged: as the tests of decode do it."""

import math

import torch
from torch import Tensor

from tests.kernels.error_budget import budget_used, visible


def lse_used(lse: Tensor, q: Tensor, k: Tensor, *, scale: float | None = None, **options) -> float:
    """The share of the budget: twice the error of ``logsumexp`` in FP32, and what FP32 cannot avoid.

    That is the rounding of a score, and that of the sum, of exp2 and of the result.  Among a few cases the error of
    ``logsumexp`` is allowance enough; among thousands there is a row of which it happens to have none.
    """
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    mask = visible(q, k, **options)
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    scores = q.double() @ k.double().mT * scale
    truth = scores.masked_fill(~mask, -torch.inf).logsumexp(-1, keepdim=True)
    baseline = (q.float() @ k.float().mT * scale).masked_fill(~mask, -torch.inf).logsumexp(-1, keepdim=True)
    empty, lse = truth == -torch.inf, lse[..., None]
    if (lse[empty] != -torch.inf).any():
        return math.inf
    squares = max(1, q.shape[-1] / 8) * (scale**2 * (q.double().square() @ k.double().square().mT) + scores.square())
    worst_score = squares.masked_fill(~mask, 0).amax(-1, keepdim=True).sqrt()
    rounding = torch.finfo(torch.float32).eps * (worst_score + 2 + truth.abs())
    lse, baseline, truth, rounding = (x.masked_fill(empty, 0) for x in (lse, baseline, truth, rounding))
    return budget_used(lse, baseline, truth, (~empty).double(), rounding)
