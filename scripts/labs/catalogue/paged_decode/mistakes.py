"""Wrong implementations of lab 13, a paged, split decode, each with what its author is told."""

from __future__ import annotations

import math

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.paged_decode.reference import decode_pieces
from scripts.labs.catalogue.paged_decode.wrong_implementations import (
    base_two,
    decode_with,
    decode_with_page_size,
    empty_piece_as,
    first_page_repeated,
    first_piece_repeated,
    first_query,
    first_sequence,
    last_partial_page_missing,
    lse_from,
    maximum_from_zero,
    not_divided,
    not_rescaled,
    padding_counts_as_zero_scores,
    page_table_ignored,
    pages_per_piece_rounded_down,
    pieces_to_end_of_page,
    pieces_to_end_of_sequence,
    values_not_masked,
    without_maximum,
)
from scripts.labs.lab import Mistake

MAXIMUM_FROM_ZERO = (
    "The running maximum is never below 0, so that where all scores lie far below it every power is 0: it has to begin "
    "at -inf."
)
EMPTY_PIECE = "A piece without tokens divides by a sum of 0, or writes nothing: it leaves zeros, and -inf for its lse."
BEHIND_THE_END = (
    "Rows behind the last token are read. They hold whatever was there before, here NaN, and even with a weight of 0 "
    "they count: 0 · NaN is NaN. Mask the load, not only the score."
)
DECODE_MISTAKES = (
    Mistake(
        "page-table-ignored",
        "Pages are read in the order in which they lie, those of the keys at least: ask the page table where each page "
        "of the sequence is.",
        headings.PAGES,
        decode_with(read=page_table_ignored),
    ),
    Mistake(
        "first-page-repeated",
        "Every page is the sequence's first one: entry t // page_size of the table is wanted, for each token t.",
        headings.PAGES,
        decode_with(read=first_page_repeated),
    ),
    Mistake(
        "first-sequence",
        "Every program reads the first sequence's row of the page table.",
        headings.PAGES,
        first_sequence,
    ),
    Mistake("first-query", "Every program takes the first sequence's query.", headings.PAGES, first_query),
    Mistake("behind-the-end", BEHIND_THE_END, headings.PAGES, decode_with(cut_into_pieces=pieces_to_end_of_page)),
    Mistake("behind-the-end", BEHIND_THE_END, headings.PAGES, values_not_masked),
    Mistake(
        "zeros-behind",
        "Rows behind the last token are loaded as 0, but a score of 0 counts, too: its score has to be -inf.",
        headings.PAGES,
        decode_with_page_size(padding_counts_as_zero_scores),
    ),
    Mistake(
        "last-page-missing",
        "The last page, which is not full, is left out: of its tokens there are tl.cdiv(length, PAGE_SIZE) pages.",
        headings.PAGES,
        decode_with(cut_into_pieces=last_partial_page_missing),
    ),
    Mistake(
        "piece-does-not-end",
        "A piece reads on to the end of the sequence: it ends where the next one begins.",
        headings.SPLIT,
        decode_with(cut_into_pieces=pieces_to_end_of_sequence),
    ),
    Mistake("maximum-from-zero", MAXIMUM_FROM_ZERO, headings.RUNNING_MAX, decode_with(attend=maximum_from_zero(0.0))),
    Mistake("maximum-from-zero", MAXIMUM_FROM_ZERO, headings.RUNNING_MAX, decode_with(attend=maximum_from_zero(1.0))),
    Mistake(
        "not-rescaled",
        "The sum and the blend are not rescaled when the maximum moves.",
        headings.RUNNING_MAX,
        decode_with_page_size(not_rescaled),
    ),
    Mistake(
        "not-scaled",
        "The scores are not scaled.",
        headings.SCALE,
        lambda **inputs: decode_pieces(**inputs | {"scale": 1.0}),
    ),
    Mistake(
        "base-two",
        "Weights and lse are of powers of 2, and powers of e are wanted.",
        headings.ACCUMULATOR,
        decode_with(attend=base_two),
    ),
    Mistake(
        "lse-base-two",
        "lse is a logarithm to base 2: times ln 2 it is the natural one.",
        headings.MERGING,
        decode_with(attend=lse_from(lambda scores: scores.logsumexp(0) / math.log(2))),
    ),
    Mistake(
        "lse-is-maximum",
        "lse is the maximum alone: the logarithm of the sum belongs to it.",
        headings.MERGING,
        decode_with(attend=lse_from(lambda scores: scores.amax())),
    ),
    Mistake(
        "lse-is-logarithm",
        "lse is the logarithm of the sum alone: the maximum that was taken off belongs to it.",
        headings.MERGING,
        decode_with(attend=lse_from(lambda scores: (scores - scores.amax()).exp().sum().log())),
    ),
    Mistake(
        "not-divided",
        "The output is not divided by its sum: a piece leaves what it would leave if it were alone.",
        headings.ACCUMULATOR,
        decode_with(attend=not_divided),
    ),
    Mistake(
        "first-piece-repeated",
        "Every program reads the first piece: tl.program_id(1) says which is its own.",
        headings.SPLIT,
        decode_with(cut_into_pieces=first_piece_repeated),
    ),
    Mistake(
        "pages-per-piece-rounded-down",
        "The pages of a piece are rounded down, so nobody reads the last ones: round up.",
        headings.SPLIT,
        decode_with(cut_into_pieces=pages_per_piece_rounded_down),
    ),
    Mistake(
        "overflow",
        "The maximum is never taken off, and a power overflows.",
        headings.OVERFLOW,
        decode_with(attend=without_maximum),
    ),
    Mistake("empty", EMPTY_PIECE, headings.MERGING, decode_with(attend=empty_piece_as(math.nan, -math.inf))),
    Mistake("empty", EMPTY_PIECE, headings.MERGING, decode_with(attend=empty_piece_as(math.nan, math.nan))),
    Mistake("empty", EMPTY_PIECE, headings.MERGING, decode_with(attend=empty_piece_as(0.0, math.nan))),
    Mistake(
        "empty-lse",
        "A piece without tokens leaves lse 0: in the merge it would weigh as much as one token of score 0.",
        headings.MERGING,
        decode_with(attend=empty_piece_as(0.0, 0.0)),
    ),
)
