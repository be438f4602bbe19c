"""Runs the kernels' tests on this machine's GPU and keeps the outcome: ``make record``.

Runs the files of tests/kernels that wait for their run, or the named ones among them, or all. The record is replaced
whole, after the last test. A file with a failed test, or one that Ctrl-C or SIGTERM cut short, goes on waiting; the
others don't. Needs torch, triton, pytest, pytest-timeout, hypothesis and ml_dtypes; no network; pytest-xdist where
several processes share the GPU (``--processes 8``). COMMIT names the commit if Git can't.
"""

import argparse
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterable

import pytest

from scripts.records import ROOT, RecordError, kernel_outcomes
from scripts.records.digest import Modules
from scripts.records.record_file import find_absolute_path, refuse_unfit
from scripts.records.run_tracer import in_interpreter, provenance

SUBJECT = "the kernels' tests"
OPTIONS = ["-o", "addopts=", "-ra", "--strict-markers", "--import-mode=importlib"]  # all, whatever settings say


def main(arguments: list[str] | None = None) -> int:
    title = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m scripts.gpu_tests", description=title)
    parser.add_argument("files", nargs="*", metavar="FILE", help="run only these of the files that wait for their run")
    parser.add_argument("--all", action="store_true", help="also the files whose outcome is of today's source")
    parser.add_argument("--processes", type=int, default=1, help="how many share the GPU")
    options = parser.parse_args(arguments)
    try:
        current, waiting = kernel_outcomes.current_and_waiting(ROOT, Modules(ROOT))
        runnable = kernel_outcomes.test_files(ROOT) if options.all else waiting
        if not_runnable := sorted({*options.files} - {*runnable}):
            raise RecordError(f"{not_runnable[0]} doesn't wait for its run; these do: {', '.join(runnable)}")
        if not runnable:
            print(f"the record of {SUBJECT} is current")
            return 0
        return record(options.files or runnable, current, options.processes)
    except RecordError as error:
        print(f"\nstopped: {error}", file=sys.stderr)
        return 1


def record(chosen: list[str], current: dict[str, dict], processes: int) -> int:
    """Runs these test files and keeps the outcome of those that pass; returns pytest's exit status.

    Raises RecordError, and leaves the old record as it was, if no record can be made on this machine or of this run.
    """
    run_provenance = provenance()
    refuse_unfit(SUBJECT, run_provenance)
    digests_before = digests(chosen)
    print(f"{SUBJECT} on {run_provenance['gpu']}, {len(chosen)} files", flush=True)
    os.environ.pop("PYTEST_ADDOPTS", None)
    xdist_options = []
    if processes > 1:
        xdist_options = [f"--numprocesses={processes}", "--dist=loadgroup"]
        os.environ["OMP_NUM_THREADS"] = "1"  # not one for every core, which get in each other's way
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what has passed is kept
    outcomes, paths = Outcomes(), [str(ROOT / file) for file in chosen]
    status = pytest.main([*OPTIONS, *xdist_options, f"--rootdir={ROOT}", *paths], plugins=[outcomes])
    if in_interpreter():
        raise RecordError(f"{SUBJECT} switched Triton's interpreter on; a record is made on a GPU")
    passed = outcomes.passed_files()
    if path := find_absolute_path([reason for outcome in passed.values() for reason in outcome["skipped"]]):
        raise RecordError(f"the reason of a skip shows the absolute path {path}, true of one machine only")
    if digests(chosen) != digests_before:
        raise RecordError(f"a module of {SUBJECT} was edited while they ran; run them again")
    new = {file: outcome | {"digest": digests_before[file], "ran": run_provenance} for file, outcome in passed.items()}
    kernel_outcomes.save_outcomes(ROOT, kernel_outcomes.TESTS, {"files": current | new})
    if waiting := sorted({*chosen} - new.keys()):
        print(f"\nstill waiting for a run that passes: {', '.join(waiting)}", file=sys.stderr)
        return int(status) or 1
    return 0


def digests(files: Iterable[str]) -> dict[str, str]:
    modules = Modules(ROOT)
    return {file: kernel_outcomes.digest_of_file(modules, file) for file in files}


class Outcomes:
    """A plugin of pytest's that gathers, by file, what became of each test, without its parameters."""

    def __init__(self):
        self.files: dict[str, dict] = {}
        self.collected: set[str] = set()
        self.ended: set[str] = set()
        self.failed: set[str] = set()

    def passed_files(self) -> dict[str, dict]:
        """Returns the outcome of each file whose tests all ran to their end without a failure."""
        wrong = {test.partition("::")[0] for test in self.failed | (self.collected - self.ended)}
        passed = {file: outcome for file, outcome in self.files.items() if file not in wrong}
        return {file: outcome | {"seconds": round(outcome["seconds"], 1)} for file, outcome in passed.items()}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collected |= {item.nodeid for item in session.items}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids: list[str]) -> None:
        self.collected |= {*ids}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:  # a file that skips itself, or one that can't be imported
            self.pytest_runtest_logreport(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        file, _, test = report.nodeid.partition("::")
        test = re.split(r"[\[@]", test)[0] or "the whole file"  # xdist puts the group behind an @
        outcome = self.files.setdefault(file, {"passed": Counter(), "skipped": {}, "seconds": 0.0})
        outcome["seconds"] += getattr(report, "duration", 0.0)
        if report.failed:
            self.failed.add(report.nodeid)
            print(f"\nfailed: {report.nodeid}", flush=True)  # a run that's cut short has no summary
        elif report.skipped:
            outcome["skipped"].setdefault(skip_reason(report), Counter())[test] += 1
        elif report.when == "call":
            outcome["passed"][test] += 1
        if report.when == "teardown":
            self.ended.add(report.nodeid)


def skip_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if hasattr(report, "wasxfail"):
        return f"expected to fail: {report.wasxfail.removeprefix('reason: ')}"
    return report.longrepr[2].removeprefix("Skipped: ")


if __name__ == "__main__":
    sys.exit(main())
