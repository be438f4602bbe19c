"""Online softmax: what is kept of rows of scores that are read a block at a time.

Each row is by itself.  A state is three tensors, all of them FP32:
    running_max  [rows]     the largest score that was read
    running_sum  [rows]     the sum of e^(score - running_max) over these scores
    accumulator  [rows, d]  the sum of e^(score - running_max) times its value

A score of -inf is hidden and adds nothing.  No function changes what it is given.
"""

import torch

State = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def empty(rows: int, d: int) -> State:
    """The state of rows of which nothing was read: -inf, 0 and 0."""
    raise NotImplementedError("write me")


def update(
    running_max: torch.Tensor,
    running_sum: torch.Tensor,
    accumulator: torch.Tensor,
    scores: torch.Tensor,
    values: torch.Tensor,
) -> State:
    """The state after a block was read as well.

    scores: [rows, B], up to ±10,000; B at least 1; -inf where a score is hidden
    values: [B, d], the same for all rows
    """
    raise NotImplementedError("write me")


def merge(
    max_a: torch.Tensor,
    sum_a: torch.Tensor,
    accumulator_a: torch.Tensor,
    max_b: torch.Tensor,
    sum_b: torch.Tensor,
    accumulator_b: torch.Tensor,
) -> State:
    """The state of rows of which one reader has read a part, and another the rest.

    Either of them may have read nothing, and so may both.
    """
    raise NotImplementedError("write me")


def finish(
    running_max: torch.Tensor, running_sum: torch.Tensor, accumulator: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output of each row, [rows, d], and its log-sum-exp, [rows].

    Of a row that has seen no score the output is 0 and the log-sum-exp -inf.
    """
    raise NotImplementedError("write me")
