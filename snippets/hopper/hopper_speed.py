# %% [markdown]
# # How fast FlashAttention for Hopper is
#
# `hopper_attention` beside `flash_attention`, the portable kernel, and beside PyTorch's
# `scaled_dot_product_attention`, SDPA, by its cuDNN and by its flash backend: forward, in BF16,
# 16384 tokens of 2048 numbers each. As N doubles the batch is halved, and as a head grows there
# are fewer of them.
#
# First, whether they are right: the first head of the first sequence at N = 1024, against FP64.
# Error is the norm of the difference divided by that of the answer; largest is of a single
# number.

# %% tags=["errors"]
from functools import partial
from itertools import product
from random import sample
from statistics import geometric_mean

import torch

from kernels.bench.cost import attention_flops
from kernels.bench.peers import SDPA
from kernels.bench.table import Table
from kernels.bench.timing import as_cuda_graph, device_time
from kernels.flash.attention import flash_attention
from kernels.hopper.attention import hopper_attention
from kernels.reference import oracle

on_hopper = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
tokens, width = 16384, 2048
forms = {"hopper_attention": hopper_attention, "flash_attention": flash_attention}
forms |= {name: SDPA[name] for name in ("sdpa_cudnn", "sdpa_flash")}
torch.manual_seed(0)


def inputs(head_dim, n):
    """Query, key and value."""
    shape = (3, tokens // n, width // head_dim, n, head_dim)
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16)


def add(table, *row):
    row = [float(f"{x:.4g}") if isinstance(x, float) else x for x in row]
    table.add(**dict(zip(table.columns, row, strict=True)))


errors = Table("errors", head_dim="", causal="", form="", error="%", largest="")
for head_dim, causal in product((64, 128, 256), (False, True)) if on_hopper else []:
    qkv = inputs(head_dim, 1024)
    truth = oracle(*qkv[:, 0, 0], is_causal=causal)
    for name, form in forms.items():
        error = form(*qkv, is_causal=causal)[0, 0] - truth
        relative = 100 * error.norm() / truth.norm()
        add(errors, head_dim, causal, name, relative.item(), error.abs().max().item())
errors.show() if on_hopper else print("No Hopper GPU here: nothing to check or to time.")

# %% [markdown]
# Then the times. A form is captured as a CUDA graph, which leaves out what the host takes for a
# call. A GPU changes its clock with its load, and what follows something slow may gain from it.
# Therefore each setting is measured in 5 rounds: all forms one after the other, in an order
# drawn anew, some 20 ms each. A round gives a form its median, the L2 cache cleared before each
# call; the median here is that of the rounds, and p20 and p80 are those of the rounds, too.
# Speed counts a multiply-add as two and causal as half. Ratio is cuDNN's time divided by this
# one: above 1 is faster than cuDNN.
#
# Heads of 64.

# %% tags=["heads_of_64"]
columns = {"speed": "TFLOP/s", "ratio": "", "median": "ms", "p20": "ms", "p80": "ms"}
slower = {name: [] for name in forms if name != "hopper_attention"}  # so many times


def measured(head_dim):
    """The table of one head_dim."""
    table = Table(f"forward_{head_dim}", head_dim="", n="", causal="", form="", **columns)
    for n, causal in product((1024, 4096, 16384), (False, True)):
        qkv, rounds = inputs(head_dim, n), {name: [] for name in forms}
        calls = {x: as_cuda_graph(partial(forms[x], *qkv, is_causal=causal)) for x in forms}
        for name in [name for _ in range(5) for name in sample(list(forms), len(forms))]:
            rounds[name].append(device_time(calls[name], milliseconds=20).median)
        points = torch.tensor([0.5, 0.2, 0.8])
        times = {name: torch.tensor(x).quantile(points).tolist() for name, x in rounds.items()}
        flops = attention_flops(n, head_dim, width // head_dim, tokens // n, causal)
        for name, spent in times.items():
            ratio = times["sdpa_cudnn"][0] / spent[0]
            add(table, head_dim, n, causal, name, flops / spent[0] / 1e9, ratio, *spent)
        for name, found in slower.items():
            found.append(times[name][0] / times["hopper_attention"][0])
    return table


measured(64).show() if on_hopper else print("No Hopper GPU here, so no times.")

# %% [markdown]
# Heads of 128.

# %% tags=["heads_of_128"]
measured(128).show() if on_hopper else print("No Hopper GPU here, so no times.")

# %% [markdown]
# Heads of 256.

# %% tags=["heads_of_256"]
measured(256).show() if on_hopper else print("No Hopper GPU here, so no times.")

# %% [markdown]
# Over all of these settings: the time of each other form divided by that of `hopper_attention`,
# as a geometric mean, where it is least and where it is most.

# %% tags=["overall"]
overall = Table("overall", against="", settings="", geometric_mean="", least="", most="")
for name, found in slower.items() if on_hopper else []:
    add(overall, name, len(found), geometric_mean(found), min(found), max(found))
overall.show() if on_hopper else print("No Hopper GPU here, so no times.")
