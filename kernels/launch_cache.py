"""Caches launches, so that the next call of the same form only changes addresses.

When the host calls a kernel, it checks the arguments, chooses tiles and a grid, describes
tensors to the TMA, and has Triton find the compiled kernel.  For tensors of the same form the
answers are the same each time; only the addresses differ.  So we cache the answers:

    entry_for    returns the cache's entry for a call: tensors of these shapes, strides, dtypes,
                 alignments and this device, with these options; None where torch must see the
                 call itself
    memoized     returns one answer of this entry, and computes it if it isn't there
    launch       starts a kernel, from the cached launch if there is one

An entry holds no tensor and no address.  So it keeps no memory alive, and a tensor at another
address is as good as the first.

All this needs private names of torch and Triton's private launcher, which may change with any
release.  If one is missing, nothing is cached and every launch goes by Triton's own launcher:
the results are the same, and the host takes longer.  Before launches were cached, a call of
``decode_attention`` took the host 14 times as long as one of PyTorch's attention, and 2.5 times
since; ``hopper_attention`` 13 times and 1.6 times.  These are orders of magnitude, from two
hosts with an H200 each; docs/chapters/hopper/notes.md has the times.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad
from triton import JITFunction, knobs
from triton.compiler import CompiledKernel
from triton.runtime import driver

MAX_ENTRIES = 4096  # then all are dropped
ENTRIES: dict[tuple, dict] = {}
PLAIN_TYPES = (Tensor, torch.nn.Parameter)
OPTION_TYPES = frozenset({bool, int, float, str, type(None)})
LAUNCHER_ATTRIBUTES = ("run", "function", "packed_metadata")  # of a compiled kernel


def _bits(*names: str) -> int:
    """Returns these dispatch keys as torch holds them, in one number."""
    bits = 0
    for name in names:
        bits |= torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name)).raw_repr()
    return bits


try:
    from torch._C import _are_functorch_transforms_active as transforms_are_active
    from torch._C import _dispatch_keys as keys_of
    from torch._C import _get_tracing_state as tracing
    from torch._C import _len_torch_dispatch_stack as modes

    # A tensor with any other key is more, or less, than an address, sizes and strides.
    ALLOWED = _bits("CPU", "AutogradCPU", "AutocastCPU", "CUDA", "AutogradCUDA", "AutocastCUDA")
    FORBIDDEN = ~(ALLOWED | _bits("ADInplaceOrView"))
    TORCH_IS_KNOWN = isinstance(forward_ad._current_level, int)
except (ImportError, AttributeError):  # this torch has other names: cache nothing
    TORCH_IS_KNOWN = False


def entry_for(tensors: Sequence[Tensor | None], *options: object) -> dict | None:
    """Returns the entry for calls with such tensors and options; empty for the first one.

    None if torch must see the call itself: in torch.compile, torch.jit, torch.func and forward
    mode, in a mode that watches operators, and for a tensor that isn't plain memory, such as a
    subclass, one without numbers or a lazily negated one.  None, too, if this torch lacks the
    private names by which we know.
    """
    if (
        torch.compiler.is_compiling()
        or not TORCH_IS_KNOWN
        or modes()
        or transforms_are_active()
        or forward_ad._current_level >= 0
        or tracing() is not None
    ):
        return None
    types = tuple(map(type, options))  # because 1, 1.0 and True are equal
    key_parts: list = [options, types]
    for x in tensors:
        if x is None:
            key_parts.append(None)
        elif type(x) not in PLAIN_TYPES or keys_of(x).raw_repr() & FORBIDDEN:
            return None
        else:
            key_parts += (
                x.shape, x.stride(), x.dtype, x.get_device(), x.data_ptr() % 16,
                x.requires_grad,
            )  # fmt: skip
    if INTERPRETED:
        return {}
    try:
        launch_entry = ENTRIES.get(key := tuple(key_parts))
    except TypeError:  # an option such as a list
        return {}
    if launch_entry is None:
        launch_entry = {}
        if OPTION_TYPES.issuperset(types):
            if len(ENTRIES) >= MAX_ENTRIES:
                ENTRIES.clear()
            ENTRIES[key] = launch_entry
    return launch_entry


INTERPRETED = knobs.runtime.interpret  # then kernels aren't JITFunctions, and nothing is cached


def memoized(launch_entry: dict | None, name: Hashable, compute: Callable[[], Any]) -> Any:
    """Returns what ``compute`` gave for such a call, or gives now.  Errors aren't cached."""
    if launch_entry is None:
        return compute()
    if name not in launch_entry:
        launch_entry[name] = compute()
    return launch_entry[name]


def gradient_is_wanted(*tensors: Tensor) -> bool:
    """Returns whether autograd records a call with these tensors."""
    return torch.is_grad_enabled() and any([tensor.requires_grad for tensor in tensors])


def launch(
    kernel: JITFunction,
    launch_entry: dict | None,
    extra_key: Hashable,
    tensors: Sequence[Tensor | None],
    prepare: Callable[[], tuple[tuple[int, ...], tuple, dict]],
) -> CompiledKernel:
    """Starts a kernel on the device of the first tensor, and returns the compiled kernel.

    launch_entry, extra_key: together, everything that ``prepare`` depends on except addresses
    tensors: those whose addresses the kernel gets, as pointers or in descriptors, in the order
    of the arguments
    prepare: returns the grid, the positional arguments, and the named ones with the options

    A cached launch doesn't ask Triton which kernel fits.  Triton chooses by dtypes, by which
    pointers are multiples of 16, and by numbers.  The entry is for one choice of all these,
    and tensors that a caller allocates itself begin at multiples of 16.  We don't cache
    an interpreted kernel, nor a launch with an address that isn't one of ``tensors``, such as
    a copy's, nor one that we couldn't repeat, because Triton's launcher has changed.
    """
    device = tensors[0].get_device()  # -1 on a CPU
    if device >= 0 and device != torch.cuda.current_device():
        with torch.cuda.device(device):
            return launch(kernel, launch_entry, extra_key, tensors, prepare)
    if launch_entry and (cached := launch_entry.get((id(kernel), extra_key))) is not None:
        return cached(tensors)
    grid, arguments, options = prepare()
    compiled = kernel[grid](*arguments, **options)
    if launch_entry is not None and isinstance(kernel, JITFunction) and has_launcher(compiled):
        names = kernel.arg_names[len(arguments) :]
        arguments = [*arguments, *(options[name] for name in names)]
        if (slots := address_slots_of(arguments, tensors)) is not None:
            # CachedLaunch holds the kernel, so no other kernel can get its id.
            cached = CachedLaunch(kernel, compiled, (*grid, 1, 1)[:3], slots, arguments)
            launch_entry[id(kernel), extra_key] = cached
    return compiled


def has_launcher(compiled: CompiledKernel) -> bool:
    """Returns whether a compiled kernel has what ``CachedLaunch`` hands to the launcher."""
    return all(hasattr(compiled, name) for name in LAUNCHER_ATTRIBUTES)


class AddressSlot(NamedTuple):
    """Which argument is an address, and of which tensor.

    fields: of a descriptor, without its tensor; None for a pointer   kind: the argument's type
    """

    argument: int
    tensor: int
    fields: dict | None
    kind: type


def address_slots_of(
    arguments: list, tensors: Sequence[Tensor | None]
) -> list[AddressSlot] | None:
    """Returns which arguments are addresses of these tensors, and takes the tensors out.

    None if the arguments have other addresses, or have these in another order.
    """
    tensor_indices = [index for index, x in enumerate(tensors) if x is not None]
    tensor_arguments = [(index, getattr(x, "base", x)) for index, x in enumerate(arguments)]
    tensor_arguments = [(index, x) for index, x in tensor_arguments if isinstance(x, Tensor)]
    addresses = [tensors[index].data_ptr() for index in tensor_indices]
    if [x.data_ptr() for _, x in tensor_arguments] != addresses:
        return None
    slots = []
    for (index, base), tensor in zip(tensor_arguments, tensor_indices, strict=True):
        x = arguments[index]
        fields = None if x is base else {**vars(x), "base": None}
        slots.append(AddressSlot(index, tensor, fields, type(x)))
        arguments[index] = None
    return slots


class CachedLaunch(NamedTuple):
    """A compiled kernel with its grid and its arguments; only the addresses are missing."""

    kernel: JITFunction
    compiled: CompiledKernel
    grid: tuple[int, int, int]
    slots: list[AddressSlot]
    arguments: list

    def __call__(self, tensors: Sequence[Tensor | None]) -> CompiledKernel:
        arguments = self.arguments.copy()
        for index, tensor, fields, kind in self.slots:
            x = tensors[tensor]
            if fields is None:
                arguments[index] = x.data_ptr()  # given a tensor, Triton would ask it for more
            else:
                arguments[index] = descriptor = object.__new__(kind)
                descriptor.__dict__ = attributes = fields.copy()  # quicker than an update
                attributes["base"] = x
        compiled, hooks = self.compiled, knobs.runtime
        if has_listener(hooks.launch_enter_hook) or has_listener(hooks.launch_exit_hook):
            compiled[self.grid](*arguments)
        else:
            stream = driver.active.get_current_stream(tensors[0].get_device())
            compiled.run(
                *self.grid, stream, compiled.function, compiled.packed_metadata,
                None, None, None, *arguments,
            )  # fmt: skip
        return compiled


def has_listener(hook: object) -> bool:
    """Returns whether someone, such as a profiler, wants to hear of launches."""
    return bool(getattr(hook, "calls", hook))
