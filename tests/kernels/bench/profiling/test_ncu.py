"""What ncu counts is told kernel by kernel, and what it cannot count is said."""

import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from kernels.bench.peers import SDPA
from kernels.bench.profiling.ncu import ncu_metrics, qualified_name
from kernels.flash.attention import flash_attention

ROOT = Path(__file__).resolve().parents[4]
METRICS = {"read": "dram__bytes_read.sum", "nanoseconds": "gpu__time_duration.sum"}
HEADER = '"ID","Process ID","Kernel Name","Block Size","dram__bytes_read.sum","gpu__time_duration.sum"'
UNITS = '"","","","","byte","ns"'
COUNTED = f"""==PROF== Connected to process 41 (/usr/bin/python3.12)
==PROF== Profiling "gemm" - 0: 0%....50%....100% - 1 pass
==PROF== Disconnected from process 41
{HEADER}
{UNITS}
"0","41","gemm","(128, 1, 1)","6,912,000","55,488"
"1","41","softmax","(64, 1, 1)","134217728","262880.00"
"""


def count(flush=True):
    return ncu_metrics(METRICS, "kernels.module", "form", 1, 64, flush=flush)


def test_metrics_are_told_kernel_by_kernel(ncu, capfd):
    ncu(COUNTED, stderr="a warning")
    assert count() == [
        {"kernel": "gemm", "read": 6_912_000, "nanoseconds": 55_488},
        {"kernel": "softmax", "read": 134_217_728, "nanoseconds": 262_880},
    ]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("flush, control", [(True, "all"), (False, "none")])
def test_ncu_is_told_what_to_count(ncu, flush, control):
    folder = ncu(COUNTED)
    count(flush)
    arguments = (folder / "arguments").read_text().split("\n")[:-1]
    assert arguments[-6:] == [sys.executable, "-m", "kernels.module", "form", "1", "64"]
    options = dict(zip(arguments[1:-6:2], arguments[2:-6:2], strict=True))
    assert arguments[0] == "--csv" and options == {
        "--page": "raw",
        "--print-units": "base",
        "--print-kernel-base": "function",
        "--metrics": "dram__bytes_read.sum,gpu__time_duration.sum",
        "--profile-from-start": "off",
        "--clock-control": "none",
        "--cache-control": control,
    }
    around = (folder / "around").read_text().split("\n")[:2]
    assert around == [str(ROOT), "C"]  # where -m finds kernels; 1,000 not 1.000


@pytest.mark.parametrize(
    "stdout, stderr, status, words",
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n", "", 0, "want of permission .*ERR_NVGPUCT"),
        ("==PROF== Connected\n", "", 0, "counted nothing of form:\n==PROF== Connected"),
        ("", "Traceback: dram_traffic needs a GPU", 1, "dram_traffic needs a GPU"),
        (COUNTED, "Traceback: a second kernel failed", 1, "a second kernel failed"),
        ("", "", 0, "it said nothing"),
        (f"{HEADER}\n{UNITS}\n", "", 0, "counted nothing"),
        (COUNTED.replace("6,912,000", "n/a"), "", 0, "cannot be read.*n/a"),
        (COUNTED.replace("dram__bytes_read.sum", "dram__sectors"), "", 0, "cannot be read.*dram__bytes_read"),
    ],
)
def test_what_ncu_cannot_count_is_said(ncu, stdout, stderr, status, words):
    ncu(stdout, stderr, status)
    with pytest.raises(RuntimeError, match=f"(?s){words}"):
        count()


def test_without_ncu_it_says_where_it_comes_from(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"needs ncu on the PATH.*kernels\.bench\.cost"):
        count()


def test_a_function_of_kernels_has_a_name():
    assert qualified_name(flash_attention) == "kernels.flash.attention:flash_attention"


@pytest.mark.parametrize(
    "nameless",
    [SDPA["sdpa_math"], lambda q, k, v: q, partial(flash_attention), torch.mm, SimpleNamespace],
)
def test_what_another_process_could_not_find_is_refused(nameless):
    with pytest.raises(ValueError, match="a function of a module of kernels is wanted"):
        qualified_name(nameless)
