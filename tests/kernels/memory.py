"""What an interpreted kernel reads beside its tensors, and whether a GPU has room for a large one."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from triton.runtime import interpreter

ON_CPU = pytest.mark.skipif(torch.cuda.is_available(), reason="the interpreter runs only where there is no GPU")


def room_for(gigabytes: float) -> None:
    """Skips the test where the GPU has less free memory than that."""
    free = torch.cuda.mem_get_info()[0] / 1e9
    if free < gigabytes:
        pytest.skip(f"needs {gigabytes} GB of a GPU's memory, {free:.1f} GB are free")


def between_zeros(x: torch.Tensor) -> torch.Tensor:
    """The same numbers, with as many zeros before them and behind them in memory."""
    room = torch.cat([torch.zeros_like(x).flatten(), x.flatten(), torch.zeros_like(x).flatten()])
    return room[x.numel() : 2 * x.numel()].view(x.shape)


@contextmanager
def accesses() -> Iterator[list[tuple[str, np.ndarray]]]:
    """What interpreted kernels do with memory, access by access: "load" or "store", and the addresses."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("load", "store"):
            # store(pointers, value, mask, …), load(pointers, mask, …)
            original_method = getattr(interpreter.InterpreterBuilder, f"create_masked_{kind}")
            mask_index = int(kind == "store")

            def record_access(self, pointers, *rest, kind=kind, original_method=original_method, mask_index=mask_index):
                seen.append((kind, np.asarray(pointers.data)[np.asarray(rest[mask_index].data)]))
                return original_method(self, pointers, *rest)

            patch.setattr(interpreter.InterpreterBuilder, f"create_masked_{kind}", record_access)
        yield seen


@contextmanager
def recorded_reads() -> Iterator[list[np.ndarray]]:
    """The addresses from which interpreted kernels read, load by load."""
    addresses = []
    with accesses() as seen:
        yield addresses
        addresses += [read_from for kind, read_from in seen if kind == "load"]


def reads_outside(addresses: list[np.ndarray], x: torch.Tensor) -> int:
    """How many of them lie beside a tensor that ``between_zeros`` made; there must be some that lie in it."""
    read, size = np.concatenate(addresses), x.numel() * x.element_size()
    from_start = read.astype(np.int64) - x.data_ptr()
    assert ((from_start >= 0) & (from_start < size)).any()
    return int((((-size <= from_start) & (from_start < 0)) | ((size <= from_start) & (from_start < 2 * size))).sum())
