# %% [markdown]
# # What an exchange costs a kernel that runs beside it
#
# Each GPU sends its keys and values to the next and gets those of the one before, while
# `hopper_attention` computes one whole block of scores, as many keys as queries, 16 heads of
# 128. In 30 rounds, all forms in each, in an order drawn anew; the slowest GPU counts. Alone is
# the exchange by itself, cost what the kernel takes longer with it. Runs in one process a GPU;
# a laptop has nothing to time.

# %% tags=["overlap"]
import torch
import torch.distributed as dist

from kernels.bench.parallel.ranks import start
from kernels.bench.rounds import ratio, time_in_rounds
from kernels.bench.table import Table
from kernels.parallel.exchange import KEYS, Messages, PeerMemory
from kernels.parallel.local import attend

rank, gpus, device = start()
on_gpus = device.type == "cuda"


def messages(max_ctas=None):
    """Messages through NCCL; max_ctas: how many thread blocks it may use."""
    options = dist.ProcessGroupNCCL.Options()
    if max_ctas:
        options.config.max_ctas = max_ctas
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
        fetch = exchange.publish(k, v, slot=KEYS, max_numel=k.numel())

        def alone(fetch=fetch, shape=k.shape):
            fetch(1, shape).result()

        def together(fetch=fetch, shape=k.shape, kernel=kernel):
            pending = fetch(1, shape)
            kernel()
            pending.result()

        forms |= {f"{how}, alone": alone, how: together}
    found = time_in_rounds(forms, calls=max(1, 32768 // tokens))
    medians = {form: sorted(times)[len(times) // 2] for form, times in found.items()}
    for how in exchanges:
        more = [round(100 * (x - 1), 1) for x in ratio(found[how], found["kernel"])]
        times = [medians[form] for form in (f"{how}, alone", "kernel", how)]
        row = [gpus, tokens, how, (k.nbytes + v.nbytes) / 1e6, *times]
        row = [float(f"{x:.4g}") if isinstance(x, float) else x for x in row] + more
        overlap.add(**dict(zip(overlap.columns, row, strict=True)))
if rank == 0:
    overlap.show() if on_gpus else print("No GPUs here, so nothing to time.")
