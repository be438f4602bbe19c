"""Runs the tests whose names it reads from stdin, each in a fork of one process that has imported torch and Triton.

It runs in a copy of the code, which may change from one test to the next: the kernels and their tests are imported by
the forks alone.  It answers each line with what became of the test, in one word, and by which error if it failed, or
by which signal if its fork died.
"""

import gc
import os
import signal
import sys
from importlib import import_module

import pytest
import torch

# Whatever takes long to import, and is none of ours: torch has most of it imported when a first operator is made, and
# pytest imports Hypothesis at its end, with each of its assertions rewritten.
for name in (
    "torch._dynamo",
    "torch.distributed",
    "torch.onnx",
    "torch.testing",
    "triton.experimental.gluon",
    "hypothesis",
):
    import_module(name)


class Verdict:
    """What became of the one test: passed, failed with the error's name, skipped, or not run."""

    text = "not run"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if report.failed:
            self.text = f"failed {call.excinfo.typename}"
        elif report.when == "call" and report.passed and not self.text.startswith("failed"):
            self.text = "passed"
        elif report.skipped and self.text == "not run":
            self.text = "skipped"
        return report


def run(test: str, output: str, answer: int) -> None:
    """In the fork: what the test prints goes to the file ``output``, what became of it to ``answer``."""
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    verdict = Verdict()
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--timeout", "120"]
    pytest.main([*options, test], plugins=[verdict])
    os.write(answer, verdict.text.encode())
    os._exit(0)


gc.freeze()  # pytest collects garbage twice, and need not look through all of this
torch.set_num_threads(1)
while line := sys.stdin.readline().rstrip("\n"):
    test, output, os.environ["TRITON_CACHE_DIR"] = line.split("\t")
    read_end, write_end = os.pipe()
    if (child := os.fork()) == 0:
        run(test, output, write_end)
    os.close(write_end)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    died = f"died {signal.Signals(-code).name}" if code < 0 else "died"
    print(os.read(read_end, 1000).decode() or died, flush=True)
    os.close(read_end)
