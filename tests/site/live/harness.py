"""Checks of a model: what it is asked, what its oracle says, and which change to its source has to be noticed."""

import json
import math
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from scripts.site.live import Pieces

FEW = 300
MODEL_CALLS = Path(__file__).with_name("model_calls.js").read_text()


@dataclass(frozen=True)
class OracleCheck:
    asks: str  # "dot: turn" is a function of dot.model.js, or what model_calls.js makes of several
    oracle: Callable[[list], Iterable]  # all cases -> what is true of each
    cases: Callable[[], list]  # the arguments of each call, random ones and special ones
    wrong: tuple[str, str]  # a piece of the source, and what a mistake makes of it
    rel_tol: float = 0  # relative
    abs_tol: float = 0  # absolute
    also: tuple[tuple[str, str], ...] = ()  # other mistakes

    @property
    def module(self) -> str:
        return f"{self.asks.partition(':')[0]}.model.js"

    def answers(self, pieces: Pieces, cases: list) -> list:
        pieces.load(self.module)
        module, name = f"modules[{json.dumps(self.module)}]", json.dumps(self.asks)
        function = f"asks[{name}]?.({module}) ?? {module}[{json.dumps(self.asks.partition(': ')[2])}]"
        pieces.engine.eval(f"{{ {MODEL_CALLS}; modules.check = {{ asked: {function} }}; }} 0")
        pieces.loaded.add("check")
        return pieces.calls("check", "asked", cases)

    def faults(self, pieces: Pieces, few: bool = False) -> list:
        """Cases in which the model isn't right, each with what it said and what is true; of all cases, or of a few."""
        cases = self.cases()
        cases = cases[:: len(cases) // FEW] + cases[-FEW // 4 :] if few and len(cases) > FEW else cases
        answers, truths = self.answers(pieces, cases), list(self.oracle(cases))
        assert len(cases) == len(answers) == len(truths) > 0
        return [
            (case, answer, truth)
            for case, answer, truth in zip(cases, answers, truths, strict=True)
            if not same(answer, truth, self.rel_tol, self.abs_tol)
        ]

    def with_mistake(self, pieces: Pieces, folder: Path, mistake: tuple[str, str]) -> Pieces:
        """The pieces with that mistake, in a folder of their own."""
        shutil.copytree(pieces.folder, folder, dirs_exist_ok=True)
        path = folder / self.module
        text = path.read_text()
        assert text.count(mistake[0]) == 1, f"{path.name} has {text.count(mistake[0])} times {mistake[0]}"
        path.write_text(text.replace(*mistake))
        return Pieces(folder)


def each(oracle: Callable) -> Callable[[list], list]:
    """An oracle that is asked one case at a time."""
    return lambda cases: [oracle(*case) for case in cases]


def same(actual, expected, rel_tol: float, abs_tol: float) -> bool:
    if hasattr(expected, "tolist"):
        expected = expected.tolist()
    if isinstance(expected, dict):
        return all(same(actual[key], value, rel_tol, abs_tol) for key, value in expected.items())
    if isinstance(expected, list | tuple):
        return len(actual) == len(expected) and all(
            same(*pair, rel_tol, abs_tol) for pair in zip(actual, expected, strict=True)
        )
    if isinstance(expected, bool | str | None):
        return actual == expected
    if actual is None or isinstance(actual, str):
        return False
    return math.isclose(actual, expected, rel_tol=rel_tol, abs_tol=abs_tol) or (
        math.isnan(actual) and math.isnan(expected)
    )
