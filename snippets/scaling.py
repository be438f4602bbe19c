# %% [markdown]
# # Why the scores are divided by the square root of d
#
# Queries and keys of d random numbers each, with mean 0 and variance 1. A query compares itself with 64 keys.
# Runs on a laptop's CPU in seconds: `python -m snippets.scaling`

# %% tags=["measure"]
import math

import torch

from kernels.measure import Table

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)

table = Table("scaling", d="", spread_raw="", spread="", largest_raw="%", largest="%", gradient_raw="", gradient="")
for d in [1, 4, 16, 64, 256, 1024, 4096]:
    query, key = torch.randn(2, 64, 64, d, device=device)
    raw = query @ key.transpose(-2, -1)
    arriving = torch.randn_like(raw)
    row = {"d": d}
    for suffix, scores in {"_raw": raw, "": raw / math.sqrt(d)}.items():
        scores = scores.detach().requires_grad_()
        shares = scores.softmax(dim=-1)
        shares.backward(arriving)
        row["spread" + suffix] = scores.std().item()
        row["largest" + suffix] = 100 * shares.amax(-1).mean().item()
        row["gradient" + suffix] = scores.grad.abs().mean().item()
    table.add(**row)

# %% [markdown]
# Columns with "raw" are without the division. Spread is the standard deviation of the scores; largest is the largest
# share of a row, averaged over the rows; gradient is the mean size of what softmax hands back to its scores when
# random numbers of variance 1 arrive from above.

# %% tags=["table"]
table.show()

# %% [markdown]
# One query against five keys, first as they come and then divided.

# %% tags=["one_row"]
torch.manual_seed(0)
d = 512
query, key = torch.randn(d), torch.randn(5, d)
scores = key @ query
print("scores         ", [f"{score:6.1f}" for score in scores])
print("shares         ", [f"{share:6.1%}" for share in scores.softmax(-1)])
print("scores / √512  ", [f"{score:6.1f}" for score in scores / math.sqrt(d)])
print("shares of these", [f"{share:6.1%}" for share in (scores / math.sqrt(d)).softmax(-1)])
