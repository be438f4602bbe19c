"""Whose mistake a wrong result is: one whose results are the same, and which was right wherever this was."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from scripts.labs.budget import Wanted, as_double, results, wanted
from scripts.labs.lab import Case, Mistake, Part


def behaves_like(
    part: Part, case: Case, wants: list[Wanted], actuals: list[Tensor], right: list[tuple[Case, list[Wanted]]]
) -> Mistake | None:
    """The first of the part's mistakes whose results are these on this case, and right on those that were."""
    for mistake in (*part.mistakes, *ANYWHERE):
        try:
            form = mistake.form or partial(zeros, part)
            if not shows(form, case, wants) or not all(map(same, wanted(part, case, form), actuals)):
                continue
            if not any(shows(form, *each) for each in right):
                return mistake
        except Exception:  # a form that was not made for this case: no name is better than none of the message
            continue
    return None


def shows(form: Callable, case: Case, wants: list[Wanted]) -> bool:
    """Whether a mistake makes a difference on a case."""
    wrong = results(form(**{name: as_double(each) for name, each in case.inputs.items()}))
    return any(want.wrong(each).any() for want, each in zip(wants, wrong, strict=True))


def zeros(part: Part, **inputs) -> tuple[Tensor, ...]:
    return tuple(map(torch.zeros_like, results(part.reference(**inputs))))


ANYWHERE = (Mistake("zeros", "Every number is 0.", "", None),)


def same(form: Wanted, actual: Tensor) -> bool:
    """Whether a result is what a mistake makes; where the mistake makes NaN, any NaN is."""
    wrong = form.wrong(actual)
    if form.truth.is_floating_point():
        wrong &= ~(form.truth.isnan() & actual.isnan())
    return not wrong.any()
