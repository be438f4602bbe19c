"""Wrong implementations of a paged, split decode."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from scripts.labs.catalogue.paged_decode.reference import attend, decode_pieces, pieces, token_rows


def decode_with(**wrong):
    """``decode_pieces`` with a wrong part."""
    return partial(decode_pieces, **wrong)


def page_table_ignored(pages: Tensor, table: Tensor, tokens: range) -> Tensor:
    """Pages in the order in which they lie."""
    return token_rows(pages, torch.arange(len(table)), tokens)


def first_page_repeated(pages: Tensor, table: Tensor, tokens: range) -> Tensor:
    return token_rows(pages, table[:1].expand(len(table)), tokens)


def first_sequence(q, keys, values, page_table, lengths, scale, splits):
    return decode_pieces(q, keys, values, page_table[:1].expand_as(page_table), lengths, scale, splits)


def first_query(q, keys, values, page_table, lengths, scale, splits):
    return decode_pieces(q[:1].expand_as(q), keys, values, page_table, lengths, scale, splits)


def pieces_to_end_of_page(length: int, page_size: int, splits: int) -> list[range]:
    """The last page is read whole."""
    return [range(piece.start, -(-piece.stop // page_size) * page_size) for piece in pieces(length, page_size, splits)]


def values_not_masked(q, keys, values, page_table, lengths, scale, splits):
    """Scores behind the end are masked, values are not: their weight is 0, and 0 · NaN is NaN."""
    outs, lses = decode_pieces(q, keys, values, page_table, lengths, scale, splits)
    for sequence, length in enumerate(lengths.tolist()):
        for i, piece in enumerate(pieces(length, keys.shape[1], splits)):
            if len(piece) % keys.shape[1]:
                outs[sequence, i] = torch.nan
    return outs, lses


def pages_per_piece_rounded_down(length: int, page_size: int, splits: int) -> list[range]:
    share = -(-length // page_size) // splits * page_size
    return [range(min(i * share, length), min((i + 1) * share, length)) for i in range(splits)]


def first_piece_repeated(length: int, page_size: int, splits: int) -> list[range]:
    return [pieces(length, page_size, splits)[0]] * splits


def not_divided(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    out, lse = attend(scores, values)
    return (out, lse) if not len(scores) else (out * (scores - scores.amax()).exp().sum(), lse)


def lse_from(implementation):
    """``implementation``: of the scores of a piece what stands in the place of its lse."""
    return lambda scores, values: (
        attend(scores, values)[0],
        implementation(scores) if len(scores) else attend(scores, values)[1],
    )


def empty_piece_as(out: float, lse: float):
    """What a piece without tokens leaves."""

    def implementation(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        right = attend(scores, values)
        return right if len(scores) else (torch.full_like(right[0], out), torch.full_like(right[1], lse))

    return implementation


def base_two(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    return attend(scores * math.log(2), values)


def without_maximum(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    if not len(scores):
        return attend(scores, values)
    exponentials = scores.float().exp()
    return ((exponentials @ values.float()) / exponentials.sum()).double(), exponentials.sum().log().double()


def decode_with_page_size(implementation):
    """``decode_pieces`` with ``implementation`` as ``attend``, which also gets the size of a page."""

    def wrong(q, keys, values, page_table, lengths, scale, splits):
        attend = partial(implementation, page_size=keys.shape[1])
        return decode_pieces(q, keys, values, page_table, lengths, scale, splits, attend=attend)

    return wrong


def not_rescaled(scores: Tensor, values: Tensor, page_size: int) -> tuple[Tensor, Tensor]:
    """Each page's weights are taken below the maximum of its own time, and never made less."""
    if not len(scores):
        return attend(scores, values)
    starts = range(0, len(scores), page_size)
    below = [scores[i : i + page_size] - scores[: i + page_size].amax() for i in starts]
    weights = torch.cat(below).exp()
    return weights @ values / weights.sum(), scores.amax() + weights.sum().log()


def maximum_from_zero(empty_sum: float):
    """The maximum begins at 0, in FP32; ``empty_sum`` stands for a sum of 0."""

    def implementation(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        if not len(scores):
            return attend(scores, values)
        largest = scores.float().amax().clamp(min=0)
        exponentials = (scores.float() - largest).exp()
        total = exponentials.sum()
        lse = largest + torch.where(total == 0, empty_sum, total).log()
        out = (exponentials @ values.float()) / torch.where(total == 0, 1.0, total)
        return out.to(values.dtype), lse.to(values.dtype)

    return implementation


def last_partial_page_missing(length: int, page_size: int, splits: int) -> list[range]:
    """length // PAGE_SIZE: nobody reads the last page, which is not full."""
    return pieces(length // page_size * page_size, page_size, splits)


def pieces_to_end_of_sequence(length: int, page_size: int, splits: int) -> list[range]:
    """Without tl.minimum: each piece has its share of pages, and the last runs on into pages of others."""
    return [range(piece.start, length) for piece in pieces(length, page_size, splits)]


def padding_counts_as_zero_scores(scores: Tensor, values: Tensor, page_size: int) -> tuple[Tensor, Tensor]:
    """Rows behind the end are loaded as 0, so that their scores are 0, and these count."""
    if not len(scores):
        return attend(scores, values)
    more = -len(scores) % page_size
    return attend(
        torch.cat([scores, scores.new_zeros(more)]), torch.cat([values, values.new_zeros(more, values.shape[1])])
    )
