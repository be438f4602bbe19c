# %% [markdown]
# # How fast L2 is
#
# Eight programs for each SM read the same tensor again and again, each all of it and in an
# order of its own. A small tensor stays in the L2 cache, and this is the speed of L2. Of a
# large one less and less is still there when it is wanted again, and the speed falls towards
# that of memory.

# %% tags=["same"]
import os
from functools import partial

import torch

# Without a GPU Triton interprets its kernels: it plays their programs on the CPU, in turn.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.microbenchmarks.repeated_read import repeated_read
from kernels.bench.table import Table
from kernels.bench.timing import device_time

on_gpu = torch.cuda.is_available()
device = "cuda" if on_gpu else "cpu"
programs = 8 * torch.cuda.get_device_properties(0).multi_processor_count if on_gpu else 8
torch.manual_seed(0)

few = torch.randn(2**14, device=device)
sums = repeated_read(few, programs)
print(f"{programs} programs, sums {sums.min():.4f} to {sums.max():.4f}; torch: {few.sum():.4f}")

# %% tags=["sizes"]
table = Table("sizes", size="MiB", median="ms", p20="ms", p80="ms", speed="TB/s")
for size in (2, 4, 8, 16, 32, 64, 128, 256) if on_gpu else ():
    x = torch.randn(size * 2**18, device=device)
    spent = device_time(partial(repeated_read, x, programs), milliseconds=30)
    speed = programs * size * 2**20 / spent.median / 1e9
    table.add(**dict(zip(table.columns, [size, *spent, speed], strict=True)))
if on_gpu:
    table.show()
else:
    print("No GPU here: an interpreter's time says nothing about a cache, so none is taken.")
