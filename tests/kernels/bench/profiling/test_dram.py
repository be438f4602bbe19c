"""The bytes that go through HBM are counted for each kernel, from flushed caches or from what was in them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.bench.profiling.dram import DramTraffic, dram_traffic
from kernels.flash.attention import flash_attention
from kernels.reference import attention

ROOT = Path(__file__).resolve().parents[4]


COUNTED = """"ID","Process ID","Kernel Name","dram__bytes_read.sum","dram__bytes_write.sum","gpu__time_duration.sum"
"","","","byte","byte","ns"
"0","41","gemm","6,912,000","109,300,224","55,488"
"1","41","softmax","134217728","0","262880.00"
"""


def test_traffic_is_counted_kernel_by_kernel(ncu):
    ncu(COUNTED)
    assert dram_traffic(attention, 1, 1, 64, 16) == [
        DramTraffic("gemm", 6_912_000, 109_300_224, pytest.approx(0.055488)),
        DramTraffic("softmax", 134_217_728, 0, pytest.approx(0.26288)),
    ]


@pytest.mark.parametrize("flush, control", [(True, "all"), (False, "none")])
def test_ncu_calls_the_function(ncu, flush, control):
    folder = ncu(COUNTED)
    dram_traffic(flash_attention, 1, 2, 64, 16, flush=flush)
    arguments = (folder / "arguments").read_text().split("\n")[:-1]
    case = ["-m", "kernels.bench.profiling.dram", "kernels.flash.attention:flash_attention", "1", "2", "64", "16"]
    assert arguments[-8:] == [sys.executable, *case] and arguments[arguments.index("--cache-control") + 1] == control


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
