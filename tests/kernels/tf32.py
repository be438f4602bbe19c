"""TF32 allowed for a while: PyTorch's setting, and what it was before."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def tf32_allowed(setting: str = "fp32_precision", value: str | bool = "tf32") -> Iterator[None]:
    """In ``torch.backends.cuda.matmul``, whose settings are no attributes that pytest's monkeypatch could put back."""
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    setattr(matmul, setting, value)
    try:
        yield
    finally:
        matmul.fp32_precision = before
