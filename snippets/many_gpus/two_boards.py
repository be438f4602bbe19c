# %% [markdown]
# # Four words on two boards
#
# Board 1 has words 1 and 2, board 2 has words 3 and 4: their queries, keys and values. Each
# board answers its own queries from the keys that it has, then from those of the other board,
# and merges the two answers by their log-sum-exps. The scale is the logarithm of 2, where the
# root of d would divide, so that e to a score is a power of 2; `lse` is counted in it, too.

# %% tags=["words"]
import math

import torch

from kernels.bench.parallel.cost import pairs
from kernels.bench.table import Table
from kernels.flash.partial import merge
from kernels.parallel.local import attend, gradients
from kernels.parallel.order import shard, visible_block
from kernels.reference import attention

scale = math.log(2)
queries = torch.tensor([[1.0, -1.0], [1.0, 0.0], [1.0, 2.0], [1.0, 1.0]])
keys = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
values = torch.tensor([[9.0, 0.0], [0.0, 9.0], [9.0, 0.0], [0.0, 9.0]])

q, k, v = (x[None, None] for x in (queries, keys, values))  # one sequence, one head
boards = [[shard(x, board, 2, order="contiguous") for x in (q, k, v)] for board in range(2)]
whole = attention(q, k, v, scale=scale)


def pair(numbers):
    return ", ".join(f"{x:.4g}" for x in numbers.tolist())


# %% tags=["merged"]
columns = ["word", "query", "of_its_own", "lse", "of_the_other", "lse_other", "merged", "alone"]
merged = Table("merged", **dict.fromkeys(columns, ""))
results = []
for board, other in ((0, 1), (1, 0)):
    asks, *mine = boards[board]
    own = attend(asks, *mine, is_causal=False, scale=scale)
    found = attend(asks, *boards[other][1:], is_causal=False, scale=scale)
    results.append(merge(*own, *found))
    for row in range(2):
        word = 2 * board + row
        (a, lse_a), (b, lse_b), (both, _) = (
            (out[0, 0, row], lse[0, 0, row].item() / scale)
            for out, lse in (own, found, results[-1])
        )
        cells = [word + 1, pair(queries[word]), pair(a), lse_a, pair(b), lse_b]
        cells += [pair(both), pair(whole[0, 0, word])]
        merged.add(**dict(zip(columns, cells, strict=True)))
merged.show()

# %% [markdown]
# Causal: how many pairs of a query and a key each board computes, and what its queries see of
# the other board's keys. In zigzag order a board has one word from the front and its mirror
# image from the back.

# %% tags=["fair"]
fair = Table("fair", order="", board="", words="", own="", of_the_other="", pairs="")
for order in ("contiguous", "zigzag"):
    for board, other in ((0, 1), (1, 0)):
        words, others_words = (
            shard(torch.arange(1, 5), each, 2, order=order, dim=0) for each in (board, other)
        )
        block = visible_block(board, other, 2, 2, is_causal=True, order=order)
        rows, seen = words[block.queries].tolist(), others_words[block.keys].tolist()
        own, others = (pairs(board, each, 2, 2, True, order) for each in (board, other))
        sees = f"{rows} see {seen}" if seen else "nothing"
        cells = [order, board + 1, str(words.tolist()), own, sees, own + others]
        fair.add(**dict(zip(fair.columns, cells, strict=True)))
fair.show()

# %% [markdown]
# Backward: the gradient of word 1's value is a sum over all words that looked at it, so board 2
# finds a part of it and sends it home. Each board makes its shares from the `lse` of the whole
# row. With the `lse` of its own part alone, every row's shares would add up to 2.

# %% tags=["backward"]
backward = Table("backward", lse_of="", board_1="", board_2="", dvalue_1="")
dout = torch.tensor([1.0, 0.0]).expand(1, 1, 2, 2)
for which in ("the whole row", "the part"):
    parts = []
    for (asks, *_), (out, lse) in zip(boards, results, strict=True):
        if which == "the part":
            out, lse = attend(asks, *boards[0][1:], is_causal=False, scale=scale)
        found = gradients(asks, *boards[0][1:], out, lse, dout, is_causal=False, scale=scale)
        parts.append(found[2][0, 0, 0, 0].item())
    backward.add(lse_of=which, board_1=parts[0], board_2=parts[1], dvalue_1=sum(parts))
backward.show()
