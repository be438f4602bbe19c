# %% [markdown]
# # How high the roof is over each kernel
#
# One head of 128 numbers in FP16, and 8192 queries and keys, on an H100. From FLOPs and bytes
# follows what a kernel can reach at most: the peak of the tensor cores, or what memory feeds
# them with, whichever is less. Scale counts as one FLOP a score, softmax as five. Nothing runs
# here: the first four are the kernels of the three lines, then both matmuls fused into one
# kernel, one query alone as in decode, and a large matmul for comparison.

# %% tags=["roof"]
from functools import partial

import torch

from kernels.bench.cost import attainable, attention_flops, eager_traffic, fused_traffic, mb
from kernels.bench.hardware import H100
from kernels.bench.profiling.dram import dram_traffic
from kernels.bench.profiling.launches import launches
from kernels.bench.table import Table
from kernels.bench.timing import device_time
from kernels.reference import attention
from kernels.softmax import softmax

n, head_dim = 8192, 128
peak, bandwidth = H100["bf16 peak"].value, H100["hbm bandwidth"].value
matmul = attention_flops(n, head_dim) // 2
flops = {"QKᵀ": matmul, "scale": n * n, "softmax": 5 * n * n, "PV": matmul}
moved = {step: read + written for step, read, written in eager_traffic(n, head_dim, 2)}

flops["fused"] = 2 * matmul
moved["fused"] = sum(fused_traffic(n, head_dim, 2)[0][1:])
flops["decode"] = 4 * n * head_dim
moved["decode"] = 2 * n * head_dim * 2 + 2 * head_dim * 2  # K and V, one query, its output
flops["large_matmul"] = 2 * n**3
moved["large_matmul"] = 3 * n * n * 2

columns = {"work": "GFLOP", "moved": "MB", "intensity": "FLOP/B", "roof": "TFLOP/s"}
roofs = Table("roofs", step="", **columns)
for step, work in flops.items():
    intensity = work / moved[step]
    roof = attainable(intensity, peak, bandwidth) / 1e12
    row = [step, work / 1e9, mb(moved[step]), intensity, roof]
    roofs.add(**dict(zip(roofs.columns, row, strict=True)))
roofs.show()

# %% [markdown]
# How near the kernels of the three lines come to it. Bytes are counted by the memory's own
# counters, every cache emptied before each kernel; time is that of the kernel alone, and share
# its share of all four. To the roof: 1 is at the roof that these bytes leave. What is far below
# it waits for something else than memory or arithmetic.

# %% tags=["reached"]
columns = {"speed": "TB/s", "flop_a_byte": "FLOP/B", "reached": "TFLOP/s", "share": "%"}
reached = Table("reached", step="", **columns, to_the_roof="")
counted = dram_traffic(attention, 1, 1, n, head_dim) if torch.cuda.is_available() else []
whole = sum(kernel.milliseconds for kernel in counted)
for step, (_, read, written, spent) in zip(flops, counted, strict=False):
    intensity, speed = flops[step] / (read + written), flops[step] / spent * 1e3
    to_the_roof = speed / attainable(intensity, peak, bandwidth)
    row = [step, (read + written) / spent / 1e9, intensity, speed / 1e12, 100 * spent / whole]
    reached.add(**dict(zip(reached.columns, [*row, to_the_roof], strict=True)))
if counted:
    reached.show()
else:
    print("No GPU here, so nothing is counted.")

# %% [markdown]
# The softmax by itself, in rows of different length: always 2²⁶ numbers in FP16, as many as a
# square of 8192 rows has. Which kernel PyTorch takes, the time that it needs and that our own
# softmax needs, and how fast that is if each number is read once and written once. Last, a copy
# of the same numbers.

# %% tags=["softmax"]
columns = {"time": "ms", "speed": "TB/s", "ours": "ms", "our_speed": "TB/s"}
by_row = Table("softmax", row="", kernel="", **columns)
x = torch.empty(2**26, dtype=torch.float16, device="cuda").normal_() if counted else None
for row in [512 * 2**doubled for doubled in range(8)] if counted else []:
    theirs, ours = (partial(form, x.view(-1, row)) for form in (torch.nn.Softmax(-1), softmax))
    kernel = launches(theirs)[0].replace("(anonymous namespace)::", "").split("<")[0]
    spent = [device_time(form).median for form in (theirs, ours)]
    speeds = [2 * x.nbytes / milliseconds / 1e9 for milliseconds in spent]
    cells = [row, kernel.split("::")[-1].split()[-1], spent[0], speeds[0], spent[1], speeds[1]]
    by_row.add(**dict(zip(by_row.columns, cells, strict=True)))
if counted:
    spent = device_time(x.clone).median
    cells = [None, "copy", spent, 2 * x.nbytes / spent / 1e9, None, None]
    by_row.add(**dict(zip(by_row.columns, cells, strict=True)))
    by_row.show()
