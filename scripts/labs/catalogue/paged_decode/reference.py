"""Decode over pages in PyTorch, piece by piece, and the merge of the pieces."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.lab import widen


def pieces(length: int, page_size: int, splits: int) -> list[range]:
    """The tokens of each piece."""
    pages = -(-length // page_size)
    share = -(-pages // splits) * page_size
    return [range(min(i * share, length), min((i + 1) * share, length)) for i in range(splits)]


def token_rows(pages: Tensor, table: Tensor, tokens: range) -> Tensor:
    """The rows of these tokens, [tokens, d], from wherever they lie."""
    token = torch.tensor(tokens, dtype=torch.long)
    return widen(pages)[table.long()[token // pages.shape[1]], token % pages.shape[1]]


def attend(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Output and lse of one query; 0 and -inf without tokens."""
    if not len(scores):
        return values.new_zeros(values.shape[1]), values.new_tensor(-torch.inf)
    return scores.softmax(0) @ values, scores.logsumexp(0)


def decode_pieces(
    q, keys, values, page_table, lengths, scale, splits, cut_into_pieces=pieces, read=token_rows, attend=attend
) -> tuple:
    """``attend`` of each piece: [batch, splits, d] and [batch, splits].  The last three arguments make it wrong."""
    results = []
    for sequence, length in enumerate(lengths.tolist()):
        table = page_table[sequence]
        for tokens in cut_into_pieces(length, keys.shape[1], splits):
            scores = read(keys, table, tokens) @ widen(q[sequence]) * scale
            results.append(attend(scores, read(values, table, tokens)))
    outs, lses = zip(*results, strict=True)
    return tuple(torch.stack(each).unflatten(0, (len(lengths), splits)) for each in (outs, lses))


def merge_pieces(part_out: Tensor, part_lse: Tensor) -> tuple[Tensor, Tensor]:
    lse = part_lse.logsumexp(1)
    weights = (part_lse - lse.masked_fill(lse == -torch.inf, 0)[:, None]).exp()
    return (weights[..., None] * part_out).sum(1), lse
