"""Whose mistake a wrong result is: one whose results are the same, and which was right wherever this was."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from scripts.labs.budget import Wanted, results, wanted
from scripts.labs.lab import Case, Mistake, Part


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
