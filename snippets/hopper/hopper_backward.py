# %% [markdown]
# # How fast the backward pass on Hopper is
#
# The gradients of Q, K and V by the kernels for Hopper, by the two portable kernels and by
# cuDNN's, which PyTorch's `scaled_dot_product_attention` calls: the backward pass alone, in
# BF16, 16384 tokens of 2048 numbers each. As N doubles the batch is halved, and as a head grows
# there are fewer of them.
#
# First, whether they are right: the first head of the first sequence at N = 1024, against FP64.
# Error is the norm of the difference divided by that of the gradient. The form *deterministic*
# is the one of *hopper* whose programs add in one order, so that two runs agree bit for bit.

# %% tags=["errors"]
import warnings
from functools import partial
from itertools import product
from statistics import geometric_mean, median

import torch

from kernels.bench.cost import backward_flops
from kernels.bench.rounds import ratio, time_in_rounds
from kernels.bench.table import Table
from kernels.bench.timing import as_cuda_graph
from kernels.flash.attention import flash_backward, flash_forward
from kernels.hopper.backward.gradients import hopper_backward
from kernels.reference import oracle

warnings.simplefilter("ignore")  # cuBLAS sets itself up in the thread of a backward pass
on_hopper = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
tokens, width = 16384, 2048
torch.manual_seed(0)


def backward_passes(head_dim, n, causal):
    """Each form as something to be called, and what goes in: q, k, v and dout."""
    shape = (4, tokens // n, width // head_dim, n, head_dim)
    q, k, v, dout = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
    out, lse = flash_forward(q, k, v, None, causal, head_dim**-0.5)
    ours = partial(hopper_backward, q, k, v, out, lse, dout, is_causal=causal)
    portable = (q, k, v, None, causal, head_dim**-0.5, out, lse, dout, None)
    # What autograd calls, called directly: the backward pass without autograd's own time.
    forward = torch.ops.aten._scaled_dot_product_cudnn_attention
    out, lse, *rest = forward(q, k, v, None, True, is_causal=causal)
    starts_q, starts_k, most_q, most_k, seed, offset, _ = rest
    dropped = (seed, offset, None, starts_q, starts_k, most_q, most_k, 0.0)
    backward = torch.ops.aten._scaled_dot_product_cudnn_attention_backward
    forms = {
        "hopper": ours,
        "deterministic": partial(ours, deterministic=True),
        "flash": partial(flash_backward, *portable),
        "cudnn": partial(backward, dout, q, k, v, out, lse, *dropped, causal),
    }
    return forms, (q, k, v, dout)


def add(table, *row):
    row = [float(f"{x:.4g}") if isinstance(x, float) else x for x in row]
    table.add(**dict(zip(table.columns, row, strict=True)))


errors = Table("errors", head_dim="", causal="", form="", dq="%", dk="%", dv="%")
for head_dim, causal in product((64, 128, 256), (False, True)) if on_hopper else []:
    forms, inputs = backward_passes(head_dim, 1024, causal)
    q, k, v, dout = (x[0, 0].double().requires_grad_() for x in inputs)
    truth = torch.autograd.grad(oracle(q, k, v, is_causal=causal), (q, k, v), dout)
    for name, form in forms.items():
        found = [x[0, 0] for x in form()[:3]]
        off = [100 * (x - y).norm() / y.norm() for x, y in zip(found, truth, strict=True)]
        add(errors, head_dim, causal, name, *map(torch.Tensor.item, off))
errors.show() if on_hopper else print("No Hopper GPU here: nothing to check or to time.")

# %% [markdown]
# Then the times, each form as a CUDA graph, which leaves out what the host takes for a call: 30
# rounds, all forms in each, in an order drawn anew. Ratio is cuDNN's time divided by this one
# in the same round, above 1 is faster than cuDNN: the median, low and high are its interval.
# Speed counts five products of the square, a multiply-add as two, and causal as half.

# %% tags=["backward"]
columns = {"speed": "TFLOP/s", "median": "ms", "ratio": "", "low": "", "high": ""}
backward = Table("backward", head_dim="", n="", causal="", form="", **columns)
over_all = {"hopper": [], "deterministic": [], "flash": []}
for head_dim, n, causal in product((64, 128, 256), (1024, 4096, 16384), (False, True)):
    if not on_hopper:
        break
    forms, _ = backward_passes(head_dim, n, causal)
    graphs = {name: as_cuda_graph(form) for name, form in forms.items()}
    times = time_in_rounds(graphs, calls=max(1, 4096 // n))
    flops = backward_flops(n, head_dim, width // head_dim, tokens // n, causal)
    for name, spent in times.items():
        speedup = ratio(times["cudnn"], spent)
        row = (flops / median(spent) / 1e9, median(spent), *speedup)
        add(backward, head_dim, n, causal, name, *row)
        if name in over_all:
            over_all[name].append(speedup.median)
backward.show() if on_hopper else print("No Hopper GPU here, so no times.")

# %% [markdown]
# Over all of these settings: cuDNN's time divided by that of the form, as a geometric mean,
# where it is least and where it is most.

# %% tags=["overall"]
overall = Table("overall", form="", settings="", geometric_mean="", least="", most="")
for name, found in over_all.items() if on_hopper else []:
    add(overall, name, len(found), geometric_mean(found), min(found), max(found))
overall.show() if on_hopper else print("No Hopper GPU here, so no times.")
