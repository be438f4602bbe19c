"""What is busy in an SM is told kernel by kernel, as shares of the clocks."""

import shutil
import sys

import pytest

from kernels.bench.profiling.unit_usage import METRICS, WAIT_REASONS, UnitUsage, unit_usage
from kernels.first.key_blocks import key_blocks_attention
from kernels.first.one_key import one_key_attention

NAMES = ",".join(f'"{metric}"' for metric in METRICS.values())
HEADER = f'"ID","Process ID","Kernel Name",{NAMES}'
COUNTED = f"""==PROF== Connected to process 41 (/usr/bin/python3.12)
{HEADER}
"","","","ns","cycle","inst","","","inst","%","%","inst","warp","","","","","","","",""
"0","41","key_blocks_kernel","24,000,000","43,200,000","8,640,000.0","38,880,000","34,560,000","4,320,000","12.5","25",\
"0.5","16","1","1.5","2","0.5","0","0","2.5","0"
"""
WAITS = [0.125, 0.1875, 0.25, 0.0625, 0, 0, 0.3125, 0]  # of 8 warps for each instruction


def test_shares_are_of_the_clocks(ncu):
    folder = ncu(COUNTED)
    (found,) = unit_usage(key_blocks_attention, 1, 2, 64, 16)
    assert found == UnitUsage(
        "key_blocks_kernel", 24.0, 1.8, 0.05, 0.1, 0.9, 0.8, 0.125, 0.25, dict(zip(WAIT_REASONS, WAITS, strict=True))
    )
    arguments = (folder / "arguments").read_text().split("\n")[:-1]
    case = ["kernels.first.key_blocks:key_blocks_attention", "1", "2", "64", "16"]
    assert arguments[-8:] == [sys.executable, "-m", "kernels.bench.profiling.dram", *case]
    assert arguments[arguments.index("--metrics") + 1] == ",".join(METRICS.values())
    assert arguments[arguments.index("--cache-control") + 1] == "all"


@pytest.mark.gpu
@pytest.mark.skipif(not shutil.which("ncu"), reason="needs ncu, which comes with CUDA")
def test_a_block_of_keys_keeps_the_unit_of_shared_memory_busier():
    (one,), (block,) = (unit_usage(rung, 1, 16, 512, 128) for rung in (one_key_attention, key_blocks_attention))
    for kernel in (one, block):
        assert 0 < kernel.shared < kernel.data_path <= 1 and 0 < kernel.issue <= 1 and 0 < kernel.lsu <= 1
        assert 0 < kernel.fma < 1 and 0 < kernel.alu < 1
        assert min(kernel.waits.values()) >= 0 and 0.9 < sum(kernel.waits.values()) <= 1.01
        assert 0.3 < kernel.clock < 2.5 and kernel.milliseconds > 0
    assert block.shared > one.shared and block.issue < one.issue
