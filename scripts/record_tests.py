"""Runs the kernels' tests on this machine's GPU and keeps the outcome: ``python -m scripts.record_tests [--all]``.

Runs the files of tests/kernels that wait for their run, or those of them that are named, or all. The record is replaced
whole, after the last test. A file with a failed test, or one that Ctrl-C cut short, goes on waiting; others are kept.
Needs torch, triton, pytest, pytest-timeout, hypothesis and ml_dtypes; no network; pytest-xdist where several processes
share the GPU (``--processes 8``).
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
from pathlib import Path

import pytest

from scripts.records import ROOT, RecordError, suite
from scripts.records.digest import Modules
from scripts.records.processes import refuse_without_gpu
from scripts.records.run import absolute_paths, refuse_interpreter
from scripts.records.watched import in_interpreter, provenance

THEY = "the kernels' tests"
OPTIONS = ["-o", "addopts=", "-ra", "--strict-markers", "--import-mode=importlib"]  # all, whatever settings say


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.record_tests", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help="run only these of the files that wait for their run")
    parser.add_argument("--all", action="store_true", help="also the files whose outcome is of today's source")
    parser.add_argument("--processes", type=int, default=1, help="how many share the GPU")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGINT, interrupt_once)
    try:
        kept, waiting = suite.outcomes(ROOT, Modules(ROOT))
        there = suite.test_files(ROOT) if options.all else waiting
        if others := sorted({*options.files} - {*there}):
            raise RecordError(f"{others[0]} doesn't wait for its run; these do: {', '.join(there)}")
        if not there:
            print(f"the record of {THEY} is current")
            return 0
        return record(options.files or there, kept, options.processes)
    except RecordError as error:
        print(f"\nstopped: {error}", file=sys.stderr)
        return 1


def interrupt_once(*_: object) -> None:
    """Ends the tests and nothing more: what passed is still to be kept, however often Ctrl-C comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def record(chosen: list[str], kept: dict[str, dict], processes: int = 1) -> int:
    """Runs these test files and keeps the outcome of those that pass; returns pytest's exit status.

    Raises:
        RecordError: without a GPU, in Triton's interpreter, if the reason of a skip shows an absolute path, or if the
            tests were edited while they ran. The old record stays as it was.
    """
    refuse_interpreter(THEY)
    ran = provenance() | {"interpreter": False}
    refuse_without_gpu(THEY, ran)
    modules = Modules(ROOT)
    before = {file: suite.digest_of_file(modules, file) for file in chosen}
    print(f"{THEY} on {ran['gpu']}, {len(chosen)} files", flush=True)
    os.environ.pop("PYTEST_ADDOPTS", None)
    shared = []
    if processes > 1:
        shared = [f"--numprocesses={processes}", "--dist=loadgroup"]
        os.environ["OMP_NUM_THREADS"] = "1"  # not one for every core, which get in each other's way
    with tempfile.TemporaryDirectory() as folder:
        told, followed = Path(folder, "outcome.xml"), Followed()
        paths = [str(ROOT / file) for file in chosen]
        status = pytest.main([*OPTIONS, *shared, f"--rootdir={ROOT}", f"--junitxml={told}", *paths], plugins=[followed])
        found = outcome_of(ElementTree.parse(told).getroot()) if told.exists() else {}
    if in_interpreter():
        raise RecordError(f"{THEY} switched Triton's interpreter on; a record is made on a GPU")
    whole = {file: outcome for file, outcome in found.items() if file not in followed.not_whole()}
    if path := next(absolute_paths([[*outcome["skipped"]] for outcome in whole.values()]), None):
        raise RecordError(f"the reason of a skip shows the absolute path {path}, which is true of one machine only")
    modules = Modules(ROOT)
    if before != {file: suite.digest_of_file(modules, file) for file in chosen}:
        raise RecordError(f"a module of {THEY} was edited while they ran; run them again")
    new = {file: outcome | {"digest": before[file], "ran": ran} for file, outcome in whole.items()}
    suite.keep(ROOT, suite.TESTS, {"files": kept | new})
    if waiting := sorted({*chosen} - new.keys()):
        print(f"\nstill waiting for a run that passes: {', '.join(waiting)}", file=sys.stderr)
        return int(status) or 1
    return 0


class Followed:
    """A plugin of pytest's that notices which test files came to their end without a failure."""

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
        """Returns the files of which a test failed, or didn't run to its end."""
        return {test.partition("::")[0] for test in self.failed | (self.collected - self.ended)}


def outcome_of(junit: ElementTree.Element) -> dict[str, dict]:
    """Returns pytest's JUnit XML by file, without the parameters of a test."""
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
    """Returns ``tests/kernels/test_a.py`` and ``test_any``; a file that skips itself is a case without a class."""
    module, test = case.get("classname"), re.split(r"[\[@]", case.get("name"))[0]  # xdist puts the group behind an @
    if not module:
        module, test = test, "the whole file"
    return f"{module.replace('.', '/')}.py", test


def reason_of(skip: ElementTree.Element) -> str:
    if skip.get("type") == "pytest.xfail":
        return f"expected to fail: {skip.get('message')}"
    if skip.get("message") == "collection skipped":  # the reason is in the text, in a tuple with file and line
        return re.search(r"""Skipped: (.*)['"]\)$""", skip.text)[1]
    return skip.get("message")


if __name__ == "__main__":
    sys.exit(main())
