"""What people get wrong of a paged, split decode, and of the merge."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from scripts.labs.catalogue.paged_decode.truth import attend, by_piece, merged, pieces, rows
from scripts.labs.lab import Mistake, widened

PAGES = "decode#pages"
SPLIT = "decode#eight-readers-132-sms"
CARRY = "online-softmax#carry-the-values-along"
SO_FAR = "online-softmax#use-the-maximum-so-far"
MERGING = "online-softmax#empty-update-merge"
OVERFLOW = "online-softmax#what-overflows"
SCALE = "three-matmuls#why-the-scores-are-divided-by-d"


def of_cache(**wrong):
    """``by_piece`` with a wrong part."""
    return partial(by_piece, **wrong)


def table_ignored(pages: Tensor, table: Tensor, tokens: range) -> Tensor:
    """Pages in the order in which they lie."""
    return rows(pages, torch.arange(len(table)), tokens)


def first_page_again(pages: Tensor, table: Tensor, tokens: range) -> Tensor:
    return rows(pages, table[:1].expand(len(table)), tokens)


def first_sequence(q, keys, values, page_table, lengths, scale, splits):
    return by_piece(q, keys, values, page_table[:1].expand_as(page_table), lengths, scale, splits)


def first_query(q, keys, values, page_table, lengths, scale, splits):
    return by_piece(q[:1].expand_as(q), keys, values, page_table, lengths, scale, splits)


def to_the_end_of_the_page(length: int, page_size: int, splits: int) -> list[range]:
    """The last page is read whole."""
    return [range(each.start, -(-each.stop // page_size) * page_size) for each in pieces(length, page_size, splits)]


def read_behind_the_end(q, keys, values, page_table, lengths, scale, splits):
    """Scores behind the end are masked, values are not: their weight is 0, and 0 · NaN is NaN."""
    outs, lses = by_piece(q, keys, values, page_table, lengths, scale, splits)
    for sequence, length in enumerate(lengths.tolist()):
        for i, each in enumerate(pieces(length, keys.shape[1], splits)):
            if len(each) % keys.shape[1]:
                outs[sequence, i] = torch.nan
    return outs, lses


def whole_cache(length: int, page_size: int, splits: int) -> list[range]:
    return [range(length)] * splits


def rounded_down(length: int, page_size: int, splits: int) -> list[range]:
    share = -(-length // page_size) // splits * page_size
    return [range(min(i * share, length), min((i + 1) * share, length)) for i in range(splits)]


def first_of_each(length: int, page_size: int, splits: int) -> list[range]:
    return [pieces(length, page_size, splits)[0]] * splits


def last_page_alone(length: int, page_size: int, splits: int) -> list[range]:
    found = pieces(length, page_size, splits)
    return [range(max(each.start, (each.stop - 1) // page_size * page_size), each.stop) for each in found]


def undivided(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    out, lse = attend(scores, values)
    return (out, lse) if not len(scores) else (out * (scores - scores.amax()).exp().sum(), lse)


def lse_from(form):
    """``form``: of the scores of a piece what stands in the place of its lse."""
    return lambda scores, values: (
        attend(scores, values)[0],
        form(scores) if len(scores) else attend(scores, values)[1],
    )


def empty_as(out: float, lse: float):
    """What a piece without tokens leaves."""

    def form(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        found = attend(scores, values)
        return found if len(scores) else (torch.full_like(found[0], out), torch.full_like(found[1], lse))

    return form


def base_two(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    return attend(scores * math.log(2), values)


def without_maximum(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    if not len(scores):
        return attend(scores, values)
    powers = scores.float().exp()
    return ((powers @ values.float()) / powers.sum()).double(), powers.sum().log().double()


def page_by_page(form):
    """``form`` instead of ``attend``, with the size of a page for its third argument."""

    def wrong(q, keys, values, page_table, lengths, scale, splits):
        attend = partial(form, page_size=keys.shape[1])
        return by_piece(q, keys, values, page_table, lengths, scale, splits, attend=attend)

    return wrong


def not_rescaled(scores: Tensor, values: Tensor, page_size: int) -> tuple[Tensor, Tensor]:
    """Each page's weights are taken below the maximum of its own time, and never made less."""
    if not len(scores):
        return attend(scores, values)
    starts = range(0, len(scores), page_size)
    below = [scores[i : i + page_size] - scores[: i + page_size].amax() for i in starts]
    weights = torch.cat(below).exp()
    return weights @ values / weights.sum(), scores.amax() + weights.sum().log()


def zeros_behind(scores: Tensor, values: Tensor, page_size: int) -> tuple[Tensor, Tensor]:
    """Rows behind the end are loaded as 0, so that their scores are 0, and these count."""
    if not len(scores):
        return attend(scores, values)
    more = -len(scores) % page_size
    return attend(
        torch.cat([scores, scores.new_zeros(more)]), torch.cat([values, values.new_zeros(more, values.shape[1])])
    )


EMPTY = "A piece without tokens divides by a sum of 0, or writes nothing: it leaves zeros, and -inf for its lse."
BEHIND = (
    "Rows behind the last token are read. They hold whatever was there before, here NaN, and even with a weight of 0 "
    "they count: 0 · NaN is NaN. Mask the load, not only the score."
)
PARTS_OF_CACHE = (
    Mistake(
        "table-ignored",
        "Pages are read in the order in which they lie: ask the page table where each page of the sequence is.",
        PAGES,
        of_cache(read=table_ignored),
    ),
    Mistake(
        "first-page-again",
        "Every page is the sequence's first one: entry t // page_size of the table is wanted, for each token t.",
        PAGES,
        of_cache(read=first_page_again),
    ),
    Mistake("first-sequence", "Every program reads the first sequence's row of the page table.", PAGES, first_sequence),
    Mistake("first-query", "Every program takes the first sequence's query.", PAGES, first_query),
    Mistake("behind-the-end", BEHIND, PAGES, of_cache(cut=to_the_end_of_the_page)),
    Mistake("behind-the-end", BEHIND, PAGES, read_behind_the_end),
    Mistake(
        "zeros-behind",
        "Rows behind the last token are loaded as 0, but a score of 0 counts, too: its score has to be -inf.",
        PAGES,
        page_by_page(zeros_behind),
    ),
    Mistake(
        "not-rescaled",
        "The sum and the blend are not rescaled when the maximum moves.",
        SO_FAR,
        page_by_page(not_rescaled),
    ),
    Mistake(
        "not-scaled",
        "The scores are not scaled.",
        SCALE,
        lambda **given: by_piece(**given | {"scale": 1.0}),
    ),
    Mistake(
        "base-two", "Weights and lse are of powers of 2, and powers of e are wanted.", CARRY, of_cache(attend=base_two)
    ),
    Mistake(
        "lse-base-two",
        "lse is a logarithm to base 2: times ln 2 it is the natural one.",
        MERGING,
        of_cache(attend=lse_from(lambda scores: scores.logsumexp(0) / math.log(2))),
    ),
    Mistake(
        "lse-is-maximum",
        "lse is the maximum alone: the logarithm of the sum belongs to it.",
        MERGING,
        of_cache(attend=lse_from(lambda scores: scores.amax())),
    ),
    Mistake(
        "lse-is-logarithm",
        "lse is the logarithm of the sum alone: the maximum that was taken off belongs to it.",
        MERGING,
        of_cache(attend=lse_from(lambda scores: (scores - scores.amax()).exp().sum().log())),
    ),
    Mistake(
        "undivided",
        "The output is not divided by its sum: a piece leaves what it would leave if it were alone.",
        CARRY,
        of_cache(attend=undivided),
    ),
    Mistake(
        "last-page-alone",
        "Only the last page of a piece counts: each page must add to what the earlier ones left.",
        SO_FAR,
        of_cache(cut=last_page_alone),
    ),
    Mistake("whole-cache", "Every program reads the whole cache: each has a piece.", SPLIT, of_cache(cut=whole_cache)),
    Mistake(
        "first-piece-again",
        "Every program reads the first piece: tl.program_id(1) says which is its own.",
        SPLIT,
        of_cache(cut=first_of_each),
    ),
    Mistake(
        "rounded-down",
        "The pages of a piece are rounded down, so nobody reads the last ones: round up.",
        SPLIT,
        of_cache(cut=rounded_down),
    ),
    Mistake(
        "overflow", "The maximum is never taken off, and a power overflows.", OVERFLOW, of_cache(attend=without_maximum)
    ),
    Mistake("empty", EMPTY, MERGING, of_cache(attend=empty_as(math.nan, -math.inf))),
    Mistake("empty", EMPTY, MERGING, of_cache(attend=empty_as(math.nan, math.nan))),
    Mistake("empty", EMPTY, MERGING, of_cache(attend=empty_as(0.0, math.nan))),
    Mistake(
        "empty-lse",
        "A piece without tokens leaves lse 0: in the merge it would weigh as much as one token of score 0.",
        MERGING,
        of_cache(attend=empty_as(0.0, 0.0)),
    ),
)


def weighed(form, lse=None):
    """A merge: ``form`` makes the weights of the pieces of their lse; ``lse`` what stands for the lse of all."""

    def wrong(part_out: Tensor, part_lse: Tensor) -> tuple[Tensor, Tensor]:
        weights = form(part_lse)
        right = merged(part_out, part_lse)[1]
        return (weights[..., None] * part_out).sum(1), lse(part_lse) if lse else right

    return wrong


def shares(part_lse: Tensor) -> Tensor:
    return part_lse.softmax(1).nan_to_num(nan=0.0)


def powers(part_lse: Tensor) -> Tensor:
    """In FP32, where they overflow."""
    found = part_lse.float().exp()
    return (found / found.sum(1, keepdim=True)).to(part_lse.dtype)


def below_maximum(part_lse: Tensor) -> Tensor:
    return (part_lse - part_lse.amax(1, keepdim=True)).exp()


def of_powers(part_lse: Tensor) -> Tensor:
    return part_lse.float().exp().sum(1).log().to(part_lse.dtype)


NOBODY = "A sequence without tokens comes to NaN: -inf minus -inf is not a number. Its output is 0, and its lse -inf."
MERGE = (
    Mistake(
        "averaged",
        "The pieces are averaged: each counts by its share of the sum, which is exp of its lse.",
        SPLIT,
        weighed(lambda part_lse: torch.full_like(part_lse, 1 / part_lse.shape[1])),
    ),
    Mistake("added", "The pieces are added up: their weights must add up to 1.", SPLIT, weighed(torch.ones_like)),
    Mistake(
        "not-divided",
        "The weights are not divided by their sum.",
        MERGING,
        weighed(below_maximum),
    ),
    Mistake(
        "weighed-by-lse",
        "The pieces are weighed by lse itself: by exp of it, as scores are.",
        MERGING,
        weighed(lambda part_lse: part_lse / part_lse.sum(1, keepdim=True)),
    ),
    Mistake(
        "base-two",
        "The weights are powers of 2, and the lse are natural logarithms: powers of e are wanted.",
        MERGING,
        weighed(lambda part_lse: shares(part_lse * math.log(2))),
    ),
    Mistake(
        "lse-is-maximum",
        "The lse of all is the largest lse: the logarithm of the sum of the weights belongs to it.",
        MERGING,
        weighed(shares, lambda part_lse: part_lse.amax(1)),
    ),
    Mistake(
        "lse-added",
        "The lse of the pieces are added up: their powers are, and the logarithm is taken of that.",
        MERGING,
        weighed(shares, lambda part_lse: part_lse.sum(1)),
    ),
    Mistake(
        "last-piece-missing",
        "The last piece is left out.",
        SPLIT,
        lambda part_out, part_lse: merged(part_out[:, :-1], part_lse[:, :-1]),
    ),
    Mistake(
        "overflow",
        "exp(lse) overflows, or is 0 for all: take the largest lse off first.",
        OVERFLOW,
        weighed(powers, of_powers),
    ),
    Mistake("nobody", NOBODY, MERGING, weighed(lambda part_lse: part_lse.softmax(1))),
    Mistake(
        "nobody",
        NOBODY,
        MERGING,
        weighed(lambda part_lse: part_lse.softmax(1), lambda part_lse: part_lse.logsumexp(1) + 0 * part_lse.amax(1)),
    ),
    Mistake(
        "rounded",
        "The sum of the pieces is rounded to FP16 on the way: keep it in FP32, also where the output is not.",
        MERGING,
        lambda part_out, part_lse: (
            merged(part_out.half(), part_lse)[0].half().to(widened(part_out).dtype),
            merged(part_out, part_lse)[1],
        ),
    ),
)
