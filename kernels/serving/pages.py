"""Names what a paged cache is made of, and checks what a caller hands to it.

    page_table  [batch, pages_per_sequence]     sequence, position // page_size -> page

The pages of a sequence may be anywhere; -1 follows the last of them.  Every check runs on the
host, on lists of numbers, so none of them waits for a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kernels.checks import sparse_or_nested
from kernels.formats.block import (
    FP8,
    LARGEST_SCALE,
    NVFP4,
    SMALLEST_SCALE,
)

STORAGE_DTYPES = {
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp8": torch.uint8,
    "nvfp4": torch.uint8,
}


SCHEMES = {"fp8": FP8, "nvfp4": NVFP4}


def _as_ints(name: str, numbers: Sequence[int]) -> list[int]:
    if not isinstance(numbers, Sequence):
        raise TypeError(f"{name} is {type(numbers).__name__}, a list of ints is wanted")
    for number in numbers:
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"{name} has {number!r}, ints are wanted")
    return list(numbers)


def _check_int(name: str, number: int, minimum: int) -> None:
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"{name} is {type(number).__name__}, an int is wanted")
    if number < minimum:
        raise ValueError(f"{name} is {number}, at least {minimum} is wanted")


def _check_scale(name: str, scale: float, format: str) -> None:
    if not isinstance(scale, int | float) or isinstance(scale, bool):
        raise TypeError(f"{name} is {type(scale).__name__}, a Python number is wanted")
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise ValueError(f"{name} is {scale}, a number from 2^-117 to 2^117 is wanted")
    if format not in SCHEMES and scale != 1:
        raise ValueError(f"{name} is {scale}, format {format} has none: 1.0 is wanted")


def _pages_by_sequence(page_table: Tensor) -> list[list[int]]:
    """Returns the pages of each sequence, checked, without the -1 behind them."""
    if not isinstance(page_table, Tensor):
        raise TypeError(f"page_table is {type(page_table).__name__}, a tensor is wanted")
    if sparse_or_nested(page_table):
        raise TypeError(f"page_table is {sparse_or_nested(page_table)}")
    if page_table.is_meta:
        raise TypeError("page_table is on meta, a tensor with numbers is wanted")
    if page_table.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"page_table is {page_table.dtype}, int32 or int64 is wanted")
    if page_table.ndim != 2:
        raise ValueError(
            f"page_table has {page_table.ndim} dimensions, "
            "[batch, pages_per_sequence] is wanted"
        )
    table = page_table.tolist()
    used_pages = set()
    for sequence, row in enumerate(table):
        while row and row[-1] == -1:
            row.pop()
        for page in row:
            if page < 0:
                raise ValueError(
                    f"page_table has {page} among the pages of sequence {sequence}: "
                    "pages from 0, then only -1, are wanted"
                )
            if page in used_pages:
                raise ValueError(f"page_table has page {page} twice")
            used_pages.add(page)
    return table


def _upload(numbers: list[int], device: torch.device) -> Tensor:
    """Returns the numbers as int32 on the device; pinned memory, so the copy doesn't wait."""
    on_gpu = device.type == "cuda"
    return torch.tensor(numbers, dtype=torch.int32, pin_memory=on_gpu).to(
        device, non_blocking=True
    )
