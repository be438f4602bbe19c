"""Attention with a mask: worked by hand first, then causal, then filled up, then queries that see nothing."""

from __future__ import annotations

import torch

from scripts.labs.catalogue.three_matmuls.mistakes import MISTAKES
from scripts.labs.catalogue.three_matmuls.reference import three_lines
from scripts.labs.lab import SEEDS, Case, Task, normal

PADDING = 30.0  # numbers behind a sequence's last word are this many times as large, so that they show

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
    padding = torch.arange(keys) >= lengths[:, None]
    k, v = (torch.where(padding[:, None, :, None], x * PADDING, x) for x in (k, v))
    name = f"{queries} queries, {keys} keys, " + ("causal, " if causal else "")
    name += f"of which {', '.join(map(str, lengths.tolist()))} are words, " if (lengths < keys).any() else ""
    name += "large scores, " if factor > 1 else ""
    tables = {"q": q, "k": k, "v": v, "causal": causal, "key_lengths": lengths}
    return Case(f"{name}seed {seed}", tables, layouts={"k": "transposed", "v": "rows apart"})


TASKS = (Task("attention", three_lines, cases, MISTAKES),)
