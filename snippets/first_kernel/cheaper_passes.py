# %% [markdown]
# # Does a cheaper pass make the first kernel faster?
#
# The kernel of chapter 5 passes over its row twice for each pair of a query and a key. A change
# in how it finds its keys takes one of three instructions out of each pass, and leaves loads
# and sums alone: a pointer moves on to the next key, instead of being worked out from the key's
# number. It can only become faster where the passes cost time. First, whether the outputs are
# right: the largest error beside that of PyTorch's own attention, in FP16, against FP64.

# %% tags=["errors"]
import os
import shutil
from functools import partial

import torch
from torch.nn.functional import scaled_dot_product_attention

os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.microbenchmarks import moving_pointers, one_key_warps
from kernels.bench.profiling.unit_usage import unit_usage
from kernels.bench.rounds import ratio, time_in_rounds
from kernels.bench.table import Table
from kernels.reference import oracle

WARPS = (4, 1)
on_gpu = torch.cuda.is_available()
device = "cuda" if on_gpu else "cpu"
FORMS = {"as_taught": one_key_warps.BY_WARPS, "cheaper": moving_pointers.BY_WARPS}

torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2, 512 if on_gpu else 16, 128, device=device).half()
truth = oracle(q, k, v)
errors = Table("errors", form="", warps="", largest="", of_pytorch="")
pytorch = (scaled_dot_product_attention(q, k, v) - truth).abs().max().item()
for name, by_warps in FORMS.items():
    for warps in WARPS:
        largest = (by_warps[warps](q, k, v) - truth).abs().max().item()
        of_pytorch = round(largest / pytorch, 3)
        errors.add(form=name, warps=warps, largest=largest, of_pytorch=of_pytorch)
errors.show()

# %% [markdown]
# Then the times, 30 rounds with both forms in each, in an order drawn anew. Ratio is the time
# as taught divided by the cheaper one in the same round, above 1 is faster; low and high are
# its interval. FP16.

# %% tags=["times"]
settings = [(32, 16, 512, 128, 4), (32, 16, 512, 128, 1), (8, 2, 2048, 64, 4)]
columns = {"as_taught": "ms", "cheaper": "ms", "ratio": "", "low": "", "high": ""}
times = Table("times", n="", warps="", **columns)
for batch, heads, n, d, warps in settings if on_gpu else ():
    q, k, v = torch.randn(3, batch, heads, n, d, device=device).half()
    forms = {name: partial(by_warps[warps], q, k, v) for name, by_warps in FORMS.items()}
    rounds = time_in_rounds(forms, count=30)
    found = ratio(rounds["as_taught"], rounds["cheaper"])
    row = [n, warps, *(sorted(rounds[name])[15] for name in FORMS), *found]
    row = [float(f"{x:.4g}") if isinstance(x, float) else x for x in row]
    times.add(**dict(zip(times.columns, row, strict=True)))
times.show() if on_gpu else print("No GPU here, so no times.")

# %% [markdown]
# And what it takes out, as ncu counts it: the clocks of an SM for a pair, and for how many of
# them the schedulers (issue), the load-store unit (LSU), its data path and the ALU work.

# %% tags=["clocks"]
units = ["issue", "lsu", "data_path", "alu"]
clocks = Table("clocks", n="", warps="", form="", **dict.fromkeys(units, ""), all="")
counts = on_gpu and shutil.which("ncu")
for batch, heads, n, d, warps in settings if counts else ():
    for name, by_warps in FORMS.items():
        (kernel,) = unit_usage(by_warps[warps], batch, heads, n, d)
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        total = kernel.milliseconds * 1e6 * kernel.clock * sms / (batch * heads * n * n)
        shares = [kernel.issue, kernel.lsu, kernel.data_path, kernel.alu, 1]
        work = [round(share * total, 1) for share in shares]
        clocks.add(n=n, warps=warps, form=name, **dict(zip([*units, "all"], work, strict=True)))
clocks.show() if counts else print("No GPU with ncu here, so nothing to count.")
