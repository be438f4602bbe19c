"""Judges the reader's functions case by case, up to the first that is wrong."""

from __future__ import annotations

import inspect
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import torch
from torch import Tensor

from scripts.labs import guarded
from scripts.labs.budget import Wanted, results, wanted
from scripts.labs.lab import Case, Lab, Mistake, Part
from scripts.labs.watched import Outside, Watch, interpreted


@dataclass(frozen=True)
class Rejection:
    """Why a function is not right yet.

    says: a sentence   unwritten: True where nobody has written   wrong: True where a number is too far off
    line: of the reader's file, if it is known
    """

    function: str
    says: str
    case: Case | None = None
    wanted: Wanted | None = None
    actual: Tensor | None = None
    wrong: Tensor | None = None
    unwritten: Tensor | None = None
    resembles: Mistake | None = None
    line: int | None = None


@dataclass
class Verdict:
    """cases: how many were right   times: function -> milliseconds of the reader's and of the handbook's, on a GPU"""

    rejection: Rejection | None = None
    cases: int = 0
    seconds: float = 0.0
    times: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.rejection is None


class Rejected(Exception):
    def __init__(self, rejection: Rejection):
        super().__init__(rejection.says)
        self.rejection = rejection


def judge(lab: Lab, functions: dict[str, Callable], file: str = "") -> Verdict:
    """The verdict on the functions, each by its name.

    file: the reader's, whose lines a message names
    """
    verdict, began = Verdict(), time.perf_counter()
    try:
        for name, names in lab.about.signatures.items():
            check_signature(name, names, functions)
        for part in lab.parts:
            right: list[Case] = []
            for case in part.cases():
                judge_case(lab, part, case, functions[part.function], file, right)
                right.append(case)
                verdict.cases += 1
            if part.large and not interpreted():
                judge_case(lab, part, part.large(), functions[part.function], file, right)
                verdict.cases += 1
        if lab.check and (says := lab.check(functions)):
            verdict.rejection = Rejection(lab.about.functions[-1], says)
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


def judge_case(lab: Lab, part: Part, case: Case, function: Callable, file: str, right: list[Case]) -> None:
    """Calls the function on one case.

    right: the cases of this part that were right before

    Raises:
        Rejected: if anything about it is wrong.
    """
    wants = wanted(part, case)
    inputs, outputs = laid(case)
    arguments = {each.name: each.tensor for each in (*inputs, *outputs)}
    arguments = {name: value for name, value in case.inputs.items() if not isinstance(value, Tensor)} | arguments
    watch = Watch([*inputs, *outputs]) if interpreted() else None

    def reject(says: str, **more) -> None:
        raise Rejected(Rejection(part.function, says, case, **more))

    try:
        with watch or nullcontext():
            returned = function(**arguments)
            if not interpreted():
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
            reject("", wanted=want, actual=actual, wrong=wrong[i], unwritten=marks, resembles=resembles)
    if watch and lab.about.triton and outputs and not watch.stored():
        reject("the numbers are right, but no kernel stored them: the task is to write the kernel")
    if watch and part.look and (says := part.look(watch.accesses, case)):
        reject(says)


def laid(case: Case) -> tuple[list[guarded.Guarded], list[guarded.Guarded]]:
    """The case's tensors in guarded buffers, on the machine on which they are judged: inputs and outputs."""
    device = "cpu" if interpreted() else "cuda"
    tensors = {name: each for name, each in case.inputs.items() if isinstance(each, Tensor)}
    inputs = [
        guarded.lay(name, each, case.layouts.get(name, "contiguous"), case.padding.get(name, -1), device)
        for name, each in tensors.items()
    ]
    outputs = [
        guarded.lay_output(name, each, case.layouts.get(name, "contiguous"), device)
        for name, each in case.outputs.items()
    ]
    return inputs, outputs


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


def behaves_like(
    part: Part, case: Case, wants: list[Wanted], actuals: list[Tensor], right: list[Case]
) -> Mistake | None:
    """The first of the part's mistakes whose results are these on this case, and right on those that were."""
    for mistake in (*part.mistakes, *ANYWHERE):
        try:
            form = mistake.form or partial(zeros, part)
            forms = wanted(part, case, form)
        except Exception:  # a form that was not made for this case: no name is better than none of the message
            continue
        differs = any(want.wrong(form.truth).any() for want, form in zip(wants, forms, strict=True))
        if not differs or not all(map(same, forms, actuals)):
            continue
        if all(shows_nothing(part, each, form) for each in right):
            return mistake
    return None


def shows_nothing(part: Part, case: Case, form: Callable) -> bool:
    """Whether a mistake makes no difference on a case."""
    pairs = zip(wanted(part, case), wanted(part, case, form), strict=True)
    return not any(want.wrong(wrong.truth).any() for want, wrong in pairs)


def zeros(part: Part, **inputs) -> tuple[Tensor, ...]:
    return tuple(map(torch.zeros_like, results(part.reference(**inputs))))


ANYWHERE = (Mistake("zeros", "Every number is 0.", "", None),)


def same(form: Wanted, actual: Tensor) -> bool:
    """Whether a result is what a mistake makes; where the mistake makes NaN, any NaN is."""
    wrong = form.wrong(actual)
    if form.truth.is_floating_point():
        wrong &= ~(form.truth.isnan() & actual.isnan())
    return not wrong.any()


def fault(function: str, case: Case | None, error: BaseException, file: str) -> Rejection:
    """What an exception says, with the line of the reader's file on which it came."""
    chain = [error]
    while cause := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    frames = [frame for each in chain for frame in traceback.extract_tb(each.__traceback__)]
    lines = [frame.lineno for frame in frames if file and frame.filename == file]
    line = lines[-1] if lines else None
    for each in chain:
        if isinstance(each, NotImplementedError) or "NotImplementedError" in str(each):  # a compiler quotes it
            return Rejection(function, "it is not written yet", line=line)
        if isinstance(each, Outside):
            return Rejection(function, str(each), case, line=line)
    if isinstance(error, SystemExit):
        return Rejection(function, "your file ends the program (SystemExit): take that out", case, line=line)
    if isinstance(chain[-1], MemoryError) or "can't allocate memory" in str(chain[-1]):
        return Rejection(function, "it asks for more memory than a lab may take", case, line=line)
    return Rejection(function, f"it raised {type(chain[-1]).__name__}: {chain[-1]}", case, line=line)


def functions_of(file: Path) -> dict[str, Callable]:
    """The functions of a file, once it is imported as a module of its own."""
    name = f"lab_{file.stem}"
    spec = spec_from_file_location(name, file)
    module = module_from_spec(spec)
    sys.modules[name] = module  # Triton asks for the module of a kernel
    spec.loader.exec_module(module)
    return {name: each for name, each in vars(module).items() if callable(each)}


def timed(lab: Lab, functions: dict[str, Callable]) -> dict[str, tuple[float, float]]:
    """Milliseconds of the reader's function and of the handbook's, one beside the other, on the parts' large cases."""
    from importlib import import_module

    from kernels.bench.timing import time as time_of

    found = {}
    for part in lab.parts:
        if not (part.large and part.rung):
            continue
        inputs, outputs = laid(part.large())
        arguments = {each.name: each.tensor for each in inputs}
        outs = {each.name: each.tensor for each in outputs}
        module, _, name = part.rung.partition(":")
        rung = getattr(import_module(module), name)
        own = time_of(lambda part=part, all=arguments | outs: functions[part.function](**all)).median
        theirs = time_of(lambda rung=rung, given=arguments: rung(*given.values())).median
        found[part.function] = own, theirs
    return found
