# %% [markdown]
# # Online softmax, one block at a time
#
# Six scores arrive two at a time, each with a value row. Kept is the factor by which what was
# summed before is rescaled: 1 where the maximum stays, less where it moves. The blend of the
# value rows is rescaled by the same factor, and divided by the sum at the end. So far is what
# one would get by dividing already. Runs on a laptop in seconds, the kernel in Triton's
# interpreter.

# %% tags=["imports"]
import os
from functools import reduce

import torch

# Without a GPU Triton interprets its kernels: it plays their programs on the CPU, in turn.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.table import Table
from kernels.softmax import OnlineSoftmax, exp_below, softmax

# %% tags=["by_hand"]
row = torch.tensor([1.0, 0.0, 2.0, 1.0, 0.0, 2.0])
value = torch.tensor([[10.0, 0.0]] * 3 + [[0.0, 10.0]] * 3)

by_hand = Table("by_hand", read="", max="", kept="", sum="", blend="", so_far="")
state, blend = OnlineSoftmax.empty(), torch.zeros(2)
for scores, values in zip(row.split(2), value.split(2), strict=True):
    before, state = state, state.update(scores)
    kept = exp_below(before.running_max, state.running_max)
    blend = blend * kept + exp_below(scores, state.running_max) @ values
    numbers = [x.item() for x in (state.running_max, kept, state.running_sum)]
    pairs = [scores, blend, blend / state.running_sum]
    first, *last = [", ".join(f"{x:.4g}" for x in pair.tolist()) for pair in pairs]
    by_hand.add(**dict(zip(by_hand.columns, [first, *numbers, *last], strict=True)))
by_hand.show()
print(f"all at once: {(row.softmax(-1) @ value).tolist()}")

# %% [markdown]
# Cut anywhere, merged in any order: two programs read the same six scores, and the one with
# more to read may come first or last. The empty state changes nothing.

# %% tags=["merge"]
empty = OnlineSoftmax.empty()
parts = [empty.update(block) for block in row.split([2, 3, 1])]
for how in (parts, parts[::-1], [parts[1], empty, parts[2], parts[0]]):
    whole = reduce(OnlineSoftmax.merge, how)
    print(f"max {whole.running_max:g}  sum {whole.running_sum:.4f}  lse {whole.lse:.4f}")
print(f"all at once: lse {row.logsumexp(-1):.4f}")

# %% [markdown]
# Random scores with spread 3, to one decimal, eight at a time: the state as they arrive.

# %% tags=["arrivals"]
torch.manual_seed(0)
places = [f"s{place}" for place in range(8)]
arrivals = Table("arrivals", **dict.fromkeys(["block", *places, "max", "kept", "sum"], ""))
state = empty
for count, scores in enumerate((3 * torch.randn(8, 8)).round(decimals=1), start=1):
    before, state = state, state.update(scores)
    kept = exp_below(before.running_max, state.running_max)
    numbers = [x.item() for x in (state.running_max, kept, state.running_sum)]
    cells = [count, *scores.double().round(decimals=1).tolist(), *numbers]
    arrivals.add(**dict(zip(arrivals.columns, cells, strict=True)))
arrivals.show()

# %% [markdown]
# The kernel: one program a row, which it reads twice, in blocks of 64. Largest error against
# FP64, beside PyTorch's own softmax.

# %% tags=["kernel"]
on_gpu = torch.cuda.is_available()
errors = Table("errors", rows="", columns="", kernel="", torch="")
for shape in [(1, 1), (1, 239), (113, 203), (5, 1025)]:
    scores = 3 * torch.randn(shape, device="cuda" if on_gpu else "cpu")
    truth = scores.double().softmax(-1)
    found = softmax(scores, block=64), scores.softmax(-1)
    worst = [(shares - truth).abs().max().item() for shares in found]
    errors.add(**dict(zip(errors.columns, [*shape, *worst], strict=True)))
errors.show()
masked = softmax(torch.full((1, 5), -torch.inf, device=scores.device), block=2)
print(f"a row of nothing but -inf: {masked.tolist()}")
