"""PyTorch's attention is called."""

import torch


def flash_forward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool, out: torch.Tensor, lse: torch.Tensor
) -> None:
    out.copy_(torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal))
    lse.copy_((q @ k.mT / q.shape[2] ** 0.5).exp().sum(2).log())
