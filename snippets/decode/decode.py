# %% [markdown]
# # One query, a long cache
#
# A step of decode by hand: four cached tokens, two numbers a head. The scale is the logarithm
# of 2, where the root of d would divide, so that e to a score is a power of two; scores and max
# are counted in it. Two programs share the cache, two tokens each, and what they found is
# merged.

# %% tags=["by_hand"]
import math
import os

import torch

# Without a GPU Triton interprets its kernels: it plays their programs on the CPU, in turn.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.table import Table
from kernels.reference import attention, oracle
from kernels.serving.cache import KVCache
from kernels.serving.decode import decode_attention
from kernels.softmax import OnlineSoftmax

scale = math.log(2)
query = torch.tensor([[1.0, 1.0]])
keys = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
values = torch.tensor([[9.0, 0.0], [0.0, 9.0], [9.0, 0.0], [0.0, 9.0]])
by_hand = Table("by_hand", read="", scores="ln 2", max="ln 2", sum="", blend="", output="")


def pair(numbers):
    return ", ".join(f"{x:.4g}" for x in numbers.tolist())


def add(read, scores, state, blend):
    top, total = round((state.running_max / scale).item(), 3), state.running_sum.item()
    row = [read, pair(scores / scale), top, total, pair(blend), pair(blend / total)]
    by_hand.add(**dict(zip(by_hand.columns, row, strict=True)))


scores = keys @ query[0] * scale
parts = []
for read, rows in (("tokens 0 and 1", slice(0, 2)), ("tokens 2 and 3", slice(2, 4))):
    state = OnlineSoftmax.empty().update(scores[rows])
    parts.append((state, (scores[rows] - state.running_max).exp() @ values[rows]))
    add(read, scores[rows], *parts[-1])
whole = parts[0][0].merge(parts[1][0])
rescaled = [(state.running_max - whole.running_max).exp() * blend for state, blend in parts]
add("both, merged", scores, whole, sum(rescaled))
by_hand.show()

# %% [markdown]
# The newest token sees all that are cached, itself included, so nothing is masked. `is_causal`,
# here as in PyTorch, counts from the top left: a single query would be the first word, and see
# only itself.

# %% tags=["causal"]
causal = Table("causal", mask="", sees="", output="")
for mask, top_left, sees in (("none", False, "0, 1, 2, 3"), ("is_causal", True, "0")):
    output = attention(query, keys, values, is_causal=top_left, scale=scale)
    causal.add(mask=mask, sees=sees, output=pair(output[0]))
causal.show()

# %% [markdown]
# Now the kernel, on pages in random order: the last query of a sequence against its cache, in
# three formats. Error is the norm of the difference to FP64 attention over the numbers before
# they were rounded, divided by the norm of that. Grouped: 8 heads of queries share 2 of keys.

# %% tags=["right"]
torch.manual_seed(0)
on_gpu = torch.cuda.is_available()
n, half = (4096, torch.bfloat16) if on_gpu else (128, torch.float16)  # BF16: not interpreted
place = {"device": "cuda" if on_gpu else "cpu", "dtype": half}
q = torch.randn(1, 8, 1, 64, **place)
k, v = torch.randn(2, 1, 2, n, 64, **place)
truth = oracle(q, k, v, enable_gqa=True)
right = Table("right", cache="", a_token="B", error="%")
for name in ("bf16" if on_gpu else "fp16", "fp8", "nvfp4"):
    order = torch.randperm(n // 64)[None]
    cache = KVCache(order, kv_heads=2, head_dim=64, format=name, device=q.device)
    cache.append(k, v)
    error = (decode_attention(q, cache) - truth).norm() / truth.norm()
    right.add(cache=name, a_token=cache.bytes_per_token, error=100 * error.item())
right.show()
