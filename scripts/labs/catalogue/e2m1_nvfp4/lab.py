"""E2M1 and NVFP4: every mark and every tie, blocks of zeros, blocks too small for a scale, negative outliers."""

from __future__ import annotations

import torch
from torch import Tensor

from scripts.labs.catalogue.e2m1_nvfp4 import reference
from scripts.labs.catalogue.e2m1_nvfp4.mistakes import DECODE_MISTAKES, ENCODE_MISTAKES, PACK_MISTAKES
from scripts.labs.catalogue.e2m1_nvfp4.mistakes_of_blocks import DEQUANTIZE_MISTAKES, QUANTIZE_MISTAKES
from scripts.labs.lab import SEEDS, Case, Task, generator, normal

# The block of chapter 10, with its five ties moved a little to where they go: a GPU divides by 6 inexactly.
BY_HAND = [4.5, -2.25, 0, 0.93, 1.32, 3.7, 0.18, -0.57, 1, -0.1, 2, 0.3, -4.4, 3, -1.5, 0.75]


def encode_cases():
    magnitudes, ties = torch.tensor(reference.MAGNITUDES), torch.tensor(reference.midpoints())
    yield Case("the eight marks", {"x": magnitudes})
    yield Case("the marks below 0", {"x": -magnitudes[1:]})
    yield Case("numbers between", {"x": torch.tensor([0.1, 0.3, 0.6, 0.9, 1.2, 1.4, 1.6, 2.2, 2.7, 3.4, 4.9, 5.1])})
    yield Case("between, below 0", {"x": torch.tensor([-0.3, -1.2, -2.7, -3.4, -4.9, -5.1])})
    yield Case("the seven ties", {"x": ties})
    infinity = torch.full_like(ties, torch.inf)
    beside = torch.stack([ties.nextafter(-infinity), ties.nextafter(infinity)])
    yield Case("next to the ties", {"x": beside}, layouts={"x": "transposed"})
    yield Case("beyond the last mark", {"x": torch.tensor([6.5, 8.0, 100.0, 3e38, -7.0, -1e30])})
    yield Case("small and below 0", {"x": torch.tensor([-0.1, -0.25, -1e-30])})
    yield Case("0 and -0", {"x": torch.tensor([0.0, -0.0])})
    for seed in SEEDS:
        yield Case(f"5 rows of 7, seed {seed}", {"x": normal(seed, 5, 7) * 3}, layouts={"x": "every second"})
    yield Case("no numbers", {"x": torch.zeros(0)})


def decode_cases():
    yield Case("all sixteen", {"codes": torch.arange(16, dtype=torch.uint8)})
    yield Case("2 rows of 3", {"codes": random_codes(1, 2, 3)}, layouts={"codes": "transposed"})


def pack_cases():
    yield Case("the first four by hand", {"codes": torch.tensor([7, 13, 0, 2], dtype=torch.uint8)})
    for seed in SEEDS:
        yield Case(f"3 rows of 10, seed {seed}", {"codes": random_codes(seed, 3, 10)}, layouts={"codes": "rows apart"})
    yield Case("2 by 2 rows of 6", {"codes": random_codes(1, 2, 2, 6)}, layouts={"codes": "every second"})


def random_codes(seed: int, *shape: int) -> Tensor:
    return torch.randint(0, 16, shape, generator=generator(seed), dtype=torch.uint8)


def named_tables() -> dict[str, Tensor]:
    """Name -> table.  In the first the tensor's scale is 0.5 and the first block is that of chapter 10."""
    outlier_block = torch.zeros(1, 16)
    outlier_block[0, 3] = 1344.0
    tiny_block = torch.cat([normal(1, 1, 16) * 1e-6, normal(2, 1, 16) * 10], -1)
    by_name = {"the block by hand": torch.cat([torch.tensor([BY_HAND]), outlier_block], -1)}
    by_name |= {f"3 rows of 32, seed {seed}": normal(seed, 3, 32) for seed in SEEDS}
    outlier = normal(3, 2, 32)
    outlier[:, 5] = -45.0
    by_name["a loud channel, below 0"] = outlier
    by_name["numbers of 10³⁰"] = normal(2, 1, 32) * 1e30
    by_name["numbers of 10⁻³⁰"] = normal(1, 1, 32) * 1e-30
    by_name["a block of zeros"] = torch.cat([torch.zeros(1, 16), normal(3, 1, 16)], -1)
    by_name["all zeros"] = torch.zeros(2, 16)
    by_name["a block too small for its scale"] = tiny_block
    by_name["the same in numbers of 10⁹"] = tiny_block * 1e8  # 0 only after a division by the tensor's scale
    return by_name


def quantize_cases():
    for name, table in named_tables().items():
        yield Case(name, {"x": table}, layouts={"x": "transposed"} if name.endswith("seed 2") else {})


def dequantize_cases():
    for name, table in named_tables().items():
        packed, scales, tensor_scale = reference.quantize(table)
        yield Case(name, {"packed": packed, "scales": scales, "tensor_scale": tensor_scale})


def no_common_scale(**inputs) -> Tensor:
    """An error is measured by the number itself, however large its neighbours are."""
    return torch.zeros(())


TASKS = (
    Task("encode", reference.encode, encode_cases, ENCODE_MISTAKES, exact=True),
    Task("decode", reference.decode, decode_cases, DECODE_MISTAKES, exact=True),
    Task("pack", reference.pack, pack_cases, PACK_MISTAKES, exact=True),
    Task(
        "quantize",
        reference.quantize,
        quantize_cases,
        QUANTIZE_MISTAKES,
        error_scale=no_common_scale,
        results=("packed", "scales", "tensor_scale"),
    ),
    Task(
        "dequantize",
        reference.dequantize,
        dequantize_cases,
        DEQUANTIZE_MISTAKES,
        error_scale=no_common_scale,
        signed=True,
    ),
)
