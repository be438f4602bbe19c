"""In double precision, with masks that are added, and a softmax of its own whose sum is never 0."""

import math

import torch


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, key_lengths: torch.Tensor
) -> torch.Tensor:
    queries, keys = q.shape[-2], k.shape[-2]
    mask = torch.zeros(len(q), 1, queries, keys, dtype=torch.float64)
    if causal:
        mask += torch.full((queries, keys), -math.inf, dtype=torch.float64).triu(1)
    for b in range(len(q)):
        mask[b, :, :, int(key_lengths[b]) :] = -math.inf
    scores = torch.einsum("bhid,bhjd->bhij", q.double(), k.double()) / math.sqrt(q.size(-1)) + mask
    exponentials = torch.exp(scores - scores.amax(-1, keepdim=True).clamp(min=-1e300))
    total = exponentials.sum(-1, keepdim=True)
    return (exponentials @ v.double() / torch.where(total == 0, 1.0, total)).to(q.dtype)
