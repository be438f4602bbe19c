# %% [markdown]
# # Does the order matter?
#
# To the maximum as it runs, yes. A row of random scores in blocks of 64, as it comes, sorted
# rising, and sorted falling: the factor by which each block rescales the sum before it. The
# first block finds an empty sum, and nothing is kept of it. Runs on a laptop in seconds.

# %% tags=["factors"]
from functools import reduce

import torch

from kernels.bench.table import Table
from kernels.softmax import OnlineSoftmax, exp_below

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)

row = 3 * torch.randn(2048, device=device)
rising = row.sort().values
rows = torch.stack([row, rising, rising.flip(0)])
factors = Table("factors", block="", random="", rising="", falling="")
state = OnlineSoftmax.empty(3, device=device)
for count, scores in enumerate(rows.split(64, -1), start=1):
    before, state = state, state.update(scores)
    kept = exp_below(before.running_max, state.running_max)
    factors.add(**dict(zip(factors.columns, [count, *kept.tolist()], strict=True)))
factors.show()
print(f"the sums in the end: {state.running_sum.tolist()}")

# %% [markdown]
# How often the maximum of a random row moves, the first block included, averaged over 1024
# rows; and what to expect. The last of k blocks holds the maximum in one case out of k, so the
# expected number of moves is 1 + 1/2 + 1/3 and so on up to 1/k.

# %% tags=["moves"]
maxima = torch.randn(1024, 256, 64, device=device).amax(-1)
moved = (maxima.cummax(-1).values.diff() > 0).sum(0).cumsum(0) / len(maxima)
moves = Table("moves", blocks="", moved="", expected="")
for blocks in (2, 4, 8, 16, 32, 64, 128, 256):
    expected = sum(1 / k for k in range(1, blocks + 1))
    moves.add(blocks=blocks, moved=1 + moved[blocks - 2].item(), expected=expected)
moves.show()

# %% [markdown]
# To the result, only as rounding goes. Three random states a, b and c, 262,144 times over.
# Swapped compares a·b with b·a, regrouped (a·b)·c with a·(b·c); the last two lines compare each
# of these with the same merges in FP64. Differ says how many of the sums differ, largest by how
# many steps of the last bit.

# %% tags=["triples"]
a, b, c = map(OnlineSoftmax.empty().update, 3 * torch.randn(3, 2**18, 16, device=device))
one, other = a.merge(b).merge(c), a.merge(b.merge(c))
wide = [OnlineSoftmax(*(part.double() for part in state)) for state in (a, b, c)]
truth = OnlineSoftmax(*(part.float() for part in reduce(OnlineSoftmax.merge, wide)))
pairs = {
    "swapped": (a.merge(b), b.merge(a)),
    "regrouped": (one, other),
    "left_first": (one, truth),
    "right_first": (other, truth),
}
triples = Table("triples", compared="", differ="%", largest="steps")
for compared, (left, right) in pairs.items():
    assert left.running_max.equal(right.running_max)
    steps = left.running_sum.view(torch.int32) - right.running_sum.view(torch.int32)
    differ = 100 * (steps != 0).float().mean().item()
    triples.add(compared=compared, differ=differ, largest=steps.abs().max().item())
triples.show()

# %% [markdown]
# A long row adds the roundings up, or does it? 64 rows of 65,536 scores in 1024 blocks, merged
# in five ways, with five seeds. Mean and largest are relative errors of the sum against FP64,
# times 2 to the 23: about 1 for one step of the last bit. Best and worst are the means of the
# luckiest and the unluckiest seed. Eight readers take 128 blocks each, and then merge.


# %% tags=["ways"]
def errors(seed):
    # Each way's error of each row's sum.
    torch.manual_seed(seed)
    scores = 3 * torch.randn(64, 2**16, device=device)
    tree = blocks = list(map(OnlineSoftmax.empty().update, scores.split(64, -1)))
    while len(tree) > 1:
        tree = [left.merge(right) for left, right in zip(tree[::2], tree[1::2], strict=True)]
    readers = [reduce(OnlineSoftmax.merge, blocks[i::8]) for i in range(8)]
    merged = {
        "first_to_last": reduce(OnlineSoftmax.merge, blocks),
        "last_to_first": reduce(OnlineSoftmax.merge, blocks[::-1]),
        "eight_readers": reduce(OnlineSoftmax.merge, readers),
        "a_tree": tree[0],
        "all_at_once": OnlineSoftmax.empty().update(scores),
    }
    true_sum = (scores.double() - scores.double().amax(-1, keepdim=True)).exp().sum(-1)
    return {way: 2**23 * (s.running_sum / true_sum - 1).abs() for way, s in merged.items()}


seeds = [errors(seed) for seed in range(5)]
ways = Table("ways", way="", mean="", best="", worst="", largest="")
for way in seeds[0]:
    means = [found[way].mean().item() for found in seeds]
    largest = max(found[way].max().item() for found in seeds)
    ways.add(way=way, mean=sum(means) / 5, best=min(means), worst=max(means), largest=largest)
ways.show()
