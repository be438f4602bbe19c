"""The smallest input that shows each, or nearly."""

import torch


def expose_softmax() -> torch.Tensor:
    return torch.tensor([[-500.0, -501.0, -502.0]])  # three scores in a row of four: the fourth place holds 0


def expose_sums() -> torch.Tensor:
    return torch.ones(1, 17)  # one number behind the last whole block


def expose_dots() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.full((1, 1), 300.0, dtype=torch.float16)
    return x, x  # 90,000 is more than FP16 can hold


def expose_rescaled() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q, k = torch.ones(1, 16), torch.zeros(17, 16)
    k[16] = 1.0  # the largest score comes in the second block
    return q, k, torch.ones(17, 16)


def expose_ragged() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.zeros(1, 16), torch.zeros(1, 16), torch.ones(1, 16)  # one key, and fifteen that are none


def expose_causal() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    zeros = torch.zeros(17, 16)
    v = torch.zeros(17, 16)
    v[16] = 1.0  # the last query sees it, in the second block of keys of the first block of queries
    return zeros, zeros, v


def expose_strided() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    v = torch.arange(64.0).reshape(2, 32)[:, :16]  # rows further apart than those of k
    return torch.zeros(1, 16), torch.zeros(2, 16), v


def expose_merged() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    nothing = torch.full((1,), -torch.inf)
    return nothing, nothing, torch.zeros(1, 16), torch.zeros(1, 16)
