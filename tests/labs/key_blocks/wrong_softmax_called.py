"""PyTorch's softmax is called."""

import torch


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(torch.softmax(q @ k.T / q.shape[1] ** 0.5, 1) @ v)
