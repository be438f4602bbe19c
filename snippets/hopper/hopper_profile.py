# %% [markdown]
# # What the warps wait for
#
# The kernel of `hopper_attention` under a profiler, with single changes to it and beside two
# others: cuDNN's, which PyTorch calls, and FlashAttention-4's where that package is there.
# Forward, in BF16, 16384 tokens of 2048 numbers each, N = 16384. Ping-pong and none, *always
# rescaled*, *queries in shared memory*, no overlap of softmax and a third stage are changes of
# its plan, each where the plan is another. In *softmax first* all of softmax stays in front of
# the wait for the product with values, where the compiler would move most of it to behind.
#
# ncu counts. Time is that of one launch by itself, and clock what the SMs had in it: a GPU that
# has been working for long has less. Products is the share of all clocks that the tensor cores
# need at least for what was asked, with causal as half, and tensor the share in which they
# worked. Issued are instructions, of the four that an SM can start in a clock; exp2, fma and
# alu what three other units did of what they can. Needs ncu.

# %% tags=["profile"]
import shutil

import torch

from kernels.bench.cost import attention_flops
from kernels.bench.hardware import H100
from kernels.bench.profiling.stalls import Setting, profilable, profiles
from kernels.bench.table import Table

on_hopper = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
settings = [(64, False), full := (128, False), causal := (128, True), wide := (256, False)]
# A third stage has room at heads of 128 alone; a plan's own choice is no change of it.
only = {"third stage": [full, causal], "ping-pong": [full, causal, wide]}
only |= {"no ping-pong": [(64, False)], "always rescaled": [wide]}
only |= {"queries in shared memory": [full, causal]}
counted = {}
for form in profilable() if on_hopper and shutil.which("ncu") else ():
    mine = [each for each in settings if each in only.get(form, settings)]
    found = profiles(form, [Setting(1, 2048 // d, 16384, d, causal) for d, causal in mine])
    counted |= {(form, *each): kernel for each, kernel in zip(mine, found, strict=True)}

of_clocks = dict.fromkeys(["products", "tensor", "issued", "exp2", "fma", "alu"], "%")
profile = Table("profile", form="", head_dim="", causal="", time="ms", clock="GHz", **of_clocks)
per_clock = H100["bf16 tensor core"].value * H100["sms"].value  # as many as an H200 has
for (form, d, causal), kernel in counted.items():
    clocks = attention_flops(16384, d, 2048 // d, causal=causal) / per_clock
    shares = [clocks / (1e6 * kernel.clock * kernel.milliseconds), kernel.tensor, kernel.issued]
    shares += [kernel.exp2, kernel.fma, kernel.alu]
    row = [form, d, causal, round(kernel.milliseconds, 3), round(kernel.clock, 3)]
    row += [round(100 * share, 1) for share in shares]
    profile.add(**dict(zip(profile.columns, row, strict=True)))
profile.show() if counted else print("No Hopper GPU with ncu here, so nothing to count.")

# %% [markdown]
# What a warp waits for when it does not start an instruction, by ncu's names, as a share of the
# time of all warps of the kernel: the five longest. A warp that only waits for others to end
# counts as much as one that computes.

# %% tags=["waits"]
waits = Table("waits", form="", head_dim="", causal="", place="", reason="", share="%")
for (form, d, causal), kernel in counted.items():
    reasons = [each for each in kernel.waits.items() if each[0] != "selected"]
    for place, (reason, share) in enumerate(reasons[:5], start=1):
        waits.add(
            form=form, head_dim=d, causal=causal, place=place, reason=reason,
            share=round(100 * share, 1),
        )  # fmt: skip
waits.show() if counted else print("No Hopper GPU with ncu here, so nothing to count.")
