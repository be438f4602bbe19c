"""Blocks of keys: a full block first, then several, then ends that are ragged, scores that are large, and strides."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.catalogue.access_checks import loads_whole_table
from scripts.labs.catalogue.key_blocks.mistakes import MISTAKES
from scripts.labs.catalogue.key_blocks.reference import BLOCK, attention, error_scale, roundings
from scripts.labs.grading.accesses import Access
from scripts.labs.lab import SEEDS, Case, Task, normal


def cases():
    yield case("one full block of keys", 1, 3, BLOCK)
    for seed in SEEDS:
        yield case(f"two full blocks, seed {seed}", seed, 2, 2 * BLOCK)
    for seed in SEEDS:
        yield case(f"a last block of one key, seed {seed}", seed, 2, BLOCK + 1)
    yield case("a last block of eight keys", 1, 2, 2 * BLOCK + 8, 32)
    yield Case("worked by hand in chapter 6", by_hand(), {"out": torch.empty(3, 2)})
    yield case("a single key", 2, 1, 1)
    yield case("large scores", 3, 3, BLOCK + 3, factor=100.0)
    yield case("scores near -20,000", 3, 2, BLOCK + 3, negative_scores=True)
    yield case("FP16 tables, and arithmetic in FP32", 2, 2, BLOCK + 5, 64, factor=8.0, dtype=torch.float16)
    layouts = {"q": "transposed", "k": "rows apart", "v": "transposed", "out": "every second"}
    yield case("tables that are not contiguous", 1, 3, BLOCK + 2, layouts=layouts)
    yield case("300 keys, d = 32", 2, 2, 300, 32)


def case(
    name: str, seed: int, queries: int, keys: int, dim: int = 16, *,
    factor: float = 1.0, negative_scores: bool = False, dtype=torch.float32, layouts=None,
) -> Case:  # fmt: skip
    q, k, v = normal(seed, queries, dim), normal(seed + 10, keys, dim), normal(seed + 20, keys, dim)
    q = q * factor
    if negative_scores:
        q, k = 70 + 0.03 * q, 0.03 * k - 4 * 280 / dim
    inputs = {"q": q.to(dtype), "k": k.to(dtype), "v": v.to(dtype)}
    return Case(name, inputs, {"out": torch.empty_like(inputs["q"])}, layouts or {})


def by_hand() -> dict[str, Tensor]:
    q = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    k = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    return {"q": q, "k": k, "v": torch.tensor([[10.0, 0.0], [0.0, 10.0], [5.0, 5.0]])}


def gpu_case() -> Case:
    return case("2048 queries, 2048 keys, d = 64, FP16", 1, 2048, 2048, 64, dtype=torch.float16)


def handbook_kernel(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    from kernels.first.key_blocks import key_blocks_attention

    return key_blocks_attention(*(each[None, None] for each in (q, k, v)))


def one_key_at_a_time(accesses: list[Access], case: Case) -> str:
    """The task is to bring many keys by one load, but not all of them."""
    for name in ("k", "v"):
        table = case.inputs[name]
        lanes = [(access.places >= 0).sum() for access in accesses if access.table == name]
        if lanes and len(table) > 1 and max(lanes) <= table.shape[1]:
            rows = "key" if name == "k" else "value row"
            return (
                f"every load of {name} brings a single {rows}: the numbers are right, but the task is to load a block"
            )
    return loads_whole_table(accesses, case)


TASKS = (
    Task(
        "attention", attention, cases, MISTAKES, error_scale=error_scale, roundings=roundings,
        check_accesses=one_key_at_a_time, gpu_case=gpu_case,
        timed_against="scripts.labs.catalogue.key_blocks.lab:handbook_kernel",
    ),
)  # fmt: skip
