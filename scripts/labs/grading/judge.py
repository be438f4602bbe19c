"""Judges the reader's functions case by case, up to the first that is wrong."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import torch
from torch import Tensor

from scripts.labs.formatting import format_number, join_words, pluralize
from scripts.labs.grading.accesses import AccessTracer, is_interpreted
from scripts.labs.grading.budget import Expected, expected_results, results
from scripts.labs.grading.guarded_case import guarded_case
from scripts.labs.grading.guarded_tensor import GuardedTensor
from scripts.labs.grading.known_mistake import find_mistake
from scripts.labs.grading.side_by_side import time_side_by_side
from scripts.labs.grading.who_wrote import describe_number
from scripts.labs.lab import Case, Lab, Task
from scripts.labs.submission import first_line, load_functions, to_rejection
from scripts.labs.verdict import Rejected, Rejection, Verdict

UINT8_INDEX_ADVICE = (
    "PyTorch takes an index in uint8 for a mask, 0 for False and all else for True: index with codes.long()."
)
NOTHING_STORED = "No kernel has stored anything: a kernel returns nothing, it ends with tl.store."
NO_PROGRAM_STARTED = "Nothing was written, for no program was started: how many does the launch ask for?"
__all__ = ["Rejected", "Rejection", "Verdict", "judge", "load_functions", "to_rejection"]


def judge(
    lab: Lab, functions: dict[str, Callable], file: str = "", on_case: Callable[[Task, Case], None] | None = None
) -> Verdict:
    """The verdict on the functions, each by its name.

    file: the reader's, whose lines a message names   on_case: is told of each case before it is tried
    """
    verdict, start = Verdict(), time.perf_counter()
    try:
        for name, names in lab.info.signatures.items():
            check_signature(name, names, functions)
        for task in lab.tasks:
            passed_cases: list[tuple[Case, list[Expected]]] = []
            for case in task.cases():
                if on_case:
                    on_case(task, case)
                judge_case(lab, task, case, functions[task.function], file, passed_cases)
                verdict.cases += 1
            if task.gpu_case and not is_interpreted():
                case = task.gpu_case()
                if on_case:
                    on_case(task, case)
                judge_case(lab, task, case, functions[task.function], file, passed_cases, name_mistakes=False)
                verdict.cases += 1
        if lab.judge_whole:
            lab.judge_whole(lab, functions, file, verdict)
        if lab.check and (fault := lab.check(functions)):
            verdict.rejection = fault if isinstance(fault, Rejection) else Rejection(lab.info.functions[-1], fault)
    except Rejected as rejected:
        verdict.rejection = rejected.rejection
    verdict.seconds = time.perf_counter() - start
    if verdict.passed and not is_interpreted():
        try:
            verdict.times = time_side_by_side(lab, functions)
        except Exception as error:  # the handbook's kernel may be none for this GPU; the reader's is right all the same
            verdict.remarks.append(f"It could not be timed: {first_line(error)}")
    return verdict


def check_signature(name: str, expected_parameters: tuple[str, ...], functions: dict[str, Callable]) -> None:
    if not callable(functions.get(name)):
        raise Rejected(Rejection(name, f"there is no function {name}: the lab calls it by that name"))
    parameters = tuple(inspect.signature(functions[name]).parameters)
    if parameters != expected_parameters:
        message = f"it takes ({', '.join(parameters)}), but the lab calls it with ({', '.join(expected_parameters)})"
        raise Rejected(Rejection(name, f"{message}: put its first line back as it was"))


def judge_case(
    lab: Lab, task: Task, case: Case, function: Callable, file: str, passed_cases: list, name_mistakes: bool = True
) -> None:
    """Calls the function on one case.

    passed_cases: the cases of this task that were right before, each with what was wanted; this one is added
    name_mistakes: whether to look for the mistake that it makes, which on a large case takes long

    Raises:
        Rejected: if anything about it is wrong.
    """
    expected = expected_results(task, case)
    on_gpu = lab.info.triton and not is_interpreted()
    inputs, outputs = guarded_case(case, "cuda" if on_gpu else "cpu")
    arguments = {each.name: each.tensor for each in (*inputs, *outputs)}
    arguments = {name: value for name, value in case.inputs.items() if not isinstance(value, Tensor)} | arguments
    tracer = None if on_gpu else AccessTracer([*inputs, *outputs])

    uint8_index_warned = False

    def reject(message: str, **details) -> None:
        details |= {"advice": UINT8_INDEX_ADVICE} if uint8_index_warned else {}
        raise Rejected(Rejection(task.function, message, case, **details))

    try:
        with (
            np.errstate(all="ignore"),
            tracer or nullcontext(),
            warnings.catch_warnings(record=True) as warnings_raised,
        ):
            warnings.simplefilter("always")  # np.errstate, since the interpreter computes with numpy
            returned = function(**arguments)
            if on_gpu:
                torch.cuda.synchronize()
    except Exception as error:
        raise Rejected(to_rejection(task.function, case, error, file)) from error
    uint8_index_warned = any("torch.uint8" in str(warning.message) for warning in warnings_raised)
    for output in outputs:
        if (place := output.first_written_outside()) is not None:
            side = "behind" if place >= 0 else "before"
            reject(
                f"something was written outside {output.name}, {pluralize(abs(place), 'number')} {side} its first one"
            )
    for each in inputs:
        if each.changed_mask().any():
            reject(f"{each.name} was changed: what a function is given to read it leaves as it is")
    unwritten = [each.unwritten_mask().cpu() for each in outputs]
    actuals = [each.tensor for each in outputs] if outputs else returned_results(returned, expected, reject)
    wrong = [expected_result.wrong_mask(actual) for expected_result, actual in zip(expected, actuals, strict=True)]
    stored_nothing = bool(tracer and lab.info.triton and outputs and not tracer.has_stored())
    nothing_written = bool(outputs) and all(each.all() for each in unwritten)
    for i, expected_result in enumerate(expected):
        if wrong[i].any():
            marks = unwritten[i] if outputs else torch.zeros_like(wrong[i])
            actual = actuals[i].detach().cpu()
            place = tuple(int(each) for each in wrong[i].nonzero()[0]) if wrong[i].ndim else ()
            explanation, is_hidden_nan, mistake = "", False, None
            if tracer and outputs:
                explanation, is_hidden_nan = describe_number(tracer, expected_result.name, place, actual)
            if stored_nothing and tracer.programs:
                explanation = NOTHING_STORED
            elif name_mistakes and not is_hidden_nan:
                actuals_on_cpu = [each.detach().cpu() for each in actuals]
                mistake = find_mistake(task, case, expected, actuals_on_cpu, passed_cases, writes=not nothing_written)
            if stored_nothing and nothing_written and not tracer.programs and not mistake:
                explanation = NO_PROGRAM_STARTED
            reject(
                "",
                explanation=explanation,
                expected=expected_result,
                actual=actual,
                wrong=wrong[i],
                unwritten=marks,
                mistake=mistake,
            )
    if stored_nothing and any(expected_result.truth.numel() for expected_result in expected):
        reject("the numbers are right, but no kernel stored them: the task is to write the kernel")
    if tracer and lab.info.triton and outputs and (fault := kernel_fault(tracer, inputs, outputs)):
        reject(fault)
    if tracer and task.check_accesses and (fault := task.check_accesses(tracer.accesses, case)):
        reject(fault)
    passed_cases.append((case, expected))


def kernel_fault(tracer: AccessTracer, inputs: list[GuardedTensor], outputs: list[GuardedTensor]) -> str:
    """What a GPU would punish although the numbers are right, or what was not done in the kernel; "" if nothing."""
    names = [each.name for each in inputs if each.tensor.is_floating_point()]
    if tracer.read_none_of(each.name for each in inputs):
        return (
            f"the numbers are right, but no kernel has read {join_words(names, 'or')}: they were computed outside of it"
        )
    if double_store := tracer.describe_double_store(output.name for output in outputs):
        return f"the numbers are right, but {double_store}: each number of the output is one program's, and stored once"
    return f"the numbers are right here, but {tracer.rounding_fault}" if tracer.rounding_fault else ""


def returned_results(returned, expected: list[Expected], reject: Callable) -> list[Tensor]:
    """What the function returned, once it is of the right kind, shape and dtype."""
    if returned is None:
        is_wanted = (
            f", and {format_number(expected[0].truth)} is wanted"
            if len(expected) == 1 and not expected[0].truth.ndim
            else ""
        )
        reject(f"it returned None{is_wanted}. A function without a return does that, too")
    actuals = list(results(returned))
    if len(actuals) != len(expected):
        are = "is" if len(expected) == 1 else "are"
        reject(f"it returned {pluralize(len(actuals), 'result')}, and {len(expected)} {are} wanted")
    for i, (each, want) in enumerate(zip(actuals, expected, strict=True)):
        if isinstance(each, int | float) and want.truth.ndim == 0 and len(expected) == 1:
            actuals[i] = each = torch.tensor(each, dtype=want.dtype)
        shape = str(list(want.truth.shape)) if want.truth.ndim else "[], one number,"
        if not isinstance(each, Tensor):
            kind = "a tensor" if want.truth.ndim else "one number"
            reject(f"{want.name} is of type {type(each).__name__}, and {kind} is wanted")
        if each.device.type != "cpu":
            reject(f"{want.name} is on the device {each.device}, and the inputs were on the CPU: leave it there")
        if each.shape != want.truth.shape:
            reject(f"{want.name} has shape {list(each.shape)}, and {shape} is wanted")
        if each.dtype != want.dtype:
            reject(f"{want.name} is {each.dtype}, and {want.dtype} is wanted")
    return actuals
