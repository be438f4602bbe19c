"""Causal masks and ragged ends: ends first, then the diagonal, then lengths that differ, and what may not be read."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.catalogue.access_checks import loads_whole_table
from scripts.labs.catalogue.causal_and_ragged.mistakes import MISTAKES
from scripts.labs.catalogue.causal_and_ragged.reference import error_scale, flash, roundings
from scripts.labs.grading.accesses import Access, program_name
from scripts.labs.lab import SEEDS, Case, Task, normal


def cases():
    yield case("full blocks, no mask", 1, False, 1, 16, 32)
    yield case("full blocks, no mask, large scores", 2, False, 1, 16, 16, factor=60.0)
    yield case("keys that end in a block", 1, False, 1, 16, 21)
    yield case("three heads, queries that end in a block", 2, False, 3, 19, 16)
    yield case("causal, three blocks of each", 1, True, 1, 48, 48)
    for seed in SEEDS[1:]:
        yield case(f"causal, two blocks that end early, seed {seed}", seed, True, seed - 1, 27, 27)
    yield case("causal, fewer queries than keys", 3, True, 1, 20, 36)
    yield case("causal, more queries than keys", 1, True, 1, 36, 20)
    yield case("a single query and a single key", 1, True, 1, 1, 1)
    yield case("a single query, causal, and many keys", 2, True, 1, 1, 33)
    yield case("causal, large scores", 3, True, 1, 18, 18, factor=60.0)
    yield case("ragged, and all scores near -20,000", 2, False, 1, 5, 19, negative_scores=True)
    yield case("causal, FP16", 1, True, 1, 21, 21, 32, factor=3.0, dtype=torch.float16)
    layouts = {"q": "transposed", "k": "rows apart", "v": "transposed", "out": "transposed", "lse": "every second"}
    yield case("causal, tables that are not contiguous", 1, True, 2, 18, 18, layouts=layouts)
    yield case("a few queries, 300 keys", 2, False, 1, 5, 300, 32)
    yield case("no keys at all", 1, False, 1, 5, 0)
    yield case("no keys at all, causal", 1, True, 1, 5, 0)


def case(
    name: str, seed: int, is_causal: bool, heads: int, queries: int, keys: int, dim: int = 16, *,
    factor: float = 1.0, negative_scores: bool = False, dtype: torch.dtype = torch.float32, layouts=None,
) -> Case:  # fmt: skip
    q, k, v = (normal(seed + 10 * i, heads, rows, dim) for i, rows in enumerate((queries, keys, keys)))
    q = q * factor
    if negative_scores:
        q, k = 70 + 0.03 * q, 0.03 * k - 4 * 280 / dim
    inputs = {"q": q.to(dtype), "k": k.to(dtype), "v": v.to(dtype), "is_causal": is_causal}
    return Case(name, inputs, {"out": torch.empty_like(inputs["q"]), "lse": torch.empty(heads, queries)}, layouts or {})


def gpu_case() -> Case:
    return case("16 heads, N = 1000, d = 64, causal, FP16", 1, True, 16, 1000, 1000, 64, dtype=torch.float16)


def handbook_kernel(q: Tensor, k: Tensor, v: Tensor, is_causal: bool = True) -> Tensor:
    from kernels.flash.attention import flash_attention

    return flash_attention(q[None], k[None], v[None], is_causal=is_causal)


def reads_the_future(accesses: list[Access], case: Case) -> str:
    """A causal program may read no tile whose keys all lie behind the last of its queries, and none all keys."""
    if fault := loads_whole_table(accesses, case):
        return fault
    if not case.inputs["is_causal"] or case.layouts:
        return ""
    rows, dim = case.outputs["out"].shape[1:]
    last_rows: dict[tuple, int] = {}
    for access in accesses:
        if access.table == "out" and access.kind == "writes" and (access.places >= 0).any():
            first = int(access.places[access.places >= 0].min()) // dim % rows
            row = first + access.places.size // dim - 1  # also of a block that is not full
            last_rows[access.program] = max(row, last_rows.get(access.program, 0))
    for each in accesses:
        if each.table in ("k", "v") and each.program in last_rows and (each.places >= 0).any():
            first = int(each.places[each.places >= 0].min()) // dim % case.inputs["k"].shape[1]
            if first > last_rows[each.program]:
                program = program_name(each.program)
                return (
                    f"the numbers are right, but {program} reads a tile of {each.table} that begins at row "
                    f"{first}. Its block of queries ends at row {last_rows[each.program]}, so none of them sees a key "
                    "of that tile: end the loop before it. Chapter 8, *Causal: half the tiles*, has the bounds"
                )
    return ""


TASKS = (
    Task(
        "flash_forward", flash, cases, MISTAKES, error_scale=error_scale, roundings=roundings,
        check_accesses=reads_the_future, gpu_case=gpu_case,
        timed_against="scripts.labs.catalogue.causal_and_ragged.lab:handbook_kernel",
    ),
)  # fmt: skip
