"""Tensors inside larger buffers: NaN around what may be read and in what must be written, looked at afterwards."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

LAYOUTS = ("contiguous", "transposed", "rows apart", "every second")
MIN_PADDING = 1024  # numbers before and behind each table, at least
UNWRITTEN = {torch.float64: 0x7FF8_0000_0000_BEEF, torch.float32: 0x7FC0_BEEF, torch.float16: 0x7EBE}
UNWRITTEN |= {torch.bfloat16: 0x7FBE}
BITS = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}


@dataclass(frozen=True)
class GuardedTensor:
    """A tensor inside a buffer.

    initial_bits: the bits of the whole buffer, as it was handed over
    """

    name: str
    tensor: Tensor
    buffer: Tensor
    initial_bits: Tensor

    def outside_mask(self) -> Tensor:
        """Of each number of the buffer whether it lies outside the tensor."""
        marks = torch.ones_like(self.buffer, dtype=torch.bool)
        marks.as_strided(self.tensor.shape, self.tensor.stride(), self.tensor.storage_offset()).fill_(False)
        return marks

    def changed_mask(self) -> Tensor:
        """Of each number of the buffer whether its bits are no longer what they were."""
        return bits(self.buffer) != self.initial_bits

    def first_written_outside(self) -> int | None:
        """How far behind the table's first number something was written that is none of its numbers."""
        places = (self.changed_mask() & self.outside_mask()).nonzero()
        return None if not len(places) else int(places[0]) - self.tensor.storage_offset()

    def unwritten_mask(self) -> Tensor:
        """Of each number of the tensor whether it still is what an output is filled with."""
        if self.tensor.dtype not in UNWRITTEN:  # every whole number could be a result
            return torch.zeros_like(self.tensor, dtype=torch.bool)
        return bits(self.tensor) == UNWRITTEN[self.tensor.dtype]


def bits(tensor: Tensor) -> Tensor:
    return tensor.view(BITS[tensor.element_size()]).clone()


def strides(shape: torch.Size, layout: str) -> list[int]:
    """How many numbers to step over for the next index of each dimension."""
    order = list(range(len(shape)))
    if layout == "transposed" and len(shape) > 1:
        order[-2:] = order[:-3:-1]
    steps, step = [0] * len(shape), 2 if layout == "every second" else 1
    for place in reversed(order):
        steps[place] = step
        step *= max(1, shape[place])
        if layout == "rows apart" and place == order[-1]:
            step += 3
    return steps


def guard(name: str, tensor: Tensor, layout: str = "contiguous", device: str = "cpu") -> GuardedTensor:
    """A copy of the tensor, on that device, in a buffer that holds NaN, or the whole number -1, everywhere else."""
    if layout not in LAYOUTS:
        raise ValueError(f"layout is {layout!r}, one of {', '.join(LAYOUTS)} is wanted")
    stride = strides(tensor.shape, layout)
    length = (
        1 + sum((size - 1) * step for size, step in zip(tensor.shape, stride, strict=True)) if tensor.numel() else 0
    )
    padding_size = max(MIN_PADDING, length)
    fill = {torch.bool: False, torch.uint8: 255}.get(tensor.dtype, float("nan") if tensor.is_floating_point() else -1)
    buffer = torch.full((length + 2 * padding_size,), fill, dtype=tensor.dtype)
    buffer.as_strided(tensor.shape, stride, padding_size).copy_(tensor)
    buffer = buffer.to(device)
    return GuardedTensor(name, buffer.as_strided(tensor.shape, stride, padding_size), buffer, bits(buffer))


def guard_output(name: str, like: Tensor, layout: str = "contiguous", device: str = "cpu") -> GuardedTensor:
    """An output that nobody has written to: NaN of bits that no arithmetic makes."""
    output = guard(name, torch.zeros_like(like), layout, device)
    if like.dtype in UNWRITTEN:
        output.tensor.view(BITS[like.element_size()]).fill_(UNWRITTEN[like.dtype])
    return GuardedTensor(name, output.tensor, output.buffer, bits(output.buffer))
