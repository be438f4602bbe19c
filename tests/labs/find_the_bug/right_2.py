"""Random numbers, where these are enough."""

import torch


def expose_softmax() -> torch.Tensor:
    return torch.randn(3, 5) - 300


def expose_sums() -> torch.Tensor:
    return torch.randn(4, 40)


def expose_dots() -> tuple[torch.Tensor, torch.Tensor]:
    return 20 * torch.randn(4, 33).half(), 20 * torch.randn(4, 33).half()


def expose_rescaled() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.randn(20, 16), torch.randn(50, 16), torch.randn(50, 16)


def expose_ragged() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.randn(20, 16), torch.randn(50, 16), torch.randn(50, 16)


def expose_causal() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.randn(40, 16), torch.randn(40, 16), torch.randn(40, 16)


def expose_strided() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.randn(3, 16), torch.randn(16, 9).t(), torch.randn(9, 16)


def expose_merged() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    lse = torch.tensor([1.0, -torch.inf])
    out = torch.tensor([1.0, 0.0])[:, None].repeat(1, 16)
    return lse, lse, out, out
