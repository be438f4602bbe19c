# %% [markdown]
# # More GPUs than two, and what was predicted for them
#
# `predicted` in `kernels.bench.parallel_cost` is given what was measured on two H200 GPUs of
# one host: the kernels' speed, forward and backward, on 131,072 tokens; what a fetch reaches
# through the link; what a step costs besides, which with more than two GPUs is mostly adding
# up in FP32, so that it grows with the tokens. That was written down before this ran. Heads of
# 128, 16 of them, causal, BF16, in zigzag order. Runs in one process a GPU.

# %% tags=["predicted"]
from functools import partial

import torch

from kernels.bench.parallel_cost import Link, Part, predicted
from kernels.bench.ranks import start
from kernels.bench.rounds import ratio, rounds
from kernels.bench.table import Table
from kernels.parallel.all_to_all import Alone
from kernels.parallel.call import context_parallel_attention

rank, gpus, device = start()
on_gpus = device.type == "cuda"
FORWARD, BACKWARD = 619e12, 408e12  # FLOP/s
BANDWIDTH = 346e9  # B/s, of a copy of a peer's memory
FORWARD_STEP, BACKWARD_STEP = 5.5e-9, 18e-9  # s a token


def foretold(count, tokens, backward):
    """Milliseconds of a forward pass, or of forward and backward."""
    part = Part(tokens, heads=16, kv_heads=16, head_dim=128)
    setting = {"gpus": count, "part": part, "causal": True}
    time = predicted(speed=FORWARD, link=Link(BANDWIDTH, FORWARD_STEP * tokens), **setting)
    if backward:
        link = Link(BANDWIDTH, BACKWARD_STEP * tokens)
        time += predicted(speed=BACKWARD, link=link, backward=True, **setting)
    return 1e3 * time


table = Table("predicted", gpus="", tokens="", backward="", predicted="ms")
for count in (2, 4, 8):
    for tokens in (65536, 131072, 262144):
        for backward in (False, True):
            time = float(f"{foretold(count, tokens, backward):.4g}")
            passes = "yes" if backward else "no"
            table.add(gpus=count, tokens=tokens, backward=passes, predicted=time)
if rank == 0:
    table.show()

# %% [markdown]
# Measured, in rounds, all forms in each, in an order drawn anew; the slowest GPU counts. Ideal
# is one GPU's time for the whole sequence by the number of GPUs, percent is ideal by the form's
# own time, with a 95 % interval. Off is how much longer the ring took than predicted. Of the
# longest backward pass one GPU's time was not taken: it is half a minute.

# %% tags=["measured"]
FORMS = {
    "ring, peer memory": {"scheme": "ring", "exchange": "peer memory"},
    "ring, messages": {"scheme": "ring", "exchange": "messages"},
    "all-gather": {"scheme": "all_gather"},
    "all-to-all": {"scheme": "all_to_all"},
}
RING = "ring, peer memory"


def calls_of(forms, q, k, v, dout, backward):
    """What to time: each form on these tensors."""

    def call(attention):
        out = attention(q, k, v)
        if backward:
            torch.autograd.grad(out, (q, k, v), dout)

    for x in (q, k, v):
        x.requires_grad_(backward)
    return {form: partial(call, attention) for form, attention in forms.items()}


def on_one(q, k, v):
    """The whole sequence on one GPU, by the same kernels."""
    return Alone.apply(q, k, v, True, 128**-0.5)


columns = dict.fromkeys(["gpus", "tokens", "backward", "form", "rounds"], "")
columns |= {"median": "ms", "ideal": "ms"} | dict.fromkeys(["percent", "low", "high"], "%")
measured = Table("measured", **columns, predicted="ms", off="%")
for tokens, backward, names, count in (
    (65536, False, [*FORMS], 30),
    (65536, True, [*FORMS], 6),
    (262144, False, [RING], 2),
    (262144, True, [RING], 2),
):
    if not on_gpus:
        break
    torch.manual_seed(rank)
    q, k, v, dout = torch.randn(4, 1, 16, tokens, 128, device=device, dtype=torch.bfloat16)
    forms = {
        name: partial(context_parallel_attention, is_causal=True, **FORMS[name])
        for name in names
    }
    calls = calls_of(forms, q, k, v, dout, backward)
    if not (backward and tokens == 262144):
        whole = [x.repeat(1, 1, gpus, 1) for x in (q, k, v, dout)]
        calls |= calls_of({"one GPU": on_one}, *whole, backward)
    times = rounds(calls, count=count)
    one = times.pop("one GPU", None)
    for form, found in times.items():
        middle = sorted(found)[len(found) // 2]
        row = {"gpus": gpus, "tokens": tokens, "backward": "yes" if backward else "no"}
        row |= {"form": form, "rounds": count, "median": float(f"{middle:.4g}")}
        row |= dict.fromkeys(["ideal", "percent", "low", "high", "predicted", "off"])
        if one:
            ideal = [x / gpus for x in one]
            row["ideal"] = float(f"{sorted(ideal)[len(ideal) // 2]:.4g}")
            share = [round(100 * x, 1) for x in ratio(ideal, found)]
            row |= dict(zip(("percent", "low", "high"), share, strict=True))
        if form == RING:
            time = foretold(gpus, tokens, backward)
            row["predicted"] = float(f"{time:.4g}")
            row["off"] = round(100 * (middle / time - 1), 1)
        measured.add(**row)
    del q, k, v, dout, forms, calls, times
    whole = None
    torch.cuda.empty_cache()
if rank == 0:
    measured.show() if on_gpus else print("No GPUs here, so nothing to time.")
