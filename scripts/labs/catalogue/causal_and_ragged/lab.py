"""Causal masks and ragged ends: ends first, then the diagonal, then lengths that differ, and what may not be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from scripts.labs.catalogue.flash_forward.lab import MISTAKES as OF_FULL_BLOCKS
from scripts.labs.catalogue.tiles import all_at_once
from scripts.labs.lab import SEEDS, Case, Mistake, Part, normal, widened
from scripts.labs.watched import Access, said

BLOCK = 16  # as the start file has it, of queries and of keys
STEPS = 48  # roundings of FP32, since that of a large score moves its exponential by many
INF = float("inf")
CAUSAL = "flash-attention#causal-half-the-tiles"
MASKS = "many-heads#masks-who-may-look-at-whom"
ENDS = "blocks-of-keys#the-query-repeated-the-products-summed"
SDPA = "flash-attention#you-need-not-write-it"
EMPTY = "online-softmax#empty-update-merge"
STAY = "flash-attention#the-queries-stay-the-keys-pass"
Two = tuple[Tensor, Tensor]


def cases():
    yield case("full blocks, no mask", 1, False, 1, 16, 32)
    yield case("full blocks, no mask, large scores", 2, False, 1, 16, 16, times=60.0)
    yield case("keys that end in a block", 1, False, 1, 16, 21)
    yield case("three heads, queries that end in a block", 2, False, 3, 19, 16)
    yield case("causal, three blocks of each", 1, True, 1, 48, 48)
    for seed in SEEDS[1:]:
        yield case(f"causal, two blocks that end early, seed {seed}", seed, True, seed - 1, 27, 27)
    yield case("causal, fewer queries than keys", 3, True, 1, 20, 36)
    yield case("causal, more queries than keys", 1, True, 1, 36, 20)
    yield case("a single query and a single key", 1, True, 1, 1, 1)
    yield case("a single query, causal, and many keys", 2, True, 1, 1, 33)
    yield case("causal, large scores", 3, True, 1, 18, 18, times=60.0)
    yield case("ragged, and all scores near -20,000", 2, False, 1, 5, 19, below=True)
    yield case("causal, FP16", 1, True, 1, 21, 21, 32, times=3.0, dtype=torch.float16)
    apart = {"q": "transposed", "k": "rows apart", "v": "transposed", "out": "transposed", "lse": "every second"}
    yield case("causal, tables that are not contiguous", 1, True, 2, 18, 18, layouts=apart)
    yield case("a few queries, 300 keys", 2, False, 1, 5, 300, 32)
    yield case("no keys at all", 1, False, 1, 5, 0)
    yield case("no keys at all, causal", 1, True, 1, 5, 0)


def case(
    name: str, seed: int, is_causal: bool, heads: int, queries: int, keys: int, dim: int = 16, *,
    times: float = 1.0, below: bool = False, dtype: torch.dtype = torch.float32, layouts=None,
) -> Case:  # fmt: skip
    q, k, v = (normal(seed + 10 * i, heads, rows, dim) for i, rows in enumerate((queries, keys, keys)))
    q = q * times
    if below:
        q, k = 70 + 0.03 * q, 0.03 * k - 4 * 280 / dim
    inputs = {"q": q.to(dtype), "k": k.to(dtype), "v": v.to(dtype), "is_causal": is_causal}
    return Case(name, inputs, {"out": torch.empty_like(inputs["q"]), "lse": torch.empty(heads, queries)}, layouts or {})


def large() -> Case:
    return case("16 heads, N = 1000, d = 64, causal, FP16", 1, True, 16, 1000, 1000, 64, dtype=torch.float16)


def rung(q: Tensor, k: Tensor, v: Tensor, is_causal: bool = True) -> Tensor:
    from kernels.flash.call import flash_attention

    return flash_attention(q[None], k[None], v[None], is_causal=is_causal)


def query_and_key(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers of the queries, upright, and those of the keys."""
    return torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])


def visible(q: Tensor, k: Tensor, is_causal: bool) -> Tensor:
    query, key = query_and_key(q, k)
    return (key <= query) if is_causal else (key >= 0).expand(len(query), -1)


def scores_of(q: Tensor, k: Tensor) -> Tensor:
    return widened(q) @ widened(k).mT / q.shape[-1] ** 0.5


def attention(scores: Tensor, v: Tensor, hidden: Tensor, alone: tuple[float, float] = (0.0, -INF)) -> Two:
    """alone: the output and the lse of a query that sees no key."""
    scores = scores.masked_fill(hidden, -INF)
    empty = hidden.expand_as(scores).all(-1)
    out = scores.softmax(-1).to(v.dtype) @ v
    return out.masked_fill(empty[..., None], alone[0]), scores.logsumexp(-1).masked_fill(empty, alone[1])


def flash(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
    return attention(scores_of(q, k), v, ~visible(q, k, is_causal))


def size(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
    """Values may cancel, and so may the products of a score."""
    products = scores_of(q.abs(), k.abs())
    largest = products.amax(-1) if products.shape[-1] else torch.zeros_like(products.sum(-1))
    return flash(q, k, v.abs(), is_causal)[0], largest


def reads_the_future(accesses: list[Access], case: Case) -> str:
    """A causal program may read no tile whose keys all lie behind the last of its queries, and none all keys."""
    if says := all_at_once(accesses, case):
        return says
    if not case.inputs["is_causal"] or case.layouts:
        return ""
    rows, dim = case.outputs["out"].shape[1:]
    last: dict[tuple, int] = {}
    for each in accesses:
        if each.table == "out" and each.kind == "writes" and (each.places >= 0).any():
            first = int(each.places[each.places >= 0].min()) // dim % rows
            row = first + each.places.size // dim - 1  # also of a block that is not full
            last[each.program] = max(row, last.get(each.program, 0))
    for each in accesses:
        if each.table in ("k", "v") and each.program in last and (each.places >= 0).any():
            first = int(each.places[each.places >= 0].min()) // dim % case.inputs["k"].shape[1]
            if first > last[each.program]:
                return (
                    f"the numbers are right, but {said(each.program)} reads a tile of {each.table} that begins at row "
                    f"{first}. Its block of queries ends at row {last[each.program]}, so none of them sees a key of "
                    "that tile: end the loop before it. Chapter 8, *Causal: half the tiles*, has the bounds"
                )
    return ""


# The mistakes: another mask, other scores in place of -inf, or keys that are padded or left out.


NAN = float("nan")
FIRST_TILE = NAN, NAN  # minus infinity minus minus infinity
NO_TILE = NAN, -INF  # 0 divided by 0


def hiding(hidden: Callable[[Tensor, Tensor, bool, Tensor, Tensor], Tensor], alone: tuple[float, float] = FIRST_TILE):
    """Attention under another mask, a function of the numbers of queries and keys, is_causal, q and k."""

    def form(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
        query, key = query_and_key(q, k)
        marks = hidden(query, key, is_causal, q, k) | torch.zeros(len(query), len(key), dtype=torch.bool)
        return attention(scores_of(q, k), v, marks, alone)

    return form


def causal_or(mask: Callable[[Tensor, Tensor], Tensor], alone: tuple[float, float] = FIRST_TILE):
    """Right unless is_causal, and then another mask."""

    def hidden(query, key, is_causal, q, k):
        return mask(query, key) if is_causal else key < 0

    return hiding(hidden, alone)


def bottom_right(query, key, is_causal, q, k):
    return (key > query + k.shape[-2] - q.shape[-2]) if is_causal else key < 0


def masked_to_zero(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
    """Hidden scores, within the tiles that are read, are 0 and not minus infinity."""
    query, key = query_and_key(q, k)
    scores = scores_of(q, k).masked_fill(~visible(q, k, is_causal), 0)
    unread = (key // BLOCK > query // BLOCK) & is_causal
    return attention(scores, v, unread | (key < 0))


def masked_to_zero_everywhere(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
    scores = scores_of(q, k).masked_fill(~visible(q, k, is_causal), 0)
    return attention(scores, v, torch.zeros_like(scores, dtype=torch.bool))


def mirrored(every_tile: bool, guarded: bool) -> Callable[..., Two]:
    """Of a query behind the first block the first tile is all hidden: minus infinity minus minus infinity."""

    def form(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
        if not is_causal:
            return flash(q, k, v, is_causal)
        query, key = query_and_key(q, k)
        hidden = (key < query) | ((key // BLOCK > query // BLOCK) & (not every_tile))
        out, lse = attention(scores_of(q, k), v, hidden)
        late = (query[:, 0] >= BLOCK) & (not guarded)
        return out.masked_fill(late[:, None], NAN), lse.masked_fill(late, NAN)

    return form


def padded(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
    """Places behind the last key count as keys of zeros."""
    more = -k.shape[-2] % BLOCK
    k, v = (torch.cat([x, x.new_zeros(*x.shape[:-2], more, x.shape[-1])], -2) for x in (k, v))
    return flash(q, k, v, is_causal)


def whole_blocks(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
    """The keys of the last block, which is not full, are missing."""
    kept = k.shape[-2] // BLOCK * BLOCK
    found = flash(q, k[..., :kept, :], v[..., :kept, :], is_causal)
    return found if kept else (found[0] / 0.0, found[1])


def last_rows_unwritten(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
    out, lse = flash(q, k, v, is_causal)
    late = torch.arange(q.shape[-2]) >= q.shape[-2] // BLOCK * BLOCK
    return out.masked_fill(late[:, None], torch.nan), lse.masked_fill(late, torch.nan)


def nothing_divided(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
    """Where nothing was seen, 0 is divided by 0; lse is right, or NaN."""
    out, lse = flash(q, k, v, is_causal)
    return out.masked_fill((lse == -INF)[..., None], torch.nan), lse


def nothing_is_zero(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
    out, lse = flash(q, k, v, is_causal)
    return out, lse.masked_fill(lse == -INF, 0.0)


def nothing_not_written(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
    out, lse = nothing_divided(q, k, v, is_causal)
    return out, lse.masked_fill(lse == -INF, torch.nan)


def from_zero(guarded: bool) -> Callable[..., Two]:
    """The maximum counts a 0 for the places behind the last key, or begins at 0.

    guarded: whether 1 is put in place of a sum of 0
    """

    def form(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
        scores = scores_of(q, k).float().masked_fill(~visible(q, k, is_causal), -INF)
        largest = scores.amax(-1, keepdim=True).clamp(min=0)
        powers = (scores - largest).exp()
        total = powers.sum(-1, keepdim=True)
        total = total.masked_fill(total == 0, 1.0) if guarded else total
        return (powers / total @ v.float()).to(q.dtype), (largest + total.log())[..., 0].to(q.dtype)

    return form


MISTAKES = (
    Mistake(
        "padding-counts",
        "In the last block, places without a key count as keys whose score is 0, and e⁰ is 1: their score has to be "
        "minus infinity.",
        ENDS,
        padded,
    ),
    Mistake(
        "last-keys-missing",
        "The keys of the last block, which is not full, are missing.",
        ENDS,
        whole_blocks,
    ),
    Mistake(
        "keys-end-with-queries",
        "As many keys are seen as there are queries: the end of the keys is seq_k, not seq_q.",
        ENDS,
        lambda q, k, v, is_causal: flash(q, k[..., : q.shape[-2], :], v[..., : q.shape[-2], :], is_causal),
    ),
    Mistake(
        "last-queries-missing",
        "The rows of the last block of queries, which is not full, are never written: round the number of blocks "
        "up, and mask the rows by the number of queries, not of keys.",
        ENDS,
        last_rows_unwritten,
    ),
    Mistake(
        "not-causal",
        "Every query sees all keys: the causal mask is missing.",
        CAUSAL,
        causal_or(lambda query, key: key < 0),
    ),
    Mistake(
        "always-causal",
        "The causal mask is there although is_causal is False.",
        MASKS,
        hiding(lambda query, key, is_causal, q, k: key > query),
    ),
    Mistake(
        "not-itself",
        "A query does not see the key of its own number, and it should: key <= query.",
        MASKS,
        causal_or(lambda query, key: key >= query),
    ),
    Mistake(
        "not-itself-guarded",
        "A query does not see the key of its own number, and it should: key <= query.",
        MASKS,
        causal_or(lambda query, key: key >= query, (0.0, -INF)),
    ),
    Mistake(
        "one-too-many",
        "A query sees one key too many, the one behind its own: key <= query.",
        MASKS,
        causal_or(lambda query, key: (key > query + 1) | (key // BLOCK > query // BLOCK)),
    ),
    Mistake(
        "one-too-many-in-all-tiles",
        "A query sees one key too many, the one behind its own: key <= query.",
        MASKS,
        causal_or(lambda query, key: key > query + 1),
    ),
    *(
        Mistake(
            f"mirrored{', every tile read' * every_tile}{', guarded' * guarded}",
            "The mask is mirrored: a query sees what comes after it, and not what came before.",
            MASKS,
            mirrored(every_tile, guarded),
        )
        for every_tile in (False, True)
        for guarded in (False, True)
    ),
    Mistake(
        "whole-diagonal-tile",
        "The tiles on the diagonal are not masked, so a query sees all keys of its own block, also those behind it.",
        CAUSAL,
        causal_or(lambda query, key: key // BLOCK > query // BLOCK),
    ),
    Mistake(
        "diagonal-tile-missing",
        "The loop ends before the tile on the diagonal: the keys of a query's own block are missing.",
        CAUSAL,
        causal_or(lambda query, key: key // BLOCK >= query // BLOCK, NO_TILE),
    ),
    Mistake(
        "diagonal-tile-missing-guarded",
        "The loop ends before the tile on the diagonal: the keys of a query's own block are missing.",
        CAUSAL,
        causal_or(lambda query, key: key // BLOCK >= query // BLOCK, (0.0, -INF)),
    ),
    Mistake(
        "block-numbers-forgotten",
        "The mask compares places within the tile, so every tile is masked like the first: compare the numbers of "
        "query and key, with the beginning of each block added.",
        CAUSAL,
        causal_or(lambda query, key: (key % BLOCK > query % BLOCK) | (key // BLOCK > query // BLOCK)),
    ),
    Mistake(
        "key-block-forgotten",
        "The mask counts the keys from the beginning of their block: add first to their places before you compare.",
        CAUSAL,
        causal_or(lambda query, key: (key % BLOCK > query) | (key // BLOCK > query // BLOCK)),
    ),
    Mistake(
        "query-block-forgotten",
        "The mask counts the queries from the beginning of their block: compare the numbers that they have among all.",
        CAUSAL,
        causal_or(lambda query, key: key > query % BLOCK),
    ),
    Mistake(
        "bottom-right",
        "The mask is aligned at the bottom right, so that the last query sees all keys. Here it is aligned at the top "
        "left, as PyTorch's is: query 0 sees key 0, whatever the lengths.",
        SDPA,
        hiding(bottom_right),
    ),
    Mistake(
        "bottom-right-within-tiles",
        "The mask is aligned at the bottom right, so that the last query sees all keys of its tiles. Here it is "
        "aligned at the top left, as PyTorch's is: query 0 sees key 0, whatever the lengths.",
        SDPA,
        hiding(lambda *given: bottom_right(*given) | (given[2] & (given[1] // BLOCK > given[0] // BLOCK))),
    ),
    Mistake(
        "hidden-is-zero",
        "A hidden score is set to 0, and e⁰ is 1: it has to be minus infinity.",
        MASKS,
        masked_to_zero,
    ),
    Mistake(
        "hidden-is-zero-everywhere",
        "A hidden score is set to 0, and e⁰ is 1: it has to be minus infinity.",
        MASKS,
        masked_to_zero_everywhere,
    ),
    Mistake(
        "not-rescaled",
        "Your sums are not rescaled when the maximum moves.",
        "online-softmax#use-the-maximum-so-far",
        lambda q, k, v, is_causal: not_rescaled(q, k, v, is_causal),
    ),
    Mistake(
        "maximum-from-zero",
        "The maximum is never below 0: it begins at 0, or the places behind the last key are hidden only after it was "
        "taken. Where all scores are far below 0, every exponential is 0, and 0 is divided by 0.",
        EMPTY,
        from_zero(False),
    ),
    Mistake(
        "maximum-from-zero-guarded",
        "The maximum is never below 0: it begins at 0, or the places behind the last key are hidden only after it was "
        "taken. Where all scores are far below 0, every exponential is 0, and the sum looks like that of nothing.",
        EMPTY,
        from_zero(True),
    ),
    Mistake("nothing-seen", "A query that has seen no key is 0 divided by 0, and 0 is wanted.", EMPTY, nothing_divided),
    Mistake(
        "lse-of-nothing",
        "The lse of a query that has seen no key is 0, and minus infinity is wanted.",
        EMPTY,
        nothing_is_zero,
    ),
    Mistake(
        "nothing-written",
        "Where there is no key nothing is written, and a query that sees no key gets 0 and the lse -inf.",
        EMPTY,
        nothing_not_written,
    ),
)


def not_rescaled(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
    scores = scores_of(q, k).masked_fill(~visible(q, k, is_causal), -INF)
    largest = torch.full_like(scores[..., 0], -INF) if k.shape[-2] else scores.sum(-1) - INF
    total, blend = torch.zeros_like(largest), torch.zeros_like(widened(q))
    for block, values in zip(scores.split(BLOCK, -1), v.split(BLOCK, -2), strict=True):
        largest = torch.maximum(largest, block.amax(-1)) if block.shape[-1] else largest
        powers = (block - largest[..., None]).exp()
        total, blend = total + powers.sum(-1), blend + powers @ widened(values)
    return blend / total[..., None], largest + total.log()


def programs_swapped(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Two:
    """There are as many heads as blocks of queries, and the other way round."""
    out, lse = flash(q, k, v, is_causal)
    heads, rows = lse.shape
    block, head = torch.arange(rows) // BLOCK, torch.arange(heads)[:, None]
    late = (head > block[-1]) | (block >= heads)
    return out.masked_fill(late[..., None], NAN), lse.masked_fill(late, NAN)


def unless_causal(form: Callable[..., Two]) -> Callable[..., Two]:
    """A mistake of the last lab, as it shows where there is no mask."""
    return lambda q, k, v, is_causal: flash(q, k, v, is_causal) if is_causal else form(q, k, v)


MISTAKES += (
    Mistake(
        "programs-swapped",
        "The two numbers of a program have changed places: tl.program_id(0) counts blocks of queries, and "
        "tl.program_id(1) heads.",
        STAY,
        programs_swapped,
    ),
)
NAMED = {mistake.name for mistake in MISTAKES}
MISTAKES += tuple(replace(each, form=unless_causal(each.form)) for each in OF_FULL_BLOCKS if each.name not in NAMED)

PARTS = (
    Part(
        "flash_forward", flash, cases, MISTAKES, size=size, steps=STEPS, look=reads_the_future,
        large=large, rung="scripts.labs.catalogue.causal_and_ragged.lab:rung",
    ),
)  # fmt: skip
