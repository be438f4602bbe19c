# %% [markdown]
# # One ring, kernel by kernel
#
# One ring, forward, causal, 16 heads of 128, 8192 tokens a GPU, as PyTorch's profiler sees it
# on the first GPU: what runs when, in microseconds from the first. The kernels of the own part
# and of the other GPU's are on two streams. Runs in one process a GPU; a laptop has nothing to
# see.

# %% tags=["timeline"]
import os
import warnings

import torch
import torch.distributed as dist
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from kernels.bench.parallel.ranks import start
from kernels.bench.table import Table
from kernels.parallel.call import context_parallel_attention

rank, gpus, device = start()
on_gpus = device.type == "cuda"
torch.manual_seed(rank)
WHAT = {
    "hopper_kernel": "attention",
    "Memcpy PtoP": "fetch",
    "ncclDevKernel": "send and receive",
    "barrier_kernel": "barrier",
    "merge_rows_kernel": "merge",
    "Memcpy DtoD": "offer",
    "elementwise": "offer",
    "CatArray": "offer",
}
os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # some builds print a start-up line to stderr
timeline = Table("timeline", how="", what="", begin="µs", end="µs")
for how in ("messages", "peer memory") if on_gpus else ():
    q, k, v = torch.randn(3, 1, 16, 8192, 128, device=device, dtype=torch.bfloat16)
    options = {"exchange": how, "is_causal": True}
    for _ in range(3):
        context_parallel_attention(q, k, v, **options)
    signal = torch.zeros(1, device=device)
    with (
        warnings.catch_warnings(action="ignore"),  # it warns that it drops earlier cycles
        profile(activities=[ProfilerActivity.CUDA]) as profiler,
    ):
        for _ in range(3):  # the last, for which the host has come ahead
            dist.all_reduce(signal)
            torch.cuda._sleep(2_000_000)
            context_parallel_attention(q, k, v, **options)
        torch.cuda.synchronize()
    events = [x for x in profiler.events() if x.device_type == DeviceType.CUDA]
    events = sorted(events, key=lambda x: x.time_range.start)
    waits = [number for number, x in enumerate(events) if "spin" in x.name]
    events = events[waits[-1] + 1 :]
    first = events[0].time_range.start
    for event in events:
        known = [short for name, short in WHAT.items() if name in event.name]
        span = (event.time_range.start - first, event.time_range.end - first)
        cells = {"how": how, "what": known[0] if known else event.name[:40]}
        timeline.add(**cells, begin=round(span[0], 1), end=round(span[1], 1))
if rank == 0:
    timeline.show() if on_gpus else print("No GPUs here, so nothing to see.")
