"""Wrong implementations of masks and ragged ends: other masks, other hidden scores, keys padded or left out."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from scripts.labs.catalogue.causal_and_ragged.reference import (
    INF,
    OutputAndLse,
    attention,
    flash,
    query_and_key,
    scores_of,
    visible,
)

BLOCK = 16  # as the start file has it, of queries and of keys


NAN = float("nan")
FIRST_TILE_MASKED = NAN, NAN  # minus infinity minus minus infinity
NO_TILE_READ = NAN, -INF  # 0 divided by 0


def with_mask(
    hidden: Callable[[Tensor, Tensor, bool, Tensor, Tensor], Tensor],
    without_keys: tuple[float, float] = FIRST_TILE_MASKED,
):
    """Attention under another mask, a function of the numbers of queries and keys, is_causal, q and k."""

    def implementation(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> OutputAndLse:
        query, key = query_and_key(q, k)
        marks = hidden(query, key, is_causal, q, k) | torch.zeros(len(query), len(key), dtype=torch.bool)
        return attention(scores_of(q, k), v, marks, without_keys)

    return implementation


def causal_or(mask: Callable[[Tensor, Tensor], Tensor], without_keys: tuple[float, float] = FIRST_TILE_MASKED):
    """Right unless is_causal, and then another mask."""

    def hidden(query, key, is_causal, q, k):
        return mask(query, key) if is_causal else key < 0

    return with_mask(hidden, without_keys)


def bottom_right(query, key, is_causal, q, k):
    return (key > query + k.shape[-2] - q.shape[-2]) if is_causal else key < 0


def masked_to_zero(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> OutputAndLse:
    """Hidden scores, within the tiles that are read, are 0 and not minus infinity."""
    query, key = query_and_key(q, k)
    scores = scores_of(q, k).masked_fill(~visible(q, k, is_causal), 0)
    unread = (key // BLOCK > query // BLOCK) & is_causal
    return attention(scores, v, unread | (key < 0))


def masked_to_zero_everywhere(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> OutputAndLse:
    scores = scores_of(q, k).masked_fill(~visible(q, k, is_causal), 0)
    return attention(scores, v, torch.zeros_like(scores, dtype=torch.bool))


def mask_mirrored(every_tile: bool) -> Callable[..., OutputAndLse]:
    """Of a query behind the first block the first tile is all hidden: minus infinity minus minus infinity."""

    def implementation(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> OutputAndLse:
        if not is_causal:
            return flash(q, k, v, is_causal)
        query, key = query_and_key(q, k)
        hidden = (key < query) | ((key // BLOCK > query // BLOCK) & (not every_tile))
        out, lse = attention(scores_of(q, k), v, hidden)
        hidden_first = query[:, 0] >= BLOCK
        return out.masked_fill(hidden_first[:, None], NAN), lse.masked_fill(hidden_first, NAN)

    return implementation


def padding_counts(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> OutputAndLse:
    """Places behind the last key count as keys of zeros."""
    padding = -k.shape[-2] % BLOCK
    k, v = (torch.cat([x, x.new_zeros(*x.shape[:-2], padding, x.shape[-1])], -2) for x in (k, v))
    return flash(q, k, v, is_causal)


def last_keys_missing(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> OutputAndLse:
    """The keys of the last block, which is not full, are missing."""
    full_length = k.shape[-2] // BLOCK * BLOCK
    output_and_lse = flash(q, k[..., :full_length, :], v[..., :full_length, :], is_causal)
    return output_and_lse if full_length else (output_and_lse[0] / 0.0, output_and_lse[1])


def last_queries_missing(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> OutputAndLse:
    out, lse = flash(q, k, v, is_causal)
    unwritten = torch.arange(q.shape[-2]) >= q.shape[-2] // BLOCK * BLOCK
    return out.masked_fill(unwritten[:, None], torch.nan), lse.masked_fill(unwritten, torch.nan)


def empty_row_divided(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> OutputAndLse:
    """Where nothing was seen, 0 is divided by 0; lse is right, or NaN."""
    out, lse = flash(q, k, v, is_causal)
    return out.masked_fill((lse == -INF)[..., None], torch.nan), lse


def empty_row_lse_zero(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> OutputAndLse:
    out, lse = flash(q, k, v, is_causal)
    return out, lse.masked_fill(lse == -INF, 0.0)


def empty_row_unwritten(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> OutputAndLse:
    out, lse = empty_row_divided(q, k, v, is_causal)
    return out, lse.masked_fill(lse == -INF, torch.nan)


def maximum_from_zero(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> OutputAndLse:
    """The maximum counts a 0 for the places behind the last key, or begins at 0; 1 stands in place of a sum of 0."""
    scores = scores_of(q, k).float().masked_fill(~visible(q, k, is_causal), -INF)
    largest = scores.amax(-1, keepdim=True).clamp(min=0)
    exponentials = (scores - largest).exp()
    total = exponentials.sum(-1, keepdim=True)
    total = total.masked_fill(total == 0, 1.0)
    return (exponentials / total @ v.float()).to(q.dtype), (largest + total.log())[..., 0].to(q.dtype)


def unless_causal(implementation: Callable[..., OutputAndLse]) -> Callable[..., OutputAndLse]:
    """A mistake of the last lab, as it shows where there is no mask."""
    return lambda q, k, v, is_causal: flash(q, k, v, is_causal) if is_causal else implementation(q, k, v)
