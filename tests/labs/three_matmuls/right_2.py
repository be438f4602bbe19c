"""One sequence and one query after the other: of the keys, only those that it sees are touched."""

import torch


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, key_lengths: torch.Tensor
) -> torch.Tensor:
    out = torch.zeros(q.shape, dtype=q.dtype)
    for b, length in enumerate(key_lengths.tolist()):
        for i in range(q.shape[2]):
            sees = min(length, i + 1) if causal else length
            if not sees:
                continue
            keys, values = k[b, :, :sees], v[b, :, :sees]
            scores = (q[b, :, i : i + 1].float() * keys.float()).sum(-1) * q.shape[-1] ** -0.5
            out[b, :, i] = (torch.softmax(scores, -1)[:, :, None] * values.float()).sum(1).to(q.dtype)
    return out
