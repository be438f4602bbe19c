# %% [markdown]
# # Launches on a timeline
#
# One call of multi-head attention, twice with the same weights: a loop over 8 heads, and all
# heads at once. When does the host hand over each kernel, and when does the GPU run it? Seen by
# the profiler, for a short and a long input. Watched launches take longer than others.

# %% tags=["timeline"]
from collections import defaultdict
from functools import partial

import torch

from kernels.bench.profiling.launches import launch_timeline
from kernels.bench.table import Table
from kernels.multihead import LoopedMultiHeadAttention, MultiHeadAttention

heads, embed_dim = 8, 512
on_gpu = torch.cuda.is_available()
place = {"device": "cuda", "dtype": torch.float16} if on_gpu else {}
torch.manual_seed(0)
torch.set_grad_enabled(False)

loop = LoopedMultiHeadAttention(embed_dim, heads).to(**place)
forms = {"loop": loop, "at_once": MultiHeadAttention.from_loop(loop)}
inputs = {n: torch.randn(batch, n, embed_dim, **place) for batch, n in [(1, 128), (8, 2048)]}
cases = [(form, n) for n in inputs for form in forms]

seen = {}
events = Table("events", form="", n="", side="", launch="", name="", start="µs", duration="µs")
for form, n in cases if on_gpu else []:
    seen[form, n] = launch_timeline(partial(forms[form], inputs[n]))
    for event in seen[form, n]:
        events.add(form=form, n=n, **event._asdict())
if on_gpu:
    events.show()
else:
    print("No GPU here: nothing is launched, so there is no timeline to show.")
    print(f"By hand: the loop would launch {7 * heads + 2} kernels, all heads at once 9.")

# %% [markdown]
# Each timeline in one row. Launching: until the host has handed over the last kernel. Calls:
# how much of that the launches themselves take; the rest is Python and PyTorch between them.
# Done: until the last kernel has ended. Busy: how much of that the kernels take; for the rest
# the GPU waits.

# %% tags=["spans"]
columns = ["launching", "calls", "done", "busy"]
spans = Table("spans", form="", n="", kernels="", **dict.fromkeys(columns, "µs"))
for (form, n), found in seen.items():
    row = []
    for side in ("host", "device"):
        ours = [event for event in found if event.side == side]
        row += [ours[-1].start + ours[-1].duration, sum(event.duration for event in ours)]
    spans.add(form=form, n=n, kernels=len(ours), **dict(zip(columns, row, strict=True)))
if on_gpu:
    spans.show()

# %% [markdown]
# Where the GPU's time goes, kernel by kernel: those of one name together.

# %% tags=["kernels"]
by_kernel = Table("by_kernel", form="", n="", kernel="", times="", together="µs")
for (form, n), found in seen.items():
    durations = defaultdict(list)
    for event in found:
        if event.side == "device":
            durations[event.name].append(event.duration)
    for kernel, kernel_durations in durations.items():
        by_kernel.add(
            form=form,
            n=n,
            kernel=kernel,
            times=len(kernel_durations),
            together=sum(kernel_durations),
        )
if on_gpu:
    by_kernel.show()
