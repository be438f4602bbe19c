"""The record of the kernels' tests: what became of each when they last ran on a GPU, tests/kernels/gpu.record.json.

It depends on every module of kernels/ and tests/kernels/, and on what tests/ shares with them; of these neither
docstrings nor messages count, but every check does: it may be what a test looks at.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from scripts.records.library import files, without_docstring
from scripts.records.root import Missing, RecordError, Stale, naming, text_of
from scripts.records.store import check, checksum, listed, store
from scripts.records.trees import digest_of, remembered, stripped

RECORD = "tests/kernels/gpu.record.json"
AGAIN = "run them on a GPU with: python -m scripts.record_tests"
THEY = "the record of the kernels' tests"


@dataclass(frozen=True)
class Outcome:
    """What became of the kernels' tests.

    provenance: where and when they ran, see ``store.STATED``
    files: test file -> {"passed": {test: times}, "skipped": {reason: {test: times}}, "seconds": float}
    """

    provenance: dict
    files: dict[str, dict]
    name = "The GPU suite"


def digest(root: Path) -> dict[str, str]:
    shared = [(name, path) for name, path in files(root, "tests") if path.parent == root / "tests"]
    shared = [(name, path) for name, path in shared if not path.name.startswith("test_")]
    modules = [*files(root, "kernels"), *files(root, "tests/kernels"), *shared]
    found = {}
    for name, path in modules:
        with naming(path):
            found[name] = _digest(text_of(path))
    return found


@remembered
def _digest(source: str) -> str:
    return digest_of(without_docstring(stripped(source, "a module", checks_count=True)))


def look(root: Path) -> tuple[Outcome | None, RecordError | None]:
    """The outcome, and what is wrong with it, if anything is."""
    try:
        text = (root / RECORD).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None, Missing(f"the kernels' tests have not been run on a GPU yet; {AGAIN}")
    except UnicodeDecodeError as error:
        return None, Stale(f"{THEY} cannot be read ({type(error).__name__}); {AGAIN}")
    try:
        whole = json.loads(text)
        outcome = Outcome(whole["provenance"], whole["files"])
        then = outcome.provenance.get("digest", {})
    except Exception as error:  # whatever a broken file makes the parser raise
        return None, Stale(f"{THEY} cannot be read ({type(error).__name__}); {AGAIN}")
    try:
        check(outcome.provenance, outcome.files, THEY, AGAIN)
    except Stale as fault:
        return outcome, fault
    today = digest(root)
    if changed := sorted(name for name in today.keys() | then.keys() if today.get(name) != then.get(name)):
        return outcome, Stale(f"{THEY} is stale: {listed(changed)} changed since it was made; {AGAIN}")
    return outcome, None


def write(root: Path, outcome: Outcome) -> None:
    """Store what became of the tests as their record, whole or not at all."""
    provenance = outcome.provenance | {"checksum": checksum(outcome.provenance, outcome.files)}
    whole = {"provenance": provenance, "files": outcome.files}
    store(root / RECORD, json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False))
