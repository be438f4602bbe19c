# %% [markdown]
# # One sequence on many GPUs: how near to the ideal
#
# Each GPU holds as many tokens of one causal sequence, in zigzag order. Runs in one process a
# GPU; on a laptop, two processes on the CPU check the results and time nothing:
# `make run SNIPPET=parallel_speed`.
#
# First whether they are right: the error of output and gradients against FP64, as many times
# that of one GPU with the whole sequence. `pytorch` is PyTorch's own context parallelism.

# %% tags=["errors"]
from contextlib import contextmanager
from functools import partial

import torch
import torch.distributed as dist
from torch.distributed.tensor.experimental import context_parallel
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernels.bench.ranks import start
from kernels.bench.rounds import captured, ratio, rounds
from kernels.bench.table import Table
from kernels.parallel.all_to_all import Alone
from kernels.parallel.call import context_parallel_attention
from kernels.parallel.order import shard
from kernels.reference import oracle

rank, gpus, device = start()
on_gpus = device.type == "cuda"
head_dim, scale = 128, 128**-0.5
forms = {
    "ring, messages": {"scheme": "ring", "exchange": "messages"},
    "all-gather": {"scheme": "all_gather"},
    "all-to-all": {"scheme": "all_to_all"},
}
if on_gpus:
    forms = {"ring, peer memory": {"scheme": "ring", "exchange": "peer memory"}} | forms
on_many = {
    form: partial(context_parallel_attention, is_causal=True, enable_gqa=True, **options)
    for form, options in forms.items()
}


mesh = dist.init_device_mesh(device.type, (gpus,))


def pytorch(q, k, v):
    """PyTorch's context parallelism over cuDNN's kernels, inside of ``surroundings``."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


@contextmanager
def surroundings(attention):
    """What PyTorch's form wants about it, forward and backward; its parts are dealt out."""
    if attention is not pytorch:
        yield
        return
    buffers = [torch.zeros(1, 1, 2 * gpus, 1, device=device)]  # something to deal out
    parallel = context_parallel(mesh, buffers=buffers, buffer_seq_dims=[2])
    with parallel, sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        yield


if on_gpus:
    on_many["pytorch"] = pytorch


def on_one(q, k, v):
    """The whole sequence on one GPU, by the same kernels."""
    return Alone.apply(q, k, v, True, scale)


def passes(attention, q, k, v, dout):
    """Output and gradients."""
    inputs = [x.detach().requires_grad_() for x in (q, k, v)]
    with surroundings(attention):
        out = attention(*inputs)
        return [out.detach(), *torch.autograd.grad(out, inputs, dout)]


torch.manual_seed(0)
tokens = 1024 if on_gpus else 64
q, k, v, dout = torch.randn(4, 1, 8, gpus * tokens, head_dim).bfloat16().to(device)
exact = partial(oracle, is_causal=True)
truth = passes(exact, *(x.double() for x in (q, k, v, dout)))
mine = partial(shard, rank=rank, ranks=gpus)


def error(found):
    """Of each result on all GPUs: the norm of the difference by that of the answer."""
    squares = [[(x - mine(y)).square().sum(), mine(y).square().sum()] for x, y in found]
    sums = torch.tensor(squares, device=device)
    dist.all_reduce(sums)
    return (sums[:, 0] / sums[:, 1]).sqrt().tolist()


of_one = error((mine(x), y) for x, y in zip(passes(on_one, q, k, v, dout), truth, strict=True))
errors = Table("errors", form="", out="", dq="", dk="", dv="")
for form, attention in on_many.items():
    found = passes(attention, *map(mine, (q, k, v, dout)))
    of_many = error(zip(found, truth, strict=True))
    times = [round(a / b, 3) for a, b in zip(of_many, of_one, strict=True)]
    errors.add(form=form, **dict(zip(("out", "dq", "dk", "dv"), times, strict=True)))
if rank == 0:
    errors.show()

# %% [markdown]
# Then the times, in 30 rounds, all forms in each, in an order drawn anew; the slowest GPU
# counts. Ideal is the time of one GPU with the whole sequence, by as many as there are,
# measured in the same rounds; percent is ideal by the form's own time, with a 95 % interval.
# `pytorch` uses cuDNN's kernels, whose backward pass is faster than ours: beside our ideal it
# may come out above 100 %. It takes only as many heads in K and V as in Q. Forward, heads of
# 128.

# %% tags=["forward"]
COLUMNS = dict.fromkeys(["gpus", "tokens", "heads", "kv_heads", "form"], "")
COLUMNS |= {"median": "ms", "ideal": "ms", "percent": "%", "low": "%", "high": "%"}


def calls_of(forms, q, k, v, dout, backward):
    """What to time: each form on these tensors."""

    def call(attention):
        with surroundings(attention):
            out = attention(q, k, v)
            if backward:
                torch.autograd.grad(out, (q, k, v), dout)

    for x in (q, k, v):
        x.requires_grad_(backward)
    return {form: partial(call, attention) for form, attention in forms.items()}


def measured(table, tokens, heads, kv_heads, backward, count=30, only=None):
    """Adds a row for each form."""
    torch.manual_seed(rank)
    q, dout = torch.randn(2, 1, heads, tokens, head_dim, device=device, dtype=torch.bfloat16)
    k, v = torch.randn(2, 1, kv_heads, tokens, head_dim, device=device, dtype=torch.bfloat16)
    of_many = {only: on_many[only]} if only else dict(on_many)
    if heads != kv_heads:
        del of_many["pytorch"]
    calls = calls_of(of_many, q, k, v, dout, backward)
    if tokens <= 8192:  # so short that the host counts
        calls["ring, peer memory, as a graph"] = captured(calls["ring, peer memory"])
    whole = [x.repeat(1, 1, gpus, 1) for x in (q, k, v, dout)]
    calls |= calls_of({"one GPU": on_one}, *whole, backward)
    found = rounds(calls, count=count, calls=4 if tokens == 8192 else 1)
    ideal = [x / gpus for x in found.pop("one GPU")]
    for form, times in found.items():
        median = sorted(times)[len(times) // 2]
        share = [round(100 * x, 1) for x in ratio(ideal, times)]
        row = [gpus, tokens, heads, kv_heads, form, median, sorted(ideal)[len(ideal) // 2]]
        row = [float(f"{x:.4g}") if isinstance(x, float) else x for x in row] + share
        table.add(**dict(zip(COLUMNS, row, strict=True)))


forward = Table("forward", **COLUMNS)
for tokens, heads, kv_heads in (
    [(8192, 16, 16), (32768, 16, 16), (65536, 16, 16), (8192, 64, 8), (16384, 64, 8)]
    if on_gpus
    else []
):
    measured(forward, tokens, heads, kv_heads, backward=False)
if rank == 0:
    forward.show() if on_gpus else print("No GPUs here, so no times.")

# %% [markdown]
# Forward and backward.

# %% tags=["both"]
both = Table("both", **COLUMNS)
for tokens, heads, kv_heads in (
    [(8192, 16, 16), (32768, 16, 16), (65536, 16, 16), (8192, 64, 8), (16384, 64, 8)]
    if on_gpus
    else []
):
    measured(both, tokens, heads, kv_heads, backward=True)
if rank == 0:
    both.show() if on_gpus else print("No GPUs here, so no times.")

# %% [markdown]
# The longest: 262,144 tokens a GPU, in few rounds, since one takes seconds.

# %% tags=["longest"]
longest = Table("longest", backward="", **COLUMNS)
if on_gpus:
    for backward, count in ((False, 5), (True, 3)):
        rows = Table("rows", **COLUMNS)
        measured(rows, 262144, 16, 16, backward, count, only="ring, peer memory")
        for row in rows.rows:
            longest.add(backward="yes" if backward else "no", **row)
if rank == 0:
    longest.show() if on_gpus else print("No GPUs here, so no times.")

# %% [markdown]
# Memory that a call takes at its highest beside its inputs, forward and backward, 65,536 tokens
# a GPU. What lies ready for the others to read is counted.

# %% tags=["memory"]
GIB = 2**30
memory = Table("memory", gpus="", tokens="", form="", peak="GiB")
for form in on_many if on_gpus else []:
    q, k, v, dout = torch.randn(4, 1, 16, 65536, head_dim, device=device, dtype=torch.bfloat16)
    call = calls_of({form: on_many[form]}, q, k, v, dout, backward=True)[form]
    call()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    peak = torch.cuda.max_memory_allocated() - before
    if form == "ring, peer memory":  # two places for keys and values, two for gradients
        peak += 4 * (k.nbytes + v.nbytes)
    memory.add(gpus=gpus, tokens=65536, form=form, peak=round(peak / GIB, 2))
if rank == 0:
    memory.show() if on_gpus else print("No GPUs here, so no memory of theirs.")
