"""Watch every memory access of the kernels on this machine's GPU: ``python -m tests.kernels.sanitize``.

NVIDIA's compute-sanitizer runs tests/kernels/test_small.py three times: memcheck looks for accesses outside of an
allocation, racecheck for threads that meet in shared memory without a barrier, initcheck for reads of what was never
written.  The exit status is 0 if none of them found anything.

Racecheck leaves out the Hopper kernel: it takes the hand-over of work to other warps, which Triton writes and guards by
named barriers, for a race, at the line of ``gl.warp_specialize`` and before any of our own code.  So does initcheck:
it does not see what TMA writes, and takes the kernel's output for never written.  That all of it is written, the tests
show on memory that is prefilled with NaN.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.records.run_tracer import in_interpreter

ROOT = Path(__file__).resolve().parents[2]
TESTS = "tests/kernels/test_small.py"
WITHOUT_HOPPER = "plain and not hopper"
TOOLS = {"memcheck": "plain", "racecheck": WITHOUT_HOPPER, "initcheck": WITHOUT_HOPPER}  # and which tests
FOUND = 9  # compute-sanitizer's exit status then; pytest has 0 to 5


def main() -> int:
    """Exit status 1 where it cannot run or a test fails, 9 where a tool found something."""
    if fault := unfit():
        print(fault, file=sys.stderr)
        return 1
    # Memory prefilled with NaN has been written to, so initcheck wants the plain half.
    tests = [sys.executable, "-m", "pytest", TESTS, "-q", "-p", "no:cacheprovider", "-k"]
    # Each tensor is an allocation of its own, whose end memcheck knows.
    environment = os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "PYTEST_ADDOPTS": ""}
    print("Once without a sanitizer: it compiles the kernels.", flush=True)
    if subprocess.run([*tests, "plain"], cwd=ROOT, env=environment).returncode:
        print("The tests fail without a sanitizer: mend that first.", file=sys.stderr)
        return 1
    for tool, which in TOOLS.items():
        print(f"\n{tool}", flush=True)
        sanitizer = ["compute-sanitizer", "--tool", tool, "--error-exitcode", str(FOUND)]
        status = subprocess.run([*sanitizer, *tests, which], cwd=ROOT, env=environment).returncode
        if status:
            print(f"{tool} found something, see above." if status == FOUND else f"{tool} failed.", file=sys.stderr)
            return status
    print(f"\nClean: {', '.join(TOOLS)}.")
    return 0


def unfit() -> str | None:
    """Why this machine cannot do it, and what would help; None if it can."""
    if not shutil.which("nvidia-smi") or subprocess.run(["nvidia-smi"], capture_output=True).returncode:
        return "No GPU here, and compute-sanitizer watches kernels on one: run `make sanitize` where there is one."
    if not shutil.which("compute-sanitizer"):
        return (
            "compute-sanitizer is not on PATH. It comes with the CUDA toolkit, in its bin/ "
            "(PATH=$PATH:/usr/local/cuda/bin), or by itself, from NVIDIA's apt source, as cuda-sanitizer-13-0"
        )
    if in_interpreter():
        return "TRITON_INTERPRET is set, so that no kernel would run on the GPU. Unset it."
    return None


if __name__ == "__main__":
    sys.exit(main())
