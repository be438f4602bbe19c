# %% [markdown]
# # Which rung is fastest
#
# `attention` of `kernels/dispatch.py` chooses a rung by device, dtype and shape. Is its choice
# the fastest? Here the rungs that may be are timed: few and many pairs of batch and head, short
# and long, and one query against many keys; forward without a gradient, then forward and
# backward together. Products of FP32 are IEEE FP32, not TF32. All are replayed as CUDA graphs,
# which leaves out what the host takes for a call: that is a subject of `host_cost`.
#
# The three kernels are there in FP32 only: in `prefill_speed`, in BF16, they and the rungs
# before them are far behind. What cannot run here is left out.

# %% tags=["measure"]
import warnings
from functools import partial
from itertools import product

import torch

from kernels.bench.table import Table
from kernels.bench.timing import as_cuda_graph, device_time
from kernels.dispatch import fastest_rung, hopper_supports, reference_attention
from kernels.first.three_kernels import three_kernel_attention
from kernels.flash.attention import flash_attention
from kernels.hopper.attention import hopper_attention

warnings.simplefilter("ignore")  # cuBLAS sets itself up in the thread of a backward pass
both = [reference_attention, flash_attention]
cases = {
    "fp32_forward": (torch.float32, [three_kernel_attention, *both]),
    "bf16_forward": (torch.bfloat16, [*both, hopper_attention]),
    "fp32_both": (torch.float32, both),
    "bf16_both": (torch.bfloat16, [*both, hopper_attention]),
}
heads = [(64, False), (64, True), (128, False), (128, True), (256, False)]
sizes = [(pairs, n, n) for n in (64, 512, 2048) for pairs in (2, 32)]
sizes += [(2, 8192, 8192), (32, 1, 8192)]
columns = ["head_dim", "pairs", "n_q", "n_k", "causal", "chosen", "fastest", "ratio"]


def gradients(forward, inputs):
    """Forward and backward: the gradients of all inputs."""
    return torch.autograd.grad(forward(), inputs, inputs[0])


tables = []
for title, (dtype, rungs) in cases.items() if torch.cuda.is_available() else ():
    name = {rung: rung.__name__.removesuffix("_attention") for rung in rungs}
    tables.append(
        Table(title, **dict.fromkeys(columns, "") | dict.fromkeys(name.values(), "ms"))
    )
    for (head_dim, causal), (pairs, n_q, n_k) in product(heads, sizes):
        if causal and n_q < n_k:  # the query would see one key
            continue
        backward = title.endswith("both")
        options = {"device": "cuda", "dtype": dtype, "requires_grad": backward}
        inputs = [torch.randn(1, pairs, n, head_dim, **options) for n in (n_q, n_k, n_k)]
        chosen, times = fastest_rung(*inputs, is_causal=causal), dict.fromkeys(rungs)
        for rung in rungs:
            if rung is not hopper_attention or hopper_supports(*inputs):
                forward = partial(rung, *inputs, is_causal=causal)
                call = as_cuda_graph(
                    partial(gradients, forward, inputs) if backward else forward
                )
                times[rung] = float(f"{device_time(call, milliseconds=10).median:.4g}")
        fastest = min(filter(times.get, rungs), key=times.get)
        row = [head_dim, pairs, n_q, n_k, causal, name[chosen], name[fastest]]
        row += [round(times[chosen] / times[fastest], 2), *times.values()]
        tables[-1].add(**dict(zip(tables[-1].columns, row, strict=True)))
if not tables:
    here = fastest_rung(*torch.zeros(3, 1, 1, 8, 64)).__name__
    print(f"No GPU here, so no times. On this CPU the rung is {here}.")

# %% [markdown]
# Ratio is the chosen rung's time divided by that of the fastest one: 1 is the right choice.
# Forward: FP32, and then BF16.

# %% tags=["forward"]
for table in tables[:2]:
    table.show()

# %% [markdown]
# Forward and backward.

# %% tags=["both"]
for table in tables[2:]:
    table.show()
