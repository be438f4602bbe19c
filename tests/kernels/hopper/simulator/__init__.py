"""The Hopper kernels on a CPU: their own functions, run in Python, a thread for each group of warps.

Triton's interpreter has no Gluon.  Here ``gl`` and what a kernel imports beside it mean what they mean on the GPU, for
whole tiles.  One thread runs at a time; which goes on is drawn by a seed at each barrier, and so is when a copy by TMA
takes place.  A kernel that reads a tile too early or gives it back too early raises a Race in some order, or comes out
wrong; one that waits for what never comes raises Hangs.

What is not here: registers, layouts, the four warps of a group, each for itself, the functions that are PTX, and what
the compiler makes of it all.  And all programs of a grid run side by side, which a GPU does not promise.
"""

import sys
from contextlib import contextmanager
from functools import partial
from types import FunctionType, ModuleType, SimpleNamespace
from unittest.mock import patch

import torch
import triton.language as tl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
from triton.language.core import constexpr
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

from kernels.hopper.backward.rows import backward_postprocess_kernel, backward_preprocess_kernel
from tests.kernels.hopper.simulator.memory import Pointer, TmaTensor
from tests.kernels.hopper.simulator.program import Program
from tests.kernels.hopper.simulator.threads import Hangs, Race, Threads

__all__ = ["Hangs", "Race", "backward", "forward"]
PLAIN = {backward_preprocess_kernel.fn.__name__, backward_postprocess_kernel.fn.__name__}  # Triton, and no Gluon


def forward(kernel_module: ModuleType, q, k, v, *, plan, is_causal=False, sms=3, seed=0):
    """Output and lse from ``launch`` of this module: ``kernels.hopper.attention``, or a copy with a mistake.

    sms: how many SMs the simulated GPU has
    """
    out = torch.full_like(q, torch.nan)
    lse = torch.full(q.shape[:-1], torch.nan)
    with without_gpu(kernel_module, "start", sms, seed):
        kernel_module.launch(q, k, v, out, lse, is_causal, q.shape[-1] ** -0.5, plan)
    return out, lse


def backward(
    kernel_module: ModuleType,
    q,
    k,
    v,
    out,
    lse,
    dout,
    dlse=None,
    *,
    is_causal=False,
    deterministic=False,
    sms=3,
    seed=0,
):
    """dq, dk and dv from ``hopper_gradients`` of this module: ``kernels.hopper.backward.gradients``, or a copy."""
    scale = q.shape[-1] ** -0.5
    with without_gpu(kernel_module, "launch", sms, seed):
        return kernel_module.hopper_gradients(q, k, v, is_causal, scale, out, lse, dout, dlse, deterministic, {})


@contextmanager
def without_gpu(kernel_module: ModuleType, launch: str, sms: int, seed: int):
    """What this module launches by its function ``launch`` runs in Python, as if on a GPU of so many SMs."""
    gpu = SimpleNamespace(multi_processor_count=sms)
    with (
        patch.object(kernel_module, launch, partial(launch_simulated, seed=seed)),
        patch.object(torch.cuda, "get_device_properties", lambda device: gpu),
    ):
        yield


def launch_simulated(kernel, entry, extra_key, tensors, prepare, *, seed: int) -> None:
    """``kernels.launch_cache.launch`` without a GPU: all programs side by side, begun in any order."""
    (grid,), arguments, options = prepare()
    if kernel.fn.__name__ in PLAIN:
        interpret(kernel, grid, arguments, options)
        return
    arguments = [TmaTensor(x) if isinstance(x, TensorDescriptor) else x for x in arguments]
    arguments = [Pointer(x) if isinstance(x, torch.Tensor) else x for x in arguments]
    options = {name: x for name, x in options.items() if name != "num_warps"}
    threads = Threads(seed)
    functions = []
    for program_id in threads.rng.sample(range(grid), grid):
        program = Program(program_id, grid, threads)
        names_of(kernel.fn.__module__, program.names(), {})[kernel.fn.__name__](*arguments, **options)
        functions += program.functions
    threads.run(functions)


def interpret(kernel, grid: int, arguments, options) -> None:
    """A kernel in plain Triton, whether or not its functions were made for the interpreter when it was imported.

    The interpreter changes ``triton.language`` while it runs a kernel.  What it changes once more for a function inside
    one it never puts back, and where Triton compiles nothing could be compiled afterwards.
    """
    compiled = {name: value.fn for name, value in vars(tl).items() if isinstance(value, JITFunction)}
    with (
        patch.dict(vars(tl), {name: InterpretedFunction(function) for name, function in compiled.items()}),
        patch.object(interpreter, "_patch_lang", partial(restore_together, [], interpreter._patch_lang)),
    ):
        InterpretedFunction(kernel.fn)[grid,](*arguments, **options)


def restore_together(changes: list, change, function) -> SimpleNamespace:
    """As ``change`` of the interpreter; who puts back its own changes, the kernel, puts back all, the last first."""
    if (changed := change(function)) is not None:  # None where it was changed for this function already
        changes.append(changed)
    return SimpleNamespace(restore=lambda: [changes.pop().restore() for _ in range(len(changes))])


def names_of(module: str, imports: dict, namespaces: dict[str, dict]) -> dict:
    """A module's names, with what Triton made of its functions undone, and its imports replaced."""
    if module not in namespaces:
        names = namespaces[module] = {}
        for name, value in vars(sys.modules[module]).items():
            if isinstance(getattr(value, "fn", None), FunctionType):
                module_names = names_of(value.fn.__module__, imports, namespaces)
                value = FunctionType(value.fn.__code__, module_names, name, value.fn.__defaults__)
            names[name] = value.value if isinstance(value, constexpr) else value
        names |= imports
    return namespaces[module]
