"""PyTorch's attention is called."""

import torch
from torch.nn.functional import scaled_dot_product_attention


def flash_forward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor) -> None:
    out.copy_(scaled_dot_product_attention(q, k, v))
    lse.copy_((q @ k.mT / q.shape[2] ** 0.5).exp().sum(2).log())
