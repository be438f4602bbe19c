"""Attention with a mask: worked by hand first, then causal, then filled up, then queries that see nothing."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from scripts.labs.lab import SEEDS, Case, Mistake, Part, normal, widened

MASKS = "many-heads#masks-who-may-look-at-whom"
SHARES = "three-matmuls#softmax-turns-a-row-into-shares"
ROOT = "three-matmuls#why-the-scores-are-divided-by-d"
GRID = "three-matmuls#every-query-meets-every-key"
BLEND = "three-matmuls#the-output-is-a-blend-of-the-values"
INF = float("inf")
FILLING = 30.0  # numbers behind a sequence's last word are this many times as large, so that they show

QUERIES = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
KEYS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
VALUES = torch.tensor([[10.0, 0.0], [0.0, 10.0], [5.0, 5.0]])


def cases():
    yield by_hand("the three words of chapter 1", False, 3)
    for seed in SEEDS:
        yield case(seed, 5, 7)
    yield by_hand("the three words of chapter 1, causal", True, 3)
    for seed in SEEDS:
        for queries, keys in ((6, 6), (4, 9), (9, 4), (1, 5)):
            yield case(seed, queries, keys, causal=True)
    yield by_hand("the three words of chapter 1, of which only the first is no filling", False, 1)
    for seed in SEEDS:
        yield case(seed, 4, 7, lengths=(7, 4, 1))
        yield case(seed, 7, 7, causal=True, lengths=(2, 7, 4))
    yield case(1, 4, 7, lengths=(3, 0, 7))
    yield case(2, 5, 5, causal=True, lengths=(0, 5, 1))
    yield case(3, 6, 8, causal=True, lengths=(8, 3, 0), factor=100)
    yield case(1, 4, 6, causal=True, lengths=(6, 2, 0), dtype=torch.float16)


def by_hand(name: str, causal: bool, length: int) -> Case:
    tables = {"q": QUERIES[None, None], "k": KEYS[None, None], "v": VALUES[None, None]}
    return Case(name, tables | {"causal": causal, "key_lengths": torch.tensor([length])})


def case(
    seed: int,
    queries: int,
    keys: int,
    causal: bool = False,
    lengths: tuple[int, ...] = (),
    factor: float = 1.0,
    dtype: torch.dtype = torch.float32,
) -> Case:
    """Three sequences of two heads; what is filling holds large numbers."""
    lengths = torch.tensor(lengths or (keys,) * 3)
    q = normal(seed, 3, 2, queries, 8, dtype=dtype) * factor
    k, v = (normal(10 * seed + i, 3, 2, keys, 8, dtype=dtype) for i in (1, 2))
    filling = torch.arange(keys) >= lengths[:, None]
    k, v = (torch.where(filling[:, None, :, None], x * FILLING, x) for x in (k, v))
    name = f"{queries} queries, {keys} keys, " + ("causal, " if causal else "")
    name += f"of which {', '.join(map(str, lengths.tolist()))} are words, " if (lengths < keys).any() else ""
    name += "large scores, " if factor > 1 else ""
    tables = {"q": q, "k": k, "v": v, "causal": causal, "key_lengths": lengths}
    return Case(f"{name}seed {seed}", tables, layouts={"k": "transposed", "v": "rows apart"})


def seen(q: Tensor, k: Tensor, causal: bool, key_lengths: Tensor) -> Tensor:
    """Of each query and key whether the one may see the other: [batch, 1, N_q, N_k]."""
    keys = torch.arange(k.shape[-2])
    real = keys < key_lengths[:, None, None, None]
    return real & (~causal_hidden(q, k) if causal else True)


def causal_hidden(q: Tensor, k: Tensor, later: int = 0) -> Tensor:
    """Of each query i and key j whether j > i + later."""
    return torch.arange(k.shape[-2]) > torch.arange(q.shape[-2])[:, None] + later


def blended(q: Tensor, k: Tensor, v: Tensor, sees: Tensor, nothing: float = 0.0, **how) -> Tensor:
    """Attention where ``sees`` is True.

    nothing: what a share is where no key is seen
    """
    weights = torch.softmax(scored(q, k, **how).masked_fill(~sees, -INF), -1).nan_to_num(nan=nothing)
    return weights.to(v.dtype) @ v


def scored(q: Tensor, k: Tensor, divisor: float | None = None) -> Tensor:
    scores = widened(q) @ widened(k).mT
    return scores / (q.shape[-1] ** 0.5 if divisor is None else divisor)


def attention(q, k, v, causal, key_lengths) -> Tensor:
    return (blended(widened(q), widened(k), widened(v), seen(q, k, causal, key_lengths))).to(q.dtype)


def plain(q, k, v, causal, key_lengths) -> Tensor:
    """The three lines as they are typed, each of which rounds to the dtype of q: the baseline."""
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~seen(q, k, causal, key_lengths), -INF)
    return torch.softmax(scores, -1).nan_to_num(nan=0.0) @ v


def over_columns(q, k, v, causal, key_lengths) -> Tensor:
    scores = scored(q, k).masked_fill(~seen(q, k, causal, key_lengths), -INF)
    return torch.softmax(scores, -2).nan_to_num(nan=0.0) @ v


def masked_late(q, k, v, causal, key_lengths) -> Tensor:
    return (torch.softmax(scored(q, k), -1) * seen(q, k, causal, key_lengths)) @ v


def times_mask(q, k, v, causal, key_lengths) -> Tensor:
    return torch.softmax(scored(q, k) * seen(q, k, causal, key_lengths), -1) @ v


def far_below(q, k, v, causal, key_lengths) -> Tensor:
    """A large negative number in place of -inf."""
    return torch.softmax(scored(q, k).masked_fill(~seen(q, k, causal, key_lengths), -1e9), -1) @ v


def unread_filling(q, k, v, causal, key_lengths) -> Tensor:
    return blended(q, k, v, seen(q, k, causal, torch.full_like(key_lengths, k.shape[-2])))


def filling_is_queries(q, k, v, causal, key_lengths) -> Tensor:
    """The lengths hide queries, not keys."""
    hidden = torch.arange(q.shape[-2]) >= key_lengths[:, None, None]
    return unread_filling(q, k, v, causal, key_lengths).masked_fill(hidden[..., None], 0.0)


def reshaped_keys(q, k, v, causal, key_lengths) -> Tensor:
    """Kᵀ by a change of shape."""
    return blended(q, k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]).mT, v, seen(q, k, causal, key_lengths))


def overflowing(q, k, v, causal, key_lengths) -> Tensor:
    """A softmax by hand, in FP32, which does not take the maximum off."""
    powers = scored(q.float(), k.float()).masked_fill(~seen(q, k, causal, key_lengths), -INF).exp()
    weights = powers / powers.sum(-1, keepdim=True)
    return (weights.masked_fill(powers.sum(-1, keepdim=True) == 0, 0.0) @ v.float()).double()


def with_causal(hidden: Callable) -> Callable:
    """The form whose causal mask hides other keys, and nothing else is changed.

    hidden: of q and k, True where a key is hidden
    """

    def form(q, k, v, causal, key_lengths) -> Tensor:
        sees = seen(q, k, False, key_lengths)
        return blended(q, k, v, sees & ~hidden(q, k) if causal else sees)

    return form


def with_lengths(changed: Callable) -> Callable:
    """The form whose lengths are others."""
    return lambda q, k, v, causal, key_lengths: blended(q, k, v, seen(q, k, causal, changed(key_lengths, k)))


def with_scores(**how) -> Callable:
    return lambda q, k, v, causal, key_lengths: blended(q, k, v, seen(q, k, causal, key_lengths), **how)


MISTAKES = (
    Mistake(
        "no-scale",
        "The scores are not divided by √d.",
        ROOT,
        with_scores(divisor=1.0),
    ),
    Mistake(
        "scale-is-d",
        "The scores are divided by d, and √d is wanted.",
        ROOT,
        lambda q, k, v, causal, key_lengths: with_scores(divisor=float(q.shape[-1]))(q, k, v, causal, key_lengths),
    ),
    Mistake(
        "scale-multiplied",
        "The scores are multiplied by √d, and they are to be divided by it.",
        ROOT,
        lambda q, k, v, causal, key_lengths: with_scores(divisor=q.shape[-1] ** -0.5)(q, k, v, causal, key_lengths),
    ),
    Mistake(
        "shares-divided",
        "The shares are divided by √d, and not the scores: that comes before softmax.",
        ROOT,
        lambda q, k, v, causal, key_lengths: (
            with_scores(divisor=1.0)(q, k, v, causal, key_lengths) / q.shape[-1] ** 0.5
        ),
    ),
    Mistake(
        "all-heads-wide",
        "The scores are divided by the root of the width of all heads: d is the width of one, q.shape[-1].",
        ROOT,
        lambda q, k, v, causal, key_lengths: with_scores(divisor=(q.shape[1] * q.shape[-1]) ** 0.5)(
            q, k, v, causal, key_lengths
        ),
    ),
    Mistake(
        "columns",
        "Softmax runs down the columns: a row belongs to the word that asks, so it is dim=-1.",
        SHARES,
        over_columns,
    ),
    Mistake(
        "no-softmax",
        "The scores themselves are used as shares: softmax is missing.",
        SHARES,
        lambda q, k, v, causal, key_lengths: scored(q, k).masked_fill(~seen(q, k, causal, key_lengths), 0.0) @ v,
    ),
    Mistake(
        "keys-reshaped",
        "The table of keys got another shape without being turned: Kᵀ exchanges two axes, as .mT or .transpose(-2, -1) "
        "do, and .view or .reshape do not.",
        GRID,
        reshaped_keys,
    ),
    Mistake(
        "keys-blended",
        "The shares blend the keys, and the values are wanted.",
        BLEND,
        lambda q, k, v, causal, key_lengths: attention(q, k, k, causal, key_lengths),
    ),
    Mistake(
        "not-causal",
        "The causal mask does nothing: each query sees the keys that come after it.",
        MASKS,
        with_causal(lambda q, k: torch.zeros(q.shape[-2], k.shape[-2], dtype=torch.bool)),
    ),
    Mistake(
        "always-causal",
        "The causal mask is there even when causal is False.",
        MASKS,
        lambda q, k, v, causal, key_lengths: attention(q, k, v, True, key_lengths),
    ),
    Mistake(
        "upside-down",
        "The causal mask is upside down: a query sees the keys after it, and not those before.",
        MASKS,
        with_causal(lambda q, k: torch.arange(k.shape[-2]) < torch.arange(q.shape[-2])[:, None]),
    ),
    Mistake(
        "inverted",
        "The causal mask hides what may be seen, and shows what may not: in which of the two is it True?",
        MASKS,
        with_causal(lambda q, k: ~causal_hidden(q, k)),
    ),
    Mistake(
        "not-itself",
        "Query i does not see key i: the causal mask hides the diagonal as well.",
        MASKS,
        with_causal(lambda q, k: causal_hidden(q, k, -1)),
    ),
    Mistake(
        "one-too-far",
        "Query i sees key i + 1 as well: the causal mask begins one place too late.",
        MASKS,
        with_causal(lambda q, k: causal_hidden(q, k, 1)),
    ),
    Mistake(
        "from-the-end",
        "The causal mask is aligned at the last query and the last key. Here query i sees keys 0 to i, however many "
        "keys there are.",
        MASKS,
        with_causal(lambda q, k: causal_hidden(q, k, k.shape[-2] - q.shape[-2])),
    ),
    Mistake(
        "late-mask",
        "The shares are set to 0 after softmax, so those that are left no longer add up to 1: hide the scores.",
        MASKS,
        masked_late,
    ),
    Mistake(
        "zero-scores",
        "A hidden score becomes 0, and e to the power of 0 is 1: it has to become -inf.",
        MASKS,
        times_mask,
    ),
    Mistake(
        "filling-seen",
        "key_lengths is not used: the filling behind a sequence's last word is seen as if it were words.",
        MASKS,
        unread_filling,
    ),
    Mistake(
        "filling-of-queries",
        "key_lengths hides rows, which are queries. Filling is keys, so it hides columns.",
        MASKS,
        filling_is_queries,
    ),
    Mistake(
        "one-length-for-all",
        "Every sequence has the length of the first one: key_lengths has one for each.",
        MASKS,
        with_lengths(lambda lengths, k: lengths[:1].expand_as(lengths)),
    ),
    Mistake(
        "one-key-too-many",
        "One key too many is seen: of n words the last has number n - 1.",
        MASKS,
        with_lengths(lambda lengths, k: lengths + 1),
    ),
    Mistake(
        "one-key-too-few",
        "The last word of each sequence is hidden: of n words the last has number n - 1.",
        MASKS,
        with_lengths(lambda lengths, k: lengths - 1),
    ),
    Mistake(
        "hidden-row",
        "A query that sees no key comes to NaN, 0 divided by 0: its shares have to become 0.",
        MASKS,
        with_scores(nothing=float("nan")),
    ),
    Mistake(
        "large-negative",
        "A hidden score becomes a large negative number and not -inf. A query that sees no key then shares itself out "
        "equally among all that is hidden.",
        MASKS,
        far_below,
    ),
    Mistake(
        "overflow",
        "A softmax by hand, and the maximum is not taken off first: e to the power of a large score is infinite.",
        "online-softmax#what-overflows",
        overflowing,
    ),
    Mistake(
        "values-alone",
        "These are the rows of v: no share has touched them.",
        BLEND,
        lambda q, k, v, causal, key_lengths: v if v.shape == q.shape else torch.zeros_like(q),
    ),
)

PARTS = (Part("attention", plain, cases, MISTAKES),)
