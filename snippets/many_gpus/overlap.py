# %% [markdown]
# # What an exchange costs a kernel that runs beside it
#
# Each GPU sends its keys and values to the next and gets those of the one before, while
# `hopper_attention` computes one whole block of scores, as many keys as queries, 16 heads of
# 128. In 30 rounds, all forms in each, in an order drawn anew; the slowest GPU counts. Alone is
# the exchange by itself, cost what the kernel takes longer with it. Runs in one process a GPU;
# a laptop has nothing to time.

# %% tags=["overlap"]
import os
import warnings

import torch
import torch.distributed as dist
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from kernels.bench.ranks import start
from kernels.bench.rounds import ratio, rounds
from kernels.bench.table import Table
from kernels.parallel.call import context_parallel_attention
from kernels.parallel.exchange import KEYS, Messages, PeerMemory
from kernels.parallel.local import attend

rank, gpus, device = start()
on_gpus = device.type == "cuda"


def messages(most_ctas=None):
    """Messages through NCCL; most_ctas: how many thread blocks it may use."""
    options = dist.ProcessGroupNCCL.Options()
    if most_ctas:
        options.config.max_ctas = most_ctas
    return Messages(dist.new_group(pg_options=options, device_id=device))


columns = {"data": "MB", "alone": "ms", "kernel": "ms", "together": "ms"}
percent = dict.fromkeys(["cost", "low", "high"], "%")
overlap = Table("overlap", gpus="", tokens="", how="", **columns, **percent)
for tokens in (8192, 65536) if on_gpus else ():
    torch.manual_seed(rank)
    q, k, v = torch.randn(3, 1, 16, tokens, 128, device=device, dtype=torch.bfloat16)
    exchanges = {"messages": messages(), "messages, 4 thread blocks": messages(4)}
    exchanges["peer memory"] = PeerMemory(dist.group.WORLD)

    def kernel(q=q, k=k, v=v):
        attend(q, k, v, is_causal=False, scale=128**-0.5)

    forms = {"kernel": kernel}
    for how, exchange in exchanges.items():
        exchange.reserve(k.nbytes + v.nbytes)
        take = exchange.offer(k, v, room=KEYS)

        def alone(take=take, shape=k.shape):
            take(1, shape).arrived()

        def together(take=take, shape=k.shape, kernel=kernel):
            coming = take(1, shape)
            kernel()
            coming.arrived()

        forms |= {f"{how}, alone": alone, how: together}
    found = rounds(forms, calls=max(1, 32768 // tokens))
    medians = {form: sorted(times)[len(times) // 2] for form, times in found.items()}
    for how in exchanges:
        more = [round(100 * (x - 1), 1) for x in ratio(found[how], found["kernel"])]
        times = [medians[form] for form in (f"{how}, alone", "kernel", how)]
        row = [gpus, tokens, how, (k.nbytes + v.nbytes) / 1e6, *times]
        row = [float(f"{x:.4g}") if isinstance(x, float) else x for x in row] + more
        overlap.add(**dict(zip(overlap.columns, row, strict=True)))
if rank == 0:
    overlap.show() if on_gpus else print("No GPUs here, so nothing to time.")

# %% [markdown]
# One ring, forward, causal, 8192 tokens a GPU, as PyTorch's profiler sees it on the first GPU:
# what runs when, in microseconds from the first. The kernels of the own part and of the other
# GPU's are on two streams.

# %% tags=["timeline"]
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
