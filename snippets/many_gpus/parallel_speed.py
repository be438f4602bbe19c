# %% [markdown]
# # One sequence on many GPUs: how near to the ideal
#
# Each GPU holds as many tokens of one causal sequence, in zigzag order. Runs in one process a
# GPU; a laptop has nothing to time.
#
# In 30 rounds, all forms in each, in an order drawn anew; the slowest GPU counts. Ideal is the
# time of one GPU with the whole sequence, divided by as many as there are, measured in the same
# rounds; percent is ideal divided by the form's own time, low and high its interval. `pytorch`
# is PyTorch's own context parallelism by cuDNN's kernels, beside an ideal by ours. It takes
# only as many heads in K and V as in Q. As a graph the host has no part in it. Forward, heads
# of 128, BF16.

# %% tags=["forward"]
import torch

from kernels.bench.parallel.forms import (
    compare_with_single_gpu,
    forms_on,
    make_call,
    single_gpu,
)
from kernels.bench.parallel.ranks import start
from kernels.bench.table import Table
from kernels.bench.timing import as_cuda_graph

rank, gpus, device = start()
on_gpus = device.type == "cuda"
RING = "ring, peer memory"
SETTINGS = [(8192, 16, 16), (32768, 16, 16), (65536, 16, 16), (8192, 64, 8), (16384, 64, 8)]
COLUMNS = dict.fromkeys(["gpus", "tokens", "heads", "kv_heads", "form"], "")
COLUMNS |= {"median": "ms", "ideal": "ms", "percent": "%", "low": "%", "high": "%"}


def measure(setting, backward, names, count=30):
    """A row for each form."""
    tokens, heads, kv_heads = setting
    torch.manual_seed(rank)
    q, dout = torch.randn(2, 1, heads, tokens, 128, device=device, dtype=torch.bfloat16)
    k, v = torch.randn(2, 1, kv_heads, tokens, 128, device=device, dtype=torch.bfloat16)
    tensors = [q, k, v, *([dout] if backward else [])]
    fit = [name for name in names if name != "pytorch" or heads == kv_heads]
    calls = {name: make_call(forms_on(device)[name], *tensors) for name in fit}
    if tokens == 8192:  # so few that the host counts
        calls[f"{RING}, as a graph"] = as_cuda_graph(calls[RING])
    single = make_call(single_gpu, *(x.repeat(1, 1, gpus, 1) for x in tensors))
    found = compare_with_single_gpu(
        calls, single, count=count, repeat=4 if tokens == 8192 else 1
    )
    same = {"gpus": gpus, "tokens": tokens, "heads": heads, "kv_heads": kv_heads}
    return [{**same, "form": name, **row} for name, row in found.items()]


def show(table, backward, settings, names, count=30):
    for setting in settings if on_gpus else ():
        for row in measure(setting, backward, names, count):
            table.add(**row)
    if rank == 0:
        table.show() if on_gpus else print("No GPUs here, so no times.")


show(Table("forward", **COLUMNS), False, SETTINGS, forms_on(device))

# %% [markdown]
# Forward and backward.

# %% tags=["both"]
show(Table("both", **COLUMNS), True, SETTINGS, forms_on(device))

# %% [markdown]
# The longest: 262,144 tokens a GPU, in few rounds, since one takes seconds. First forward.

# %% tags=["longest"]
show(Table("longest", **COLUMNS), False, [(262144, 16, 16)], [RING], count=5)

# %% [markdown]
# Forward and backward.

# %% tags=["longest_both"]
show(Table("longest_both", **COLUMNS), True, [(262144, 16, 16)], [RING], count=3)
