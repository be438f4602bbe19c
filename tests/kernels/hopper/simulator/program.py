"""What the names that a kernel imports mean in one program of a grid.

A kernel that uses another name of Gluon's, or PTX of its own, gets the meaning of that here.
"""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import torch

from tests.kernels.hopper.simulator.memory import (
    Barrier,
    Barriers,
    PendingStore,
    Pointer,
    Product,
    Tile,
    TmaTensor,
    value_of,
)
from tests.kernels.hopper.simulator.numbers import Scalar, block, floor_divide, maximum, minimum, scalars, where
from tests.kernels.hopper.simulator.threads import Threads


class Program:
    """program_id: its number in a grid of so many programs

    ``functions``: what it has its warps do, once its kernel has been called.
    """

    def __init__(self, program_id: int, programs: int, threads: Threads):
        self.program_id, self.programs, self.threads = Scalar(program_id), Scalar(programs), threads
        self.functions: list[Callable[[], None]] = []

    def names(self) -> dict:
        """By the names that the kernels' modules have for them."""
        mbarrier = SimpleNamespace(
            init=lambda barrier, count: barrier.init(count), MBarrierLayout=lambda: Barrier,
            wait=lambda barrier, bit: barrier.wait(bit), arrive=self.arrive,
            expect=lambda barrier, bytes: barrier.change(arrivals=1, bytes=bytes),
        )  # fmt: skip
        tma = SimpleNamespace(
            async_copy_global_to_shared=self.fetch, async_copy_shared_to_global=self.store, store_wait=self.store_wait
        )
        return {
            "gl": self.language(), "mbarrier": mbarrier, "tma": tma, "range": scalars,
            "warpgroup_mma": self.multiply, "warpgroup_mma_wait": self.wait_for_products,
            "warpgroup_mma_init": lambda x: x, "fence_async_shared": self.fence,
            # In place of functions of the kernels that are PTX: a mistake in their bodies is not seen.
            "rescale_rows": lambda accumulator, factor: accumulator * factor, "pin": lambda x: x,
            "async_add": partial(self.store, adding=True), "read_acquired": self.read_acquired, 
            "release_semaphore": self.release_semaphore,
        }  # fmt: skip

    def language(self) -> SimpleNamespace:
        return SimpleNamespace(
            float16=torch.float16, bfloat16=torch.bfloat16, float32=torch.float32, int32=torch.int32, int64=torch.int64,
            constexpr=None, NVMMADistributedLayout=ignore, NVMMASharedLayout=ignore, DotOperandLayout=ignore,
            SliceLayout=ignore,
            allocate_shared_memory=self.allocate, program_id=lambda axis: self.program_id,
            num_programs=lambda axis: self.programs, warp_specialize=self.specialize, to_tensor=Scalar,
            static_range=range, static_assert=check_assert, where=where, minimum=minimum, maximum=maximum,
            cdiv=lambda x, y: floor_divide(x + y - 1, y),
            zeros=lambda shape, dtype, layout: block(torch.zeros(shape, dtype=dtype)),
            full=lambda shape, value, dtype, layout: block(torch.full(shape, value, dtype=dtype)),
            arange=lambda begin, end, layout=None: block(torch.arange(begin, end)),
            max=lambda x, axis: torch.where(x.isnan(), -torch.inf, x).amax(axis), sum=torch.sum,
            exp2=torch.exp2, log2=torch.log2, convert_layout=lambda x, layout, assert_trivial=False: x,
            split=lambda x: x.unbind(-1), join=lambda x, y: torch.stack([x, y], -1), zeros_like=torch.zeros_like,
            expand_dims=lambda x, axis: x.unsqueeze(axis),
            load=Pointer.load, store=Pointer.store, atomic_add=lambda pointer, x, sem, scope: pointer.add(x),
        )  # fmt: skip

    def allocate(self, dtype, shape, layout):
        if layout is Barrier:
            return Barriers(self.threads, shape[0])
        return Tile(torch.full(shape, torch.nan, dtype=dtype), self.threads)

    def specialize(self, functions, warps, registers) -> None:
        assert len(functions) == len(warps) + 1 == len(registers) + 1
        self.functions = [partial(function, *arguments) for function, arguments in functions]

    # TMA.

    def fetch(self, tensor: TmaTensor, coordinates, barrier: Barrier, tile: Tile) -> None:
        in_tile, in_tensor = tensor.overlap(coordinates)

        def copy() -> None:
            tile.memory.zero_()
            tile.memory[in_tile] = tensor.tensor[in_tensor]
            barrier.change(bytes=-tensor.block_type.nbytes)

        self.threads.begin(copy)
        self.threads.pause()

    def store(self, tensor: TmaTensor, coordinates, tile: Tile, adding: bool = False) -> None:
        pending = PendingStore(tensor, coordinates, tile, adding)
        self.threads.current_worker.pending_stores.append(pending)
        pending.begin(self.threads)
        self.threads.pause()

    def store_wait(self, allowed_pending: int) -> None:
        """Waits until all but the last ``allowed_pending`` copies of this thread have read their tiles."""
        pending = self.threads.current_worker.pending_stores
        earlier = pending[: max(0, len(pending) - allowed_pending)]
        self.threads.pause(lambda: all(copy.is_read for copy in earlier))

    def fence(self) -> None:
        """Lets wgmma and TMA see what this thread has stored to shared memory."""
        if self.threads.current_worker:  # no thread has stored anything before they run
            for memory, numbers in self.threads.current_worker.unfenced:
                memory.copy_(numbers)
            self.threads.current_worker.unfenced.clear()

    # Barriers, and counters in global memory.

    def arrive(self, barrier: Barrier, count: int) -> None:
        barrier.change(arrivals=count)
        self.threads.pause()

    def read_acquired(self, counter: Pointer) -> Scalar:
        """Reads a counter; a second read waits until the counter has changed, so that polling ends."""
        polled, address = self.threads.current_worker.polled, int(counter.offset)
        last = polled.get(address)
        self.threads.pause(lambda: counter.load() != last)
        polled[address] = counter.load()
        return polled[address]

    def release_semaphore(self, semaphore: Pointer) -> None:
        """Adds one, once all that this thread has stored is in global memory."""
        pending = [*self.threads.current_worker.pending_stores]
        self.threads.pause(lambda: all(copy.is_written for copy in pending))
        semaphore.add(1)

    # wgmma.

    def multiply(self, left, right, total, use_acc: bool = True, is_async: bool = False) -> Product:
        assert is_async
        product = Product(left, right, total, use_acc)
        self.threads.current_worker.products.append(product)
        return product

    def wait_for_products(self, allowed_pending: int, deps: tuple):
        """Waits until all but the last ``allowed_pending`` products of this thread have ended."""
        self.threads.pause()
        products = self.threads.current_worker.products
        while len(products) > allowed_pending:
            products.pop(0).finish()
        values = tuple(x if isinstance(x, Product) and x.value is None else value_of(x) for x in deps)
        return values[0] if len(values) == 1 else values


def ignore(*arguments, **options) -> None:
    return None


def check_assert(condition, message="") -> None:
    assert condition, message
