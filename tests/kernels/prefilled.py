"""Memory that was never written to holds NaN: what a kernel forgets to write, or reads too early, shows."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def prefilled_with_nan() -> Iterator[None]:
    """``torch.empty`` and its kin return NaN, or the largest integer, until the end of the block."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    fill = torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        torch.utils.deterministic.fill_uninitialized_memory = fill
