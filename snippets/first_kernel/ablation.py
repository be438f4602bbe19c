# %% [markdown]
# # Which part of the first kernel takes its time?
#
# For each pair of a query and a key, the kernel of chapter 5 loads a key and a value, adds up
# twice across its threads, and passes over its row of scores twice. Here it runs with one of
# these left out, or both sums and passes. Then it's no attention any more, but what stays does
# the work that it did. First, whether the whole kernel is right: its largest error beside that
# of PyTorch's own attention, in FP16, against FP64.

# %% tags=["errors"]
import os
import shutil
from functools import partial

import torch
from torch.nn.functional import scaled_dot_product_attention

os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.microbenchmarks.ablation import BY_LEFT_OUT
from kernels.bench.profiling.unit_usage import unit_usage
from kernels.bench.rounds import ratio, time_in_rounds
from kernels.bench.table import Table
from kernels.reference import oracle

on_gpu = torch.cuda.is_available()
device = "cuda" if on_gpu else "cpu"

torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2, 512 if on_gpu else 16, 128, device=device).half()
truth = oracle(q, k, v)
pytorch = (scaled_dot_product_attention(q, k, v) - truth).abs().max().item()
largest = (BY_LEFT_OUT["nothing"](q, k, v) - truth).abs().max().item()
errors = Table("errors", left_out="", largest="", of_pytorch="")
errors.add(left_out="nothing", largest=largest, of_pytorch=round(largest / pytorch, 3))
errors.show()

# %% [markdown]
# Then the times, 30 rounds with all five in each, in an order drawn anew. Ratio is the time
# divided by that with nothing left out in the same round, below 1 is faster; low and high are
# its interval. Four warps, FP16, 16 heads of 128: 32 texts of 512 words, then 8 texts of 2048.

# %% tags=["times"]
settings = [(32, 16, 512, 128), (8, 16, 2048, 128)]
times = Table("times", n="", left_out="", median="ms", ratio="", low="", high="")
for shape in settings if on_gpu else ():
    q, k, v = torch.randn(3, *shape, device=device).half()
    forms = {name: partial(form, q, k, v) for name, form in BY_LEFT_OUT.items()}
    rounds = time_in_rounds(forms, count=30)
    for name in BY_LEFT_OUT:
        found = [sorted(rounds[name])[15], *ratio(rounds[name], rounds["nothing"])]
        row = [shape[2], name, *(float(f"{x:.4g}") for x in found)]
        times.add(**dict(zip(times.columns, row, strict=True)))
times.show() if on_gpu else print("No GPU here, so no times.")

# %% [markdown]
# And the clocks of an SM for a pair, as ncu counts them, with those that the schedulers
# (issue), the load-store unit (LSU), its data path and the ALU work.

# %% tags=["clocks"]
units = ["issue", "lsu", "data_path", "alu"]
clocks = Table("clocks", n="", left_out="", **dict.fromkeys(units, ""), all="")
counts = on_gpu and shutil.which("ncu")
for shape in settings if counts else ():
    for name, form in BY_LEFT_OUT.items():
        (kernel,) = unit_usage(form, *shape)
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        batch, heads, n, _ = shape
        total = kernel.milliseconds * 1e6 * kernel.clock * sms / (batch * heads * n * n)
        shares = [kernel.issue, kernel.lsu, kernel.data_path, kernel.alu, 1]
        work = [round(share * total, 1) for share in shares]
        clocks.add(n=n, left_out=name, **dict(zip([*units, "all"], work, strict=True)))
clocks.show() if counts else print("No GPU with ncu here, so nothing to count.")
