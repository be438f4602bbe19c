"""What people get wrong of a paged, split decode, and of the merge."""

from __future__ import annotations

import math

from scripts.labs.catalogue.paged_decode.forms import (
    base_two,
    empty_as,
    first_of_each,
    first_page_again,
    first_query,
    first_sequence,
    half_rescaled,
    last_page_alone,
    lse_from,
    maximum_from_zero,
    not_rescaled,
    of_cache,
    page_by_page,
    read_behind_the_end,
    rounded_down,
    table_ignored,
    to_the_end,
    to_the_end_of_the_page,
    undivided,
    values_by_place,
    whole_cache,
    whole_pages,
    without_maximum,
    zeros_behind,
)
from scripts.labs.catalogue.paged_decode.truth import by_piece
from scripts.labs.lab import Mistake

PAGES = "decode#pages"
SPLIT = "decode#eight-readers-132-sms"
CARRY = "online-softmax#attention-never-asks-for-the-shares"
SO_FAR = "online-softmax#use-the-largest-so-far"
MERGING = "online-softmax#two-states-become-one"
OVERFLOW = "online-softmax#you-arent-waiting-for-the-sum"
SCALE = "three-matmuls#why-the-scores-are-divided-by-d"


FROM_ZERO = (
    "The running maximum is never below 0, so that where all scores lie far below it every power is 0: it has to begin "
    "at -inf."
)
EMPTY = "A piece without tokens divides by a sum of 0, or writes nothing: it leaves zeros, and -inf for its lse."
BEHIND = (
    "Rows behind the last token are read. They hold whatever was there before, here NaN, and even with a weight of 0 "
    "they count: 0 · NaN is NaN. Mask the load, not only the score."
)
PARTS_OF_CACHE = (
    Mistake(
        "table-ignored",
        "Pages are read in the order in which they lie, those of the keys at least: ask the page table where each page "
        "of the sequence is.",
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
        "table-for-keys-alone",
        "Keys are read where the page table says, and values are not: they lie in pages of the same numbers.",
        PAGES,
        values_by_place,
    ),
    Mistake(
        "last-page-missing",
        "The last page, which is not full, is left out: of its tokens there are tl.cdiv(length, PAGE_SIZE) pages.",
        PAGES,
        of_cache(cut=whole_pages),
    ),
    Mistake(
        "piece-does-not-end",
        "A piece reads on to the end of the sequence: it ends where the next one begins.",
        SPLIT,
        of_cache(cut=to_the_end),
    ),
    Mistake(
        "sum-not-rescaled",
        "The blend is rescaled when the maximum moves, and the sum is not.",
        SO_FAR,
        page_by_page(half_rescaled(of_sum=False)),
    ),
    Mistake(
        "blend-not-rescaled",
        "The sum is rescaled when the maximum moves, and the blend is not.",
        CARRY,
        page_by_page(half_rescaled(of_sum=True)),
    ),
    Mistake("maximum-from-zero", FROM_ZERO, SO_FAR, of_cache(attend=maximum_from_zero(0.0))),
    Mistake("maximum-from-zero", FROM_ZERO, SO_FAR, of_cache(attend=maximum_from_zero(1.0))),
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
