# %% [markdown]
# # The same bytes, read side by side and read apart
#
# Each number of a long vector is read once, but neighbouring threads read numbers that are
# stride places apart. A warp asks for sectors of 32 bytes, and one holds 8 numbers. At stride 1
# all of a sector is used when it arrives, from stride 8 on an eighth of it. The sums agree up
# to rounding: the same numbers are read at every stride.

# %% tags=["same"]
import os
from functools import partial

import torch

# Without a GPU, Triton's interpreter runs the programs on the CPU, one after another.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.microbenchmarks.strided_read import strided_read
from kernels.bench.table import Table
from kernels.bench.timing import device_time

on_gpu = torch.cuda.is_available()
strides = [1, 2, 4, 8, 16, 32]
torch.manual_seed(0)
x = torch.randn(2**28 if on_gpu else 2**16, device="cuda" if on_gpu else "cpu")

print(f"{x.numel() * 4 / 2**20:g} MiB, sum {x.sum(dtype=torch.float64):.3f}")
for stride in strides:
    print(f"stride {stride:2}: sum {strided_read(x, stride).sum(dtype=torch.float64):.3f}")

# %% [markdown]
# How long one read takes, how many useful bytes it brings in a second, and that speed as a
# share of stride 1's and of PyTorch's own sum. Counting sectors, the loss ends at stride 8. If
# stride 16 halves the speed once more, sectors probably come in pairs.

# %% tags=["reads"]
reads = {f"stride_{stride}": partial(strided_read, x, stride) for stride in strides}
reads["torch_sum"] = x.sum
times = {name: device_time(read) for name, read in reads.items()} if on_gpu else {}

columns = {"median": "ms", "p20": "ms", "p80": "ms", "speed": "GB/s"}
table = Table("reads", read="", **columns, to_stride_1="", to_torch_sum="")
for name, spent in times.items():
    speed = x.numel() * 4 / spent.median / 1e6
    ratios = [times[other].median / spent.median for other in ("stride_1", "torch_sum")]
    table.add(**dict(zip(table.columns, [name, *spent, speed, *ratios], strict=True)))
if on_gpu:
    table.show()
else:
    print("No GPU here: an interpreter's time says nothing about memory, so none is taken.")
