# %% [markdown]
# # Which rung is fastest
#
# `attention` of `kernels/dispatch.py` chooses a rung by device, dtype and shape. Is its choice
# the fastest? Here the rungs that may be are timed: few and many pairs of batch and head, short
# and long, and one query against many keys; forward without a gradient, then forward and
# backward together. Products of FP32 are IEEE FP32, not TF32.
#
# Left out, and empty below, is a rung that cannot run; what would fill more than a third of the
# memory with squares of scores; and what is not chosen and would take more than 100 ms if its
# time grew as the number of scores from one line to the next. The three kernels are there in
# FP32 and key blocks for one query: in `prefill_speed`, BF16 and many queries, they are far
# behind.

# %% tags=["measure"]
from functools import partial
from itertools import product

import torch

from kernels.dispatch import fastest_rung, hopper_takes, reference_attention
from kernels.flash import flash_attention
from kernels.hopper import hopper_attention
from kernels.key_blocks import key_blocks_attention
from kernels.measure import Table, time
from kernels.three_kernels import three_kernel_attention

both = [reference_attention, flash_attention]  # of which each has a gradient
cases = {
    "fp32_forward": (torch.float32, [key_blocks_attention, three_kernel_attention, *both]),
    "bf16_forward": (torch.bfloat16, [key_blocks_attention, *both, hopper_attention]),
    "fp32_both": (torch.float32, both),
    "bf16_both": (torch.bfloat16, both),
}
heads = [(64, False), (128, False), (128, True), (256, False)]
sizes = [(pairs, n, n) for n in (64, 512, 2048) for pairs in (2, 32)]
sizes += [(2, 8192, 8192), (8, 8192, 8192), (32, 1, 8192)]
columns = ["head_dim", "pairs", "n_q", "n_k", "causal", "chosen", "fastest", "ratio"]


def call(rung, inputs, dout, causal):
    """Forward, or with dout forward and backward."""
    out = rung(*inputs, is_causal=causal)
    return out if dout is None else torch.autograd.grad(out, inputs, dout)


room = torch.cuda.is_available() and torch.cuda.get_device_properties(0).total_memory / 3
tables, a_score = [], {}
for title, (dtype, rungs) in cases.items() if room else ():
    name = {rung: rung.__name__.removesuffix("_attention") for rung in rungs}
    tables.append(
        Table(title, **dict.fromkeys(columns, "") | dict.fromkeys(name.values(), "ms"))
    )
    for (head_dim, causal), (pairs, n_q, n_k) in product(heads, sizes):
        if causal and n_q < n_k:  # the query would see one key
            continue
        scores, backward = pairs * n_q * n_k, title.endswith("both")
        options = {"device": "cuda", "dtype": dtype, "requires_grad": backward}
        inputs = [torch.randn(1, pairs, n, head_dim, **options) for n in (n_q, n_k, n_k)]
        dout = torch.randn_like(inputs[0]) if backward else None
        chosen, times = fastest_rung(*inputs, is_causal=causal), dict.fromkeys(rungs)
        # Bytes a score that a rung holds at once, at most; and what else must be so.
        held = {reference_attention: 24 if backward else 12, three_kernel_attention: 4}
        runs = {key_blocks_attention: n_q == 1, hopper_attention: hopper_takes(*inputs)}
        for rung in rungs:
            setting = (title, rung, head_dim, causal)
            slow = rung is not chosen and a_score.get(setting, 0) * scores > 100
            if runs.get(rung, True) and not slow and held.get(rung, 0) * scores <= room:
                spent = time(partial(call, rung, inputs, dout, causal), milliseconds=10).median
                times[rung], a_score[setting] = float(f"{spent:.4g}"), spent / scores
        fastest = min(filter(times.get, rungs), key=times.get)
        row = [head_dim, pairs, n_q, n_k, causal, name[chosen], name[fastest]]
        row += [round(times[chosen] / times[fastest], 2), *times.values()]
        tables[-1].add(**dict(zip(tables[-1].columns, row, strict=True)))
if not tables:
    here = fastest_rung(*torch.zeros(3, 1, 1, 8, 64)).__name__
    print(f"No GPU here, so no times. On this CPU the rung is {here}.")

# %% [markdown]
# Ratio is the chosen rung's time by that of the fastest one: 1 is the right choice. Forward:
# FP32, and then BF16.

# %% tags=["forward"]
for table in tables[:2]:
    table.show()

# %% [markdown]
# Forward and backward. In FP32 a ratio above 1 may be the price of memory: a square that takes
# more than a tenth of it is not chosen, however fast.

# %% tags=["both"]
for table in tables[2:]:
    table.show()
