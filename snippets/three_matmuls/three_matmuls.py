# %% [markdown]
# # Attention as three matmuls
#
# Three words first, small enough for a whiteboard; then a recipe, a score that outshouts the
# rest, and the shapes and megabytes of real sizes. Runs on a laptop in seconds.

# %% tags=["setup"]
import math

import torch

from kernels.bench.cost import mb, mib, square_bytes
from kernels.bench.table import Table
from kernels.reference import attention, weights

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_printoptions(precision=3, sci_mode=False)

# %% tags=["by_hand"]
query = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], device=device)
key = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], device=device)
value = torch.tensor([[10.0, 0.0], [0.0, 10.0], [5.0, 5.0]], device=device)

steps = {
    "scores": query @ key.T,
    "shares, scores not divided": weights(query, key, scale=1.0),
    "shares, scores divided by √2": weights(query, key),
    "output": attention(query, key, value),
}
for name, step in steps.items():
    print(f"{name}\n{step.cpu()}")

# %% [markdown]
# A taste of 80 % spicy and 20 % smoky, held against the labels of three jars. The labels were
# made up.

# %% tags=["recipe"]
taste = torch.tensor([0.8, 0.2])
labels = torch.tensor([[4.5, 0.1], [1.8, 5.0], [0.0, 0.0]])
scores = labels @ taste
jars = ["cayenne", "paprika", "cinnamon"]
for jar, score, share in zip(jars, scores, scores.softmax(-1), strict=True):
    print(f"{jar:8}  score {score:.2f}  share {share:4.0%}")

# %% [markdown]
# Five scores, of which the smallest is set to 100. In FP64, so that nothing is lost on the way
# down.

# %% tags=["one_hundred"]
before = torch.tensor([4.0, 3.0, 2.0, 1.0, 0.0], dtype=torch.float64)
after = before.clone()
after[-1] = 100.0
hundred = Table("one_hundred", score="", share="", new_score="", new_share="", times="")
columns = [before, before.softmax(-1), after, after.softmax(-1)]
columns.append(columns[3] / columns[1])
for row in torch.stack(columns, dim=-1).tolist():
    hundred.add(**dict(zip(hundred.columns, row, strict=True)))
hundred.show()

# %% [markdown]
# The three lines at the size of a small model: 2 sentences, 8 heads, 1024 words, 64 numbers a
# word.

# %% tags=["shapes"]
torch.manual_seed(0)
q, k, v = torch.randn(3, 2, 8, 1024, 64, device=device)

scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
shares = scores.softmax(dim=-1)
output = shares @ v

tensors = {"q, k, v": q, "scores": scores, "shares": shares, "output": output}
for name, tensor in tensors.items():
    print(f"{name:7}  {list(tensor.shape)}")
print(f"rows of shares add up to 1, give or take {(shares.sum(-1) - 1).abs().max():.0e}")
difference = (output - attention(q, k, v)).abs().max()
print(f"largest difference from attention(q, k, v): {difference:.0e}")

# %% [markdown]
# The square of scores of one head in FP16, two bytes a score.

# %% tags=["megabytes"]
square = Table("square", N="", scores="", binary="MiB", decimal="MB")
for n in [1024, 2048, 4096, 8192, 16384, 32768, 131072]:
    size = square_bytes(n, 2)
    square.add(N=n, scores=n * n, binary=mib(size), decimal=mb(size))
square.show()
