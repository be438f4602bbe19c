# %% [markdown]
# # FlashAttention by hand
#
# Three words, and the score grid cut into tiles: two queries a block, two keys a block. After
# each tile a query knows a maximum, a sum and a blend of values, and the tile is forgotten. Out
# is the blend divided by the sum, as if no more keys came.
#
# Scores are dot products divided by the square root of 2, so the maximum of query 1 is 1 over
# that root, where the same example worked in powers of 2 has the dot product, 1.

# %% tags=["imports"]
import os
from math import sqrt

import torch

# Without a GPU Triton interprets its kernels: it plays their programs on the CPU, in turn.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.table import Table
from kernels.flash.attention import flash_attention
from kernels.reference import weights
from kernels.softmax import OnlineSoftmax, exp_below

# %% tags=["by_hand"]
q = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
k = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
v = torch.tensor([[10.0, 0.0], [0.0, 10.0], [5.0, 5.0]])

columns = ["query", "keys_seen", "maximum", "sum", "rescale", "blend", "out"]
tiles = Table("tiles", **dict.fromkeys(columns, ""))
for queries in (q[:2], q[2:]):  # a block of queries stays
    state, blend = OnlineSoftmax.empty(len(queries)), torch.zeros_like(queries)
    for keys, values, seen in ((k[:2], v[:2], 2), (k[2:], v[2:], 3)):  # the others stream past
        scores = queries @ keys.T / sqrt(2)
        before, state = state, state.update(scores)
        rescale = exp_below(before.running_max, state.running_max)
        exponentials = exp_below(scores, state.running_max[:, None])
        blend = blend * rescale[:, None] + exponentials @ values
        pairs = [queries, blend, blend / state.running_sum[:, None]]
        for row, numbers in enumerate(zip(*state, rescale, strict=True)):
            asked, *ends = [" ".join(f"{x:.3g}" for x in pair[row].tolist()) for pair in pairs]
            cells = [asked, seen, *map(float, numbers), *ends]
            tiles.add(**dict(zip(columns, cells, strict=True)))
tiles.show()

# %% [markdown]
# Backward, for the same words and three rows of gradient that arrive from above. Every row of
# dscores adds up to 0. At the end the kernel's own gradients: on a GPU compiled, on a laptop in
# Triton's interpreter.

# %% tags=["by_hand_backward"]
torch.set_printoptions(precision=3, sci_mode=False)
dout = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
shares = weights(q, k)
dshares = dout @ v.T
delta = (dout * (shares @ v)).sum(-1, keepdim=True)
dscores = shares * (dshares - delta)
by_hand = {"dquery": dscores @ k / sqrt(2), "dkey": dscores.T @ q / sqrt(2)}
by_hand["dvalue"] = shares.T @ dout
for name, step in {"dshares": dshares, "delta": delta, "dscores": dscores, **by_hand}.items():
    print(f"{name}\n{step}")

on_gpu = torch.cuda.is_available()
factory_kwargs = {"device": "cuda" if on_gpu else "cpu"}
words = [x[None, None].to(**factory_kwargs).requires_grad_() for x in (q, k, v)]
found = torch.autograd.grad(
    flash_attention(*words), words, dout[None, None].to(**factory_kwargs)
)
apart = [(x[0, 0].cpu() - y).abs().max() for x, y in zip(found, by_hand.values(), strict=True)]
print(f"largest difference from the kernel's gradients: {max(apart):.0e}")
