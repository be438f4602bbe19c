# %% [markdown]
# # One query, a long cache
#
# A step of decode by hand: four cached tokens, two numbers a head, without the division by the
# root of d. Two programs share the cache, each reads two tokens, and what they found is merged.
# No key comes after the newest query, so nothing is masked.

# %% tags=["by_hand"]
import os

import torch

# Without a GPU Triton interprets its kernels: it plays their programs on the CPU, in turn.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.decode import decode_attention
from kernels.kv_cache import KVCache
from kernels.measure import Table
from kernels.reference import oracle
from kernels.softmax import OnlineSoftmax

query = torch.tensor([1.0, 1.0])
keys = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
values = torch.tensor([[10.0, 0.0], [0.0, 10.0], [10.0, 0.0], [0.0, 10.0]])
by_hand = Table("by_hand", read="", scores="", max="", sum="", blend="")


def read(name, rows):
    """A piece of the cache: its state, and its blend, not divided yet."""
    scores = keys[rows] @ query
    state = OnlineSoftmax.empty().update(scores)
    return name, scores, state, (scores - state.running_max).exp() @ values[rows]


def add(name, scores, state, blend):
    cells = [", ".join(f"{x:.4g}" for x in vector.tolist()) for vector in (scores, blend)]
    row = [name, cells[0], state.running_max.item(), state.running_sum.item(), cells[1]]
    by_hand.add(**dict(zip(by_hand.columns, row, strict=True)))


parts = [read("tokens 0 and 1", slice(0, 2)), read("tokens 2 and 3", slice(2, 4))]
merged = parts[0][2].merge(parts[1][2])
rescaled = [(part[2].running_max - merged.running_max).exp() * part[3] for part in parts]
whole = ("both, merged", torch.cat([part[1] for part in parts]), merged, sum(rescaled))
for part in (*parts, whole):
    add(*part)
by_hand.show()
print(f"output: {(sum(rescaled) / merged.running_sum).tolist()}")

# %% [markdown]
# Now the kernel, on pages in random order: the last query of a sequence against its cache, in
# four formats. Error is the norm of the difference to FP64 attention over the numbers before
# they were rounded, by the norm of that. Grouped: 8 heads of queries share 2 of keys.

# %% tags=["right"]
torch.manual_seed(0)
on_gpu = torch.cuda.is_available()
device = "cuda" if on_gpu else "cpu"
n, new = (4096, 1) if on_gpu else (128, 1)
half = torch.bfloat16 if on_gpu else torch.float16  # the interpreter has no BF16
q = torch.randn(1, 8, new, 64, device=device, dtype=half)
k, v = torch.randn(2, 1, 2, n, 64, device=device, dtype=half)
truth = oracle(q, k, v, enable_gqa=True)
right = Table("right", cache="", a_token="B", error="%")
caches = {}
for name in ("bf16" if on_gpu else "fp16", "fp8", "nvfp4"):
    order = torch.randperm(n // 64)[None]
    caches[name] = KVCache(order, kv_heads=2, head_dim=64, format=name, device=device)
    caches[name].append(k, v)
    error = (decode_attention(q, caches[name]) - truth).norm() / truth.norm()
    size = caches[name].bytes_per_token
    right.add(cache=name, a_token=size, error=100 * error.item())
right.show()
