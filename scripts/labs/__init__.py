"""The labs: what the reader writes, and the grader that says whether it is right.

``make labs`` and ``make lab N=3`` call ``python -m scripts.labs``.  In a notebook:

    from scripts.labs import grade
    grade("vector-add", add=add)
"""

from __future__ import annotations

from collections.abc import Callable


def grade(slug: str, **functions: Callable) -> None:
    """Prints what the grader says of these functions, each by the name that the lab gives it.

    It runs in this process: an endless loop is ended by interrupting it.
    """
    from scripts.labs import forbidden_in_notebook
    from scripts.labs.grading.judge import judge
    from scripts.labs.lab import load
    from scripts.labs.message import format_verdict

    lab = load(slug)
    print(forbidden_in_notebook.why_forbidden(lab.info, functions) or format_verdict(lab, judge(lab, functions)))
