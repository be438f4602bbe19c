"""Compares a live piece's model with an oracle on many cases, and puts mistakes into its source that must show."""

import json
import math
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from scripts.site.live import Pieces

SAMPLE_SIZE = 300
MODEL_CALLS = Path(__file__).with_name("model_calls.js").read_text()


@dataclass(frozen=True)
class OracleCheck:
    call: str  # "dot: turn" is a function of dot.model.js, or what model_calls.js makes of several
    oracle: Callable[[list], Iterable]  # all cases -> what is true of each
    cases: Callable[[], list]  # the arguments of each call, random ones and special ones
    mistake: tuple[str, str]  # a piece of the source, and what replaces it
    rel_tol: float = 0
    abs_tol: float = 0
    other_mistakes: tuple[tuple[str, str], ...] = ()

    @property
    def module(self) -> str:
        return f"{self.call.partition(':')[0]}.model.js"

    def answers(self, pieces: Pieces, cases: list) -> list:
        pieces.load(self.module)
        module, name = f"modules[{json.dumps(self.module)}]", json.dumps(self.call)
        function = f"calls[{name}]?.({module}) ?? {module}[{json.dumps(self.call.partition(': ')[2])}]"
        pieces.engine.eval(f"{{ {MODEL_CALLS}; modules.check = {{ function: {function} }}; }} 0")
        pieces.loaded.add("check")
        return pieces.calls("check", "function", cases)

    def faults(self, pieces: Pieces, sample: bool = False) -> list:
        """The cases that the model gets wrong, each with its answer and the oracle's. ``sample``: try only some."""
        cases = self.cases()
        cases = (
            cases[:: len(cases) // SAMPLE_SIZE] + cases[-SAMPLE_SIZE // 4 :]
            if sample and len(cases) > SAMPLE_SIZE
            else cases
        )
        answers, truths = self.answers(pieces, cases), list(self.oracle(cases))
        assert len(cases) == len(answers) == len(truths) > 0
        return [
            (case, answer, truth)
            for case, answer, truth in zip(cases, answers, truths, strict=True)
            if not is_close(answer, truth, self.rel_tol, self.abs_tol)
        ]

    def with_mistake(self, pieces: Pieces, folder: Path, mistake: tuple[str, str]) -> Pieces:
        """The pieces with that mistake, in a folder of their own."""
        shutil.copytree(pieces.folder, folder, dirs_exist_ok=True)
        path = folder / self.module
        text = path.read_text()
        assert text.count(mistake[0]) == 1, f"{path.name} has {text.count(mistake[0])} times {mistake[0]}"
        path.write_text(text.replace(*mistake))
        return Pieces(folder)


def per_case(oracle: Callable) -> Callable[[list], list]:
    """Makes an oracle for a list of cases from one for a single case."""
    return lambda cases: [oracle(*case) for case in cases]


def is_close(actual, expected, rel_tol: float, abs_tol: float) -> bool:
    if hasattr(expected, "tolist"):
        expected = expected.tolist()
    if isinstance(expected, dict):
        return all(is_close(actual[key], value, rel_tol, abs_tol) for key, value in expected.items())
    if isinstance(expected, list | tuple):
        return len(actual) == len(expected) and all(
            is_close(*pair, rel_tol, abs_tol) for pair in zip(actual, expected, strict=True)
        )
    if isinstance(expected, bool | str | None):
        return actual == expected
    if actual is None or isinstance(actual, str):
        return False
    return math.isclose(actual, expected, rel_tol=rel_tol, abs_tol=abs_tol) or (
        math.isnan(actual) and math.isnan(expected)
    )
