"""Times the reader's kernel and the handbook's on a GPU, one beside the other."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from scripts.labs.grading.guarded_case import guarded_case
from scripts.labs.lab import Lab


def time_side_by_side(lab: Lab, functions: dict[str, Callable]) -> dict[str, tuple[float, float]]:
    """Milliseconds of the reader's function and of the handbook's, one beside the other, on the tasks' ``gpu_case``."""
    from kernels.bench.timing import device_time

    milliseconds = {}
    for task in lab.tasks:
        if not (task.gpu_case and task.timed_against):
            continue
        case = task.gpu_case()
        inputs, outputs = guarded_case(case, "cuda")
        arguments = case.inputs | {each.name: each.tensor for each in inputs}
        output_tensors = {output.name: output.tensor for output in outputs}
        module, _, name = task.timed_against.partition(":")
        kernel = getattr(import_module(module), name)
        reader_ms = device_time(
            lambda task=task, all=arguments | output_tensors: functions[task.function](**all)
        ).median
        handbook_ms = device_time(lambda kernel=kernel, arguments=arguments: kernel(*arguments.values())).median
        milliseconds[task.function] = reader_ms, handbook_ms
    return milliseconds
