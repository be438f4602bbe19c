"""What ncu counts is told kernel by kernel, and what it cannot count is said."""

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from kernels.bench.peers import SDPA
from kernels.bench.profiling.dram import DramTraffic, dram_traffic
from kernels.flash.attention import flash_attention
from kernels.reference import attention

ROOT = Path(__file__).resolve().parents[4]


HEADER = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
    '"CC","dram__bytes_read.sum","dram__bytes_write.sum","gpu__time_duration.sum"'
)


UNITS = '"","","","","","","","","","","","byte","byte","ns"'
LAUNCH = '"{}","41","python","127.0.0.1","{}","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","{}","{}","{}"'


COUNTED = f"""==PROF== Connected to process 41 (/usr/bin/python3.12)
==PROF== Profiling "gemm" - 0: 0%....50%....100% - 1 pass
==PROF== Profiling "softmax" - 1: 0%....50%....100% - 1 pass
==PROF== Disconnected from process 41
{HEADER}
{UNITS}
{LAUNCH.format(0, "gemm", "6,912,000", "109,300,224", "55,488")}
{LAUNCH.format(1, "softmax", "134217728", "0", "262880.00")}
"""


@pytest.fixture
def ncu(monkeypatch, tmp_path):
    """An ``ncu`` that writes down how it was called, and says and does what it is told."""
    stub = tmp_path / "ncu"

    def says(stdout="", stderr="", status=0):
        (tmp_path / "stdout").write_text(stdout)
        (tmp_path / "stderr").write_text(stderr)
        stub.write_text(
            f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {tmp_path}/arguments\n(pwd; echo $LC_ALL) > {tmp_path}/around\n"
            f"cat {tmp_path}/stdout\ncat {tmp_path}/stderr >&2\nexit {status}\n"
        )
        stub.chmod(0o755)
        return tmp_path

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return says


def test_traffic_is_counted_kernel_by_kernel(ncu, capfd):
    ncu(COUNTED, stderr="a warning")
    assert dram_traffic(attention, 1, 1, 64, 16) == [
        DramTraffic("gemm", 6_912_000, 109_300_224, pytest.approx(0.055488)),
        DramTraffic("softmax", 134_217_728, 0, pytest.approx(0.26288)),
    ]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("flush, control", [(True, "all"), (False, "none")])
def test_ncu_is_told_what_to_count(ncu, flush, control):
    folder = ncu(COUNTED)
    dram_traffic(flash_attention, 1, 2, 64, 16, flush=flush)
    arguments = (folder / "arguments").read_text().split("\n")[:-1]
    case = ["-m", "kernels.bench.profiling.dram", "kernels.flash.attention:flash_attention", "1", "2", "64", "16"]
    assert arguments[-8:] == [sys.executable, *case]
    options = dict(zip(arguments[1:-8:2], arguments[2:-8:2], strict=True))
    assert arguments[0] == "--csv" and options == {
        "--page": "raw",
        "--print-units": "base",
        "--print-kernel-base": "function",
        "--metrics": "dram__bytes_read.sum,dram__bytes_write.sum,gpu__time_duration.sum",
        "--profile-from-start": "off",
        "--clock-control": "none",
        "--cache-control": control,
    }
    assert (folder / "around").read_text().split("\n")[:2] == [
        str(ROOT),
        "C",
    ]  # where -m finds kernels; 1,000 not 1.000


@pytest.mark.parametrize(
    "stdout, stderr, status, words",
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n", "", 0, "want of permission .*ERR_NVGPUCT"),
        ("==PROF== Connected\n", "", 0, "counted nothing of kernels.reference:attention:\n==PROF== Connected"),
        ("", "Traceback: dram_traffic needs a GPU", 1, "dram_traffic needs a GPU"),
        (COUNTED, "Traceback: a second kernel failed", 1, "a second kernel failed"),
        ("", "", 0, "it said nothing"),
        (f"{HEADER}\n{UNITS}\n", "", 0, "counted nothing"),
        (COUNTED.replace('"byte","byte"', '"Mbyte","byte"'), "", 0, "cannot be read.*Mbyte"),
        (COUNTED.replace("6,912,000", "n/a"), "", 0, "cannot be read.*n/a"),
        (COUNTED.replace("dram__bytes_read.sum", "dram__sectors"), "", 0, "cannot be read.*dram__bytes_read"),
    ],
)
def test_what_ncu_cannot_count_is_said(ncu, stdout, stderr, status, words):
    ncu(stdout, stderr, status)
    with pytest.raises(RuntimeError, match=f"(?s){words}"):
        dram_traffic(attention, 1, 1, 64, 16)


def test_without_ncu_it_says_where_it_comes_from(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"needs ncu on the PATH.*kernels\.bench\.cost"):
        dram_traffic(attention, 1, 1, 64, 16)


@pytest.mark.parametrize(
    "nameless",
    [SDPA["sdpa_math"], lambda q, k, v: q, partial(attention), torch.mm, SimpleNamespace],
)
def test_what_another_process_could_not_find_is_refused(ncu, nameless):
    with pytest.raises(ValueError, match="a function of a module of kernels is wanted"):
        dram_traffic(nameless, 1, 1, 64, 16)


def called_for_ncu(shape, prefix=""):
    """What ``ncu`` would run, in a process whose CUDA is pretended: prints when the counters start and stop."""
    code = f"""
import runpy, sys, torch
import kernels.reference
randn, attend = torch.randn, kernels.reference.attention
torch.randn = lambda *shape, device: randn(*shape)
torch.cuda.is_available, torch.cuda.synchronize = (lambda: {not prefix}), (lambda: None)
torch.cuda.profiler.start, torch.cuda.profiler.stop = (lambda: print("start")), (lambda: print("stop"))
kernels.reference.attention = lambda q, k, v: print("attention", list(q.shape), q.dtype, attend(q, k, v).isnan().any())
sys.argv[1:] = ["kernels.reference:attention", *{shape!r}.split()]
runpy.run_module("kernels.bench.profiling.dram", run_name="__main__")
"""
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)


def test_what_ncu_runs_warms_up_and_is_counted_once():
    run = called_for_ncu("1 2 64 16")
    call = "attention [1, 2, 64, 16] torch.float16 tensor(False)"
    assert run.stdout.splitlines() == [call, "start", call, "stop"] and run.stderr == ""


def test_what_ncu_runs_needs_a_gpu():
    run = called_for_ncu("1 2 64 16", prefix="no GPU")
    assert run.returncode and "dram_traffic needs a GPU" in run.stderr and run.stdout == ""


@pytest.mark.gpu
def test_the_counters_of_a_gpu_count_the_square():
    if shutil.which("ncu") is None:
        pytest.skip("needs ncu on the PATH")
    n, row, square = 8192, 8192 * 64 * 2, 8192**2 * 2  # a square that no L2 holds
    kernels = dram_traffic(attention, 1, 1, n, 64)
    assert 4 <= len(kernels) <= 5 and all(kernel.milliseconds > 0 for kernel in kernels)
    assert 4 * square < sum(kernel.read + kernel.written for kernel in kernels) < 7 * square
    assert sum(kernel.read + kernel.written for kernel in dram_traffic(flash_attention, 1, 1, n, 64)) < 10 * row
