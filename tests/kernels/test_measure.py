"""A table prints what figures read; a time is a median with its percentiles; what was counted is what is told."""

import shutil
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from time import sleep
from types import SimpleNamespace

import pytest
import torch
import triton.testing

from kernels.bench.dram import DramTraffic, dram_traffic
from kernels.bench.memory import peak_memory
from kernels.bench.peers import SDPA
from kernels.bench.profiler import launch_cost, launches
from kernels.bench.table import TABLE, Table
from kernels.bench.timing import time, time_attention, wall_time
from kernels.flash.call import flash_attention
from kernels.reference import attention

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def table():
    table = Table("squares", form="", n="words", square="MiB")
    table.add(form="three lines", n=8192, square=128.0)
    table.add(square=0.001, form="flash", n=16)
    return table


def test_it_prints_names_units_and_aligned_rows(table, capsys):
    table.show()
    assert capsys.readouterr().out.splitlines() == [
        "form         n (words)  square (MiB)",
        "three lines       8192           128",
        "flash               16         0.001",
    ]


def test_in_a_notebook_it_leaves_one_output_with_the_same_text(table, capsys, monkeypatch):
    left = []
    display = SimpleNamespace(display=lambda data, raw: left.append(data))
    shell = SimpleNamespace(kernel="a kernel")
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    table.show()
    assert capsys.readouterr().out == ""
    assert left == [
        {
            "text/plain": str(table),
            TABLE: {
                "name": "squares",
                "columns": [
                    {"name": "form", "unit": ""},
                    {"name": "n", "unit": "words"},
                    {"name": "square", "unit": "MiB"},
                ],
                "rows": [
                    {"form": "three lines", "n": 8192, "square": 128.0},
                    {"form": "flash", "n": 16, "square": 0.001},
                ],
            },
        }
    ]


@pytest.mark.parametrize(
    "value, text",
    [
        (0.40113, "0.4011"),
        (68719.4767, "68719"),
        (3.7e-44, "3.7e-44"),
        (True, "True"),
        (10**6, "1000000"),
        (None, "None"),
    ],
)
def test_numbers_read_well(value, text):
    table = Table("numbers", n="")
    table.add(n=value)
    assert str(table).split() == ["n", text]


def test_an_empty_table_prints_its_columns():
    assert str(Table("nothing", a="s", b="")) == "a (s)  b"


def test_a_row_that_does_not_fit_is_refused(table):
    with pytest.raises(ValueError, match=r"table squares has columns .* the row has"):
        table.add(form="three lines", n=1)
    with pytest.raises(TypeError, match="square is Tensor"):
        table.add(form="flash", n=1, square=torch.tensor(1.0))
    assert len(table.rows) == 2


def test_a_time_is_a_median_between_its_percentiles(device):
    small, large = (torch.randn(n, n, device=device) for n in (16, 1024))
    short, long = time(lambda: small @ small), time(lambda: large @ large)
    assert 0 < short.low <= short.median <= short.high
    assert long.median > short.median


@pytest.mark.parametrize("clock", [time, wall_time])
def test_a_time_is_in_milliseconds(clock):
    assert 10 <= clock(lambda: sleep(0.01)).median < 100


@pytest.mark.parametrize("clock", [time, wall_time])
def test_a_shorter_time_calls_less_often(clock):
    calls = []
    clock(lambda: (sleep(0.002), calls.append("short")), milliseconds=10)
    clock(lambda: (sleep(0.002), calls.append("long")), milliseconds=100)
    assert 5 <= calls.count("short") < calls.count("long")


SHAPE = (1, 2, 40, 16)


def noting(calls, answer):
    """Attention that notes what it was given and whether autograd was on."""

    def attend(q, k, v, **options):
        grads = [tensor.requires_grad for tensor in (q, k, v)]
        calls.append((torch.is_grad_enabled(), grads, options))
        return answer(q, k, v, **options)

    return attend


def test_forward_is_timed_without_autograd():
    calls = []
    q, k, v = torch.randn(3, *SHAPE)
    q.requires_grad_()
    spent = time_attention(noting(calls, attention), q, k, v, is_causal=True, milliseconds=10)
    assert 0 < spent.low <= spent.median <= spent.high
    assert len(calls) > 5 and all(call == (False, [False] * 3, {"is_causal": True}) for call in calls)


def test_of_a_backward_pass_the_forward_is_no_part():
    calls, backwards = [], []

    def answer(q, k, v):
        out = attention(q, k, v)
        out.register_hook(lambda dout: backwards.append(dout.clone()))
        return out

    q, k, v, dout = torch.randn(4, *SHAPE)
    with torch.no_grad():  # wherever it is called from
        time_attention(noting(calls, answer), q, k, v, dout, milliseconds=10)
    assert calls == [(True, [True] * 3, {})]
    assert len(backwards) > 5 and all(torch.equal(arrived, dout) for arrived in backwards)
    assert not q.requires_grad and q.grad is None


def test_on_a_gpu_do_bench_takes_the_time(monkeypatch):
    calls = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(triton.testing, "do_bench", lambda *call, **options: calls.append((call, options)) or [2, 1, 3])
    assert time(sleep, milliseconds=40) == (2, 1, 3)
    assert calls == [((sleep,), {"rep": 40, "quantiles": [0.5, 0.2, 0.8]})]


@pytest.mark.gpu
def test_a_launch_costs_microseconds_and_a_kernel_less_than_a_millisecond():
    host, device = launch_cost()
    assert 1e-4 < device.low <= device.median <= device.high < 0.1
    assert 1e-4 < host.low <= host.median <= host.high < 1


@pytest.mark.gpu
def test_a_wall_time_waits_for_the_gpu():
    assert wall_time(lambda: torch.cuda._sleep(10**7)).median > 2  # 10⁷ clocks at 2 GHz are 5 ms


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_hold_is_named(value, table):
    with pytest.raises(ValueError, match="which JSON cannot hold"):
        Table("t", error="").add(error=value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_peak_memory_without_a_gpu_says_what_else_there_is():
    with pytest.raises(RuntimeError, match=r"kernels\.cost"):
        peak_memory(lambda: None)


@pytest.mark.gpu
def test_peak_memory_counts_results_and_not_inputs(device):
    x = torch.zeros(2**20, device=device)
    assert peak_memory(lambda: x + 1) == 4 * 2**20
    assert peak_memory(lambda: (x + 1) + 1) == 8 * 2**20
    assert peak_memory(lambda: None) == 0


@pytest.mark.gpu
def test_peak_memory_leaves_out_what_the_first_matmul_takes_for_good():
    code = "import torch; from kernels.measure import peak_memory; a = torch.zeros(1024, 1024, device='cuda')"
    code += "; print(peak_memory(lambda: a @ a))"  # in a process of its own, for there it is the first
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert int(printed) == 4 * 2**20


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_launches_without_a_gpu_say_so():
    with pytest.raises(RuntimeError, match="launches needs a GPU"):
        launches(lambda: None)
    with pytest.raises(RuntimeError, match="launch_cost needs a GPU"):
        launch_cost()


@pytest.mark.gpu
def test_launches_are_those_of_one_call_in_order(device):
    x = torch.randn(256, 256, device=device)
    names = launches(lambda: (x @ x).softmax(-1))
    assert len(names) > 1 and ["softmax" in name.lower() for name in names] == [False] * (len(names) - 1) + [True]
    assert launches(lambda: None) == []


@pytest.mark.gpu
def test_launches_say_nothing():
    code = "import torch; from kernels.measure import launches; x = torch.ones(9, device='cuda')"
    code += "; print(len(launches(lambda: x + x)), len(launches(lambda: x * x)))"  # twice: warnings of a second cycle
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1", "1"] and run.stderr == ""


def pretend_to_profile(monkeypatch, *events):
    """A profiler that sees these events, ``(start, name, device, annotation)``, on a GPU that is not there."""

    class Profile:
        def __init__(self, activities):
            assert activities == [torch.profiler.ProfilerActivity.CUDA]

        def __enter__(self):
            warnings.warn("Profiler clears events at the end of each cycle", stacklevel=2)
            return self

        def __exit__(self, *error):
            pass

        def events(self):
            names = ("name", "device_type", "is_user_annotation")
            return [SimpleNamespace(time_range=SimpleNamespace(start=start), **dict(zip(names, event, strict=True)))
                    for start, *event in events]  # fmt: skip

    zeros = torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda *shape, device: zeros(*shape))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.profiler, "profile", Profile)


def test_launches_are_sorted_and_leave_out_what_is_no_kernel(monkeypatch):
    gpu, cpu = torch.autograd.DeviceType.CUDA, torch.autograd.DeviceType.CPU
    pretend_to_profile(
        monkeypatch,
        (5, "marker", gpu, False),
        (3, "second", gpu, False),
        (2, "first", gpu, False),
        (1, "a step of the optimiser", gpu, True),
        (1, "cudaLaunchKernel", cpu, False),
    )
    calls = []
    with warnings.catch_warnings(action="error"):
        assert launches(lambda: calls.append(1)) == ["first", "second"]
    assert len(calls) == 2  # one to warm up


def test_a_profiler_that_sees_nothing_is_not_taken_for_a_function_that_launches_nothing(monkeypatch):
    pretend_to_profile(monkeypatch)
    with pytest.raises(RuntimeError, match="sees no GPU kernel"):
        launches(lambda: None)


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
    case = ["-m", "kernels.measure", "kernels.flash.call:flash_attention", "1", "2", "64", "16"]
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
    with pytest.raises(RuntimeError, match=r"needs ncu on the PATH.*kernels\.cost"):
        dram_traffic(attention, 1, 1, 64, 16)


@pytest.mark.parametrize(
    "nameless",
    [SDPA["sdpa_math"], lambda q, k, v: q, partial(attention), torch.mm, test_an_empty_table_prints_its_columns],
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
runpy.run_module("kernels.measure", run_name="__main__")
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
