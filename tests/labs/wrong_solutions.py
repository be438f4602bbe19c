"""The wrong ones of a lab: each is a right one with a mistake.

``wrong.toml`` has them by name, with ``changes``: what stands in the solution once, and what is put in its place.  One
that has little in common with it is a file of its own, ``wrong_NAME.py``.  To see one as a reader would have it:

    .venv/bin/python -m tests.labs.wrong_solutions vector-add zeros > labs/04_vector_add.py
"""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
CATALOGUE = HERE.parents[1] / "scripts" / "labs" / "catalogue"


class WrongSolution(NamedTuple):
    """
    description: the mistake, in a sentence   known_mistake: the one that the grader must name, "" if it need name none
    base: the right one that is changed; the file itself, if it is a whole one
    changes: what stands there, and what is put in its place, one after the other
    """

    lab: str
    name: str
    description: str
    known_mistake: str = ""
    base: str = "solution"
    changes: tuple[tuple[str, str], ...] = ()

    @property
    def right(self) -> str:
        """The file before it is changed."""
        return (
            solution_file(self.lab) if self.base == "solution" else HERE / folder_name(self.lab) / f"{self.base}.py"
        ).read_text()

    @property
    def source(self) -> str:
        """The whole file.

        Raises:
            ValueError: if what is to be replaced does not stand there exactly once.
        """
        source = self.right
        for old, new in self.changes:
            if (times := source.count(old)) != 1 or old == new:
                raise ValueError(
                    f"{self.lab}, {self.name}: {old!r} stands {times} times in {self.base}, once is wanted"
                )
            source = source.replace(old, new)
        return source


def folder_name(lab: str) -> str:
    return lab.replace("-", "_")


def solution_file(lab: str) -> Path:
    """The right one that the lab's page shows."""
    return CATALOGUE / folder_name(lab) / "solution.py"


def wrong_solutions(lab: str) -> list[WrongSolution]:
    """All wrong ones of a lab, by name."""
    found = [from_file(lab, path) for path in (HERE / folder_name(lab)).glob("wrong_*.py")]
    changed_solutions = tomllib.loads((HERE / folder_name(lab) / "wrong.toml").read_text(encoding="utf-8"))
    found += [WrongSolution(lab, name, **fields) for name, fields in changed_solutions.items()]
    return sorted(found, key=lambda each: each.name)


def from_file(lab: str, path: Path) -> WrongSolution:
    """One that is a file: its docstring says what is wrong."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return WrongSolution(lab, path.stem.removeprefix("wrong_"), docstring, base=path.stem)


def wrong_solution(lab: str, name: str) -> WrongSolution:
    return next(solution for solution in wrong_solutions(lab) if solution.name == name)


if __name__ == "__main__":
    print(wrong_solution(*sys.argv[1:]).source, end="")
