"""The reader's kernel beside the handbook's, on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from scripts.labs.grading.guarded_case import guarded_case
from scripts.labs.lab import Lab


def timed(lab: Lab, functions: dict[str, Callable]) -> dict[str, tuple[float, float]]:
    """Milliseconds of the reader's function and of the handbook's, one beside the other, on the parts' large cases."""
    from kernels.bench.timing import time as time_of

    found = {}
    for part in lab.parts:
        if not (part.large and part.rung):
            continue
        case = part.large()
        inputs, outputs = guarded_case(case, "cuda")
        arguments = case.inputs | {each.name: each.tensor for each in inputs}
        outs = {each.name: each.tensor for each in outputs}
        module, _, name = part.rung.partition(":")
        rung = getattr(import_module(module), name)
        own = time_of(lambda part=part, all=arguments | outs: functions[part.function](**all)).median
        theirs = time_of(lambda rung=rung, given=arguments: rung(*given.values())).median
        found[part.function] = own, theirs
    return found
