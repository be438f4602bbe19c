# %% [markdown]
# # What limits the first kernel?
#
# The kernel of chapter 5 with 1, 2, 4 and 8 warps a program, in texts of 512 words; then with
# four warps in longer texts, always 16384 words in all, in two heads of 64. In each clock an SM
# can start four instructions. Its load-store unit (LSU) takes one of them, for loads, shared
# memory and shuffles; its ALU takes two, for comparisons and integers; FMA stands for
# multiply-adds in FP32. The table has how busy each is, of what it can take, as ncu counts it,
# and how much of the warps' time is waiting at a barrier. FP16; needs ncu.

# %% tags=["busy"]
import shutil

import torch

from kernels.bench.microbenchmarks.one_key_warps import BY_WARPS
from kernels.bench.profiling.counters import utilization
from kernels.bench.table import Table

percent = dict.fromkeys(["issue", "lsu", "alu", "fma", "barrier"], "%")
table = Table("busy", n="", head_dim="", heads="", warps="", time="ms", **percent)
settings = [(512, 128, 16, warps, 32) for warps in BY_WARPS]
settings += [(n, 64, 2, 4, 16384 // n) for n in (512, 1024, 2048, 4096, 8192)]
counts = torch.cuda.is_available() and shutil.which("ncu")
for n, head_dim, heads, warps, texts in settings if counts else ():
    (kernel,) = utilization(BY_WARPS[warps], texts, heads, n, head_dim)
    shares = {
        "issue": kernel.instructions,
        "lsu": kernel.lsu_instructions,
        "alu": kernel.alu,
        "fma": kernel.fma,
        "barrier": kernel.barrier,
    }
    shares = {unit: round(100 * share, 1) for unit, share in shares.items()}
    spent = float(f"{kernel.milliseconds:.4g}")
    table.add(n=n, head_dim=head_dim, heads=heads, warps=warps, time=spent, **shares)
table.show() if counts else print("No GPU with ncu here, so nothing to count.")
