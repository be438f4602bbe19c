"""One query a program, one key at a time: rows that are not full, large scores, and no key at all."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from scripts.labs.catalogue import headings
from scripts.labs.catalogue.roundings_from_scores import output_roundings
from scripts.labs.lab import SEEDS, Case, Mistake, Task, normal, widen

NAN = float("nan")
LARGEST_DIM = 256  # as the start file promises
LARGEST_SEQ_K = 512  # as the start file promises; more keys would take the interpreter too long


def cases():
    queries, keys = (
        torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]),
        torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
    )
    values = torch.tensor([[10.0, 0.0], [0.0, 10.0], [5.0, 5.0]])
    tables = torch.stack([queries, keys]), torch.stack([keys, queries]), torch.stack([values, values.flip(-1)])
    yield case("three words, two heads", *tables)
    for seed in SEEDS:
        yield random_case(seed, 2, 2, 3, 16)
    yield random_case(1, 1, 2, 4, 16)
    yield random_case(2, 2, 3, 1, 16)
    yield random_case(3, 1, 2, 3, 20)
    yield random_case(1, 1, 2, 6, 1)
    yield random_case(2, 2, 2, 3, 12, layouts={"k": "transposed", "v": "rows apart", "q": "every second"})
    yield random_case(3, 2, 2, 3, 12, layouts={"out": "rows apart", "v": "transposed"})
    yield random_case(1, 1, 2, 5, 16, factor=300, name="large scores, ")
    q, k, v = (normal(i, 1, n, 16) for i, n in ((1, 2), (2, 5), (3, 5)))
    yield case("all scores far below 0", q.abs() * 20, -k.abs() * 20, v)
    yield case("all scores below -20,000", q.abs() * 1000, -k.abs() * 20, v)
    q, k, v = (normal(i, 2, n, 16, dtype=torch.float16) for i, n in ((1, 2), (2, 6), (3, 6)))
    q[..., 0] = k[..., 0] = 16
    yield case("FP16, all scores near 64", q, k, v)
    yield random_case(3, 2, 2, 0, 16)
    yield random_case(1, 1, 1, 3, 200)
    yield random_case(2, 1, 1, 3, LARGEST_DIM)
    yield random_case(1, 1, 1, LARGEST_SEQ_K, 2)


def case(name: str, q: Tensor, k: Tensor, v: Tensor, layouts: dict[str, str] | None = None) -> Case:
    return Case(name, {"q": q, "k": k, "v": v}, {"out": torch.empty_like(q)}, layouts=layouts or {})


def random_case(
    seed: int,
    heads: int,
    queries: int,
    keys: int,
    d: int,
    layouts: dict[str, str] | None = None,
    factor: float = 1.0,
    dtype: torch.dtype = torch.float32,
    name: str = "",
) -> Case:
    q = normal(seed, heads, queries, d, dtype=dtype) * factor
    k, v = (normal(10 * seed + i, heads, keys, d, dtype=dtype) for i in (1, 2))
    how_many_keys = "no keys" if not keys else "1 key" if keys == 1 else f"{keys} keys"
    return case(f"{name}{how_many_keys}, d = {d}, seed {seed}", q, k, v, layouts)


def gpu_case() -> Case:
    return random_case(1, 16, 512, 512, 128)


def handbook_kernel(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The handbook's kernel, which takes sequences as well, on a table without them."""
    from kernels.first.one_key import one_key_attention

    return one_key_attention(q[None], k[None], v[None])[0]


def scores_of(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.mT / math.sqrt(q.shape[-1])


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = torch.softmax(scores_of(widen(q), widen(k)), -1)
    return (weights @ widen(v)).to(q.dtype)


def roundings(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return output_roundings(scores_of(q, k), scores_of(q.abs(), k.abs()), 8)


def weighted_values(exponentials: Tensor, v: Tensor) -> Tensor:
    return exponentials / exponentials.sum(-1, keepdim=True) @ v


def padded(q: Tensor, k: Tensor, v: Tensor, fill: float) -> Tensor:
    """The places of the row behind the last key hold ``fill``."""
    keys = k.shape[-2]
    row = 1 << max(0, keys - 1).bit_length()
    scores = torch.nn.functional.pad(scores_of(q, k), (0, row - keys), value=fill)
    return torch.softmax(scores, -1)[..., :keys] @ v


def without_maximum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return weighted_values(scores_of(q.float(), k.float()).exp(), v.float()).double()


def maximum_from_zero(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The maximum starts at 0, in FP32: where all scores lie far below, nothing is left."""
    scores = scores_of(q.float(), k.float())
    return weighted_values((scores - scores.amax(-1, keepdim=True).clamp(min=0)).exp(), v.float()).double()


def no_sum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = scores_of(q, k)
    return (scores - scores.amax(-1, keepdim=True)).exp() @ v if k.shape[-2] else torch.zeros_like(q)


def only_written_where(where: Callable) -> Callable:
    """Written where ``where`` says so of heads and queries, and nowhere else."""

    def implementation(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        head, query = torch.arange(q.shape[0])[:, None, None], torch.arange(q.shape[1])[:, None]
        return attention(q, k, v).masked_fill(~where(head, query), NAN)

    return implementation


MISTAKES = (
    Mistake(
        "no-scale",
        "The scores are not divided by √d.",
        headings.SCALE,
        lambda q, k, v: attention(q * q.shape[-1] ** 0.5, k, v),
    ),
    Mistake(
        "scaled-twice",
        "The scores are divided by d, and √d is wanted: the scale is already in, or taken twice.",
        headings.SCALE,
        lambda q, k, v: attention(q / q.shape[-1] ** 0.5, k, v),
    ),
    Mistake(
        "divided-by-scale",
        "The scores are divided by scale, which is 1/√d already: multiply.",
        headings.SCALE,
        lambda q, k, v: attention(q * q.shape[-1], k, v),
    ),
    Mistake(
        "scores-padded-by-little",
        "The row of scores holds about -10,000 where there is no key, and scores may lie below that: it has to begin "
        "as -inf.",
        headings.ONE_HEAD,
        lambda q, k, v: padded(q, k, v, -1e4),
    ),
    Mistake(
        "scores-padded-by-zero",
        "The row of scores holds 0 where there is no key, and e to the power of 0 is 1: it has to begin as -inf.",
        headings.ONE_HEAD,
        lambda q, k, v: padded(q, k, v, 0.0),
    ),
    Mistake("no-sum", "The powers are not divided by their sum.", headings.SOFTMAX, no_sum),
    Mistake(
        "keys-blended",
        "The shares blend the keys: the second loop has to read v, with the strides of v.",
        headings.ONE_HEAD,
        lambda q, k, v: attention(q, k, k),
    ),
    Mistake(
        "first-key-only",
        "Only the first key and value are read: the number of the key times k_row_stride is missing, or the loop.",
        headings.ONE_HEAD,
        lambda q, k, v: v[:, :1].expand_as(q) if v.shape[1] else torch.zeros_like(q),
    ),
    Mistake(
        "one-key-again-and-again",
        "Every score is that of the first key: the number of the key times k_row_stride is missing.",
        headings.ONE_HEAD,
        lambda q, k, v: v.mean(1, keepdim=True).expand_as(q) if v.shape[1] else torch.zeros_like(q),
    ),
    Mistake(
        "last-key-missing",
        "The last key is left out: of seq_k keys the last has number seq_k - 1, and range(seq_k) ends there.",
        headings.ONE_HEAD,
        lambda q, k, v: attention(q, k[:, :-1], v[:, :-1]),
    ),
    Mistake(
        "first-query-repeated",
        "Every program has the first query of its head: q_row_stride times the number of the query is missing.",
        headings.LIBRARY_KERNEL,
        lambda q, k, v: attention(q[:, :1].expand_as(q), k, v),
    ),
    Mistake(
        "queries-of-first-head",
        "Every head has the queries of the first one: q_head_stride times the number of the head is missing.",
        headings.LIBRARY_KERNEL,
        lambda q, k, v: attention(q[:1].expand_as(q), k, v),
    ),
    Mistake(
        "keys-of-first-head",
        "Every head has the keys of the first one: k_head_stride times the number of the head is missing.",
        headings.LIBRARY_KERNEL,
        lambda q, k, v: attention(q, k[:1].expand_as(k), v),
    ),
    Mistake(
        "values-of-first-head",
        "Every head has the values of the first one: v_head_stride times the number of the head is missing.",
        headings.LIBRARY_KERNEL,
        lambda q, k, v: attention(q, k, v[:1].expand_as(v)),
    ),
    Mistake(
        "first-head-only",
        "Only the first head is written: out_head_stride times the head is missing, or too few programs run.",
        headings.LIBRARY_KERNEL,
        only_written_where(lambda head, query: (head == 0) & (query >= 0)),
    ),
    Mistake(
        "one-row-only",
        "Only one row is written: every program has to find out by tl.program_id(0) which query is its own.",
        headings.LIBRARY_KERNEL,
        only_written_where(lambda head, query: (head == 0) & (query == 0)),
    ),
    Mistake(
        "without-maximum",
        "The maximum is not taken off first: e to the power of a large score is infinite in FP32, and of one far below "
        "0 it is 0.",
        headings.OVERFLOW,
        without_maximum,
    ),
    Mistake(
        "maximum-from-zero",
        "The maximum of a row is never below 0: what pads the row, or what the maximum starts from, has to be -inf.",
        headings.ONE_HEAD,
        maximum_from_zero,
    ),
    Mistake(
        "maximum-from-zero-and-no-sum",
        "The maximum of a row is never below 0, so that where all scores lie far below it every power is 0: it has to "
        "start from -inf.",
        headings.ONE_HEAD,
        lambda q, k, v: maximum_from_zero(q, k, v).nan_to_num(nan=0.0),
    ),
    Mistake(
        "no-key",
        "Without a key the sum of the powers is 0, and 0 divided by 0 is not a number: take care of that row.",
        headings.ONE_HEAD,
        lambda q, k, v: attention(q, k, v) if k.shape[1] else torch.full_like(q, NAN),
    ),
)

TASKS = (
    Task(
        "attention",
        attention,
        cases,
        MISTAKES,
        roundings=roundings,
        gpu_case=gpu_case,
        timed_against="scripts.labs.catalogue.one_key.lab:handbook_kernel",
    ),
)
