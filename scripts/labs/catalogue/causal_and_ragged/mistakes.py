"""Wrong implementations of lab 10, of masks and ragged ends, each with what its author is told."""

from __future__ import annotations

from dataclasses import replace

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.causal_and_ragged.reference import INF, flash
from scripts.labs.catalogue.causal_and_ragged.wrong_implementations import (
    BLOCK,
    NO_TILE_READ,
    bottom_right,
    causal_or,
    empty_row_divided,
    empty_row_lse_zero,
    empty_row_unwritten,
    last_keys_missing,
    last_queries_missing,
    mask_mirrored,
    masked_to_zero,
    masked_to_zero_everywhere,
    maximum_from_zero,
    padding_counts,
    unless_causal,
    with_mask,
)
from scripts.labs.catalogue.flash_forward.mistakes import MISTAKES as FLASH_FORWARD_MISTAKES
from scripts.labs.lab import Mistake

MISTAKES = (
    Mistake(
        "padding-counts",
        "In the last block, places without a key count as keys whose score is 0, and e⁰ is 1: their score has to be "
        "minus infinity.",
        headings.BLOCK_OF_SCORES,
        padding_counts,
    ),
    Mistake(
        "last-keys-missing",
        "The keys of the last block, which is not full, are missing.",
        headings.BLOCK_OF_SCORES,
        last_keys_missing,
    ),
    Mistake(
        "keys-end-with-queries",
        "As many keys are seen as there are queries: the end of the keys is seq_k, not seq_q.",
        headings.BLOCK_OF_SCORES,
        lambda q, k, v, is_causal: flash(q, k[..., : q.shape[-2], :], v[..., : q.shape[-2], :], is_causal),
    ),
    Mistake(
        "last-queries-missing",
        "The rows of the last block of queries, which is not full, are never written: round the number of blocks "
        "up, and mask the rows by the number of queries, not of keys.",
        headings.BLOCK_OF_SCORES,
        last_queries_missing,
    ),
    Mistake(
        "not-causal",
        "Every query sees all keys: the causal mask is missing.",
        headings.CAUSAL_TILES,
        causal_or(lambda query, key: key < 0),
    ),
    Mistake(
        "always-causal",
        "The causal mask is there although is_causal is False.",
        headings.MASKS,
        with_mask(lambda query, key, is_causal, q, k: key > query),
    ),
    Mistake(
        "not-itself",
        "A query does not see the key of its own number, and it should: key <= query.",
        headings.MASKS,
        causal_or(lambda query, key: key >= query),
    ),
    Mistake(
        "one-too-many",
        "A query sees one key too many, the one behind its own: key <= query.",
        headings.MASKS,
        causal_or(lambda query, key: (key > query + 1) | (key // BLOCK > query // BLOCK)),
    ),
    Mistake(
        "one-too-many-in-all-tiles",
        "A query sees one key too many, the one behind its own: key <= query.",
        headings.MASKS,
        causal_or(lambda query, key: key > query + 1),
    ),
    *(
        Mistake(
            f"mirrored{', every tile read' * every_tile}",
            "The mask is mirrored: a query sees what comes after it, and not what came before.",
            headings.MASKS,
            mask_mirrored(every_tile),
        )
        for every_tile in (False, True)
    ),
    Mistake(
        "whole-diagonal-tile",
        "The tiles on the diagonal are not masked, so a query sees all keys of its own block, also those behind it.",
        headings.CAUSAL_TILES,
        causal_or(lambda query, key: key // BLOCK > query // BLOCK),
    ),
    Mistake(
        "diagonal-tile-missing",
        "The loop ends before the tile on the diagonal: the keys of a query's own block are missing.",
        headings.CAUSAL_TILES,
        causal_or(lambda query, key: key // BLOCK >= query // BLOCK, NO_TILE_READ),
    ),
    Mistake(
        "diagonal-tile-missing-guarded",
        "The loop ends before the tile on the diagonal: the keys of a query's own block are missing.",
        headings.CAUSAL_TILES,
        causal_or(lambda query, key: key // BLOCK >= query // BLOCK, (0.0, -INF)),
    ),
    Mistake(
        "block-numbers-forgotten",
        "The mask compares places within the tile, so every tile is masked like the first: compare the numbers of "
        "query and key, with the beginning of each block added.",
        headings.CAUSAL_TILES,
        causal_or(lambda query, key: (key % BLOCK > query % BLOCK) | (key // BLOCK > query // BLOCK)),
    ),
    Mistake(
        "key-block-forgotten",
        "The mask counts the keys from the beginning of their block: add first to their places before you compare.",
        headings.CAUSAL_TILES,
        causal_or(lambda query, key: (key % BLOCK > query) | (key // BLOCK > query // BLOCK)),
    ),
    Mistake(
        "query-block-forgotten",
        "The mask counts the queries from the beginning of their block: compare the numbers that they have among all.",
        headings.CAUSAL_TILES,
        causal_or(lambda query, key: key > query % BLOCK),
    ),
    Mistake(
        "bottom-right",
        "The mask is aligned at the bottom right, so that the last query sees all keys. Here it is aligned at the top "
        "left, as PyTorch's is: query 0 sees key 0, whatever the lengths.",
        headings.SDPA,
        with_mask(bottom_right),
    ),
    Mistake(
        "masked-to-zero",
        "A hidden score is set to 0, and e⁰ is 1: it has to be minus infinity.",
        headings.MASKS,
        masked_to_zero,
    ),
    Mistake(
        "masked-to-zero-everywhere",
        "A hidden score is set to 0, and e⁰ is 1: it has to be minus infinity.",
        headings.MASKS,
        masked_to_zero_everywhere,
    ),
    Mistake(
        "maximum-from-zero-guarded",
        "The maximum is never below 0: it begins at 0, or the places behind the last key are hidden only after it was "
        "taken. Where all scores are far below 0, every exponential is 0, and the sum looks like that of nothing.",
        headings.MERGING,
        maximum_from_zero,
    ),
    Mistake(
        "empty-row-divided",
        "A query that has seen no key is 0 divided by 0, and 0 is wanted.",
        headings.MERGING,
        empty_row_divided,
    ),
    Mistake(
        "empty-row-lse-zero",
        "The lse of a query that has seen no key is 0, and minus infinity is wanted.",
        headings.MERGING,
        empty_row_lse_zero,
    ),
    Mistake(
        "empty-row-unwritten",
        "Where there is no key nothing is written, and a query that sees no key gets 0 and the lse -inf.",
        headings.MERGING,
        empty_row_unwritten,
        writes=False,
    ),
)


MISTAKES += ()
NAMED = {mistake.name for mistake in MISTAKES}
MISTAKES += tuple(
    replace(mistake, implementation=unless_causal(mistake.implementation))
    for mistake in FLASH_FORWARD_MISTAKES
    if mistake.name not in NAMED
)
