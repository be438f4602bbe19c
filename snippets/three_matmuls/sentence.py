# %% [markdown]
# # Who looks at whom in a sentence
#
# Every word against every other. The four numbers of a word stand for thing, action, place and
# link, and were chosen by hand for a readable picture: no model was trained. Runs on a laptop
# in seconds.

# %% tags=["scores"]
import torch

from kernels.bench.table import Table
from kernels.reference import weights

sentence = ["the", "cat", "sat", "on", "the", "mat"]
asks = {
    "the": [2, 0, 1, 0],
    "cat": [1, 2, 0, 0],
    "sat": [2, 0, 1, 1],
    "on": [0, 1, 3, 0],
    "mat": [0, 1, 0, 2],
}
offers = {
    "the": [0, 0, 0, 1],
    "cat": [2, 0, 0, 0],
    "sat": [0, 2, 0, 0],
    "on": [0, 0, 1, 2],
    "mat": [1, 0, 2, 0],
}
q = torch.tensor([asks[word] for word in sentence], dtype=torch.float32)
k = torch.tensor([offers[word] for word in sentence], dtype=torch.float32)

names = ["the_1", "cat", "sat", "on", "the_2", "mat"]
scores = Table("scores", word="", **dict.fromkeys(names, ""))
for name, row in zip(names, (q @ k.T).int().tolist(), strict=True):
    scores.add(word=name, **dict(zip(names, row, strict=True)))
scores.show()

# %% [markdown]
# The same grid after the division by the square root of 4 and the softmax: each row adds up to
# 100 %, give or take the rounding.

# %% tags=["shares"]
shares = Table("shares", word="", **dict.fromkeys(names, "%"))
percent = (100 * weights(q, k)).double().round(decimals=1)
for name, row in zip(names, percent.tolist(), strict=True):
    shares.add(word=name, **dict(zip(names, row, strict=True)))
shares.show()

# %% [markdown]
# The shares when every score is first multiplied by a number: by 0 all are equal, by 4 the best
# scores take nearly all.

# %% tags=["sharpness"]
sharpness = Table("sharpness", word="", times="", **dict.fromkeys(names, "%"))
for times in [0.0, 0.5, 1.0, 2.0, 4.0]:
    for name, row in zip(names, (100 * weights(times * q, k)).tolist(), strict=True):
        sharpness.add(word=name, times=times, **dict(zip(names, row, strict=True)))
sharpness.show()
