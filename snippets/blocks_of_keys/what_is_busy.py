# %% [markdown]
# # What is busy while the first kernels run
#
# Two rungs on the work of the ladder in chapter 6, sentences of N words with 16384 words and
# 2048 numbers a word in all, and what the SMs do meanwhile, as ncu counts it. An SM can start
# four instructions in each clock. One unit in it serves loads, stores, shared memory and
# shuffles, one wavefront of 128 bytes in each clock, and barriers: of that the table has the
# share of all clocks, and how much of it goes to shared memory. Starts are the instructions
# that it took. Then two more units, FP32 multiply-adds and comparisons with integers. Time is
# that under the profiler, and clock what the SMs had. FP16; needs ncu.

# %% tags=["busy"]
import shutil

import torch

from kernels.bench.profiling.unit_usage import unit_usage
from kernels.bench.table import Table
from kernels.first.key_blocks import key_blocks_attention
from kernels.first.one_key import one_key_attention

rungs = {"one_key": one_key_attention, "key_blocks": key_blocks_attention}
percent = dict.fromkeys(["instructions", "unit", "shared", "starts"], "%")
percent |= dict.fromkeys(["fma", "alu"], "%")
table = Table("busy", form="", n="", head_dim="", time="ms", clock="GHz", **percent)
counts = torch.cuda.is_available() and shutil.which("ncu")
for n, head_dim in [(256, 64), (512, 64), (512, 128), (512, 256)] if counts else ():
    for form, rung in rungs.items():
        (kernel,) = unit_usage(rung, 16384 // n, 2048 // head_dim, n, head_dim)
        shares = [kernel.issue, kernel.data_path, kernel.shared, kernel.lsu]
        shares += [kernel.fma, kernel.alu]
        row = [form, n, head_dim, round(kernel.milliseconds, 2), round(kernel.clock, 3)]
        row += [round(100 * share, 1) for share in shares]
        table.add(**dict(zip(table.columns, row, strict=True)))
table.show() if counts else print("No GPU with ncu here, so nothing to count.")
