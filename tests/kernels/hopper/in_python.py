"""The Hopper kernels on a CPU: their own functions, run in Python, a thread for each group of warps.

Triton's interpreter has no Gluon.  Here ``gl`` and what a kernel imports beside it mean what they mean on the GPU,
for whole tiles.  One thread runs at a time; which goes on is drawn by a seed at each barrier, and so is when a copy by
TMA takes place.  So a kernel that reads a tile too early, gives it back too early or waits for what never comes is
found out in some order.

What is not here: registers, layouts, and what the compiler makes of it all.
"""

import random
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from functools import partial
from types import FunctionType, ModuleType, SimpleNamespace
from unittest.mock import patch

import torch
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
from triton.language.core import constexpr
from triton.runtime.interpreter import InterpretedFunction


class Hangs(Exception):
    """All threads wait for a barrier."""


class Ended(BaseException):
    """What a thread gets when another has failed."""


class Threads:
    """Functions that take turns: each runs until it comes to a barrier, then chance says who goes on, or which copy."""

    def __init__(self, seed: int):
        self.drawn = random.Random(seed)
        self.copies: dict[Callable[[], None], float] = {}  # started, and not yet done: how soon they are drawn
        self.back = threading.Semaphore(0)
        self.own = threading.local()
        self.failed: BaseException | None = None

    def run(self, functions: Iterable[Callable[[], None]]) -> None:
        """Raises what any of them raises; Hangs where none can go on."""
        alive = []
        for number, function in enumerate(functions):
            state = SimpleNamespace(number=number, goes=threading.Semaphore(0), condition=None, started=[])
            state.thread = threading.Thread(target=self._begin, args=(state, function), daemon=True)
            state.thread.start()
            alive.append(state)
        while alive or self.copies:
            ready = [state for state in alive if state.condition is None or state.condition()]
            if not ready and not self.copies:
                self.failed = Hangs(f"{len(alive)} threads wait for ever: {[state.number for state in alive]}")
            if self.failed:
                for state in alive:
                    state.goes.release()
                    state.thread.join()
                raise self.failed
            weights = [1.0] * len(ready) + [*self.copies.values()]
            [chosen] = self.drawn.choices([*ready, *self.copies], weights)
            if callable(chosen):
                del self.copies[chosen]
                chosen()
                continue
            chosen.goes.release()
            self.back.acquire()
            if chosen.condition is Ended:
                alive.remove(chosen)

    def _begin(self, state: SimpleNamespace, function: Callable[[], None]) -> None:
        self.own.state = state
        try:
            state.goes.acquire()
            if not self.failed:
                function()
        except Ended:
            return
        except BaseException as error:  # is raised where all began
            self.failed = error
        state.condition = Ended
        self.back.release()

    def pause(self, condition: Callable[[], bool] | None = None) -> None:
        """Lets others go on, and returns when this thread's turn has come and the condition holds."""
        state = self.own.state
        state.condition = condition
        self.back.release()
        state.goes.acquire()
        if self.failed:
            raise Ended
        state.condition = None

    def start(self, copy: Callable[[], None]) -> Callable[[], None]:
        """Has it done at some time from now on, soon or much later."""
        self.copies[copy] = 10 ** self.drawn.uniform(-3, 0)
        return copy


class Scalar(int):
    """A whole number of a kernel, or a condition: it has a type to be changed."""

    def to(self, dtype) -> "Scalar":
        return self


def _scalar(operation: Callable) -> Callable:
    def found(*operands):
        result = operation(*operands)
        return result if result is NotImplemented else Scalar(result)

    return found


for _name in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift"):
    for _operation in (f"__{_name}__", f"__r{_name}__"):
        setattr(Scalar, _operation, _scalar(getattr(int, _operation)))
for _operation in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__neg__"):
    setattr(Scalar, _operation, _scalar(getattr(int, _operation)))


class Block(torch.Tensor):
    """A block of numbers of a kernel: it has a type with a layout, and bits."""

    @property
    def type(self):
        return SimpleNamespace(layout=None)

    def to(self, dtype, bitcast=False):
        return self.view(dtype) if bitcast else super().to(dtype)


def block(x) -> Block:
    return torch.as_tensor(x).as_subclass(Block)


def scalars(*arguments):
    """As ``range`` has them."""
    return (Scalar(i) for i in range(*arguments))


class Product:
    """What wgmma has started: it reads its tiles when it is waited for, and is no number before."""

    def __init__(self, left, right, total, use_acc: bool):
        self.operands, self.total, self.use_acc, self.value = (left, right), total, use_acc, None

    def __getattr__(self, name):
        raise AssertionError(f"{name} of a product that was not waited for")

    def finish(self) -> None:
        if self.value is None:
            left, right = ((x.load() if isinstance(x, Tile) else x).float() for x in self.operands)
            self.value = left @ right + (valued(self.total) if self.use_acc else 0)


def valued(x):
    """A number, or what a product came to; one that goes on has none."""
    if not isinstance(x, Product):
        return x
    assert x.value is not None, "the result of a product that was not waited for"
    return x.value


class Tile:
    """Shared memory: a view of a tensor, NaN before it is written."""

    def __init__(self, memory: torch.Tensor):
        self.memory = memory
        self.shape, self.dtype = list(memory.shape), memory.dtype
        self.type = SimpleNamespace(layout=None)

    def index(self, i) -> "Tile":
        return Tile(self.memory[int(i)])

    def reshape(self, shape) -> "Tile":
        return Tile(self.memory.view(shape))

    def permute(self, order) -> "Tile":
        return Tile(self.memory.permute(order))

    def slice(self, start, length, dim=0) -> "Tile":
        return Tile(self.memory.narrow(dim, int(start), int(length)))

    def _reinterpret(self, dtype, shape, layout) -> "Tile":
        return Tile(self.memory.view(-1).view(dtype).view(shape))

    def load(self, layout=None) -> Block:
        return block(self.memory.clone())

    def store(self, numbers) -> None:
        self.memory.copy_(valued(numbers).reshape(self.memory.shape))


class Barrier:
    """An mbarrier: a phase ends when all have arrived and all bytes have come."""

    def __init__(self, threads: Threads):
        self.threads, self.count, self.left, self.bytes, self.phase = threads, None, None, 0, 0

    def init(self, count: int) -> None:
        self.count = self.left = count

    def change(self, arrivals: int = 0, bytes: int = 0) -> None:
        self.left -= arrivals
        self.bytes += bytes
        assert self.left >= 0, "more arrivals than a phase has"
        if self.left == self.bytes == 0:
            self.left, self.phase = self.count, self.phase + 1

    def wait(self, bit) -> None:
        """Returns once the phase of that bit has ended, which is all that the GPU knows of it."""
        bit = int(bit)
        self.threads.pause(lambda: (self.phase - 1) & 1 == bit)


class Barriers:
    def __init__(self, threads: Threads, count: int):
        self.all = [Barrier(threads) for _ in range(count)]

    def index(self, i) -> Barrier:
        return self.all[int(i)]


class Described:
    """A tensor as TMA sees it: outside it all is 0, and nothing is written there."""

    def __init__(self, descriptor: TensorDescriptor):
        self.tensor = descriptor.base.as_strided(descriptor.shape, descriptor.strides)
        self.dtype, self.layout = self.tensor.dtype, None
        nbytes = self.dtype.itemsize * torch.Size(descriptor.block_shape).numel()
        self.block_type = SimpleNamespace(shape=descriptor.block_shape, nbytes=nbytes)

    def places(self, coordinates):
        """Of a tile and of the tensor, the part that both have."""
        begins = [int(x) for x in coordinates]
        lengths = [
            max(0, min(tile, whole - begin))
            for begin, tile, whole in zip(begins, self.block_type.shape, self.tensor.shape, strict=True)
        ]
        inside = tuple(slice(0, length) for length in lengths)
        return inside, tuple(slice(begin, begin + length) for begin, length in zip(begins, lengths, strict=True))


class Pointer:
    def __init__(self, tensor: torch.Tensor, offset=0):
        self.tensor, self.offset = tensor, offset

    def __add__(self, offset) -> "Pointer":
        return Pointer(self.tensor, self.offset + offset)

    def load(self):
        found = self.tensor.view(-1)[self.offset]
        return block(found) if isinstance(self.offset, torch.Tensor) else Scalar(found)

    def store(self, numbers, mask) -> None:
        self.tensor.view(-1)[self.offset[mask]] = numbers[mask].to(self.tensor.dtype)

    def add(self, number, **scope) -> Scalar:
        """And what stood there before."""
        before = self.load()
        self.tensor.view(-1)[self.offset] += number
        return before


class Program:
    """What the kernel's imports mean in one program of a grid."""

    def __init__(self, place: int, programs: int, seed: int):
        self.threads = Threads(seed)
        self.place, self.programs = Scalar(place), Scalar(programs)

    def names(self) -> dict:
        """By the names that the kernel's modules have for them."""
        modules = {
            "gl": self.language(),
            "mbarrier": SimpleNamespace(
                init=lambda barrier, count: barrier.init(count), MBarrierLayout=lambda: Barrier,
                wait=lambda barrier, bit: barrier.wait(bit), arrive=self.arrive,
                expect=lambda barrier, bytes: barrier.change(arrivals=1, bytes=bytes),
            ),
            "tma": SimpleNamespace(
                async_copy_global_to_shared=self.fetch, async_copy_shared_to_global=self.give,
                store_wait=self.store_wait,
            ),
        }  # fmt: skip
        return modules | {
            "warpgroup_mma": self.multiply, "warpgroup_mma_wait": self.wait_for_products,
            "warpgroup_mma_init": lambda x: x, "fence_async_shared": lambda: None, "range": scalars,
            # What the kernels have in PTX, or of Triton's own.
            "rescaled": lambda accumulator, factor: accumulator * factor, "pinned": lambda x: x,
            "async_add": partial(self.give, adding=True), "read_acquired": self.read_acquired, "pass_on": self.pass_on,
        }  # fmt: skip

    def language(self) -> SimpleNamespace:
        return SimpleNamespace(
            float16=torch.float16, bfloat16=torch.bfloat16, float32=torch.float32, int32=torch.int32, int64=torch.int64,
            constexpr=None, NVMMADistributedLayout=ignored, NVMMASharedLayout=ignored, DotOperandLayout=ignored,
            SliceLayout=ignored,
            allocate_shared_memory=self.allocate, program_id=lambda axis: self.place,
            num_programs=lambda axis: self.programs, warp_specialize=self.specialize, to_tensor=Scalar,
            static_range=range, static_assert=asserted,
            where=where, minimum=least, maximum=largest,
            cdiv=lambda x, y: (x + y - 1) // y,
            zeros=lambda shape, dtype, layout: block(torch.zeros(shape, dtype=dtype)),
            full=lambda shape, value, dtype, layout: block(torch.full(shape, value, dtype=dtype)),
            arange=lambda begin, end, layout=None: block(torch.arange(begin, end)),
            max=lambda x, axis: torch.where(x.isnan(), -torch.inf, x).amax(axis), sum=torch.sum,
            exp2=torch.exp2, log2=torch.log2, convert_layout=lambda x, layout, assert_trivial=False: x,
            split=lambda x: x.unbind(-1), expand_dims=lambda x, axis: x.unsqueeze(axis),
            load=lambda pointer: pointer.load(), atomic_add=lambda pointer, x, **scope: pointer.add(x),
            store=lambda pointer, numbers, mask: pointer.store(numbers, mask),
        )  # fmt: skip

    def allocate(self, dtype, shape, layout):
        if layout is Barrier:
            return Barriers(self.threads, shape[0])
        return Tile(torch.full(shape, torch.nan, dtype=dtype))

    def specialize(self, functions, warps, registers) -> None:
        assert len(functions) == len(warps) + 1 == len(registers) + 1
        self.threads.run([partial(function, *arguments) for function, arguments in functions])

    def arrive(self, barrier: Barrier, count: int) -> None:
        barrier.change(arrivals=count)
        self.threads.pause()

    def fetch(self, tensor: Described, coordinates, barrier: Barrier, tile: Tile) -> None:
        inside, where = tensor.places(coordinates)

        def copy() -> None:
            tile.memory.zero_()
            tile.memory[inside] = tensor.tensor[where]
            barrier.change(bytes=-tensor.block_type.nbytes)

        self.threads.start(copy)

    def give(self, tensor: Described, coordinates, tile: Tile, adding: bool = False) -> None:
        inside, where = tensor.places(coordinates)

        def copy() -> None:
            there = tensor.tensor[where] if adding else 0
            tensor.tensor[where] = tile.memory[inside] + there

        self.threads.own.state.started.append(self.threads.start(copy))

    def store_wait(self, left: int) -> None:
        """Until all but the last so many of this thread's copies out of shared memory have been made."""
        started = self.threads.own.state.started
        first = started[: len(started) - left] if left < len(started) else []
        self.threads.pause(lambda: not any(copy in self.threads.copies for copy in first))

    def read_acquired(self, pointer: Pointer) -> Scalar:
        self.threads.pause()
        return pointer.load()

    def pass_on(self, turn: Pointer) -> None:
        self.store_wait(0)
        turn.add(1)

    def multiply(self, left, right, total, use_acc: bool = True, is_async: bool = False) -> Product:
        assert is_async
        product = Product(left, right, total, use_acc)
        under_way = vars(self.threads.own.state).setdefault("products", [])
        under_way.append(product)
        return product

    def wait_for_products(self, left: int, deps: tuple):
        """Until all but so many of this thread's have ended, in the order in which they began."""
        self.threads.pause()
        under_way = self.threads.own.state.products
        while len(under_way) > left:
            under_way.pop(0).finish()
        values = tuple(x if isinstance(x, Product) and x.value is None else valued(x) for x in deps)
        return values[0] if len(values) == 1 else values


def ignored(*arguments, **options) -> None:
    return None


def asserted(condition, message="") -> None:
    assert condition, message


def where(condition, x, y):
    if isinstance(condition, torch.Tensor):
        return torch.where(condition, x, y)
    return x if condition else y


def least(x, y):
    return torch.minimum(x, y) if isinstance(x, torch.Tensor) else min(x, y)


def largest(x, y):
    """As the GPU's instruction has it: NaN counts for nothing."""
    return torch.fmax(x, block(y))


def names_of(module: str, imports: dict, made: dict[str, dict]) -> dict:
    """A module's names, with what Triton made of its functions undone, and its imports replaced."""
    if module not in made:
        names = made[module] = {}
        for name, found in vars(sys.modules[module]).items():
            if isinstance(getattr(found, "fn", None), FunctionType):
                own = names_of(found.fn.__module__, imports, made)
                found = FunctionType(found.fn.__code__, own, name, found.fn.__defaults__)
            names[name] = found.value if isinstance(found, constexpr) else found
        names |= imports
    return made[module]


def start(kernel, notes, further, tensors, prepare, *, seed: int) -> None:
    """``kernels.launch.launch`` without a GPU: one program after the other."""
    (grid,), arguments, options = prepare()
    if "gl" not in kernel.fn.__globals__:
        InterpretedFunction(kernel.fn)[grid,](*arguments, **options)
        return
    arguments = [Described(x) if isinstance(x, TensorDescriptor) else x for x in arguments]
    arguments = [Pointer(x) if isinstance(x, torch.Tensor) else x for x in arguments]
    options = {name: x for name, x in options.items() if name != "num_warps"}
    for place in range(grid):
        names = names_of(kernel.fn.__module__, Program(place, grid, seed + place).names(), {})
        names[kernel.fn.__name__](*arguments, **options)


@contextmanager
def without_gpu(call: ModuleType, launch: str, sms: int, seed: int):
    """What this module launches, by its name for that, runs in Python, on a GPU of so many SMs."""
    gpu = SimpleNamespace(multi_processor_count=sms)
    with (
        patch.object(call, launch, partial(start, seed=seed)),
        patch.object(torch.cuda, "get_device_properties", lambda device: gpu),
    ):
        yield


def forward(call: ModuleType, q, k, v, *, plan, is_causal=False, scale=None, sms=3, seed=0):
    """Output and lse, as ``launch`` of that module, ``kernels.hopper.call`` or one like it, has them computed."""
    out = torch.full_like(q, torch.nan)
    lse = torch.full(q.shape[:-1], torch.nan)
    with without_gpu(call, "start", sms, seed):
        call.launch(q, k, v, out, lse, is_causal, q.shape[-1] ** -0.5 if scale is None else scale, plan)
    return out, lse


def backward(call: ModuleType, q, k, v, out, lse, dout, *, is_causal=False, deterministic=False, sms=3, seed=0):
    """dq, dk and dv, as ``hopper_gradients`` of that module, ``kernels.hopper.backward.call``, has them computed."""
    with without_gpu(call, "launch", sms, seed):
        return call.hopper_gradients(
            q, k, v, is_causal, q.shape[-1] ** -0.5, out, lse, dout, None, deterministic, {}
        )  # fmt: skip
