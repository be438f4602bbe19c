"""PyTorch computes it, and no kernel does."""

import torch


def flash_forward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor) -> None:
    scores = q.float() @ k.float().mT / q.shape[2] ** 0.5
    largest = scores.amax(2, keepdim=True)
    exponentials = torch.exp(scores - largest)
    total = exponentials.sum(2, keepdim=True)
    out.copy_(exponentials / total @ v.float())
    lse.copy_((largest + total.log())[..., 0])
