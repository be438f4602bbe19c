"""Run the kernels' tests on this machine's GPU, keep what became of them: ``python -m scripts.record_tests [--all]``.

Runs the whole of tests/kernels, not only what is marked ``gpu``, unless its record is up to date.  The record is
replaced whole, after the last test: tests of which one fails, a part is left out or none passes change nothing.
Needs torch, triton, pytest, pytest-timeout, hypothesis and ml_dtypes; no network; pytest-xdist where several processes
are to share the GPU (``--processes 8``).
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest

from scripts import records
from scripts.records import ROOT, Outcome, RecordError, kernel_tests
from scripts.records.executed import in_interpreter, provenance
from scripts.records.processes import refuse_without_gpu
from scripts.records.run import absolute_paths, refuse_interpreter

THEY = "the kernels' tests"
TESTS = "tests/kernels"
OPTIONS = ["-o", "addopts=", "-ra", "--strict-markers", "--import-mode=importlib"]  # all, whatever settings say


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.record_tests", description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="also if the record is up to date")
    parser.add_argument(
        "--processes", type=int, default=1, help="so many share the GPU; large tests run in one of them"
    )
    options = parser.parse_args(arguments)
    try:
        if not options.all and not records.look_at_tests()[1]:
            print("the record of the kernels' tests is up to date")
            return 0
        return record(options.processes)
    except RecordError as error:
        print(f"\nstopped: {error}", file=sys.stderr)
        return 1


def record(processes: int = 1) -> int:
    """Run the tests, write their record if they pass; pytest's exit status.

    Raises:
        RecordError: without a GPU, in Triton's interpreter, if nothing passed or not all of the tests ran, or if they
            were edited while they ran.  The old record stays as it was.
    """
    refuse_interpreter(THEY)
    ran = provenance()
    refuse_without_gpu(THEY, ran)
    before = kernel_tests.digest(ROOT)
    print(f"{THEY} on {ran['gpu']}", flush=True)
    os.environ.pop("PYTEST_ADDOPTS", None)
    shared = [f"--numprocesses={processes}", "--dist=loadgroup"] if processes > 1 else []
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "outcome.xml")
        if status := pytest.main([*OPTIONS, *shared, f"--rootdir={ROOT}", f"--junitxml={told}", str(ROOT / TESTS)]):
            print(f"\n{THEY} did not pass; their record is as it was", file=sys.stderr)
            return int(status)
        files = outcome_of(ElementTree.parse(told).getroot())
    if in_interpreter():
        raise RecordError(f"{THEY} switched Triton's interpreter on; a record is made on a GPU")
    refuse_outcome(files, {path.relative_to(ROOT).as_posix() for path in (ROOT / TESTS).rglob("test_*.py")})
    if kernel_tests.digest(ROOT) != before:
        raise RecordError(f"a module of {THEY} was edited while they ran; run them again")
    kernel_tests.write(ROOT, Outcome({**ran, "interpreter": False, "digest": before}, files))
    return 0


def refuse_outcome(files: dict[str, dict], there: set[str]) -> None:
    """Refuses an outcome without one of the files that are there, in which nothing passed, or that shows a path."""
    if left_out := sorted(there - files.keys()):
        raise RecordError(f"{THEY} ran without {', '.join(left_out)}; their record is as it was")
    if not any(file["passed"] for file in files.values()):
        raise RecordError(f"of {THEY} every one was skipped; their record is as it was")
    if path := next(absolute_paths([[*file["skipped"]] for file in files.values()]), None):
        raise RecordError(f"the reason of a skip shows the absolute path {path}, which is true of one machine only")


def outcome_of(junit: ElementTree.Element) -> dict[str, dict]:
    """Pytest's JUnit XML as an ``Outcome`` has it: by file, without the parameters of a test."""
    passed: dict[str, Counter[str]] = {}
    skipped: dict[str, dict[str, Counter[str]]] = {}
    seconds: Counter[str] = Counter()
    for case in junit.iter("testcase"):
        file, test = file_and_test(case)
        seconds[file] += float(case.get("time"))
        skip = case.find("skipped")
        if skip is None:
            passed.setdefault(file, Counter())[test] += 1
        else:
            skipped.setdefault(file, {}).setdefault(reason_of(skip), Counter())[test] += 1
    return {
        file: {
            "passed": dict(passed.get(file, {})),
            "skipped": {reason: dict(tests) for reason, tests in skipped.get(file, {}).items()},
            "seconds": round(seconds[file], 1),
        }
        for file in sorted(passed.keys() | skipped.keys())
    }


def file_and_test(case: ElementTree.Element) -> tuple[str, str]:
    """``tests/kernels/test_a.py`` and ``test_any_lengths``; a file that skips itself is a case without a class."""
    module, test = case.get("classname"), re.split(r"[\[@]", case.get("name"))[0]  # xdist puts the group behind an @
    if not module:
        module, test = test, "the whole file"
    return f"{module.replace('.', '/')}.py", test


def reason_of(skip: ElementTree.Element) -> str:
    if skip.get("type") == "pytest.xfail":
        return f"expected to fail: {skip.get('message')}"
    if skip.get("message") == "collection skipped":  # the reason stands in the text, in a tuple with file and line
        return re.search(r"""Skipped: (.*)['"]\)$""", skip.text)[1]
    return skip.get("message")


if __name__ == "__main__":
    sys.exit(main())
