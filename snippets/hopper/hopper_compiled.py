# %% [markdown]
# # What the compiler says of the Hopper kernel
#
# Of each plan, with and without lse: the local memory of a thread, which is where it would
# spill; registers of a thread at launch, and those that a thread of a consumer has once the
# producer gave up its own (the first of three has 8 more); and the shared memory of a program.
# Heads of 64 have two plans where causal, the second for many queries.

# %% tags=["compiled"]
from itertools import product

import torch

from kernels.bench.table import Table
from kernels.hopper.attention import launch
from kernels.hopper.plan import LONG, plan_for

on_hopper = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
settings = product((64, 128, 256), (False, True), (1, max(LONG.values())))
plans = dict.fromkeys((*setting[:2], plan_for(*setting)) for setting in settings)
columns = {"spilled": "B", "at_launch": "registers", "consumer": "registers", "shared": "B"}
compiled = Table(
    "compiled", head_dim="", causal="", lse="", consumers="", block_k="", **columns
)
for (head_dim, causal, plan), lse in product(plans, (False, True)):
    if on_hopper:
        q = torch.randn(1, 1, 64, head_dim, device="cuda").bfloat16()
        row_lse = torch.empty(1, 1, 64, device="cuda") if lse else None
        kernel = launch(q, q, q, torch.empty_like(q), row_lse, causal, 1.0, plan)
        row = [head_dim, causal, lse, plan.consumers, plan.block_k, 4 * kernel.n_spills]
        row += [kernel.n_regs, plan.registers, kernel.metadata.shared]
        compiled.add(**dict(zip(compiled.columns, row, strict=True)))
compiled.show() if on_hopper else print("No Hopper GPU here, so nothing is compiled.")
