# %% [markdown]
# # One key at a time, and a block of keys at a time
#
# Two programs that own one query each. First the work of one query, counted: how often its loop
# goes round, and how many places of its row it goes over to put its scores where they belong.

# %% tags=["counted"]
import os
from functools import partial

import torch

# Without a GPU Triton interprets its kernels: it plays their programs on the CPU, in turn.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.table import Table
from kernels.bench.timing import device_time
from kernels.first.key_blocks import BLOCK_K, key_blocks_attention
from kernels.first.one_key import one_key_attention
from kernels.reference import attention, oracle

counted = Table("counted", n="", keys_a_step="", steps="", places="")
for n in (512, 8192):
    for keys in (1, BLOCK_K):
        counted.add(n=n, keys_a_step=keys, steps=n // keys, places=n // keys * n)
counted.show()

# %% [markdown]
# Is it the same answer? Both programs meet the three lines, which set the budget: in no head
# may the largest error be more than one and a half times theirs. Blocks of 32 do not divide the
# number of keys, so the last one is not full. Without a GPU it is smaller, and runs in Triton's
# interpreter.

# %% tags=["correct"]
on_gpu = torch.cuda.is_available()
torch.manual_seed(0)
shape = (4, 16, 1021, 128) if on_gpu else (1, 1, 61, 16)
q, k, v = torch.randn(3, *shape, device="cuda" if on_gpu else "cpu").half()

truth = oracle(q, k, v)  # the same computation in FP64
forms = (attention, one_key_attention, key_blocks_attention)
errors = {form.__name__: (form(q, k, v) - truth).abs() for form in forms}
budget = 1.5 * errors["attention"].amax((-2, -1))  # one number a head
table = Table("errors", form="", largest="", mean="", of_budget="", verdict="")
for name, error in errors.items():
    of_budget = (error.amax((-2, -1)) / budget).max().item()  # of the head that uses most
    verdict = "passes" if of_budget <= 1 else "REJECTED"  # NaN is not <= 1
    size = {"largest": error.max().item(), "mean": error.mean().item()}
    table.add(form=name, **size, of_budget=of_budget, verdict=verdict)
print(f"[batch, heads, sequence, head_dim] = {list(shape)} in FP16, errors against FP64")
table.show()

# %% [markdown]
# How the time grows. The number of words stays the same, 16384, in fewer and longer sentences:
# twice the N is twice as many meetings of a query with a key, so the time of one meeting would
# stay level if it did not depend on N.

# %% tags=["times"]
columns = {"median": "ms", "p20": "ms", "p80": "ms", "one_meeting": "ps"}
times = Table("times", form="", n="", **columns)
for n in (256, 512, 1024, 2048, 4096, 8192) if on_gpu else ():
    q, k, v = torch.randn(3, 16384 // n, 2, n, 64, device="cuda").half()
    for form in (one_key_attention, key_blocks_attention):
        spent = device_time(partial(form, q, k, v))
        row = [form.__name__, n, *spent, spent.median * 1e9 / (16384 * 2 * n)]
        times.add(**dict(zip(times.columns, row, strict=True)))
if on_gpu:
    times.show()
else:
    print("No GPU here: an interpreter's time says nothing about a kernel, so none is taken.")
