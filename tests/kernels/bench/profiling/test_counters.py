"""What is busy in an SM is told kernel by kernel, as shares of the clocks, and what ncu cannot count is said."""

import shutil
import sys

import pytest

from kernels.bench.profiling.counters import METRICS, Busy, busy
from kernels.first.key_blocks import key_blocks_attention
from kernels.first.one_key import one_key_attention

NAMES = ",".join(f'"{metric}"' for metric in METRICS.values())
HEADER = f'"ID","Process ID","Kernel Name",{NAMES}'
COUNTED = f"""==PROF== Connected to process 41 (/usr/bin/python3.12)
{HEADER}
"","","","ns","cycle","inst","","","inst"
"0","41","key_blocks_kernel","24,000,000","43,200,000","8,640,000.0","38,880,000","34,560,000","4,320,000"
"""


@pytest.fixture
def ncu(monkeypatch, tmp_path):
    """An ``ncu`` that writes down how it was called, and says what it is told."""

    def says(stdout, status=0):
        (tmp_path / "stdout").write_text(stdout)
        stub = tmp_path / "ncu"
        stub.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {tmp_path}/told\ncat {tmp_path}/stdout\nexit {status}\n")
        stub.chmod(0o755)
        return tmp_path / "told"

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return says


def test_shares_are_of_the_clocks(ncu):
    told = ncu(COUNTED)
    (found,) = busy(key_blocks_attention, 1, 2, 64, 16)
    assert found == Busy("key_blocks_kernel", 24.0, 1.8, 0.05, 0.9, 0.8, 0.1)
    told = told.read_text().split("\n")[:-1]
    case = ["kernels.first.key_blocks:key_blocks_attention", "1", "2", "64", "16"]
    assert told[-8:] == [sys.executable, "-m", "kernels.bench.profiling.dram", *case]
    assert told[told.index("--metrics") + 1] == ",".join(METRICS.values())
    assert told[told.index("--clock-control") + 1] == "none"


@pytest.mark.parametrize(
    "stdout, status, words",
    [
        ("==ERROR== ERR_NVGPUCTRPERM\n", 0, "counted nothing of kernels.first.*ERR_NVGPUCTRPERM"),
        (COUNTED, 1, "counted nothing"),
        ("\n".join(COUNTED.splitlines()[:3]), 0, "counted nothing"),
        (COUNTED.replace("38,880,000", "n/a"), 0, "cannot be read.*n/a"),
        (COUNTED.replace("sm__cycles_elapsed.avg", "sm__cycles"), 0, "cannot be read.*sm__cycles_elapsed"),
    ],
)
def test_what_ncu_cannot_count_is_said(ncu, stdout, status, words):
    ncu(stdout, status)
    with pytest.raises(RuntimeError, match=f"(?s){words}"):
        busy(key_blocks_attention, 1, 2, 64, 16)


def test_without_ncu_it_says_where_it_comes_from(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="needs ncu on the PATH"):
        busy(key_blocks_attention, 1, 1, 64, 16)


def test_what_another_process_could_not_find_is_refused(ncu):
    with pytest.raises(ValueError, match="a function of a module of kernels is wanted"):
        busy(lambda q, k, v: q, 1, 1, 64, 16)


@pytest.mark.gpu
@pytest.mark.skipif(not shutil.which("ncu"), reason="needs ncu, which comes with CUDA")
def test_a_block_of_keys_keeps_the_unit_of_shared_memory_busier():
    (one,), (block,) = (busy(rung, 1, 16, 512, 128) for rung in (one_key_attention, key_blocks_attention))
    for kernel in (one, block):
        assert 0 < kernel.shared < kernel.lsu <= 1 and 0 < kernel.instructions <= 1 and 0 < kernel.starts <= 1
        assert 0.3 < kernel.clock < 2.5 and kernel.milliseconds > 0
    assert block.shared > one.shared and block.instructions < one.instructions
