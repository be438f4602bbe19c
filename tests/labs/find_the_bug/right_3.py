"""Numbers that show what each kernel has counted."""

import torch


def expose_softmax() -> torch.Tensor:
    x = torch.full((2, 33), -1000.0)
    x[0] = 1.0
    return x


def expose_sums() -> torch.Tensor:
    return torch.arange(15.0)[None, :]


def expose_dots() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.full((1, 64), 1.0 + 2**-6).half()  # each product is rounded down by 2**-12
    return x, x


def expose_rescaled() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q = torch.eye(16)
    k = torch.arange(32.0)[:, None].expand(32, 16).contiguous()
    return q, k, torch.arange(512.0).reshape(32, 16)


def expose_ragged() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.ones(2, 16), -torch.ones(31, 16), torch.ones(31, 16)


def expose_causal() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    v = torch.arange(64.0)[:, None].expand(64, 16).contiguous()
    return torch.ones(64, 16), torch.ones(64, 16), v


def expose_strided() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    k = torch.zeros(5, 40)[:, :16]
    return torch.zeros(1, 16), k, torch.arange(80.0).reshape(5, 16)


def expose_merged() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    lse = torch.full((3,), -torch.inf)
    out = torch.zeros(3, 16)
    return lse, lse.clone(), out, out.clone()
