"""A launch that is kept: its arguments are worked out once, and then only addresses change.

A host that calls a kernel checks the arguments, chooses tiles and a grid, describes tensors to
the TMA, and has Triton find the kernel that was compiled for such arguments.  For tensors of
the same form the answers are the same each time, but for where the tensors lie.  So they are
noted, by all that they depend on:

    notes_for    what was worked out for a call such as this: for tensors of these shapes,
                 strides, dtypes, alignments and this device, with these options; None where
                 torch itself must see what is called
    noted        one answer among these notes, worked out if it is not there
    launch       starts a kernel, with the arguments that were noted or as always

Noted are no tensors and no addresses: no memory is held, and a tensor that lies elsewhere is as
good as the first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._C import _are_functorch_transforms_active as transforms_are_active
from torch._C import _dispatch_keys as keys_of
from torch._C import _get_tracing_state as tracing
from torch._C import _len_torch_dispatch_stack as modes
from torch.autograd import forward_ad
from triton import JITFunction, knobs
from triton.compiler import CompiledKernel
from triton.runtime import driver

MOST = 4096  # calls of which there are notes; then all are forgotten, and begun anew
NOTES: dict[tuple, dict] = {}
PLAIN = (Tensor, torch.nn.Parameter)
OPTIONS = frozenset({bool, int, float, str, type(None)})


def _bits(*names: str) -> int:
    """These dispatch keys as torch holds them, in one number."""
    bits = 0
    for name in names:
        bits |= torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name)).raw_repr()
    return bits


# A tensor with any other is more, or less, than an address, sizes and strides.
ALLOWED = _bits("CPU", "AutogradCPU", "AutocastCPU", "CUDA", "AutogradCUDA", "AutocastCUDA")
FORBIDDEN = ~(ALLOWED | _bits("ADInplaceOrView"))


def notes_for(tensors: Sequence[Tensor | None], *options: object) -> dict | None:
    """What is known of calls with such tensors and these options; empty if it is the first.

    None where an operator of torch must not be skipped: for torch.compile and torch.jit,
    torch.func, forward mode, a mode that looks at operators, and a tensor that is none or more
    than one, such as a subclass, one without numbers or a lazily negated one.
    """
    if (
        torch.compiler.is_compiling()
        or modes()
        or transforms_are_active()
        or forward_ad._current_level >= 0
        or tracing() is not None
    ):
        return None
    types = tuple(map(type, options))  # for 1, 1.0 and True are equal
    call: list = [options, types]
    for x in tensors:
        if x is None:
            call.append(None)
        elif type(x) not in PLAIN or keys_of(x).raw_repr() & FORBIDDEN:
            return None
        else:
            call += (
                x.shape, x.stride(), x.dtype, x.get_device(), x.data_ptr() % 16,
                x.requires_grad,
            )  # fmt: skip
    if INTERPRETED:
        return {}
    try:
        notes = NOTES.get(key := tuple(call))
    except TypeError:  # an option such as a list
        return {}
    if notes is None:
        notes = {}
        if OPTIONS.issuperset(types):
            if len(NOTES) >= MOST:
                NOTES.clear()
            NOTES[key] = notes
    return notes


INTERPRETED = knobs.runtime.interpret  # kernels are then no JITFunctions, and nothing is noted


def noted(notes: dict | None, name: Hashable, work_out: Callable[[], Any]) -> Any:
    """What ``work_out`` gave for such a call, or gives now.  What raises is not noted."""
    if notes is None:
        return work_out()
    if name not in notes:
        notes[name] = work_out()
    return notes[name]


def gradient_is_wanted(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any([tensor.requires_grad for tensor in tensors])


def launch(
    kernel: JITFunction,
    notes: dict | None,
    further: Hashable,
    tensors: Sequence[Tensor | None],
    prepare: Callable[[], tuple[tuple[int, ...], tuple, dict]],
) -> CompiledKernel:
    """Starts a kernel on the device of the first tensor, and returns it as it was compiled.

    notes, further: together all that ``prepare`` goes by, but for addresses
    tensors: those whose addresses the kernel gets, as pointers or in descriptors, in the order
    of the arguments
    prepare: gives the grid, the arguments by their places, and those by name with the options

    A launch that was noted does not ask Triton which kernel fits.  Triton goes by dtypes, by
    which pointers are multiples of 16 and by numbers, all of which the notes are for; tensors
    that a caller makes himself begin at multiples of 16.  Not noted are a kernel that is
    interpreted, and arguments with an address that is not of ``tensors``, such as a copy's.
    """
    device = tensors[0].get_device()  # -1 on a CPU
    if device >= 0 and device != torch.cuda.current_device():
        with torch.cuda.device(device):
            return launch(kernel, notes, further, tensors, prepare)
    if notes and (start := notes.get((id(kernel), further))) is not None:
        return start(tensors)
    grid, arguments, options = prepare()
    compiled = kernel[grid](*arguments, **options)
    if notes is not None and isinstance(kernel, JITFunction):
        names = kernel.arg_names[len(arguments) :]
        arguments = [*arguments, *(options[name] for name in names)]
        if (places := places_of(arguments, tensors)) is not None:
            # It holds the kernel, so that no other gets its id.
            start = Start(kernel, compiled, (*grid, 1, 1)[:3], places, arguments)
            notes[id(kernel), further] = start
    return compiled


class Place(NamedTuple):
    """Where among the arguments an address stands, and which tensor's it is.

    fields: of a descriptor, but for its tensor; None for a pointer   kind: the argument's type
    """

    argument: int
    tensor: int
    fields: dict | None
    kind: type


def places_of(arguments: list, tensors: Sequence[Tensor | None]) -> list[Place] | None:
    """Where the addresses of these tensors stand; None unless they are theirs, in this order.

    Takes the tensors out of the arguments.
    """
    numbers = [number for number, x in enumerate(tensors) if x is not None]
    bases = [(number, getattr(x, "base", x)) for number, x in enumerate(arguments)]
    bases = [(number, x) for number, x in bases if isinstance(x, Tensor)]
    addresses = [tensors[number].data_ptr() for number in numbers]
    if [x.data_ptr() for _, x in bases] != addresses:
        return None
    places = []
    for (number, base), tensor in zip(bases, numbers, strict=True):
        x = arguments[number]
        fields = None if x is base else {**vars(x), "base": None}
        places.append(Place(number, tensor, fields, type(x)))
        arguments[number] = None
    return places


class Start(NamedTuple):
    """A compiled kernel with its grid and its arguments, but for the addresses."""

    kernel: JITFunction
    compiled: CompiledKernel
    grid: tuple[int, int, int]
    places: list[Place]
    arguments: list

    def __call__(self, tensors: Sequence[Tensor | None]) -> CompiledKernel:
        arguments = self.arguments.copy()
        for number, tensor, fields, kind in self.places:
            x = tensors[tensor]
            if fields is None:
                arguments[number] = x.data_ptr()  # of a tensor Triton would ask this, and more
            else:
                arguments[number] = described = object.__new__(kind)
                described.__dict__ = known = fields.copy()  # sooner than an update
                known["base"] = x
        compiled, hooks = self.compiled, knobs.runtime
        if listens(hooks.launch_enter_hook) or listens(hooks.launch_exit_hook):
            compiled[self.grid](*arguments)
        else:
            stream = driver.active.get_current_stream(tensors[0].get_device())
            compiled.run(
                *self.grid, stream, compiled.function, compiled.packed_metadata,
                None, None, None, *arguments,
            )  # fmt: skip
        return compiled


def listens(hook: object) -> bool:
    """Whether somebody, such as a profiler, is to be told of launches."""
    return bool(getattr(hook, "calls", hook))
