# %% [markdown]
# # Rows of a real model
#
# The scores of one token with the 1024 tokens up to it, in each of the 270 heads of
# SmolLM2-135M, which reads Hamlet. `scripts/chapters/online_softmax/real_scores.py` made the
# file. Each row arrives in blocks of 64, and once more with its back to the front. How often
# does its maximum move?

# %% tags=["moves"]
from pathlib import Path

import numpy
import torch

from kernels.bench.table import Table
from kernels.softmax import OnlineSoftmax

here = Path(globals().get("__file__", "snippets/online_softmax/real_rows.py"))
device = "cuda" if torch.cuda.is_available() else "cpu"
real = torch.from_numpy(numpy.load(here.with_name("real_scores.npy"))).to(device)
torch.manual_seed(0)
rows = {"real": real.float(), "random": 3 * torch.randn(len(real), 1024, device=device)}
rows["reversed"] = real.float().flip(-1)

counts = {}
for kind, scores in rows.items():
    state = OnlineSoftmax.empty(len(scores), device=device)
    counts[kind] = torch.zeros(len(scores))
    for block in scores.split(64, -1):
        before, state = state, state.update(block)
        counts[kind] += (state.running_max > before.running_max).cpu()

moves = Table("moves", moved="", **dict.fromkeys(rows, "rows"))
for moved in range(1, 1 + int(max(count.max() for count in counts.values()))):
    found = {kind: int((count == moved).sum()) for kind, count in counts.items()}
    moves.add(moved=moved, **found)
moves.show()

# %% [markdown]
# How many rows have their maximum in the first block, and how many at the first place; how
# often it moves on average, the first block counted; and how many sums would overflow FP16 if
# we didn't subtract the maximum.

# %% tags=["rows"]
ends = torch.finfo(torch.float16).max
columns = {"first_block": "rows", "first_token": "rows", "mean": "", "overflow": "rows"}
summary = Table("summary", kind="", rows="", **columns)
for kind, scores in rows.items():
    first = {"first_block": int((counts[kind] == 1).sum())}
    first |= {"first_token": int((scores.argmax(-1) == 0).sum())}
    overflow = int((scores.double().exp().sum(-1) > ends).sum())
    mean = counts[kind].mean().item()
    summary.add(kind=kind, rows=len(scores), **first, mean=mean, overflow=overflow)
summary.show()
