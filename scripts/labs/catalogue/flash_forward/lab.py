"""FlashAttention forward: one tile, then streams in which the maximum moves, then heads, and scores of every size."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.catalogue.access_checks import loads_whole_table
from scripts.labs.catalogue.flash_forward.mistakes import MISTAKES
from scripts.labs.catalogue.flash_forward.reference import BLOCK, error_scale, flash, roundings
from scripts.labs.lab import SEEDS, Case, Task, normal


def cases():
    yield case("one block of queries, one block of keys", 1, 1, 16, 16)
    yield case("one block of each, large scores", 2, 1, 16, 16, factor=60.0)
    for seed in SEEDS:
        yield case(f"two blocks of keys, seed {seed}", seed, 1, 16, 32)
    yield case("scores that grow from block to block", 1, 1, 16, 48, key_growth=3.0)
    yield case("three heads, two blocks of queries", 2, 3, 32, 32)
    yield case("d = 32", 3, 1, 16, 32, 32)
    yield case("large scores", 1, 1, 16, 48, factor=60.0)
    yield case("scores near -20,000", 2, 1, 16, 32, negative_scores=True)
    yield case("FP16", 3, 1, 16, 48, factor=3.0, dtype=torch.float16)
    layouts = {"q": "transposed", "k": "rows apart", "v": "transposed", "out": "rows apart", "lse": "every second"}
    yield case("tables that are not contiguous", 1, 2, 16, 32, layouts=layouts)
    yield case("304 keys", 2, 1, 16, 304)


def case(
    name: str, seed: int, heads: int, queries: int, keys: int, dim: int = 16, *, factor: float = 1.0,
    key_growth: float = 1.0, negative_scores: bool = False, dtype: torch.dtype = torch.float32, layouts=None,
) -> Case:  # fmt: skip
    q, k, v = (normal(seed + 10 * i, heads, rows, dim) for i, rows in enumerate((queries, keys, keys)))
    q, k = q * factor, k * key_growth ** (torch.arange(keys) // BLOCK)[:, None]
    if negative_scores:
        q, k = 70 + 0.03 * q, 0.03 * k - 4 * 280 / dim
    inputs = {"q": q.to(dtype), "k": k.to(dtype), "v": v.to(dtype)}
    return Case(name, inputs, {"out": torch.empty_like(inputs["q"]), "lse": torch.empty(heads, queries)}, layouts or {})


def gpu_case() -> Case:
    return case("16 heads, N = 1024, d = 64, FP16", 1, 16, 1024, 1024, 64, dtype=torch.float16)


def handbook_kernel(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    from kernels.flash.attention import flash_attention

    return flash_attention(q[None], k[None], v[None])


TASKS = (
    Task(
        "flash_forward", flash, cases, MISTAKES, error_scale=error_scale, roundings=roundings,
        check_accesses=loads_whole_table, gpu_case=gpu_case,
        timed_against="scripts.labs.catalogue.flash_forward.lab:handbook_kernel",
    ),
)  # fmt: skip
