# %% [markdown]
# # From a loop to a kernel
#
# Attention of three words as a plain loop over the queries. We skip the division by the root of
# d, so the numbers are the whiteboard's. No turn of the loop needs another one: it reads one
# query, all keys and all values, and writes one row.

# %% tags=["imports"]
import os
from functools import partial
from math import exp

import torch
from torch.nn.functional import pad, scaled_dot_product_attention

# Without a GPU, Triton's interpreter runs the programs on the CPU, one after another.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.table import Table
from kernels.bench.timing import device_time
from kernels.first.one_key import one_key_attention
from kernels.reference import oracle

# %% tags=["loop"]
queries = [[1, 0], [1, 1], [0, 1]]
keys = [[1, 0], [0, 1], [1, 1]]
values = [[10, 0], [0, 10], [5, 5]]

for number, query in enumerate(queries):  # load
    scores = []
    for key in keys:  # score
        scores.append(sum(a * b for a, b in zip(query, key, strict=True)))

    maximum = max(scores)  # normalize
    exponentials = [exp(score - maximum) for score in scores]
    total = sum(exponentials)
    weights = [exponential / total for exponential in exponentials]

    output = [0.0, 0.0]
    for weight, value in zip(weights, values, strict=True):  # blend
        output = [a + weight * b for a, b in zip(output, value, strict=True)]

    print(f"query {number}: {[round(x, 2) for x in output]}")  # store

# %% [markdown]
# The same three words through the library's kernel: three programs replace the loop over the
# queries. On a GPU the kernel is compiled, without one Triton's interpreter runs it.

# %% tags=["kernel"]
on_gpu = torch.cuda.is_available()
device = "cuda" if on_gpu else "cpu"
q, k, v = torch.tensor([queries, keys, values], device=device)[:, None, None].float()
print(f"[batch, heads, sequence, head_dim] = {list(q.shape)}")
for number, output in enumerate(one_key_attention(q, k, v, scale=1.0)[0, 0]):
    print(f"program {number}: {[round(x, 2) for x in output.tolist()]}")

# %% [markdown]
# Correct before fast. The truth is FP64. PyTorch's own attention, in FP16 like the kernel,
# shows what an honest error is: in each head, the kernel's largest error may be one and a half
# times PyTorch's. Neither N nor d is a power of two, so we test the padding, too. Then we test
# the test. A row that's padded with 0 instead of -inf gives the same as keys and values of
# zeros do, so we add some: that must fail, and so must one head of zeros.

# %% tags=["verdict"]
torch.manual_seed(0)
shape = (2, 16, 500, 80) if on_gpu else (1, 2, 30, 12)
q, k, v = torch.randn(3, *shape, device=device).half()
truth = oracle(q, k, v)
outputs = {"pytorch": scaled_dot_product_attention(q, k, v)}
outputs["one_key"] = one_key_attention(q, k, v)
places = 512 if on_gpu else 32
k_0, v_0 = (pad(x, (0, 0, 0, places - shape[2])) for x in (k, v))
outputs["padded_with_0"] = one_key_attention(q, k_0, v_0)
outputs["one_head_of_zeros"] = outputs["one_key"].clone()
outputs["one_head_of_zeros"][0, 0] = 0

errors = {name: (output - truth).abs() for name, output in outputs.items()}
budget = 1.5 * errors["pytorch"].amax((-2, -1))  # one number a head
table = Table("errors", form="", largest="", mean="", of_budget="", verdict="")
for name, error in errors.items():
    of_budget = (error.amax((-2, -1)) / budget).max().item()  # of the head that uses most
    verdict = "passes" if of_budget <= 1 else "REJECTED"  # NaN is not <= 1
    size = {"largest": error.max().item(), "mean": error.mean().item()}
    table.add(form=name, **size, of_budget=of_budget, verdict=verdict)
print(f"[batch, heads, sequence, head_dim] = {list(shape)} in FP16, errors against FP64")
print(f"budget of a head: {budget.min():.2g} to {budget.max():.2g}")
table.show()

# %% [markdown]
# How the time grows. There are always 16384 words, in fewer and longer texts, so twice the N is
# twice as many pairs of a query with a key. If a pair cost the same at every N, the column
# one_pair would be flat. The last column is of a single text: how many times as long it takes
# as one with half its words. It has 4 times as many pairs.

# %% tags=["growth"]
columns = {"pairs": "million", "median": "ms", "p20": "ms", "p80": "ms"}
columns |= {"one_pair": "ps", "of_half": "times"}
growth, before = Table("growth", n="", **columns), None
for n in (256, 512, 1024, 2048, 4096, 8192) if on_gpu else ():
    q, k, v = torch.randn(3, 16384 // n, 2, n, 128, device=device).half()
    pairs = 16384 * 2 * n
    spent = device_time(partial(one_key_attention, q, k, v))
    one_pair = spent.median * 1e9 / pairs
    row = [n, pairs / 1e6, *spent, one_pair, 4 * one_pair / before if before else None]
    before = one_pair
    growth.add(**dict(zip(growth.columns, row, strict=True)))
if on_gpu:
    growth.show()
else:
    print("No GPU here: an interpreter's time says nothing about a kernel, so none is taken.")
