"""What a kernel reads and stores in Triton's interpreter, number by number: an address outside a table is refused.

A GPU would often let it pass, and the interpreter would read whatever lies there or crash.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from scripts.labs.formatting import pluralize
from scripts.labs.grading.gpu_rules import (
    DOT_ROUNDS,
    SUM_ROUNDS,
    fill_masked,
    no_rows_as_conditions,
    rounds_to_tf32,
    trace_products,
)
from scripts.labs.grading.guarded_tensor import GuardedTensor

# What the interpreter does to memory -> what is said of it, and which argument has the addresses, which the mask.
OPERATIONS = {
    "create_masked_load": ("reads", 0, 1),
    "create_masked_store": ("writes", 0, 2),
    "create_atomic_rmw": ("writes", 1, 3),
}


class OutOfBounds(Exception):
    """A kernel reads or writes outside a table; the message says which program does, and where.

    advice: a question that leads to the mistake
    """

    def __init__(self, message: str, kind: str = ""):
        super().__init__(message)
        self.advice = f"Has this tl.{'load' if kind == 'reads' else 'store'} a mask, and the right one?" if kind else ""


@dataclass(frozen=True)
class Access:
    """One load or store of one program.

    table: the argument that is accessed; "" for memory that the reader's function made itself
    places: how far behind the table's first number each lane's number lies, -1 where the mask is False
    size: bytes of a number
    atomic: whether it adds to what stands there
    filled: whether the mask hides some of it and no ``other`` says what stands there then: NaN, here
    """

    kind: str
    program: tuple[int, int, int]
    table: str
    places: np.ndarray
    size: int
    atomic: bool = False
    filled: bool = False


class AccessTracer:
    """While it is entered, follows every kernel that the interpreter runs.

    accesses: all loads and stores so far, in their order
    """

    def __init__(self, tables: list[GuardedTensor]):
        self.tables = {table.name: table for table in tables}
        self.inside = {name: ~each.outside_mask().cpu().numpy() for name, each in self.tables.items()}
        self.other_memory: list[tuple[int, int]] = []
        self.accesses: list[Access] = []
        self.rounding_fault = ""  # what would round to TF32 on a GPU
        self.programs = 0

    def __enter__(self) -> AccessTracer:
        from triton.runtime import interpreter

        builder, executor = interpreter.InterpreterBuilder, interpreter.GridExecutor
        self.originals = {(builder, name): getattr(builder, name) for name in OPERATIONS}
        self.originals[executor, "__call__"] = call = executor.__call__
        skip_overflow_checks(interpreter.interpreter_builder)
        for name, operation in OPERATIONS.items():
            setattr(builder, name, self.follow_operation(name, self.originals[builder, name], *operation))
        self.originals[builder, "set_grid_idx"] = begin = builder.set_grid_idx

        def traced_begin(builder, *index):
            self.programs += 1
            return begin(builder, *index)

        builder.set_grid_idx = traced_begin
        self.originals[builder, "create_dot"] = dot = builder.create_dot

        def traced_dot(builder, *arguments, **named):
            self.rounding_fault = DOT_ROUNDS if rounds_to_tf32(arguments) else self.rounding_fault
            return dot(builder, *arguments, **named)

        builder.create_dot = traced_dot
        for name, operation in trace_products(builder).items():
            self.originals[builder, name] = getattr(builder, name)
            setattr(builder, name, operation)
        reduce = interpreter.ReduceOps
        self.originals[reduce, "sum"] = add_up = reduce.sum

        def traced_sum(reduction, tile):
            self.rounding_fault = SUM_ROUNDS if getattr(tile.handle, "products", False) else self.rounding_fault
            return add_up(reduction, tile)

        reduce.sum = traced_sum
        self.originals[interpreter, "_patch_lang_tensor"] = patch = interpreter._patch_lang_tensor
        interpreter._patch_lang_tensor = no_rows_as_conditions(patch)

        def traced_call(executor, *arguments, **named):
            self.other_memory += [
                address_range(each) for each in (*arguments, *named.values()) if isinstance(each, Tensor)
            ]
            return call(executor, *arguments, **named)

        executor.__call__ = traced_call
        return self

    def follow_operation(self, name: str, operation: Callable, kind: str, pointers: int, mask: int) -> Callable:
        """The operation of the interpreter, once its addresses have been looked at."""

        def traced(builder, *arguments, **named):
            flags = {"atomic": "atomic" in name}
            addresses, mask_values = arguments[pointers], arguments[mask]
            if name == "create_masked_load":
                arguments, flags["filled"] = fill_masked(arguments)
            self.follow(kind, builder.grid_idx, addresses, mask_values, **flags)
            return operation(builder, *arguments, **named)

        return traced

    def __exit__(self, *error) -> None:
        for (owner, name), original in self.originals.items():
            setattr(owner, name, original)

    def follow(self, kind: str, program: tuple, pointers, mask, **flags: bool) -> None:
        """Notes what is accessed.

        Raises:
            OutOfBounds: if some of it lies in no table.
        """
        addresses = np.asarray(pointers.data).astype(np.int64)
        is_active = np.broadcast_to(np.asarray(mask.data, dtype=bool), addresses.shape)
        accessed = addresses[is_active]
        if not accessed.size:
            return
        name = next(
            (name for name, each in self.tables.items() if contains(address_range(each.buffer), accessed[0])), ""
        )
        if not name:
            if not any(low <= accessed.min() and accessed.max() < high for low, high in self.other_memory):
                raise OutOfBounds(f"{program_name(program)} {kind} far outside every table")
            self.accesses.append(Access(kind, tuple(program), "", np.where(is_active, addresses, -1), 0, **flags))
            return
        table = self.tables[name]
        size = table.tensor.element_size()
        places = (addresses - table.buffer.data_ptr()) // size
        inside = self.inside[name]
        clipped = places[is_active].clip(0, len(inside) - 1)
        wrong = ~inside[clipped] | (clipped != places[is_active])
        first = table.tensor.storage_offset()
        if wrong.any():
            outside = places[is_active][wrong] - first
            raise OutOfBounds(f"{program_name(program)} {kind} {describe_outside(name, table.tensor, outside)}", kind)
        self.accesses.append(Access(kind, tuple(program), name, np.where(is_active, places - first, -1), size, **flags))

    def has_stored(self) -> bool:
        return any(access.kind == "writes" for access in self.accesses)

    def read_none_of(self, inputs: Iterable[str]) -> bool:
        """Whether kernels have read something, but none of these tables."""
        read = {access.table for access in self.accesses if access.kind == "reads"}
        return bool(read) and not read & set(inputs)

    def describe_double_store(self, outputs: Iterable[str]) -> str:
        """Which number was stored by two programs, or twice at once by one; "" if none was."""
        for name in outputs:
            stores = [
                access
                for access in self.accesses
                if access.table == name and access.kind == "writes" and not access.atomic
            ]
            if not stores:
                continue
            places = [store.places[store.places >= 0].ravel() for store in stores]
            stored_places, counts = np.unique(np.concatenate(places), return_counts=True)
            for place in stored_places[counts > 1].tolist():
                index = f"{name}{last_index_before(self.tables[name].tensor, place)}"
                counts_by_program = [
                    (each.program, int((store_places == place).sum()))
                    for each, store_places in zip(stores, places, strict=True)
                ]
                programs = list(dict.fromkeys(program for program, count in counts_by_program if count))
                if len(programs) > 1:
                    return f"{program_name(programs[0])} and {program_name(programs[1])} both store {index}"
                if (largest_count := max(count for _, count in counts_by_program)) > 1:
                    return f"{program_name(programs[0])} stores {index} {largest_count} times at once"
        return ""


def skip_overflow_checks(builder) -> None:
    """Has the interpreter not look for overflow behind each sum and product of whole numbers: that is half its time."""
    if getattr(builder.options, "sanitize_overflow", False):
        builder.options = replace(builder.options, sanitize_overflow=False)


def address_range(tensor: Tensor) -> tuple[int, int]:
    """The first address of the memory that a tensor is part of, and the first behind it."""
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def contains(addresses: tuple[int, int], address: int) -> bool:
    return addresses[0] <= address < addresses[1]


def program_name(program: tuple) -> str:
    """Program 3, or program (3, 1) of a grid of more dimensions."""
    numbers = list(program)
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return f"program {numbers[0] if len(numbers) == 1 else tuple(numbers)}"


def describe_outside(name: str, tensor: Tensor, places: np.ndarray) -> str:
    """Which numbers that are none of a table's are accessed, and what it has."""
    if not tensor.numel():
        return f"{pluralize(places.size, 'number')} of {name}, which is empty"
    low, high = int(places.min()), int(places.max())
    if tensor.ndim == 1 and tensor.stride(0) == 1:
        accessed = f"{name}[{low}]" if low == high else f"{name}[{low}] to {name}[{high}]"
        extent = f"has {name}[0] alone" if len(tensor) == 1 else f"goes from {name}[0] to {name}[{len(tensor) - 1}]"
        return f"{accessed}, and {name} {extent}"
    place = int(places[0])
    last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    if place < 0:
        where = f"{pluralize(-place, 'number')} before its first one"
    elif place > last:
        where = f"{pluralize(place - last, 'number')} behind its last one"
    else:
        where = f"in the gap behind {name}[{', '.join(map(str, last_index_before(tensor, place)))}]"
    subject = f"{pluralize(places.size, 'number')} outside {name}" + (
        ": the first lies " if places.size > 1 else ": it lies "
    )
    return f"{subject}{where}. {name} has shape {list(tensor.shape)} and strides {list(tensor.stride())}"


def last_index_before(tensor: Tensor, place: int) -> list[int]:
    """The index of the last number of a table that lies before a place within it."""
    index, rest = [0] * tensor.ndim, place
    for dimension in sorted(range(tensor.ndim), key=tensor.stride, reverse=True):
        step = max(1, tensor.stride(dimension))
        index[dimension] = min(rest // step, tensor.shape[dimension] - 1)
        rest -= index[dimension] * step
    return index


def is_interpreted() -> bool:
    """Whether kernels run in Triton's interpreter: where there is no GPU, and where it is asked for."""
    return os.environ.get("TRITON_INTERPRET") == "1" or not torch.cuda.is_available()
