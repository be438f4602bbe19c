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
    conftests = (".".join([*folders[:depth], "conftest"]) for depth in range(1, len(folders) + 1))
    return digest_of(modules, {".".join(parts), *conftests} & modules.files.keys())


def digest_of_random_cases(modules: Modules) -> str:
    last_parts = {name: name.rpartition(".")[2] for name in modules.files if name.startswith(RANDOM_CASE_MODULES)}
    return digest_of(
        modules, {name for name, last in last_parts.items() if last != "__main__" and not last.startswith("test_")}
    )


def digest_of(modules: Modules, names: set[str]) -> str:
    """Returns one hash of these modules and of all that they reach."""
    reachable = modules.reachable("\n".join(f"import {name}" for name in sorted(names)))
    return short_hash(*(text for pair in modules.digests(names | reachable).items() for text in pair))


def current_and_waiting(root: Path, modules: Modules) -> tuple[dict[str, dict], list[str]]:
    """Returns the outcome of each test file that's of today's source, and the files that wait for their run.

    An outcome: ``{"passed": {test: times}, "skipped": {reason: {test: times}}, "seconds", "digest", "ran": {...}}``
    """
    recorded = load_outcomes(root, TESTS).get("files", {})
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
    recorded = load_outcomes(root, RANDOM_CASES) or None
    return recorded, bool(recorded) and recorded["digest"] == digest_of_random_cases(modules)


def load_outcomes(root: Path, path: str) -> dict:
    """Returns a stored file, {} without one; raises RecordError if it can't be read, was edited or is no record."""
    remedy = "run the tests on a GPU again"
    try:
        stored = json.loads((root / path).read_text(encoding="utf-8"))
        stored_checksum = stored.pop("checksum")
        runs = [file["ran"] for file in stored["files"].values()] if "files" in stored else [stored["ran"]]
        for ran in runs:
            check_integrity(stored_checksum, checksum({}, stored), ran, path, remedy)
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"{path} can't be read ({type(error).__name__}); {remedy}") from error
    return stored


def save_outcomes(root: Path, path: str, outcomes: dict) -> None:
    """Stores what a run left, whole or not at all."""
    outcomes = json.loads(json.dumps(outcomes))  # as it will be read
    with_checksum = outcomes | {"checksum": checksum({}, outcomes)}
    write_atomically(root / path, json.dumps(with_checksum, indent=1, sort_keys=True, ensure_ascii=False))
