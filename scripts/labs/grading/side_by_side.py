"""The reader's kernel beside the handbook's, on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from scripts.labs.grading.guarded_case import guarded_case
from scripts.labs.lab import Lab


def time_side_by_side(lab: Lab, functions: dict[str, Callable]) -> dict[str, tuple[float, float]]:
    """Milliseconds of the reader's function and of the handbook's, one beside the other, on the parts' ``gpu_case``."""
    from kernels.bench.timing import device_time

    found = {}
    for part in lab.parts:
        if not (part.gpu_case and part.timed_against):
            continue
        case = part.gpu_case()
        inputs, outputs = guarded_case(case, "cuda")
        arguments = case.inputs | {each.name: each.tensor for each in inputs}
        outs = {each.name: each.tensor for each in outputs}
        module, _, name = part.timed_against.partition(":")
        kernel = getattr(import_module(module), name)
        own = device_time(lambda part=part, all=arguments | outs: functions[part.function](**all)).median
        handbooks = device_time(lambda kernel=kernel, given=arguments: kernel(*given.values())).median
        found[part.function] = own, handbooks
    return found
