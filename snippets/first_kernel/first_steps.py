# %% [markdown]
# # First steps in Triton
#
# Two kernels before the library's: the sum of two vectors, and attention of one head with
# nothing around it.

# %% tags=["imports"]
import os
from functools import partial

import torch

# Without a GPU, Triton's interpreter runs the programs on the CPU, one after another.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.profiling.sass import loops
from kernels.bench.rounds import ratio, time_in_rounds
from kernels.bench.table import Table
from kernels.first.add import BLOCK, add
from kernels.first.one_head import one_head_attention, one_head_kernel
from kernels.first.one_key import one_key_attention, one_key_kernel
from kernels.reference import oracle

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% [markdown]
# The length isn't a multiple of a program's row, so the last program has places to spare.

# %% tags=["add"]
torch.manual_seed(0)
x, y = torch.randn(2, 2500, device=device)
programs = -(-len(x) // BLOCK)
print(f"{len(x)} numbers, {BLOCK} a program: {programs} programs")
print(f"the last has {len(x) - (programs - 1) * BLOCK} of them")
print(f"equal to x + y, bit for bit: {torch.equal(add(x, y), x + y)}")

# %% [markdown]
# The whiteboard's three words through the kernel of one head, without the division by the root
# of d.

# %% tags=["one_head"]
q = torch.tensor([[1.0, 0], [1, 1], [0, 1]], device=device)
k = torch.tensor([[1.0, 0], [0, 1], [1, 1]], device=device)
v = torch.tensor([[10.0, 0], [0, 10], [5, 5]], device=device)
for number, output in enumerate(one_head_attention(q, k, v, scale=1.0)):
    print(f"program {number}: {[round(x, 2) for x in output.tolist()]}")

# %% [markdown]
# On random numbers it's as close to FP64 as the library's kernel, which does the same
# arithmetic in the same order, and as PyTorch's own attention.

# %% tags=["error"]
shape = (1000, 64) if device == "cuda" else (10, 16)
q, k, v = torch.randn(3, *shape, device=device)
print(f"[sequence, head_dim] = {list(shape)} in FP32, errors against FP64")
sdpa = torch.nn.functional.scaled_dot_product_attention
forms = {"one_head": one_head_attention(q, k, v)}
forms["one_key"] = one_key_attention(*(x[None, None] for x in (q, k, v)))[0, 0]
forms["pytorch"] = sdpa(*(x[None, None] for x in (q, k, v)))[0, 0]
table = Table("errors", form="", largest="", mean="")
for form, output in forms.items():
    error = (output - oracle(q, k, v)).abs()
    table.add(form=form, largest=error.max().item(), mean=error.mean().item())
table.show()

# %% [markdown]
# What the GPU gets: how many instructions the two loops of each kernel have, with 512 keys of
# 128 numbers. The kernel of one head is in FP32, the library's in FP16.

# %% tags=["compiled"]
on_gpu = device == "cuda"
if on_gpu:
    q, k, v, out = torch.randn(4, 512, 128, device=device)
    sizes = {"HEAD_DIM": 128, "ROW": 512}
    built = {"one_head": one_head_kernel[(512,)](q, k, v, out, 1.0, 512, **sizes)}
    q, k, v, out = (x.half() for x in (q, k, v, out))
    sizes |= {"PADDED_DIM": 128, "CAUSAL": False}
    built["one_key"] = one_key_kernel[(512,)](q, k, v, out, 1.0, 512, 512, **sizes)
    loops_of = {kernel: loops(compiled.asm["sass"]) for kernel, compiled in built.items()}
    instructions = Table("instructions", kernel="", score="", blend="", all="")
    for kernel, (score, blend) in loops_of.items():
        count = {"score": len(score), "blend": len(blend)}
        instructions.add(kernel=kernel, **count, all=sum(count.values()))
    instructions.show()
else:
    print("No GPU here, so nothing was compiled for one.")

# %% [markdown]
# And the loop that scores, of one head. ISETP compares, FSEL selects one of two numbers, SHFL
# shuffles, STS and LDS write and read shared memory, BAR is a barrier.

# %% tags=["loop"]
print("\n".join(loops_of["one_head"][0]) if on_gpu else "No GPU here.")

# %% [markdown]
# And how long both take for as many pairs of a query with a key: 32 texts of 512 words in 16
# heads for the library's kernel, in BF16 as in the chapter, and as many queries for the kernel
# of one head, which has 512 keys. 30 rounds with both in each. Ratio is the time divided by the
# library's in the same round; low and high are its interval.

# %% tags=["times"]
times = Table("times", kernel="", median="ms", ratio="", low="", high="")
if on_gpu:
    sizes = (32 * 16 * 512, 512, 512)
    tables = [torch.randn(size, 128, device=device) for size in sizes]
    texts = torch.randn(3, 32, 16, 512, 128, device=device).bfloat16()
    forms = {"one_head": partial(one_head_attention, *tables)}
    forms["one_key"] = partial(one_key_attention, *texts)
    rounds = time_in_rounds(forms, count=30)
    for kernel, found in rounds.items():
        row = [sorted(found)[15], *ratio(found, rounds["one_key"])]
        row = [kernel, *(float(f"{x:.4g}") for x in row)]
        times.add(**dict(zip(times.columns, row, strict=True)))
    times.show()
else:
    print("No GPU here, so no times.")
