"""Run the kernels' tests on this machine's GPU, keep what became of them: ``python -m scripts.record_tests [--all]``.

Runs the files of tests/kernels that await their run, or those of them that are named, or all; of a file everything,
not only what is marked ``gpu``.  The record is replaced whole, after the last test, and keeps the outcome of the other
files, with where and when they ran.  A file of which a test fails, or that an interruption (Ctrl-C, SIGINT) cut short,
goes on awaiting its run; it costs the others nothing.
Needs torch, triton, pytest, pytest-timeout, hypothesis and ml_dtypes; no network; pytest-xdist where several processes
are to share the GPU (``--processes 8``).
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from scripts import records
from scripts.records import ROOT, Outcome, RecordError, Waiting, kernel_tests
from scripts.records.executed import in_interpreter, provenance
from scripts.records.processes import refuse_without_gpu
from scripts.records.run import absolute_paths, refuse_interpreter

THEY = "the kernels' tests"
OPTIONS = ["-o", "addopts=", "-ra", "--strict-markers", "--import-mode=importlib"]  # all, whatever settings say


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.record_tests", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help="run these alone of the files that await their run")
    parser.add_argument("--all", action="store_true", help="also the files whose outcome is of today's source")
    parser.add_argument(
        "--processes", type=int, default=1, help="so many share the GPU; large tests run in one of them"
    )
    options = parser.parse_args(arguments)
    if options.all and options.files:
        parser.error("--all runs all files: name none")
    signal.signal(signal.SIGINT, interrupt_once)
    try:
        kept, fault = records.look_at_tests()
        if not options.all and not fault:
            print("the record of the kernels' tests is up to date")
            return 0
        if not options.all and isinstance(fault, Waiting):
            return record(named(options.files, fault.files), kept, options.processes)
        if options.files:
            raise RecordError(f"{THEY} have no record that files could be added to; leave {options.files[0]} out")
        return record(kernel_tests.files_there(ROOT), None, options.processes)
    except RecordError as error:
        print(f"\nstopped: {error}", file=sys.stderr)
        return 1


def interrupt_once(*_: object) -> None:
    """Ends the tests, and nothing more: what passed is still to be kept, however often Ctrl-C comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def named(files: list[str], waiting: list[str]) -> list[str]:
    """The files that were asked for, or all that await their run."""
    if others := sorted({*files} - {*waiting}):
        raise RecordError(f"{others[0]} is no file of {THEY} that awaits its run; these do: {', '.join(waiting)}")
    return files or waiting


def record(chosen: list[str], kept: Outcome | None, processes: int = 1) -> int:
    """Run these test files, write the record of those that pass, with what is kept of other runs; pytest's exit status.

    Raises:
        RecordError: without a GPU, in Triton's interpreter, if nothing passed or a file held no test, or if they were
            edited while they ran.  The old record stays as it was.
    """
    refuse_interpreter(THEY)
    ran = provenance()
    refuse_without_gpu(THEY, ran)
    before = kernel_tests.digest(ROOT)
    files = f", {len(chosen)} files that await their run" if kept else ""
    print(f"{THEY} on {ran['gpu']}{files}", flush=True)
    os.environ.pop("PYTEST_ADDOPTS", None)
    shared = []
    if processes > 1:
        shared = [f"--numprocesses={processes}", "--dist=loadgroup"]
        os.environ["OMP_NUM_THREADS"] = "1"  # not one for every core, which get in each other's way
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "outcome.xml")
        paths = [str(ROOT / file) for file in chosen]
        followed = Followed()
        status = pytest.main([*OPTIONS, *shared, f"--rootdir={ROOT}", f"--junitxml={told}", *paths], plugins=[followed])
        passed = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)  # a file may skip itself
        files = outcome_of(ElementTree.parse(told).getroot()) if told.exists() else {}
    if in_interpreter():
        raise RecordError(f"{THEY} switched Triton's interpreter on; a record is made on a GPU")
    if not passed:
        files = {file: found for file, found in files.items() if file not in followed.not_whole()}
        awaiting = ", ".join(sorted({*chosen} - files.keys()))
        became = f"these await their run still: {awaiting}" if files else "their record is as it was"
        print(f"\n{THEY} did not pass; {became}", file=sys.stderr)
        if not files:
            return int(status)
    runs = kept.runs if kept else []
    refuse_outcome(files, {*chosen} if passed else {*files}, runs)
    if kernel_tests.digest(ROOT) != before:
        raise RecordError(f"a module of {THEY} was edited while they ran; run them again")
    stated = {**ran, "interpreter": False, "digest": kernel_tests.digest_of_files(ROOT, files)}
    kernel_tests.write(ROOT, kernel_tests.together([Outcome(stated, files), *runs]))
    return 0 if passed else int(status)


class Followed:
    """A plugin of pytest's that notices of which test files every test has come to its end, and none failed."""

    def __init__(self):
        self.collected: set[str] = set()
        self.ended: set[str] = set()
        self.failed: set[str] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collected |= {item.nodeid for item in session.items}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids: list[str]) -> None:
        self.collected |= {*ids}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.failed |= {report.nodeid} if report.failed else set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= {report.nodeid} if report.failed else set()
        self.ended |= {report.nodeid} if report.when == "teardown" else set()

    def not_whole(self) -> set[str]:
        """The files of which a test failed, or has not been run to its end."""
        return {test.partition("::")[0] for test in self.failed | (self.collected - self.ended)}


def refuse_outcome(files: dict[str, dict], there: set[str], kept: Iterable[Outcome] = ()) -> None:
    """Refuses an outcome without one of the files that are there, or that shows a path; and if nothing passed, nor in
    what is kept.
    """
    if left_out := sorted(there - files.keys()):
        raise RecordError(f"{THEY} ran without {', '.join(left_out)}; their record is as it was")
    if not any(file["passed"] for run in (files, *(each.files for each in kept)) for file in run.values()):
        raise RecordError(f"of {THEY} every one was skipped; their record is as it was")
    if path := next(absolute_paths([[*file["skipped"]] for file in files.values()]), None):
        raise RecordError(f"the reason of a skip shows the absolute path {path}, which is true of one machine only")


def outcome_of(junit: ElementTree.Element) -> dict[str, dict]:
    """Pytest's JUnit XML as an ``Outcome`` has it: by file, without the parameters of a test."""
    passed: dict[str, Counter[str]] = {}
    skipped: dict[str, dict[str, Counter[str]]] = {}
    seconds: Counter[str] = Counter()
    for case in junit.iterfind(".//testcase[@name]"):  # one that was interrupted has none
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
