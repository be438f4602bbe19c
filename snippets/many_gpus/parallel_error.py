# %% [markdown]
# # One sequence on many GPUs: whether it is right, and what it holds
#
# Runs in one process a GPU; on a laptop in two processes on the CPU. The error of output and
# gradients against FP64, as many times that of one GPU with the whole sequence, causal, in
# BF16, 8 heads of 128. Every GPU holds as many tokens, in zigzag order; `pytorch` is PyTorch's
# own context parallelism.

# %% tags=["errors"]
from functools import partial

import torch
import torch.distributed as dist

from kernels.bench.parallel.forms import forms_on, make_call, output_and_grads, single_gpu
from kernels.bench.parallel.ranks import start
from kernels.bench.table import Table
from kernels.parallel.order import shard
from kernels.reference import oracle

rank, gpus, device = start()
on_gpus = device.type == "cuda"
RESULTS = ("out", "dq", "dk", "dv")
torch.manual_seed(0)
q, k, v, dout = (
    torch.randn(4, 1, 8, gpus * (1024 if on_gpus else 64), 128).bfloat16().to(device)
)
truth = output_and_grads(
    partial(oracle, is_causal=True), *(x.double() for x in (q, k, v, dout))
)
my_shard = partial(shard, rank=rank, ranks=gpus)


def error(found):
    """Of each result on all GPUs: the norm of the difference divided by that of the answer."""
    pairs = [(x - my_shard(y), my_shard(y)) for x, y in zip(found, truth, strict=True)]
    sums = torch.tensor([[x.square().sum() for x in pair] for pair in pairs], device=device)
    dist.all_reduce(sums)
    return (sums[:, 0] / sums[:, 1]).sqrt().tolist()


single_gpu_errors = error(map(my_shard, output_and_grads(single_gpu, q, k, v, dout)))
errors = Table("errors", form="", **dict.fromkeys(RESULTS, ""))
for name, form in forms_on(device).items():
    form_errors = error(output_and_grads(form, *map(my_shard, (q, k, v, dout))))
    times = [round(a / b, 3) for a, b in zip(form_errors, single_gpu_errors, strict=True)]
    errors.add(form=name, **dict(zip(RESULTS, times, strict=True)))
if rank == 0:
    errors.show()

# %% [markdown]
# The memory that forward and backward take at their highest beside the inputs, with 65,536
# tokens a GPU and 16 heads. What lies ready for other GPUs to read is counted.

# %% tags=["memory"]
memory = Table("memory", gpus="", tokens="", form="", peak="GiB")
for name, form in forms_on(device).items() if on_gpus else ():
    q, k, v, dout = torch.randn(4, 1, 16, 65536, 128, device=device, dtype=torch.bfloat16)
    run = make_call(form, q, k, v, dout)
    run()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    peak = torch.cuda.max_memory_allocated() - before
    if name == "ring, peer memory":  # a buffer for keys and values, one for their gradients
        peak += 2 * (k.nbytes + v.nbytes)
    memory.add(gpus=gpus, tokens=65536, form=name, peak=round(peak / 2**30, 2))
if rank == 0:
    memory.show() if on_gpus else print("No GPUs here, so no memory of theirs.")
