"""Sheet 13: PyTorch adds the two numbers."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from scripts.chapters.demo import DEVICE
from scripts.chapters.example.worked import NUMBERS

SNIPPET = "example_run"


def lines() -> Iterator[str]:
    yield f"{NUMBERS[0]} and {NUMBERS[1]} make {torch.tensor(NUMBERS, device=DEVICE).sum().item()}."
