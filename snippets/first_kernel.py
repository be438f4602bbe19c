# %% [markdown]
# # From a loop to a kernel
#
# Attention of three words as a plain loop over the queries, without the division by the root of
# d, so that the numbers are those of the whiteboard. Every turn of the loop is on its own: it
# reads one query, all keys and all values, and writes one row.

# %% tags=["imports"]
from math import exp

import torch

from kernels.measure import Table
from kernels.one_key import one_key_attention
from kernels.reference import oracle

# %% tags=["loop"]
queries = [[1, 0], [1, 1], [0, 1]]
keys = [[1, 0], [0, 1], [1, 1]]
values = [[10, 0], [0, 10], [5, 5]]

for number, query in enumerate(queries):
    scores = []
    for key in keys:  # multiply
        scores.append(sum(a * b for a, b in zip(query, key, strict=True)))

    maximum = max(scores)  # squish
    exponentials = [exp(score - maximum) for score in scores]
    weights = [exponential / sum(exponentials) for exponential in exponentials]

    output = [0.0, 0.0]
    for weight, value in zip(weights, values, strict=True):  # multiply
        output = [a + weight * b for a, b in zip(output, value, strict=True)]
    print(f"query {number}: {[round(x, 2) for x in output]}")

# %% [markdown]
# The same three words through the kernel: the loop over the queries is gone, and three programs
# are started instead. With no GPU they run in Triton's interpreter, if `TRITON_INTERPRET=1` is
# set.

# %% tags=["kernel"]
on_gpu = torch.cuda.is_available()
device = "cuda" if on_gpu else "cpu"
q, k, v = torch.tensor([queries, keys, values], device=device)[:, None, None].float()
for number, output in enumerate(one_key_attention(q, k, v, scale=1.0)[0, 0]):
    print(f"program {number}: {[round(x, 2) for x in output.tolist()]}")

# %% [markdown]
# Correct before fast. The truth is FP64. PyTorch's own attention, in FP16 as the kernel, says
# how large an error is to be expected, and in no head may the kernel's largest error be above
# one and a half times PyTorch's. Then the check is checked: one head of zeros must not pass.

# %% tags=["verdict"]
torch.manual_seed(0)
shape = (2, 16, 512, 64) if on_gpu else (1, 2, 32, 16)
q, k, v = torch.randn(3, *shape, device=device).half()
truth = oracle(q, k, v)
outputs = {"pytorch": torch.nn.functional.scaled_dot_product_attention(q, k, v)}
outputs["one_key"] = one_key_attention(q, k, v)
outputs["zeroed"] = outputs["one_key"].clone()
outputs["zeroed"][0, 0] = 0

errors = {name: (output - truth).abs() for name, output in outputs.items()}
allowed = 1.5 * errors["pytorch"].amax((-2, -1))  # one number a head
table = Table("errors", form="", largest="", mean="", verdict="")
for name, error in errors.items():
    passes = bool((error.amax((-2, -1)) <= allowed).all())  # NaN compares false
    verdict = "within the budget" if passes else "REJECTED"
    size = {"largest": error.max().item(), "mean": error.mean().item()}
    table.add(form=name, **size, verdict=verdict)
print(f"[batch, heads, sequence, head_dim] = {list(shape)} in FP16, errors against FP64:")
table.show()
