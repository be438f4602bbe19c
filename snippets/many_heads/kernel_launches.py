# %% [markdown]
# # What a launch costs
#
# Multi-head attention twice, with the same weights, at a width of 512: a loop over 8 heads, and
# all heads at once. The same numbers come out, but for rounding.

# %% tags=["same"]
from collections import Counter
from functools import partial

import torch

from kernels.bench.profiling.launches import launch_cost, launches
from kernels.bench.table import Table
from kernels.bench.timing import wall_time
from kernels.multihead import LoopedMultiHeadAttention, MultiHeadAttention

on_gpu = torch.cuda.is_available()
place = {"device": "cuda", "dtype": torch.float16} if on_gpu else {}
torch.manual_seed(0)
torch.set_grad_enabled(False)

loop = LoopedMultiHeadAttention(512, 8).to(**place)
forms = {"loop": loop, "at_once": MultiHeadAttention.from_loop(loop)}
x = torch.randn(1, 128, 512, **place)
difference = (forms["loop"](x) - forms["at_once"](x)).abs().max()
print(f"x {list(x.shape)}, largest difference of the outputs {difference:.0e}")

# %% [markdown]
# The kernels that one call launches, as the profiler counts them: by kind, then by name.

# %% tags=["launches"]
kinds = {"gemm": "matmul", "nvjet": "matmul", "cutlass": "matmul", "softmax": "softmax"}
kinds |= {"catarray": "concatenation", "elementwise": "elementwise"}
by_kind = Table("by_kind", form="", kind="", launches="")
by_name = Table("by_name", form="", kernel="", times="")
for form, module in forms.items() if on_gpu else []:
    names = launches(partial(module, x))
    kind_of = {name: [kinds[part] for part in kinds if part in name.lower()] for name in names}
    counts = Counter((kind_of[name] or ["other"])[0] for name in names)
    for kind, count in {**counts, "all": len(names)}.items():
        by_kind.add(form=form, kind=kind, launches=count)
    named = [name.replace("(anonymous namespace)", "") for name in names]
    short = [name.split("<")[0].split("(")[0].split("::")[-1] for name in named]
    for kernel, count in Counter(name.removeprefix("void ") for name in short).items():
        by_name.add(form=form, kernel=kernel, times=count)
if on_gpu:
    by_kind.show()
    by_name.show()
else:
    print("No GPU here: there are no launches to count or to time.")

# %% [markdown]
# Each form from the outside, launches and waiting included, for a short and a long input.
# Replayed is the same kernels from a CUDA graph, timed alike: one launch starts them all.

# %% tags=["times"]
columns = {"wall": "ms", "p20": "ms", "p80": "ms", "replayed": "ms"}
times = Table("times", form="", batch="", n="", **columns)
for batch, n in [(1, 128), (8, 2048)] if on_gpu else []:
    x = torch.randn(batch, n, 512, **place)
    for form, module in forms.items():
        wall = wall_time(partial(module, x))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            module(x)
        spent = dict(zip(columns, [*wall, wall_time(graph.replay).median], strict=True))
        times.add(form=form, batch=batch, n=n, **spent)
if on_gpu:
    times.show()

# %% [markdown]
# One launch alone, of a kernel that changes the sign of a single number. Host is the time in
# which Python hands over one; device is what one takes when hundreds are handed over already.
# This is the least: a linear layer takes Python and PyTorch longer, as the table above shows.

# %% tags=["one_launch"]
one_launch = Table("one_launch", side="", median="µs", p20="µs", p80="µs")
for side, (median, low, high) in launch_cost()._asdict().items() if on_gpu else []:
    one_launch.add(side=side, median=1e3 * median, p20=1e3 * low, p80=1e3 * high)
if on_gpu:
    one_launch.show()
