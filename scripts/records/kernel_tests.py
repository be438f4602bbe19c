"""The two records that runs of tests/kernels leave on a GPU: what became of each test, and how many random cases
passed.

The first depends on every module of kernels/ and tests/kernels/, and on what tests/ shares with them.  The second,
which takes minutes, depends on the kernels, and on what draws and judges the cases.  Of these neither docstrings nor
messages count, but every check does: it may be what a test looks at.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from scripts.records.imports import Imports
from scripts.records.library import files, without_docstring
from scripts.records.root import Missing, RecordError, Stale, naming, text_of
from scripts.records.store import check, checksum, listed, store
from scripts.records.trees import digest_of, remembered, stripped

Modules = list[tuple[str, Path]]


@dataclass(frozen=True)
class Kept:
    """What a run left.

    provenance: where and when it was, see ``store.STATED``
    """

    provenance: dict
    record: ClassVar[str]  # where it is kept
    name: ClassVar[str]  # as a page calls what ran
    they: ClassVar[str]  # as a message calls the record
    missing: ClassVar[str]
    again: ClassVar[str]

    @property
    def contents(self) -> dict:
        return {name: value for name, value in asdict(self).items() if name != "provenance"}

    @staticmethod
    def modules(root: Path) -> Modules:
        """What it depends on."""
        raise NotImplementedError


@dataclass(frozen=True)
class Outcome(Kept):
    """What became of the kernels' tests.

    files: test file -> {"passed": {test: times}, "skipped": {reason: {test: times}}, "seconds": float}
    """

    files: dict[str, dict]
    record = "tests/kernels/gpu.record.json"
    name = "The GPU suite"
    they = "the record of the kernels' tests"
    missing = "the kernels' tests have not been run on a GPU yet"
    again = "run them on a GPU with: python -m scripts.record_tests"

    @staticmethod
    def modules(root: Path) -> Modules:
        shared = [(name, path) for name, path in files(root, "tests") if path.parent == root / "tests"]
        return [
            *files(root, "kernels"),
            *files(root, "tests/kernels"),
            *(each for each in shared if not is_test(each[1])),
        ]


@dataclass(frozen=True)
class RandomCases(Kept):
    """How many random cases of the kernels passed.

    forms: form -> {"cases": how many, "worst": the largest share of the error budget that one of them used}
    seeds: what the processes drew their cases from   seconds: how long each of them did
    failed: how many cases did not pass   failures: the first of them, to be run again
    """

    forms: dict[str, dict]
    seeds: list[int]
    seconds: float
    failed: int
    failures: list[dict]
    record = "tests/kernels/random.record.json"
    name = "The suite of random cases"
    they = "the record of random cases"
    missing = "random cases of the kernels have not been run on a GPU yet"
    again = "run them on a GPU with: python -m tests.kernels.random_cases"

    @staticmethod
    def modules(root: Path) -> Modules:
        imports = Imports(root)
        there = imports.there
        drawn = [name for name in there if name.startswith(DRAWN) and not is_test(there[name])]
        return [(name, there[name]) for name in sorted(imports.reached(drawn) & there.keys())]


DRAWN = "tests.kernels.random_cases."


def is_test(path: Path) -> bool:
    return path.name.startswith("test_") or path.name == "__main__.py"


def digest(root: Path, of: type[Kept] = Outcome) -> dict[str, str]:
    found = {}
    for name, path in of.modules(root):
        with naming(path):
            found[name] = _digest(text_of(path))
    return found


@remembered
def _digest(source: str) -> str:
    return digest_of(without_docstring(stripped(source, "a module", checks_count=True)))


def look(root: Path, of: type[Kept] = Outcome) -> tuple[Kept | None, RecordError | None]:
    """What was kept, and what is wrong with it, if anything is."""
    try:
        text = (root / of.record).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None, Missing(f"{of.missing}; {of.again}")
    except UnicodeDecodeError as error:
        return None, Stale(f"{of.they} cannot be read ({type(error).__name__}); {of.again}")
    try:
        kept = of(**json.loads(text))
        then = kept.provenance.get("digest", {})
    except Exception as error:  # whatever a broken file makes the parser raise
        return None, Stale(f"{of.they} cannot be read ({type(error).__name__}); {of.again}")
    try:
        check(kept.provenance, kept.contents, of.they, of.again)
    except Stale as fault:
        return kept, fault
    today = digest(root, of)
    if changed := sorted(name for name in today.keys() | then.keys() if today.get(name) != then.get(name)):
        return kept, Stale(f"{of.they} is stale: {listed(changed)} changed since it was made; {of.again}")
    return kept, None


def write(root: Path, kept: Kept) -> None:
    """Store what a run left as its record, whole or not at all."""
    provenance = kept.provenance | {"checksum": checksum(kept.provenance, kept.contents)}
    whole = {"provenance": provenance, **kept.contents}
    store(root / kept.record, json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False))
