"""What a kernel reads and stores in Triton's interpreter, number by number: an address outside a table is refused.

A GPU would often let it pass, and the interpreter would read whatever lies there or crash.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from scripts.labs.guarded import Guarded

# What the interpreter does to memory -> what is said of it, and which argument has the addresses, which the mask.
OPERATIONS = {
    "create_masked_load": ("reads", 0, 1),
    "create_masked_store": ("writes", 0, 2),
    "create_atomic_rmw": ("writes", 1, 3),
}


class Outside(Exception):
    """A kernel reads or writes outside a table; the message says which program does, and where."""


@dataclass(frozen=True)
class Access:
    """One load or store of one program.

    table: the argument that is touched; "" for memory that the reader's function made itself
    places: how far behind the table's first number each lane's number lies, -1 where the mask is False
    size: bytes of a number
    """

    kind: str
    program: tuple[int, int, int]
    table: str
    places: np.ndarray
    size: int


class Watch:
    """While it is entered, follows every kernel that the interpreter runs.

    accesses: all loads and stores so far, in their order
    """

    def __init__(self, tables: list[Guarded]):
        self.tables = {each.name: each for each in tables}
        self.inside = {name: ~each.outside().cpu().numpy() for name, each in self.tables.items()}
        self.others: list[tuple[int, int]] = []
        self.accesses: list[Access] = []

    def __enter__(self) -> Watch:
        from triton.runtime import interpreter

        builder, executor = interpreter.InterpreterBuilder, interpreter.GridExecutor
        self.were = {(builder, name): getattr(builder, name) for name in OPERATIONS}
        self.were[executor, "__call__"] = call = executor.__call__
        unchecked(interpreter.interpreter_builder)
        for name, operation in OPERATIONS.items():
            setattr(builder, name, self.followed(self.were[builder, name], *operation))

        def watched_call(executor, *arguments, **named):
            self.others += [span(each) for each in (*arguments, *named.values()) if isinstance(each, Tensor)]
            return call(executor, *arguments, **named)

        executor.__call__ = watched_call
        return self

    def followed(self, operation: Callable, kind: str, pointers: int, mask: int) -> Callable:
        """The operation of the interpreter, once its addresses have been looked at."""

        def watched(builder, *arguments, **named):
            self.follow(kind, builder.grid_idx, arguments[pointers], arguments[mask])
            return operation(builder, *arguments, **named)

        return watched

    def __exit__(self, *error) -> None:
        for (owner, name), was in self.were.items():
            setattr(owner, name, was)

    def follow(self, kind: str, program: tuple, pointers, mask) -> None:
        """Notes what is touched.

        Raises:
            Outside: if some of it lies in no table.
        """
        addresses = np.asarray(pointers.data).astype(np.int64)
        where = np.broadcast_to(np.asarray(mask.data, dtype=bool), addresses.shape)
        touched = addresses[where]
        if not touched.size:
            return
        name = next((name for name, each in self.tables.items() if holds(span(each.buffer), touched[0])), "")
        if not name:
            if not any(low <= touched.min() and touched.max() < high for low, high in self.others):
                raise Outside(f"{said(program)} {kind} far outside every table")
            self.accesses.append(Access(kind, tuple(program), "", np.where(where, addresses, -1), 0))
            return
        table = self.tables[name]
        size = table.tensor.element_size()
        places = (addresses - table.buffer.data_ptr()) // size
        inside = self.inside[name]
        clipped = places[where].clip(0, len(inside) - 1)
        wrong = ~inside[clipped] | (clipped != places[where])
        first = table.tensor.storage_offset()
        if wrong.any():
            place = int(places[where][wrong][0]) - first
            raise Outside(
                f"{said(program)} {kind} {int(wrong.sum())} places outside {name}: the first lies "
                f"{abs(place)} numbers {'behind' if place >= 0 else 'before'} its first number, "
                f"and it has {described(table.tensor)}"
            )
        self.accesses.append(Access(kind, tuple(program), name, np.where(where, places - first, -1), size))

    def stored(self) -> bool:
        return any(access.kind == "writes" for access in self.accesses)


def unchecked(builder) -> None:
    """Has the interpreter not look for overflow behind each sum and product of whole numbers: that is half its time."""
    if getattr(builder.options, "sanitize_overflow", False):
        builder.options = replace(builder.options, sanitize_overflow=False)


def span(tensor: Tensor) -> tuple[int, int]:
    """The first address of the memory that a tensor is part of, and the first behind it."""
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def holds(around: tuple[int, int], address: int) -> bool:
    return around[0] <= address < around[1]


def said(program: tuple) -> str:
    """Program 3, or program (3, 1) of a grid of more dimensions."""
    numbers = list(program)
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return f"program {numbers[0] if len(numbers) == 1 else tuple(numbers)}"


def described(tensor: Tensor) -> str:
    if tensor.ndim == 1 and tensor.stride(0) == 1:
        return f"{len(tensor)} numbers"
    return f"shape {list(tensor.shape)} and strides {list(tensor.stride())}"


def interpreted() -> bool:
    """Whether kernels run in Triton's interpreter: where there is no GPU."""
    return not torch.cuda.is_available()
