"""The two records that runs of tests/kernels leave on a GPU: what became of each test, and how many random cases
passed.

What became of a test file depends on that file, on each conftest.py above it, and on all modules of tests/ and kernels/
that these reach by imports; another file does not matter to it.  So after a change those files await their run that
reach it, and the others keep the outcome of the run that they were in.  Random cases depend on what draws and judges
them, and on what that reaches.  Of a module neither docstrings nor messages count, but every check does: it may be
what a test looks at.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar

from scripts.records.root import Missing, RecordError, Stale, Waiting, naming, text_of
from scripts.records.source.imports import Imports
from scripts.records.source.library import without_docstring
from scripts.records.source.trees import digest_of, remembered, stripped
from scripts.records.store import check, checksum, listed, store

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

    @property
    def runs(self) -> list[Kept]:
        """Each run of which something was kept, newest first."""
        return [self]

    @staticmethod
    def modules(root: Path) -> Modules:
        """What it depends on."""
        raise NotImplementedError

    def held_to(self, root: Path) -> tuple[Kept | None, RecordError | None]:
        """What of it is of today's source, and what of it is not."""
        today, then = digest(root, type(self)), self.provenance["digest"]
        if changed := changes(today, then, today.keys() | then.keys()):
            what = f"{listed(changed)} changed since it was made"
            return self, Stale(f"{self.they} is stale: {what}; {self.again}")
        return self, None


@dataclass(frozen=True)
class Outcome(Kept):
    """What became of the kernels' tests, when they last ran.

    files: test file -> {"passed": {test: times}, "skipped": {reason: {test: times}}, "seconds": float}
    earlier: the runs before, newest first, each with the files that have not run since: provenance and files
    """

    files: dict[str, dict]
    earlier: list[dict] = field(default_factory=list)
    record = "tests/kernels/gpu.record.json"
    name = "The GPU suite"
    they = "the record of the kernels' tests"
    missing = "the kernels' tests have not been run on a GPU yet"
    again = "run them on a GPU with: python -m scripts.record_tests"

    @staticmethod
    def modules(root: Path) -> Modules:
        imports = Imports(root)
        names = set().union(*reached(imports).values()) & imports.there.keys()
        return [(name, imports.there[name]) for name in sorted(names)]

    @property
    def runs(self) -> list[Outcome]:
        return [Outcome(self.provenance, self.files), *(Outcome(**run) for run in self.earlier)]

    @property
    def all_files(self) -> dict[str, dict]:
        """The files of all runs, as ``files`` has them."""
        return dict(sorted(item for run in self.runs for item in run.files.items()))

    def held_to(self, root: Path) -> tuple[Outcome | None, Waiting | None]:
        today, needed = digest(root), reached(Imports(root))
        runs, waiting = [], {*needed}
        for run in self.runs:
            then = run.provenance["digest"]
            of_today = {file for file in run.files.keys() & waiting if not changes(today, then, needed[file])}
            runs.append(Outcome(run.provenance, {file: run.files[file] for file in sorted(of_today)}))
            waiting -= of_today
        if not waiting:
            return together(runs), None
        they = "1 file of the kernels' tests awaits its run"
        if len(waiting) > 1:
            they = f"{len(waiting)} files of the kernels' tests await their run"
        return together(runs), Waiting(f"{they}: {', '.join(sorted(waiting))}; {self.again}", sorted(waiting))


def summed(provenance: dict, contents: dict) -> dict:
    return {"provenance": provenance | {"checksum": checksum(provenance, contents)}, **contents}


def together(runs: list[Outcome]) -> Outcome | None:
    """Runs, newest first, as one record; a run of which no file is left is none of them."""
    newest, *earlier = [run for run in runs if run.files] or [None]
    return newest and Outcome(
        newest.provenance, newest.files, [summed(run.provenance, run.contents) for run in earlier]
    )


def files_there(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in (root / "tests/kernels").rglob("test_*.py"))


def reached(imports: Imports) -> dict[str, set[str]]:
    """Test file -> the modules that it depends on, also those that are not there: one that comes changes it, too."""
    found = {}
    for file in files_there(imports.root):
        *folders, _ = parts = file.removesuffix(".py").split("/")
        above = (".".join([*folders[:depth], "conftest"]) for depth in range(1, len(folders) + 1))
        found[file] = imports.reached([".".join(parts), *above])
    return found


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
    """Module -> digest, of all that a record depends on."""
    found = {}
    for name, path in of.modules(root):
        with naming(path):
            found[name] = _digest(text_of(path))
    return found


@remembered
def _digest(source: str) -> str:
    return digest_of(without_docstring(stripped(source, "a module", checks_count=True)))


def digest_of_files(root: Path, files: Iterable[str]) -> dict[str, str]:
    """The part of the digest that these test files depend on."""
    found = reached(Imports(root))
    needed = set().union(*(found[file] for file in files))
    return {name: value for name, value in digest(root).items() if name in needed}


def look(root: Path, of: type[Kept] = Outcome) -> tuple[Kept | None, RecordError | None]:
    """What was kept, and what is wrong with it, if anything is.

    Of the kernels' tests only what is of today's source, unless the record is broken.
    """
    try:
        text = (root / of.record).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None, Missing(f"{of.missing}; {of.again}")
    except UnicodeDecodeError as error:
        return None, Stale(f"{of.they} cannot be read ({type(error).__name__}); {of.again}")
    try:
        kept = of(**json.loads(text))
        for run in kept.runs:
            run.provenance.get("digest", {}).get("kernels")
    except Exception as error:  # whatever a broken file makes the parser raise
        return None, Stale(f"{of.they} cannot be read ({type(error).__name__}); {of.again}")
    try:
        check(kept.provenance, kept.contents, of.they, of.again)
        for run in kept.runs[1:]:
            check(run.provenance, run.contents, of.they, of.again)
    except Stale as fault:
        return kept, fault
    return kept.held_to(root)


def changes(today: dict[str, str], then: dict[str, str], names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if today.get(name) != then.get(name))


def write(root: Path, kept: Kept) -> None:
    """Store what a run left as its record, whole or not at all."""
    whole = summed(kept.provenance, kept.contents)
    store(root / kept.record, json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False))
