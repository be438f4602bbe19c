"""What the grader found: whether a file passes, and if not, what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from scripts.labs.grading.budget import Expected
from scripts.labs.lab import Case, Mistake

UNWRITTEN = "it is not written yet"


@dataclass(frozen=True)
class Rejection:
    """Why a function is not right yet.

    message: a sentence   expected: what is wanted where ``actual`` came
    unwritten: True where nobody has written   wrong: True where a number is too far off
    explanation: which program wrote the first wrong number   line: of the reader's file, if it is known
    code: that line   advice: what to do about an error   place: the function of that line, if it is another
    """

    function: str
    message: str
    case: Case | None = None
    expected: Expected | None = None
    actual: Tensor | None = None
    wrong: Tensor | None = None
    unwritten: Tensor | None = None
    mistake: Mistake | None = None
    explanation: str = ""
    line: int | None = None
    code: str = ""
    advice: str = ""
    place: str = ""


@dataclass
class Verdict:
    """
    cases: how many were right   remarks: a line each on what was right, if there is something to tell
    times: function -> milliseconds of the reader's and of the handbook's, on a GPU
    """

    rejection: Rejection | None = None
    cases: int = 0
    seconds: float = 0.0
    remarks: list[str] = field(default_factory=list)
    times: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.rejection is None


class Rejected(Exception):
    def __init__(self, rejection: Rejection):
        super().__init__(rejection.message)
        self.rejection = rejection
