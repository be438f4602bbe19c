# %% [markdown]
# # Why the scores are divided by the square root of d
#
# Queries and keys of d random numbers each, with mean 0 and variance 1. A query compares itself
# with 64 keys. Columns called raw are without the division. Spread is the standard deviation of
# the scores. Largest is the largest share of a row, averaged over the rows. Gradient is the
# median size of what comes back to the dot products, through softmax and the division, when
# random numbers of variance 1 arrive from above. Runs on a laptop in seconds.

# %% tags=["measure"]
import math

import torch

from kernels.bench.table import Table

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)

units = {"spread_raw": "", "spread": "", "largest_raw": "%", "largest": "%"}
table = Table("scaling", d="", **units, gradient_raw="", gradient="")
for d in [1, 4, 16, 64, 256, 1024]:
    query, key = torch.randn(2, 64, 64, d, device=device)
    products = (query @ key.transpose(-2, -1)).requires_grad_()
    arriving = torch.randn_like(products)
    row = {"d": d}
    for suffix, divisor in {"_raw": 1, "": math.sqrt(d)}.items():
        scores = products / divisor
        shares = scores.softmax(dim=-1)
        (gradient,) = torch.autograd.grad(shares, products, arriving)
        row["spread" + suffix] = scores.std().item()
        row["largest" + suffix] = 100 * shares.amax(-1).mean().item()
        row["gradient" + suffix] = gradient.abs().median().item()
    table.add(**row)
table.show()

# %% [markdown]
# One query against five keys at d = 512, as they come and divided.

# %% tags=["one_row"]
torch.manual_seed(0)
d = 512
query, key = torch.randn(d), torch.randn(5, d)
scores = key @ query

one_row = Table("one_row", score="", share="%", divided="", its_share="%")
divided = scores / math.sqrt(d)
columns = [scores, 100 * scores.softmax(-1), divided, 100 * divided.softmax(-1)]
for row in torch.stack(columns, dim=-1).double().round(decimals=1).tolist():
    one_row.add(**dict(zip(one_row.columns, row, strict=True)))
one_row.show()
