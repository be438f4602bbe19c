"""What became of the kernels' tests, and of random cases of the kernels, when they last ran on a GPU.

A test file depends on itself, on each conftest.py above it, and on what these reach by imports. After a change the
files that reach it wait for their next run, and the others keep their outcome.
"""

import json
from pathlib import Path

from scripts.records.digest import Modules, short_hash
from scripts.records.record_file import check_integrity, checksum, write_atomically
from scripts.records.root import RecordError

TESTS = "tests/kernels/outcomes.json"
RANDOM_CASES = "tests/kernels/random_cases.json"
RANDOM_CASE_MODULES = "tests.kernels.random_cases."


def test_files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in (root / "tests/kernels").rglob("test_*.py"))


def digest_of_file(modules: Modules, file: str) -> str:
    *folders, _ = parts = file.removesuffix(".py").split("/")
    above = (".".join([*folders[:depth], "conftest"]) for depth in range(1, len(folders) + 1))
    return digest_of(modules, {".".join(parts), *above} & modules.files.keys())


def digest_of_random_cases(modules: Modules) -> str:
    last = {name: name.rpartition(".")[2] for name in modules.files if name.startswith(RANDOM_CASE_MODULES)}
    return digest_of(modules, {name for name, end in last.items() if end != "__main__" and not end.startswith("test_")})


def digest_of(modules: Modules, names: set[str]) -> str:
    """Returns one hash of these modules and of all that they reach."""
    reached = modules.reachable("\n".join(f"import {name}" for name in sorted(names)))
    return short_hash(*(text for each in modules.digests(names | reached).items() for text in each))


def current_and_waiting(root: Path, modules: Modules) -> tuple[dict[str, dict], list[str]]:
    """Returns the outcome of each test file that's of today's source, and the files that wait for their run.

    An outcome: ``{"passed": {test: times}, "skipped": {reason: {test: times}}, "seconds", "digest", "ran": {...}}``
    """
    recorded = load(root, TESTS).get("files", {})
    current_files = test_files(root)
    current_digests = {file: digest_of_file(modules, file) for file in current_files}
    current = {
        file: outcome
        for file, outcome in recorded.items()
        if file in current_files and outcome["digest"] == current_digests[file]
    }
    return current, [file for file in current_files if file not in current]


def random_cases(root: Path, modules: Modules) -> tuple[dict | None, bool]:
    """Returns what a run of random cases left, None without one, and whether it's of today's source.

    It has ``forms``: {form: {"cases", "worst"}}, ``seeds``, ``seconds``, ``failed``, ``failures``, ``digest``, ``ran``.
    """
    kept = load(root, RANDOM_CASES) or None
    return kept, bool(kept) and kept["digest"] == digest_of_random_cases(modules)


def load(root: Path, place: str) -> dict:
    """Returns a stored file, {} without one; raises RecordError if it can't be read, was edited, or ``why_unfit``."""
    again = "run the tests on a GPU again"
    try:
        stored = json.loads((root / place).read_text(encoding="utf-8"))
        stored_checksum = stored.pop("checksum")
        runs = [each["ran"] for each in stored["files"].values()] if "files" in stored else [stored["ran"]]
        for ran in runs:
            check_integrity(stored_checksum, checksum({}, stored), ran, place, again)
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"{place} can't be read ({type(error).__name__}); {again}") from error
    return stored


def keep(root: Path, place: str, kept: dict) -> None:
    """Stores what a run left, whole or not at all."""
    kept = json.loads(json.dumps(kept))  # as it will be read
    whole = kept | {"checksum": checksum({}, kept)}
    write_atomically(root / place, json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False))
