"""How many roundings an output is granted, since each score is rounded before softmax makes weights of them."""

from __future__ import annotations

from torch import Tensor

TILED_KERNEL_ROUNDINGS = (
    48  # roundings of a kernel that goes by tiles, beside those of its scores: sums, maxima, rescaling
)
SCORE_ROUNDINGS = 4  # roundings of a score: two copies of it, each of which is a sum that is scaled


def output_roundings(scores: Tensor, products: Tensor, others: float) -> Tensor:
    """How many roundings of its error scale a row of the output is granted: [..., 1].

    On a GPU the threads that hold copies of a score may each have rounded it in their own way.  A weight then has its
    numerator from one copy and its divisor from another, which differ by roundings of the score.  Perturbed inputs
    don't show that: they move numerator and divisor alike, and the weight of a single key stays 1.

    scores: [..., keys], -inf where a key is hidden   products: of each score the sum of its products' sizes, scaled
    others: roundings that have nothing to do with scores
    """
    return others + SCORE_ROUNDINGS * (scores.softmax(-1).nan_to_num(nan=0.0) * products).sum(-1, keepdim=True)
