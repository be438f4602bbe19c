"""Multi-head attention: the same attention several times, each with its own projections.

We write it twice.  A loop over heads reads like the idea.  One projection for all heads gives
the same numbers with far fewer launches.  ``from_loop`` and ``to_loop`` copy weights from one
to the other.

Source: A. Vaswani et al., "Attention Is All You Need", 2017, arXiv:1706.03762, section 3.2.2.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kernels.reference import attention


class AttentionHead(nn.Module):
    """One head: each token's query, key and value, and attention: [batch, sequence, head_dim].

    embed_dim: how many numbers a token has   head_dim: how many a query, key or value has
    """

    def __init__(self, embed_dim: int, head_dim: int):
        super().__init__()
        self.query = nn.Linear(embed_dim, head_dim)
        self.key = nn.Linear(embed_dim, head_dim)
        self.value = nn.Linear(embed_dim, head_dim)

    def forward(
        self, x: Tensor, *, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Returns each token's weighted sum of values, [batch, sequence, head_dim].

        x: [batch, sequence, embed_dim]
        attn_mask: bool, broadcasts to [batch, sequence, sequence], True takes part;
        a mask of padding is [batch, 1, sequence].  A token that sees nothing gets 0.
        """
        check_tokens(x, self.query.in_features)
        q = self.query(x)  # what I look for              [batch, sequence, head_dim]
        k = self.key(x)  # what I offer                   [batch, sequence, head_dim]
        v = self.value(x)  # what I hand over             [batch, sequence, head_dim]
        # one blend of the values for each token          [batch, sequence, head_dim]
        return attention(q, k, v, attn_mask=attn_mask, is_causal=is_causal)


class LoopedMultiHeadAttention(nn.Module):
    """Heads one after the other, then joined and mixed: [batch, sequence, embed_dim].

    Eight heads launch 24 projections, and attention eight times.  Raises a ValueError if
    ``embed_dim`` isn't a multiple of ``heads``.
    """

    def __init__(self, embed_dim: int, heads: int):
        super().__init__()
        head_dim = head_dim_of(embed_dim, heads)
        self.heads = nn.ModuleList(AttentionHead(embed_dim, head_dim) for _ in range(heads))
        self.output = nn.Linear(embed_dim, embed_dim)

    def forward(
        self, x: Tensor, *, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Returns the outputs of all heads, joined and mixed, [batch, sequence, embed_dim].

        x: [batch, sequence, embed_dim]
        attn_mask: as in MultiHeadAttention, the same for all heads or one for each
        """
        check_tokens(x, self.output.in_features)
        masks = mask_of_each_head(attn_mask, len(self.heads))
        outputs = [
            head(x, attn_mask=mask, is_causal=is_causal)  #  [batch, sequence, head_dim]
            for head, mask in zip(self.heads, masks, strict=True)
        ]
        concat = torch.cat(outputs, -1)  #                   [batch, sequence, embed_dim]
        return self.output(concat)  #                        [batch, sequence, embed_dim]


class MultiHeadAttention(nn.Module):
    """All heads at once, the same numbers: [batch, sequence, embed_dim].

    It launches three projections, attention once, and one output projection.  Raises a
    ValueError if ``embed_dim`` isn't a multiple of ``heads``.
    """

    def __init__(self, embed_dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.head_dim = head_dim_of(embed_dim, heads)
        # Each has every head's rows of weights, head by head.
        self.query = nn.Linear(embed_dim, embed_dim)
        self.key = nn.Linear(embed_dim, embed_dim)
        self.value = nn.Linear(embed_dim, embed_dim)
        self.output = nn.Linear(embed_dim, embed_dim)

    def forward(
        self, x: Tensor, *, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Returns the outputs of all heads, joined and mixed, [batch, sequence, embed_dim].

        x: [batch, sequence, embed_dim]
        attn_mask: bool, broadcasts to [batch, heads, sequence, sequence], True takes part;
        a mask of padding is [batch, 1, 1, sequence].  If a token sees nothing in a head, that
        head gives it 0, before the output projection.
        """
        check_tokens(x, self.output.in_features)
        q = self.split(self.query(x))  #           [batch, heads, sequence, head_dim]
        k = self.split(self.key(x))  #             [batch, heads, sequence, head_dim]
        v = self.split(self.value(x))  #           [batch, heads, sequence, head_dim]
        # one blend for each token and head        [batch, heads, sequence, head_dim]
        outputs = attention(q, k, v, attn_mask=attn_mask, is_causal=is_causal)
        by_token = outputs.transpose(1, 2)  #      [batch, sequence, heads, head_dim]
        # transpose moved no number; contiguous writes them in the new order, the heads of one
        # token together, so that we can view them as one row
        concat = by_token.contiguous().view(x.shape)  # [batch, sequence, embed_dim]
        return self.output(concat)  #              [batch, sequence, embed_dim]

    def split(self, x: Tensor) -> Tensor:
        """Returns [batch, sequence, embed_dim] viewed as [batch, heads, sequence, head_dim]."""
        batch, sequence, _ = x.shape
        return x.view(batch, sequence, self.heads, self.head_dim).transpose(1, 2)

    @classmethod
    def from_loop(cls, looped: LoopedMultiHeadAttention) -> MultiHeadAttention:
        """Returns the same attention, with a copy of the weights, fused head by head.

        It copies only the weights, not whether they require a gradient, nor the mode.
        """
        output = looped.output
        vectorised = cls(output.in_features, len(looped.heads)).to(output.weight)
        with torch.no_grad():
            for name in ("query", "key", "value"):
                projection = getattr(vectorised, name)
                head_projections = [getattr(head, name) for head in looped.heads]
                projection.weight.copy_(
                    torch.cat([linear.weight for linear in head_projections])
                )
                projection.bias.copy_(torch.cat([linear.bias for linear in head_projections]))
        vectorised.output.load_state_dict(output.state_dict())
        return vectorised

    def to_loop(self) -> LoopedMultiHeadAttention:
        """Returns the loop again: each head gets a copy of its rows of each projection."""
        looped = LoopedMultiHeadAttention(self.output.in_features, self.heads)
        looped.to(self.output.weight)
        with torch.no_grad():
            for name in ("query", "key", "value"):
                projection = getattr(self, name)
                weights, biases = (
                    projection.weight.chunk(self.heads),
                    projection.bias.chunk(self.heads),
                )
                for head, weight, bias in zip(looped.heads, weights, biases, strict=True):
                    getattr(head, name).weight.copy_(weight)
                    getattr(head, name).bias.copy_(bias)
        looped.output.load_state_dict(self.output.state_dict())
        return looped


def head_dim_of(embed_dim: int, heads: int) -> int:
    """Returns how many of the embed_dim numbers each head gets."""
    if heads < 1 or embed_dim < 1 or embed_dim % heads:
        raise ValueError(f"embed_dim is {embed_dim}, a multiple of heads = {heads} is wanted")
    return embed_dim // heads


def check_tokens(x: Tensor, embed_dim: int) -> None:
    """Raises a TypeError or ValueError unless x is [batch, sequence, embed_dim]."""
    if not isinstance(x, Tensor):
        raise TypeError(f"x is {type(x).__name__}, a tensor is wanted")
    if x.ndim != 3 or x.shape[-1] != embed_dim:
        wanted = f"[batch, sequence, {embed_dim}]"
        raise ValueError(f"x has shape {list(x.shape)}, {wanted} is wanted")


def mask_of_each_head(attn_mask: Tensor | None, heads: int) -> list[Tensor | None]:
    """Returns a mask for each head, without the axis of heads of [batch, heads, N, N]."""
    if not isinstance(attn_mask, Tensor) or attn_mask.ndim < 3:
        return [attn_mask] * heads
    masks = attn_mask.unsqueeze(0) if attn_mask.ndim == 3 else attn_mask
    if masks.ndim != 4 or masks.shape[1] not in (1, heads):
        raise ValueError(
            f"attn_mask has shape {list(attn_mask.shape)}, one that broadcasts to "
            f"[batch, {heads}, sequence, sequence] is wanted"
        )
    return list(masks.expand(-1, heads, -1, -1).unbind(1))
