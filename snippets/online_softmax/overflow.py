# %% [markdown]
# # What overflows, and where
#
# A type of number ends somewhere, and exp gets there soon. Largest is the largest number that
# the type holds. Last is the last score whose exponential is still finite; the score after
# it, one step further, gives inf. Gone is the first score below zero whose exponential is
# stored as 0. Nothing here was looked up. Positive floating-point numbers, read as integers,
# stand in order, so that one can search them as one searches a dictionary. Runs on a laptop in
# seconds.

# %% tags=["where"]
from bisect import bisect

import torch

from kernels.bench.table import Table
from kernels.softmax import OnlineSoftmax, naive_softmax, safe_softmax

device = "cuda" if torch.cuda.is_available() else "cpu"
types = {
    "FP16": (torch.float16, torch.int16),
    "BF16": (torch.bfloat16, torch.int16),
    "FP32": (torch.float32, torch.int32),
    "FP64": (torch.float64, torch.int64),
}


def number(name, code):
    dtype, integer = types[name]
    return torch.tensor([code], dtype=integer, device=device).view(dtype)


def first(name, wrong):
    return bisect(codes[name], 0, key=lambda code: wrong(number(name, code)).item())


codes = {}  # every code of a number from zero up: that of inf comes right after
for name, (dtype, integer) in types.items():
    codes[name] = range(torch.tensor([torch.inf], dtype=dtype).view(integer).item())

where = Table("where", type="", largest="", last="", step="", gone="")
for name in types:
    over = first(name, lambda score: score.exp().isinf())
    gone = first(name, lambda score: score.neg().exp() == 0)
    found = [number(name, code).item() for code in (codes[name][-1], over - 1, over, gone)]
    row = [name, *found[:2], found[2] - found[1], -found[3]]
    where.add(**dict(zip(where.columns, row, strict=True)))
where.show()

# %% [markdown]
# Softmax adds its exponentials up, and the sum overflows before any of them does. Here all keys
# of a row have one and the same score: how high may it be?

# %% tags=["sums"]
sums = Table("sums", type="", keys="", highest="")
for name in types:
    for keys in (1, 64, 8192):
        over = first(name, lambda score, keys=keys: score.exp().expand(keys).sum().isinf())
        sums.add(type=name, keys=keys, highest=number(name, over - 1).item())
sums.show()

# %% [markdown]
# What becomes of the shares. Naive is the formula as it stands; safe subtracts the largest
# score of the row first. Nothing here crashes.

# %% tags=["shares"]
rows = {
    "FP16": [[10.0, 9.0], [11.0, 10.0], [12.0, 10.0]],
    "BF16": [[88.0, 87.0], [88.5, 88.0], [89.0, 87.0]],
    "FP32": [[88.0, 87.0], [88.5, 88.0], [89.0, 87.0]],
    "FP64": [[709.0, 708.0], [709.5, 709.0], [710.0, 708.0]],
}
shares = Table("shares", type="", scores="", exponentials="", naive="", safe="")
for name, scores in rows.items():
    for row in torch.tensor(scores, dtype=types[name][0], device=device):
        texts = [", ".join(f"{x:g}" for x in row.tolist())]
        for step in (row.exp(), naive_softmax(row), safe_softmax(row)):
            texts.append(", ".join(f"{x:.2g}" for x in step.tolist()))
        shares.add(**dict(zip(shares.columns, [name, *texts], strict=True)))
shares.show()

# %% [markdown]
# One more sum. 70,000 keys with score 0, in FP16: no exponential is larger than 1.

# %% tags=["many"]
zeros = torch.zeros(70_000, dtype=torch.float16, device=device)
print(f"summed in FP16, the shares add up to {safe_softmax(zeros).sum():g}")
state = OnlineSoftmax.empty(device=device).update(zeros)
print(f"summed in FP32, the sum is {state.running_sum:g}")
