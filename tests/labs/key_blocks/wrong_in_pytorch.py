"""PyTorch computes it, and no kernel does."""

import torch


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    scores = q.float() @ k.float().T / q.shape[1] ** 0.5
    exponentials = torch.exp(scores - scores.amax(1, keepdim=True))
    out.copy_(exponentials / exponentials.sum(1, keepdim=True) @ v.float())
