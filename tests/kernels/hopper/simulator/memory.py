"""Memory of a GPU: tiles and barriers in shared memory, tensors as TMA sees them, pointers, and products under way."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import torch
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from tests.kernels.hopper.simulator.numbers import Block, Scalar, block
from tests.kernels.hopper.simulator.threads import Race, Threads


class Tile:
    """Shared memory: a view of a tensor, NaN before it is written.

    What a thread stores is there for wgmma and TMA after its next fence; until then they would find NaN.
    """

    def __init__(self, memory: torch.Tensor, threads: Threads):
        self.memory, self.threads = memory, threads
        self.shape, self.dtype = list(memory.shape), memory.dtype
        self.type = SimpleNamespace(layout=None)

    def index(self, i) -> "Tile":
        return Tile(self.memory[int(i)], self.threads)

    def reshape(self, shape) -> "Tile":
        return Tile(self.memory.view(shape), self.threads)

    def permute(self, order) -> "Tile":
        return Tile(self.memory.permute(order), self.threads)

    def slice(self, start, length, dim=0) -> "Tile":
        return Tile(self.memory.narrow(dim, int(start), int(length)), self.threads)

    def _reinterpret(self, dtype, shape, layout) -> "Tile":
        return Tile(self.memory.view(-1).view(dtype).view(shape), self.threads)

    def load(self, layout=None) -> Block:
        return block(self.memory.clone())

    def store(self, numbers) -> None:
        self.threads.current_worker.unfenced.append((self.memory, numbers.reshape(self.memory.shape)))
        self.memory.fill_(torch.nan)

    def watch(self) -> Callable[[], None]:
        """Raises a Race if the tile has changed since."""
        copy = self.memory.clone()

        def check() -> None:
            integer_dtype = {2: torch.int16, 4: torch.int32}[self.dtype.itemsize]
            if not torch.equal(*(x.contiguous().view(integer_dtype) for x in (copy, self.memory))):
                raise Race("a tile changed while it was read")

        return check


class Barrier:
    """An mbarrier: a phase ends when all have arrived and all bytes have come."""

    def __init__(self, threads: Threads):
        self.threads, self.count, self.arrivals_left, self.bytes, self.phase = threads, None, None, 0, 0

    def init(self, count: int) -> None:
        self.count = self.arrivals_left = count

    def change(self, arrivals: int = 0, bytes: int = 0) -> None:
        self.arrivals_left -= arrivals
        self.bytes += bytes
        if self.arrivals_left < 0:
            raise Race("more arrivals than a phase has")
        if self.arrivals_left == self.bytes == 0:
            self.arrivals_left, self.phase = self.count, self.phase + 1

    def wait(self, bit) -> None:
        """Returns once the phase of that bit has ended, which is all that the GPU knows of it."""
        bit = int(bit)
        self.threads.pause(lambda: (self.phase - 1) & 1 == bit)


class Barriers:
    """As many as are allocated at a time."""

    def __init__(self, threads: Threads, count: int):
        self.all = [Barrier(threads) for _ in range(count)]

    def index(self, i) -> Barrier:
        return self.all[int(i)]


class TmaTensor:
    """A tensor as TMA sees it: outside it all is 0, and nothing is written there."""

    def __init__(self, descriptor: TensorDescriptor):
        self.tensor = descriptor.base.as_strided(descriptor.shape, descriptor.strides)
        self.dtype, self.layout = self.tensor.dtype, None
        nbytes = self.dtype.itemsize * torch.Size(descriptor.block_shape).numel()
        self.block_type = SimpleNamespace(shape=descriptor.block_shape, nbytes=nbytes)

    def overlap(self, coordinates) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """What a tile and the tensor have in common: where it lies in the tile, and in the tensor."""
        in_tile, in_tensor = [], []
        for begin, tile, size in zip(map(int, coordinates), self.block_type.shape, self.tensor.shape, strict=True):
            first = min(max(0, begin), size)
            last = max(first, min(size, begin + tile))
            in_tile.append(slice(first - begin, last - begin) if last > first else slice(0, 0))
            in_tensor.append(slice(first, last))
        return tuple(in_tile), tuple(in_tensor)


class PendingStore:
    """A copy out of shared memory: its tile is read at some time, and later what was read is written."""

    def __init__(self, tensor: TmaTensor, coordinates, tile: Tile, adding: bool):
        self.tensor, self.overlap, self.adding = tensor, tensor.overlap(coordinates), adding
        self.tile, self.check = tile, tile.watch()
        self.is_read = self.is_written = False

    def begin(self, threads: Threads) -> None:
        threads.begin(partial(self.read, threads))

    def read(self, threads: Threads) -> None:
        self.check()
        self.numbers, self.is_read = self.tile.memory[self.overlap[0]].clone(), True
        threads.begin(self.write)

    def write(self) -> None:
        destination = self.tensor.tensor[self.overlap[1]]
        destination.copy_(self.numbers + destination if self.adding else self.numbers)
        self.is_written = True


class Pointer:
    """A place in global memory, or one for each number of a block."""

    def __init__(self, tensor: torch.Tensor, offset=0):
        self.tensor, self.offset = tensor, offset

    def __add__(self, offset) -> "Pointer":
        return Pointer(self.tensor, self.offset + offset)

    def load(self):
        numbers = self.tensor.view(-1)[self.offset]
        return block(numbers) if isinstance(self.offset, torch.Tensor) else Scalar(numbers)

    def store(self, numbers, mask) -> None:
        self.tensor.view(-1)[self.offset[mask]] = numbers[mask].to(self.tensor.dtype)

    def add(self, number) -> Scalar:
        """And what stood there before."""
        previous = self.load()
        self.tensor.view(-1)[self.offset] += number
        return previous


class Product:
    """What wgmma has started.  It may read its tiles at any time until it is waited for, and is no number before."""

    def __init__(self, left, right, total, use_acc: bool):
        self.operands, self.total, self.use_acc, self.value = (left, right), total, use_acc, None
        self.checks = [x.watch() for x in self.operands if isinstance(x, Tile)]

    def __getattr__(self, name):
        raise Race(f"{name} of a product that was not waited for")

    def finish(self) -> None:
        for check in self.checks:
            check()
        left, right = ((x.load() if isinstance(x, Tile) else x).float() for x in self.operands)
        self.value = left @ right + (value_of(self.total) if self.use_acc else 0)


def value_of(x):
    """A number, or what a product came to."""
    if not isinstance(x, Product):
        return x
    if x.value is None:
        raise Race("the result of a product that was not waited for")
    return x.value
