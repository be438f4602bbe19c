"""Attention in three lines of PyTorch, with two masks: the future, and filling."""

import torch


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool,
    key_lengths: torch.Tensor,
) -> torch.Tensor:
    """The blend of the values for each query.

    q: [batch, heads, N_q, d], FP32 or FP16, not to be changed
    k, v: [batch, heads, N_k, d], of the same dtype, not to be changed
    causal: if True, query i sees keys 0 to i only, however many of both there are
    key_lengths: [batch], int64: in sequence b only the first key_lengths[b] keys
        are words, and the others are filling
    returns: [batch, heads, N_q, d], in the dtype of q

    The scores are divided by √d.  A query that sees no key at all gets 0.
    @, torch.softmax and masked_fill are allowed, torch's own attention is not.
    """
    raise NotImplementedError("write me")
