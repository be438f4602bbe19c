"""Dot product and softmax: of what every score and every share is made."""

import torch


def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The dot product of two vectors, one number (a tensor of no dimensions).

    x, y: [d], FP32; d may be 0, and then the dot product is 0

    Without torch.dot, @ and their like: multiply, and add up.
    """
    raise NotImplementedError("write me")


def softmax_row(scores: torch.Tensor) -> torch.Tensor:
    """The shares of a row of scores: e to the power of each, divided by their sum.

    scores: [N], FP32, as large as 10,000 and as small as -10,000
    returns: [N], FP32, a new tensor

    A score of -inf belongs to a word that must not be seen, and its share is 0.
    If all scores are -inf, all shares are 0.

    Without torch.softmax and torch.logsumexp: exponentials, sums and maxima do.
    """
    raise NotImplementedError("write me")
