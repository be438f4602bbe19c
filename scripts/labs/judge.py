"""Judges the reader's functions case by case, up to the first that is wrong."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import torch
from torch import Tensor

from scripts.labs.budget import Wanted, results, wanted
from scripts.labs.file import fault, functions_of
from scripts.labs.lab import Case, Lab, Part
from scripts.labs.laid import laid
from scripts.labs.resembles import behaves_like
from scripts.labs.story import told as story_of
from scripts.labs.timed import timed
from scripts.labs.verdict import Rejected, Rejection, Verdict
from scripts.labs.watched import Watch, interpreted

__all__ = ["Rejected", "Rejection", "Verdict", "fault", "functions_of", "judge"]


def judge(lab: Lab, functions: dict[str, Callable], file: str = "") -> Verdict:
    """The verdict on the functions, each by its name.

    file: the reader's, whose lines a message names
    """
    verdict, began = Verdict(), time.perf_counter()
    try:
        for name, names in lab.about.signatures.items():
            check_signature(name, names, functions)
        for part in lab.parts:
            right: list[tuple[Case, list[Wanted]]] = []
            for case in part.cases():
                judge_case(lab, part, case, functions[part.function], file, right)
                verdict.cases += 1
            if part.large and not interpreted():
                judge_case(lab, part, part.large(), functions[part.function], file, right)
                verdict.cases += 1
        if lab.judge_whole:
            lab.judge_whole(lab, functions, file, verdict)
        if lab.check and (says := lab.check(functions)):
            verdict.rejection = says if isinstance(says, Rejection) else Rejection(lab.about.functions[-1], says)
    except Rejected as rejected:
        verdict.rejection = rejected.rejection
    verdict.seconds = time.perf_counter() - began
    if verdict.passed and not interpreted():
        verdict.times = timed(lab, functions)
    return verdict


def check_signature(name: str, names: tuple[str, ...], functions: dict[str, Callable]) -> None:
    if not callable(functions.get(name)):
        raise Rejected(Rejection(name, f"there is no function {name}: the lab calls it by that name"))
    taken = tuple(inspect.signature(functions[name]).parameters)
    if taken != names:
        says = f"{name} takes ({', '.join(taken)}), but the lab calls it with ({', '.join(names)})"
        raise Rejected(Rejection(name, f"{says}: put its first line back as it was"))


def judge_case(lab: Lab, part: Part, case: Case, function: Callable, file: str, right: list) -> None:
    """Calls the function on one case.

    right: the cases of this part that were right before, each with what was wanted; this one is added

    Raises:
        Rejected: if anything about it is wrong.
    """
    wants = wanted(part, case)
    on_gpu = lab.about.triton and not interpreted()
    inputs, outputs = laid(case, "cuda" if on_gpu else "cpu")
    arguments = {each.name: each.tensor for each in (*inputs, *outputs)}
    arguments = {name: value for name, value in case.inputs.items() if not isinstance(value, Tensor)} | arguments
    watch = None if on_gpu else Watch([*inputs, *outputs])

    def reject(says: str, **more) -> None:
        raise Rejected(Rejection(part.function, says, case, **more))

    try:
        with np.errstate(all="ignore"), watch or nullcontext():  # the interpreter computes with numpy
            returned = function(**arguments)
            if on_gpu:
                torch.cuda.synchronize()
    except Exception as error:
        raise Rejected(fault(part.function, case, error, file)) from error
    for each in outputs:
        if (place := each.written_outside()) is not None:
            side = "behind" if place >= 0 else "before"
            reject(f"something was written outside {each.name}, {abs(place)} places {side} its first number")
    for each in inputs:
        if each.changed().any():
            reject(f"{each.name} was changed: what a function is given to read it leaves as it is")
    unwritten = [each.unwritten().cpu() for each in outputs]
    actuals = [each.tensor for each in outputs] if outputs else returned_results(returned, wants, reject)
    wrong = [want.wrong(actual) for want, actual in zip(wants, actuals, strict=True)]
    for i, want in enumerate(wants):
        if wrong[i].any():
            marks = unwritten[i] if outputs else torch.zeros_like(wrong[i])
            actual = actuals[i].detach().cpu()
            resembles = behaves_like(part, case, wants, [each.detach().cpu() for each in actuals], right)
            place = tuple(int(each) for each in wrong[i].nonzero()[0]) if wrong[i].ndim else ()
            story = story_of(watch, want.name, place) if watch and outputs else ""
            reject("", story=story, wanted=want, actual=actual, wrong=wrong[i], unwritten=marks, resembles=resembles)
    if watch and lab.about.triton and outputs and not watch.stored():
        reject("the numbers are right, but no kernel stored them: the task is to write the kernel")
    if watch and part.look and (says := part.look(watch.accesses, case)):
        reject(says)
    right.append((case, wants))


def returned_results(returned, wants: list[Wanted], reject: Callable) -> list[Tensor]:
    """What the function returned, once it is of the right kind, shape and dtype."""
    if returned is None:
        reject("it returned nothing (None): does it end with a return?")
    found = list(results(returned))
    if len(found) != len(wants):
        reject(f"it returned {len(found)} results, and {len(wants)} are wanted")
    for i, (each, want) in enumerate(zip(found, wants, strict=True)):
        if isinstance(each, int | float) and want.truth.ndim == 0:
            found[i] = each = torch.tensor(each, dtype=want.dtype)
        if not isinstance(each, Tensor):
            reject(f"{want.name} is of type {type(each).__name__}, and a tensor is wanted")
        if each.shape != want.truth.shape:
            reject(f"{want.name} has shape {list(each.shape)}, and {list(want.truth.shape)} is wanted")
        if each.dtype != want.dtype:
            reject(f"{want.name} is {each.dtype}, and {want.dtype} is wanted")
    return found
