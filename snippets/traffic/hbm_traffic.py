# %% [markdown]
# # What each kernel moves
#
# One head of 128 numbers in FP16, and 8192 queries and keys; 1024 for the two rungs that ask
# for each key once a query. First the prediction: no cache holds anything before a kernel
# starts, and each reads its inputs once, but for the softmax of the three kernels, which goes
# over every row twice.

# %% tags=["predicted"]
import torch

from kernels.bench.cost import (
    eager_traffic,
    fused_traffic,
    mb,
    qkvo_bytes,
    requested_bytes,
    three_kernels_traffic,
)
from kernels.bench.profiling.dram import dram_traffic
from kernels.bench.table import Table
from kernels.first.key_blocks import key_blocks_attention
from kernels.first.one_key import one_key_attention
from kernels.first.three_kernels import three_kernel_attention
from kernels.flash.attention import flash_attention
from kernels.flash.tiles import tiles
from kernels.reference import attention

head_dim = 128
cases = {  # form -> N, what is predicted
    attention: (8192, eager_traffic(8192, head_dim, 2)),
    three_kernel_attention: (8192, three_kernels_traffic(8192, head_dim, 2, 4)),
    flash_attention: (8192, fused_traffic(8192, head_dim, 2)),
    one_key_attention: (1024, fused_traffic(1024, head_dim, 2)),
    key_blocks_attention: (1024, fused_traffic(1024, head_dim, 2)),
}
predicted = Table("predicted", form="", n="", step="", read="MB", written="MB")
for form, (n, steps) in cases.items():
    for step, read, written in steps:
        moved = {"read": mb(read), "written": mb(written)}
        predicted.add(form=form.__name__, n=n, step=step, **moved)
predicted.show()

# %% [markdown]
# Counted by the memory's own counters, kernel by kernel. Flushed: every cache is emptied before
# each kernel; what a kernel leaves in L2 at its end is counted for none, so that a small output
# shows as nothing written. Kept: the caches stay as the kernel before left them, as in use;
# what that one wrote can be read from there, and may reach memory only while a later kernel
# runs. Time is that of the kernel alone, under the profiler.

# %% tags=["counted"]
columns = {"kernel": "", "read": "MB", "written": "MB", "time": "ms"}
counted = Table("counted", form="", n="", caches="", **columns)
whole = {}
for form, (n, _) in cases.items() if torch.cuda.is_available() else []:
    for caches in ("flushed", "kept"):
        kernels = dram_traffic(form, 1, 1, n, head_dim, flush=caches == "flushed")
        whole[form, caches] = sum(kernel.read + kernel.written for kernel in kernels)
        for kernel, read, written, spent in kernels:
            row = [form.__name__, n, caches, kernel, mb(read), mb(written), spent]
            counted.add(**dict(zip(counted.columns, row, strict=True)))
if whole:
    counted.show()
else:
    print("No GPU here, so nothing is counted.")

# %% [markdown]
# All kernels of a form together. Requested is what those forms ask for that keep no square:
# what is not counted of it, the caches answered. Times the least: the flushed count against Q,
# K, V and the output, moved once; 0.75 is Q, K and V alone, with the output still in L2.

# %% tags=["whole"]
queries_a_program = {one_key_attention: 1, key_blocks_attention: 1}
queries_a_program[flash_attention] = tiles("forward", head_dim, torch.float16).block_q
columns = dict.fromkeys(["requested", "predicted", "flushed", "kept"], "MB")
totals = Table("whole", form="", n="", **columns, times_the_least="")
for form, (n, steps) in cases.items() if whole else []:
    block_q = queries_a_program.get(form)
    requested = block_q and mb(requested_bytes(n, head_dim, 2, block_q))
    expected = sum(step.read + step.written for step in steps)
    found = [whole[form, "flushed"], whole[form, "kept"]]
    row = [form.__name__, n, requested, *map(mb, [expected, *found])]
    row.append(found[0] / qkvo_bytes(n, head_dim, 2))
    totals.add(**dict(zip(totals.columns, row, strict=True)))
if whole:
    totals.show()
