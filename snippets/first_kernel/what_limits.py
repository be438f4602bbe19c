# %% [markdown]
# # What limits the first kernel?
#
# The kernel of chapter 5 with 1, 2, 4 and 8 warps a program, in texts of 512 words; then with
# four warps in shorter and longer texts, always 16384 words in all, in 16 heads of 128. In each
# clock an SM can start four instructions. Its load-store unit (LSU) takes one of them, for
# loads, shared memory and shuffles, and its ALU takes two, for comparisons and integers; FMA
# stands for multiply-adds in FP32. The table has how busy each is, of what it can take, as ncu
# counts it. Behind the LSU is its data path, which some instructions hold for more than one
# clock. FP16; needs ncu.

# %% tags=["busy"]
import shutil

import torch

from kernels.bench.microbenchmarks.one_key_warps import BY_WARPS
from kernels.bench.profiling.unit_usage import unit_usage
from kernels.bench.table import Table

percent = dict.fromkeys(["issue", "lsu", "data_path", "alu", "fma"], "%")
busy = Table("busy", n="", warps="", time="ms", **percent)
WORDS, HEADS, HEAD_DIM = 16384, 16, 128
settings = [(512, warps) for warps in BY_WARPS]
settings += [(n, 4) for n in (256, 1024, 2048, 4096, 8192)]
counted = {}
counts = torch.cuda.is_available() and shutil.which("ncu")
for n, warps in settings if counts else ():
    (kernel,) = unit_usage(BY_WARPS[warps], WORDS // n, HEADS, n, HEAD_DIM)
    counted[n, warps] = kernel
    shares = [kernel.issue, kernel.lsu, kernel.data_path, kernel.alu, kernel.fma]
    shares = [round(100 * share, 1) for share in shares]
    spent = float(f"{kernel.milliseconds:.4g}")
    busy.add(n=n, warps=warps, time=spent, **dict(zip(percent, shares, strict=True)))
busy.show() if counts else print("No GPU with ncu here, so nothing to count.")

# %% [markdown]
# The same for a pair of a query and a key: the clocks that an SM has for one, with however many
# others run beside it, and for how many of them each unit works.

# %% tags=["clocks"]
units = ["issue", "lsu", "data_path", "alu"]
clocks = Table("clocks", n="", warps="", **dict.fromkeys(units, ""), all="")
for (n, warps), kernel in counted.items():
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    total = kernel.milliseconds * 1e6 * kernel.clock * sms / (WORDS * HEADS * n)
    shares = [kernel.issue, kernel.lsu, kernel.data_path, kernel.alu]
    work = {unit: round(share * total, 1) for unit, share in zip(units, shares, strict=True)}
    clocks.add(n=n, warps=warps, **work, all=round(total, 1))
clocks.show() if counts else print("No GPU with ncu here, so nothing to count.")

# %% [markdown]
# And what the warps do with their time. Starts: an instruction of this warp starts. Turn: it
# could, and another warp's does. Other threads: a number from one of them, or from shared
# memory, isn't there yet. LSU queue: it's full. Memory: a number from memory or a cache isn't
# there yet. Unit: the unit it wants, the ALU say, is taken. Barrier: the others of its program
# haven't come as far. Before: the instruction before it isn't done.

# %% tags=["waits"]
WAIT_REASONS = {
    "starts": "selected",
    "turn": "not_selected",
    "other_threads": "short_scoreboard",
    "lsu_queue": "mio_throttle",
    "memory": "long_scoreboard",
    "unit": "math_pipe_throttle",
    "barrier": "barrier",
    "before": "wait",
}
percent = dict.fromkeys(WAIT_REASONS, "%")
waits = Table("waits", n="", warps="", **percent)
for (n, warps), kernel in counted.items():
    shares = {
        name: round(100 * kernel.waits[reason], 1) for name, reason in WAIT_REASONS.items()
    }
    waits.add(n=n, warps=warps, **shares)
waits.show() if counts else print("No GPU with ncu here, so nothing to count.")
