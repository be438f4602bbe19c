"""One mask of what is hidden, for both reasons; rows without a key are set to 0 after softmax."""

import torch


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, key_lengths: torch.Tensor
) -> torch.Tensor:
    key_number = torch.arange(k.shape[-2])
    hidden = key_number >= key_lengths[:, None, None, None]  # [batch, 1, 1, N_k]
    if causal:
        query_number = torch.arange(q.shape[-2])
        hidden = hidden | (key_number > query_number[:, None])  # [batch, 1, N_q, N_k]
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(hidden, -torch.inf)
    weights = torch.softmax(scores, -1).masked_fill(hidden, 0.0)  # where all is hidden, softmax gives NaN
    return weights @ v
