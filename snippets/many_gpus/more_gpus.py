# %% [markdown]
# # More GPUs than two, and what was predicted for them
#
# `predict_seconds` in `kernels.bench.parallel.cost` is given what was measured on two H200 GPUs
# of one host: the kernels' speed, forward and backward, on 131,072 tokens; what a fetch reaches
# through the link; what a step costs besides, which with more than two GPUs is mostly adding up
# in FP32, so that it grows with the tokens. That was written down before this ran; the speed
# backward was taken anew before Hopper's kernel for the gradient had run on more than two GPUs.
# Heads of 128, 16 of them, causal, BF16, in zigzag order. Runs in one process a GPU.

# %% tags=["predicted"]
import torch

from kernels.bench.parallel.cost import Link, Part, predict_seconds
from kernels.bench.parallel.forms import (
    compare_with_single_gpu,
    forms_on,
    make_call,
    single_gpu,
)
from kernels.bench.parallel.ranks import start
from kernels.bench.table import Table

rank, gpus, device = start()
on_gpus = device.type == "cuda"
FORWARD, BACKWARD = 619e12, 559e12  # FLOP/s
BANDWIDTH = 346e9  # B/s, of a copy of a peer's memory
FORWARD_STEP, BACKWARD_STEP = 5.5e-9, 18e-9  # s a token


def predicted_ms(count, tokens, backward):
    """Milliseconds of a forward pass, or of forward and backward."""
    part = Part(tokens, heads=16, kv_heads=16, head_dim=128)
    setting = {"gpus": count, "part": part, "causal": True}
    link = Link(BANDWIDTH, FORWARD_STEP * tokens)
    time = predict_seconds(speed=FORWARD, link=link, **setting)
    if backward:
        link = Link(BANDWIDTH, BACKWARD_STEP * tokens)
        time += predict_seconds(speed=BACKWARD, link=link, backward=True, **setting)
    return 1e3 * time


table = Table("predicted", gpus="", tokens="", backward="", predicted="ms")
for count in (2, 4, 8):
    for tokens in (65536, 131072, 262144):
        for backward in (False, True):
            time = float(f"{predicted_ms(count, tokens, backward):.4g}")
            passes = "yes" if backward else "no"
            table.add(gpus=count, tokens=tokens, backward=passes, predicted=time)
if rank == 0:
    table.show()

# %% [markdown]
# Measured, in rounds, all forms in each, in an order drawn anew; the slowest GPU counts. Ideal
# is one GPU's time for the whole sequence divided by the number of GPUs, percent is ideal
# divided by the form's own time, low and high its interval. Off is how much longer the ring
# took than predicted. With backward the longest takes one GPU half a minute; there ideal is its
# time for its share of the heads, with all of their tokens. `pytorch` is PyTorch's own context
# parallelism.

# %% tags=["measured"]
RING = "ring, peer memory"
names = list(forms_on(device))
columns = dict.fromkeys(["gpus", "tokens", "backward", "form", "rounds"], "")
columns |= {"median": "ms", "ideal": "ms"} | dict.fromkeys(["percent", "low", "high"], "%")
measured = Table("measured", **columns, predicted="ms", off="%")
for tokens, backward, which, count in (
    (65536, False, names, 30),
    (65536, True, names, 6),
    (262144, False, [RING], 2),
    (262144, True, [RING], 3),
):
    if not on_gpus:
        break
    torch.manual_seed(rank)
    tensors = torch.randn(4, 1, 16, tokens, 128, device=device, dtype=torch.bfloat16)
    tensors = tensors[: 4 if backward else 3]
    calls = {name: make_call(forms_on(device)[name], *tensors) for name in which}
    parts = gpus if backward and tokens == 262144 else 1
    single = make_call(single_gpu, *tensors[:, :, : 16 // parts].repeat(1, 1, 1, gpus, 1))
    found = compare_with_single_gpu(calls, single, count=count, repeat=1, parts=parts)
    for name, row in found.items():
        same = {"gpus": gpus, "tokens": tokens, "backward": "yes" if backward else "no"}
        row = dict.fromkeys(measured.columns) | same | {"form": name, "rounds": count} | row
        if name == RING:
            time = predicted_ms(gpus, tokens, backward)
            row["predicted"] = float(f"{time:.4g}")
            row["off"] = round(100 * (row["median"] / time - 1), 1)
        measured.add(**row)
    del tensors, calls, single
    torch.cuda.empty_cache()
if rank == 0:
    measured.show() if on_gpus else print("No GPUs here, so nothing to time.")
