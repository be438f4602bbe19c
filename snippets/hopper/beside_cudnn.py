# %% [markdown]
# # Beside cuDNN, round by round
#
# Attention forward and backward in BF16, 16384 tokens of 2048 numbers each: our kernels,
# cuDNN's, which PyTorch's `scaled_dot_product_attention` calls, and FlashAttention-4's where
# that package is there. As N doubles the batch is halved, and as a head grows there are fewer
# of them.
#
# First, whether they are right: the first head of the first sequence at N = 1024, against FP64.
# Error is the norm of the difference divided by that of the answer, of the output and of the
# gradients of query, key and value.

# %% tags=["errors"]
import warnings
from itertools import product
from random import sample
from statistics import median

import torch

from kernels.bench.cost import attention_flops, backward_flops
from kernels.bench.forward_backward import errors_of, forms, time_implementations
from kernels.bench.rounds import geometric_mean, ratio
from kernels.bench.table import Table

warnings.simplefilter("ignore")  # cuBLAS sets itself up in the thread of a backward pass
on_hopper = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
settings = list(product((64, 128, 256), (1024, 4096, 16384), (False, True))) * on_hopper
torch.manual_seed(0)


def inputs(head_dim, n):
    shape = (4, 16384 // n, 2048 // head_dim, n, head_dim)
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16)


def add(table, *row):
    row = [float(f"{x:.4g}") if isinstance(x, float) else x for x in row]
    table.add(**dict(zip(table.columns, row, strict=True)))


errors = Table("errors", head_dim="", causal="", form="", out="%", dq="%", dk="%", dv="%")
for head_dim, n, causal in [setting for setting in settings if setting[1] == 1024]:
    for name, found in errors_of(*inputs(head_dim, n), causal).items():
        add(errors, head_dim, causal, name, *(100 * error for error in found))
errors.show() if on_hopper else print("No Hopper GPU here: nothing to check or to time.")

# %% [markdown]
# Then the times: all settings twice over, on new tensors and in another order of settings. Each
# time a setting has 30 rounds, with all forms in each, in an order drawn anew, and of short
# calls so many in a row that they take some milliseconds. A form is timed as a CUDA *graph*,
# its kernels alone, and *eager*, as one calls it, the backward pass through autograd. In each
# round the clock of the SMs and the power are read, too: their median, the least and the most.

# %% tags=["clocks"]
columns = dict.fromkeys(["clock", "clock_least", "clock_most"], "MHz")
columns |= dict.fromkeys(["power", "power_least", "power_most"], "W")
clocks = Table("clocks", head_dim="", n="", causal="", time="", **columns)


def measure(time, setting):
    times, readings = time_implementations(*inputs(*setting[:2]), setting[2], seed=time)
    clock, power = ([f(x) for f in (median, min, max)] for x in zip(*readings, strict=True))
    add(clocks, *setting, time, *clock, *power)
    return times


first, second = sample(settings, len(settings)), sample(settings, len(settings))
once = {setting: measure(1, setting) for setting in first}
again = {setting: measure(2, setting) for setting in second}
clocks.show() if on_hopper else print("No Hopper GPU here, so no times.")

# %% [markdown]
# Forward. Ratio is cuDNN's time divided by this one in the same round, above 1 is faster than
# cuDNN: the median of all 60 rounds, low and high are its interval; speed and median are of the
# graph, call and its ratio of the eager call. Speed counts a multiply-add as two, and causal as
# half.

# %% tags=["forward"]
columns = {"speed": "TFLOP/s", "median": "ms", "ratio": "", "low": "", "high": ""}
columns |= {"call": "ms", "call_ratio": "", "call_low": "", "call_high": ""}


def against(setting, name, *way):
    # The times of cuDNN and of this form, of both measurements.
    return [once[setting][x, *way] + again[setting][x, *way] for x in ("sdpa_cudnn", name)]


def table_of(work, count):
    table = Table(work, head_dim="", n="", causal="", form="", **columns)
    for (d, n, causal), name in product(settings, forms()):
        graph, eager = (against((d, n, causal), name, work, way) for way in ("graph", "eager"))
        spent, flops = median(graph[1]), count(n, d, 2048 // d, 16384 // n, causal)
        row = [flops / spent / 1e9, spent, *ratio(*graph), median(eager[1]), *ratio(*eager)]
        add(table, d, n, causal, name, *row)
    table.show() if on_hopper else print("No Hopper GPU here, so no times.")


table_of("forward", attention_flops)

# %% [markdown]
# Backward alone; five products of the square are counted.

# %% tags=["backward"]
table_of("backward", backward_flops)

# %% [markdown]
# Over all of these settings: the geometric mean of those ratios with its interval, and where it
# is least and most. *Both* is forward and backward, added up round by round.

# %% tags=["overall"]
columns = dict.fromkeys(["geometric_mean", "low", "high", "least", "most"], "")
overall = Table("overall", work="", way="", form="", settings="", **columns)
others = [name for name in forms() if name != "sdpa_cudnn"]
works = product(["forward", "backward", "both"], ["graph", "eager"], others)
for work, way, name in works if on_hopper else ():
    pairs = [against(setting, name, work, way) for setting in settings]
    found = [ratio(*pair).median for pair in pairs]
    add(overall, work, way, name, len(pairs), *geometric_mean(pairs), min(found), max(found))
overall.show() if on_hopper else print("No Hopper GPU here, so no times.")

# %% [markdown]
# How well two measurements agree: cuDNN's time divided by that of `hopper_attention`, as
# graphs, the first time and the second, and how far they are apart.

# %% tags=["agreement"]
agreement = Table(
    "agreement", head_dim="", n="", causal="", work="", once="", again="", apart="%"
)
for setting, work in product(settings, ["forward", "backward"]):
    ways = [(name, work, "graph") for name in ("sdpa_cudnn", "hopper_attention")]
    a, b = (ratio(*(time[setting][way] for way in ways)).median for time in (once, again))
    add(agreement, *setting, work, a, b, 100 * abs(a / b - 1))
agreement.show() if on_hopper else print("No Hopper GPU here, so no times.")
