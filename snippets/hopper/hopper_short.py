# %% [markdown]
# # How fast the short Hopper kernel is
#
# `warp_specialized_attention` has one producer warp, two consumers, a ring of stages and no
# switches, and one can read it in one sitting. Here it is beside `hopper_attention`, which has
# them all, and beside cuDNN: forward, in BF16, without a mask, 16384 tokens of 2048 numbers
# each. Each form is captured as a CUDA graph; all take turns in random order, for 30 rounds.
#
# First, whether it's right: the largest error against FP64, beside cuDNN's.

# %% tags=["errors"]
from functools import partial
from itertools import product
from statistics import median

import torch

from kernels.bench.cost import attention_flops
from kernels.bench.peers import SDPA
from kernels.bench.rounds import ratio, repeat_calls, time_in_rounds
from kernels.bench.table import Table
from kernels.bench.timing import as_cuda_graph
from kernels.hopper.attention import hopper_attention
from kernels.hopper.warp_specialized import warp_specialized_attention
from kernels.reference import oracle

on_hopper = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
forms = {"short": warp_specialized_attention, "full": hopper_attention}
forms["sdpa_cudnn"] = SDPA["sdpa_cudnn"]
torch.manual_seed(0)


def add(table, *row):
    row = [float(f"{x:.4g}") if isinstance(x, float) else x for x in row]
    table.add(**dict(zip(table.columns, row, strict=True)))


errors = Table("errors", head_dim="", form="", largest="")
for head_dim in (64, 128) if on_hopper else []:
    qkv = torch.randn(3, 1, 4, 1024, head_dim, device="cuda").bfloat16()
    truth = oracle(*qkv)
    for name, form in forms.items():
        add(errors, head_dim, name, (form(*qkv) - truth).abs().max().item())
errors.show() if on_hopper else print("No Hopper GPU here: nothing to check or to time.")

# %% [markdown]
# Then the times. Share is the short kernel's part of the full kernel's speed, low and high its
# interval; ratio is cuDNN's time divided by the short kernel's: above 1 is faster than cuDNN.

# %% tags=["speed"]
columns = {"speed": "TFLOP/s", "share": "", "low": "", "high": "", "ratio": ""}
speed = Table("speed", head_dim="", n="", **columns)
for head_dim, n in product([64, 128], [1024, 4096, 16384]) if on_hopper else []:
    batch, heads = 16384 // n, 2048 // head_dim
    qkv = torch.randn(3, batch, heads, n, head_dim, device="cuda").bfloat16()
    calls = {name: as_cuda_graph(partial(form, *qkv)) for name, form in forms.items()}
    flops = attention_flops(n, head_dim, heads, batch, False)
    often = max(1, round(3e-3 * 500e12 / flops))
    times = time_in_rounds({name: repeat_calls(call, often) for name, call in calls.items()})
    share = ratio(times["full"], times["short"])
    speedup = ratio(times["sdpa_cudnn"], times["short"]).median
    add(speed, head_dim, n, flops * often / median(times["short"]) / 1e9, *share, speedup)
speed.show() if on_hopper else print("No Hopper GPU here, so no times.")
