"""Run the tests of kernels/ on this machine's GPU, keep what became of them: ``python -m scripts.suite [--all]``.

Runs the whole of tests/kernels, not only what is marked ``gpu``, unless its record is up to date.  The record is
replaced whole, after the last test: a suite in which a test fails, of which a part is left out, or in which nothing
passes changes nothing.
Needs torch, triton, pytest, pytest-timeout, hypothesis and ml_dtypes; no network.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter

import pytest

from scripts import records, watch
from scripts.record import absolute_paths, fault_of_suite, refuse_interpreter, refuse_without_gpu
from scripts.records import RecordError, Suite

SUITE = "tests/kernels"


class Outcomes:
    """A plugin for pytest: what became of each test of each file."""

    def __init__(self) -> None:
        self.passed: dict[str, Counter[str]] = {}  # file -> test -> times
        self.skipped: dict[str, dict[str, Counter[str]]] = {}  # file -> reason -> test -> times
        self.seconds: Counter[str] = Counter()  # file -> set-up, test and tear-down
        self.deselected: list[str] = []

    def pytest_deselected(self, items: list) -> None:
        self.deselected += [item.nodeid for item in items]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:  # a file that skips itself as it is imported
            self.skip(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file, test = file_and_test(report)
        self.seconds[file] += report.duration
        if report.skipped:
            self.skip(report)
        elif report.passed and report.when == "call":
            self.passed.setdefault(file, Counter())[test] += 1

    def skip(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        file, test = file_and_test(report)
        if hasattr(report, "wasxfail"):
            reason = f"expected to fail: {report.wasxfail}"
        else:
            reason = report.longrepr[2].removeprefix("Skipped: ")
        self.skipped.setdefault(file, {}).setdefault(reason, Counter())[test] += 1

    def files(self) -> dict[str, dict]:
        """As a ``Suite`` has them."""
        return {
            file: {
                "passed": dict(self.passed.get(file, {})),
                "skipped": {reason: dict(tests) for reason, tests in self.skipped.get(file, {}).items()},
                "seconds": round(self.seconds[file], 1),
            }
            for file in sorted(self.passed.keys() | self.skipped.keys())
        }


def file_and_test(report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str]:
    """Without the parameters: ``tests/kernels/test_flash.py`` and ``test_any_lengths``."""
    file, _, test = report.nodeid.partition("[")[0].partition("::")
    return file, test or "the whole file"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.suite", description="Run the tests of kernels/ on a GPU.")
    parser.add_argument("--all", action="store_true", help="also if the record is up to date")
    options = parser.parse_args(arguments)
    try:
        if not options.all and not fault_of_suite():
            print("the record of the GPU suite is up to date")
            return 0
        return record()
    except RecordError as error:
        print(f"\nstopped: {error}", file=sys.stderr)
        return 1


def record() -> int:
    """Run the suite, write its record if it passes; pytest's exit status.

    Raises:
        RecordError: without a GPU, in Triton's interpreter, if nothing passed or not all of the suite ran, or if it was
            edited while it ran.  The old record stays as it was.
    """
    name = "the GPU suite"
    refuse_interpreter(name)
    provenance = watch.provenance()
    refuse_without_gpu(name, provenance)
    before = records.suite_digest()
    print(f"{name} on {provenance['gpu']}", flush=True)
    os.environ.pop("PYTEST_ADDOPTS", None)  # all of the suite, whatever someone has set
    outcomes = Outcomes()
    if status := pytest.main([str(records.ROOT / SUITE), f"--rootdir={records.ROOT}"], plugins=[outcomes]):
        print(f"\n{name} did not pass; its record is as it was", file=sys.stderr)
        return int(status)
    if watch.in_interpreter():
        raise RecordError(f"{name} switched Triton's interpreter on; a record is made on a GPU")
    files = outcomes.files()
    there = {path.relative_to(records.ROOT).as_posix() for path in (records.ROOT / SUITE).rglob("test_*.py")}
    if left_out := [*sorted(there - files.keys()), *outcomes.deselected]:
        raise RecordError(f"{name} ran without {', '.join(left_out)}; its record is as it was")
    if not any(file["passed"] for file in files.values()):
        raise RecordError(f"in {name} every test was skipped; its record is as it was")
    if path := next(absolute_paths([[*file["skipped"]] for file in files.values()]), None):
        raise RecordError(f"the reason of a skip shows the absolute path {path}, which is true of one machine only")
    if records.suite_digest() != before:
        raise RecordError(f"a module of {name} was edited while it ran; run it again")
    records.write_suite(Suite({**provenance, "interpreter": False, "digest": before}, files))
    records.read_suite()
    return 0


if __name__ == "__main__":
    sys.exit(main())
