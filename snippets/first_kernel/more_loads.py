# %% [markdown]
# # What does a clock of the load-store unit cost?
#
# The kernel of chapter 5 with one or two more loads in each turn of its two loops, of numbers
# that nobody needs. A load is one instruction for each of four warps, so that's 8 or 16 clocks
# more for the load-store unit (LSU), for a pair of a query and a key. If programs mostly
# waited, they would cost nothing; if the LSU sets the time, as many clocks. All have the
# cheaper pass, so that addresses add little for the other units. First, whether the outputs are
# right: the largest error beside that of PyTorch's own attention, in FP16, against FP64.

# %% tags=["errors"]
import os
import shutil
from functools import partial

import torch
from torch.nn.functional import scaled_dot_product_attention

os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.microbenchmarks.more_loads import BY_LOADS
from kernels.bench.profiling.unit_usage import unit_usage
from kernels.bench.rounds import ratio, time_in_rounds
from kernels.bench.table import Table
from kernels.reference import oracle

on_gpu = torch.cuda.is_available()
device = "cuda" if on_gpu else "cpu"

torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2, 512 if on_gpu else 16, 128, device=device).half()
truth = oracle(q, k, v)
errors = Table("errors", more="", largest="", of_pytorch="")
pytorch = (scaled_dot_product_attention(q, k, v) - truth).abs().max().item()
for more, attention in BY_LOADS.items():
    largest = (attention(q, k, v) - truth).abs().max().item()
    errors.add(more=more, largest=largest, of_pytorch=round(largest / pytorch, 3))
errors.show()

# %% [markdown]
# Then the times, 30 rounds with all three in each, in an order drawn anew. Ratio is the time
# divided by that without more loads in the same round, above 1 is slower; low and high are its
# interval. 32 texts of 512 words, 16 heads of 128, FP16, four warps.

# %% tags=["times"]
shape = (32, 16, 512, 128)
times = Table("times", more="", median="ms", ratio="", low="", high="")
if on_gpu:
    q, k, v = torch.randn(3, *shape, device=device).half()
    forms = {more: partial(attention, q, k, v) for more, attention in BY_LOADS.items()}
    rounds = time_in_rounds(forms, count=30)
    for more in BY_LOADS:
        row = [sorted(rounds[more])[15], *ratio(rounds[more], rounds[0])]
        row = [more, *(float(f"{x:.4g}") for x in row)]
        times.add(**dict(zip(times.columns, row, strict=True)))
times.show() if on_gpu else print("No GPU here, so no times.")

# %% [markdown]
# And what they add, as ncu counts it: the clocks of an SM for a pair, and for how many of them
# the schedulers (issue), the LSU, its data path and the ALU work.

# %% tags=["clocks"]
units = ["issue", "lsu", "data_path", "alu"]
clocks = Table("clocks", more="", **dict.fromkeys(units, ""), all="")
counts = on_gpu and shutil.which("ncu")
for more, attention in BY_LOADS.items() if counts else ():
    (kernel,) = unit_usage(attention, *shape)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    batch, heads, n, _ = shape
    total = kernel.milliseconds * 1e6 * kernel.clock * sms / (batch * heads * n * n)
    shares = [kernel.issue, kernel.lsu, kernel.data_path, kernel.alu, 1]
    work = [round(share * total, 1) for share in shares]
    clocks.add(more=more, **dict(zip([*units, "all"], work, strict=True)))
clocks.show() if counts else print("No GPU with ncu here, so nothing to count.")
