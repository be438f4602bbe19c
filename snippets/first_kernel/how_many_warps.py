# %% [markdown]
# # How many warps should share a row?
#
# The kernel of chapter 5 started with 1, 2, 4 and 8 warps a program, where Triton's default is
# 4: the same source, compiled four times. First, whether the outputs are right: the largest
# error beside that of PyTorch's own attention, in FP16, against FP64.

# %% tags=["errors"]
import os
from functools import partial

import torch
from torch.nn.functional import scaled_dot_product_attention

os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.profiling.sass import loops, opcodes
from kernels.bench.rounds import ratio, time_in_rounds
from kernels.bench.table import Table
from kernels.first.one_key import one_key_kernel
from kernels.reference import oracle

WARPS = (1, 2, 4, 8)
on_gpu = torch.cuda.is_available()
device = "cuda" if on_gpu else "cpu"


def start(q, k, v, out, warps):
    batch, heads, n, d = q.shape  # n and d are powers of two here
    sizes = {"HEAD_DIM": d, "PADDED_DIM": d, "ROW": n, "CAUSAL": False}
    grid = (batch * heads * n,)
    return one_key_kernel[grid](q, k, v, out, d**-0.5, n, n, **sizes, num_warps=warps)


torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2, 512 if on_gpu else 16, 128, device=device).half()
truth = oracle(q, k, v)
errors = Table("errors", warps="", largest="", of_pytorch="")
compiled = {}
pytorch = (scaled_dot_product_attention(q, k, v) - truth).abs().max().item()
for warps in WARPS:
    out = torch.empty_like(q)
    compiled[warps] = start(q, k, v, out, warps)
    largest = (out - truth).abs().max().item()
    errors.add(warps=warps, largest=largest, of_pytorch=round(largest / pytorch, 3))
errors.show()

# %% [markdown]
# What is in the two loops of each, as the GPU gets it: one warp's instructions for one query
# and one key; then the same for longer rows. Load reads memory, shared reads or writes shared
# memory; compare and select go over the row. Bits packs and unpacks what comparisons found.

# %% tags=["compiled"]
NAMES = {"load": ["LDG"], "shuffle": ["SHFL"], "shared": ["LDS", "STS"]}
NAMES |= {"barrier": ["BAR"], "compare": ["ISETP"], "select": ["FSEL"]}
NAMES |= {"bits": ["LOP3", "SEL", "SHF", "PRMT"]}
counts = Table("compiled", n="", warps="", all="", **dict.fromkeys(NAMES, ""))
kernels = {(512, warps): kernel for warps, kernel in compiled.items()}
for n in (2048, 4096, 8192) if on_gpu else ():
    long = torch.zeros(1, 1, n, 128, dtype=torch.float16, device=device)
    kernels[n, 4] = start(long, long, long, long.clone(), 4)
for (n, warps), kernel in kernels.items() if on_gpu else ():
    keys, values = loops(kernel.asm["sass"])
    pair = opcodes(keys) + opcodes(values)
    row = {kind: sum(pair[name] for name in names) for kind, names in NAMES.items()}
    counts.add(n=n, warps=warps, all=pair.total(), **row)
counts.show() if on_gpu else print("No GPU here, so nothing was compiled for one.")

# %% [markdown]
# Then the times, in heads of 128: 30 rounds with all four in each, in an order drawn anew.
# Ratio is the time with 4 warps divided by this one in the same round, above 1 is faster than
# the default; low and high are its interval. The last setting has one text and one head,
# because it's slow. Registers are those of a thread; spilled are those that didn't fit, and
# live in memory.

# %% tags=["times"]
columns = {"median": "ms", "ratio": "", "low": "", "high": "", "registers": "", "spilled": ""}
times = Table("times", n="", warps="", **columns)
settings = [(32, 16, 512), (8, 2, 2048), (1, 1, 8192)]
for batch, heads, n in settings if on_gpu else ():
    q, k, v = torch.randn(3, batch, heads, n, 128, device=device).half()
    out = torch.empty_like(q)
    forms = {warps: partial(start, q, k, v, out, warps) for warps in WARPS}
    rounds = time_in_rounds(forms, count=30)
    for warps, form in forms.items():
        built, found = form(), ratio(rounds[4], rounds[warps])
        middle = sorted(rounds[warps])[15]
        row = [n, warps, *(float(f"{x:.4g}") for x in (middle, *found))]
        row += [built.n_regs, built.n_spills]
        times.add(**dict(zip(times.columns, row, strict=True)))
times.show() if on_gpu else print("No GPU here, so no times.")
