"""What the roundings of scores do to the shares that are made of them."""

from __future__ import annotations

from torch import Tensor

STEPS = 48  # roundings of a kernel that goes by tiles, beside those of its scores: sums, maxima, rescaling
EACH = 4  # roundings of a score: two copies of it, each of which is a sum that is scaled


def steps_of_shares(scores: Tensor, products: Tensor, others: float) -> Tensor:
    """How many roundings of its size the blend of a row is granted: [..., 1].

    On a GPU the threads that hold copies of a score may each have rounded it in their own way.  A share then has its
    numerator from one copy and its divisor from another, which differ by roundings of the score.  Inputs that are moved
    do not show that: they move numerator and divisor alike, and the share of a single key stays 1.

    scores: [..., keys], -inf where a key is hidden   products: of each score the sum of its products' sizes, scaled
    others: roundings that have nothing to do with scores
    """
    return others + EACH * (scores.softmax(-1).nan_to_num(nan=0.0) * products).sum(-1, keepdim=True)
