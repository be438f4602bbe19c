# %% [markdown]
# # Online softmax, one block at a time
#
# Scores arrive two at a time. Watch the sum: when a larger score turns up, the old part
# shrinks. It all runs on a laptop in seconds, the kernel in Triton's interpreter.

# %% tags=["imports"]
import os
from functools import reduce

import torch

# Without a GPU, Triton's interpreter runs the programs on the CPU, one after another.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.table import Table
from kernels.softmax import OnlineSoftmax, exp_below, softmax

# %% tags=["stream"]
scores = torch.tensor([1.0, 2.0, 5.0, 3.0, 4.0, 0.0])
state = OnlineSoftmax.empty()
for block in scores.split(2):
    state = state.update(block)
    print(f"read {block.tolist()}:  max {state.running_max:g}  sum {state.running_sum:.4f}")
print(f"all at once: {(scores - scores.max()).exp().sum():.4f}")

# %% [markdown]
# The same, block by block: what is left of each block's part of the sum.

# %% tags=["shares"]
shares = Table("shares", read="", block="", share="")
state, parts = OnlineSoftmax.empty(), []
for read, block in enumerate(scores.split(2), start=1):
    before, state = state, state.update(block)
    kept = exp_below(before.running_max, state.running_max)
    parts = [part * kept for part in parts] + [exp_below(block, state.running_max).sum()]
    for number, part in enumerate(parts, start=1):
        shares.add(read=read, block=number, share=part.item())
shares.show()

# %% [markdown]
# The example on the board: six scores, each with a value. Kept is the factor by which the old
# sum and the old accumulator shrink. So far is the output we'd have if we stopped there.

# %% tags=["by_hand"]
row = torch.tensor([1.0, 0.0, 2.0, 1.0, 0.0, 2.0])
value = torch.tensor([[10.0, 0.0]] * 3 + [[0.0, 10.0]] * 3)

by_hand = Table("by_hand", read="", max="", kept="", sum="", accumulator="", so_far="")
state, accumulator = OnlineSoftmax.empty(), torch.zeros(2)
for block, values in zip(row.split(2), value.split(2), strict=True):
    before, state = state, state.update(block)
    kept = exp_below(before.running_max, state.running_max)
    accumulator = accumulator * kept + exp_below(block, state.running_max) @ values
    numbers = [x.item() for x in (state.running_max, kept, state.running_sum)]
    pairs = [block, accumulator, accumulator / state.running_sum]
    first, *last = [", ".join(f"{x:.4g}" for x in pair.tolist()) for pair in pairs]
    by_hand.add(**dict(zip(by_hand.columns, [first, *numbers, *last], strict=True)))
by_hand.show()
print(f"all at once: {(row.softmax(-1) @ value).tolist()}")

# %% [markdown]
# The same in plain PyTorch, and once with the bug: the factor forgotten.


# %% tags=["accumulator"]
def attend(row, value, forget=False):
    m, total, accumulator = torch.tensor(-torch.inf), 0.0, torch.zeros(2)
    for scores, values in zip(row.split(2), value.split(2), strict=True):
        new_m = torch.maximum(m, scores.max())
        factor = 1.0 if forget else torch.exp(m - new_m)
        weights = torch.exp(scores - new_m)
        total = factor * total + weights.sum()
        accumulator = factor * accumulator + weights @ values
        m = new_m
    return accumulator / total


print(f"one pair at a time:  {attend(row, value)}")
print(f"the factor forgotten: {attend(row, value, forget=True)}")

# %% [markdown]
# The row cut into three parts, merged in three orders, one of them with an empty state between.

# %% tags=["merge"]
empty = OnlineSoftmax.empty()
states = [empty.update(part) for part in row.split([2, 3, 1])]
for how in (states, states[::-1], [states[1], empty, states[2], states[0]]):
    whole = reduce(OnlineSoftmax.merge, how)
    print(f"max {whole.running_max:g}  sum {whole.running_sum:.4f}  lse {whole.lse:.4f}")
print(f"all at once: lse {row.logsumexp(-1):.4f}")

# %% [markdown]
# The kernel: one program a row, which it reads twice, in blocks of 64. Largest errors against
# FP64, beside PyTorch's softmax.

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
