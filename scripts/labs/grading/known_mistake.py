"""Finds which known mistake a wrong result shows: one with the same results, also right wherever this was right."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from scripts.labs.grading.budget import Expected, as_double, expected_results, results
from scripts.labs.lab import Case, Mistake, Task


def find_mistake(
    task: Task,
    case: Case,
    expected: list[Expected],
    actuals: list[Tensor],
    passed_cases: list[tuple[Case, list[Expected]]],
    writes: bool = True,
) -> Mistake | None:
    """The first of the task's mistakes whose results are these on this case, and right on those that were.

    writes: whether anything was written; if not, the NaN that stands everywhere is no result of arithmetic
    """
    for mistake in (*task.mistakes, *COMMON_MISTAKES):
        if mistake.writes and not writes:
            continue
        try:
            implementation = mistake.implementation or partial(zeros, task)
            if not makes_difference(implementation, case, expected) or not all(
                map(is_same_result, expected_results(task, case, implementation), actuals)
            ):
                continue
            if not any(makes_difference(implementation, *each) for each in passed_cases):
                return mistake
        except Exception:  # one that was not made for this case: no name is better than none of the message
            continue
    return FP16_MISTAKE if in_fp16(task, case, expected, actuals) else None


def in_fp16(task: Task, case: Case, expected: list[Expected], actuals: list[Tensor]) -> bool:
    """Whether results of FP16 numbers are off by little: by what rounding to FP16 on the way makes."""
    if task.exact or torch.float16 not in [each.dtype for each in case.inputs.values() if isinstance(each, Tensor)]:
        return False
    for expected_result, actual in zip(expected, actuals, strict=True):
        finite = expected_result.truth.isfinite()
        largest = expected_result.truth[finite].abs().max() if finite.any() else 0.0
        error = (actual.double() - expected_result.truth)[finite].abs()
        if not (error <= FP16_ERROR * largest).all():  # NaN is not
            return False
    return True


def makes_difference(implementation: Callable, case: Case, expected: list[Expected]) -> bool:
    """Whether a mistake makes a difference on a case."""
    wrong = results(implementation(**{name: as_double(each) for name, each in case.inputs.items()}))
    return any(want.wrong_mask(each).any() for want, each in zip(expected, wrong, strict=True))


def zeros(task: Task, **inputs) -> tuple[Tensor, ...]:
    return tuple(map(torch.zeros_like, results(task.reference(**inputs))))


FP16_ERROR = 0.05
FP16_MISTAKE = Mistake(
    "in-fp16",
    "The numbers are off by little, and the inputs are FP16: something on the way is rounded to FP16. Load with "
    ".to(tl.float32), and keep sums in FP32.",
    "",
    None,
)
COMMON_MISTAKES = (Mistake("zeros", "Every number is 0.", "", None),)


def is_same_result(implementation: Expected, actual: Tensor) -> bool:
    """Whether a result is what a mistake makes; where the mistake makes NaN, any NaN is."""
    wrong = implementation.wrong_mask(actual)
    if implementation.truth.is_floating_point():
        wrong &= ~(implementation.truth.isnan() & actual.isnan())
    return not wrong.any()
