# %% [markdown]
# # The balloon: small, square, small
#
# What the three lines make at each step, as a shape and in bytes: 32 sentences of 4096 words,
# 32 heads of 64 numbers, FP32. These are PyTorch's meta tensors, which have a shape and no
# memory, so that any computer can make them.

# %% tags=["steps"]
from functools import partial

import torch

from kernels.bench.cost import eager_peak_bytes, fused_peak_bytes, gb, gib, mib, qkvo_bytes
from kernels.bench.profiling.memory import peak_memory
from kernels.bench.table import Table
from kernels.flash.attention import flash_attention
from kernels.reference import attention

on_gpu = torch.cuda.is_available()
q, k, v = torch.empty(3, 32, 32, 4096, 64, device="meta")
scores = q @ k.transpose(-2, -1) / 8  # the root of 64
shares = scores.softmax(-1)
output = shares @ v

steps = Table("steps", step="", shape="", binary="GiB", decimal="GB")
for step, tensor in {"Q": q, "scores": scores, "shares": shares, "output": output}.items():
    size = {"binary": gib(tensor.nbytes), "decimal": gb(tensor.nbytes)}
    steps.add(step=step, shape=str(list(tensor.shape)), **size)
steps.show()

# %% [markdown]
# How long a sentence may be, in steps of 1024 words, until a card is full, by arithmetic: Q, K,
# V and the peak of the three lines, in BF16, for one head of 128 numbers and for 32. Beside it,
# what FlashAttention holds at that length. What else lives on a card is not counted.

# %% tags=["cards"]
cards = Table("cards", card="GB", heads="", longest="words", fused="GB")
lengths = range(0, 2**18, 1024)
for card in [8, 16, 24, 80]:
    for heads in [1, 32]:
        inputs = qkvo_bytes(1, 128, 2, heads) * 3 // 4  # Q, K and V of one word
        held = [n * inputs + eager_peak_bytes(n, 128, 2, heads) for n in lengths]
        longest = lengths[sum(size <= card * 10**9 for size in held) - 1]
        fused = gb(longest * inputs + fused_peak_bytes(longest, 128, 2, heads))
        cards.add(card=card, heads=heads, longest=longest, fused=fused)
cards.show()

# %% [markdown]
# The 32 heads in FP32 once more, now on a GPU: the sentences double until there are 32, or
# until the three lines run out of memory. Peak is what the three lines hold beside Q, K and V,
# and fused what FlashAttention holds.

# %% tags=["sentences"]
columns = dict.fromkeys(["expected", "peak", "fused"], "GiB")
sentences = Table("sentences", sentences="", **columns, out_of_memory="")
count, peak = 1, 0
while on_gpu and count <= 32 and peak is not None:
    qkv = torch.randn(3, count, 32, 4096, 64, device="cuda")
    fused = gib(peak_memory(partial(flash_attention, *qkv)))
    try:
        peak = gib(peak_memory(partial(attention, *qkv)))
    except torch.OutOfMemoryError:
        peak = None
    torch.cuda.empty_cache()
    row = [count, gib(eager_peak_bytes(4096, 64, 4, 32, count)), peak, fused, peak is None]
    sentences.add(**dict(zip(sentences.columns, row, strict=True)))
    count *= 2
if on_gpu:
    sentences.show()

# %% [markdown]
# Where the limit is, for one head of 128 numbers in BF16. N doubles until the three lines run
# out of memory; then the gap between the longest that fits and the shortest that does not is
# halved, down to 1024 words.

# %% tags=["limit"]
limit = Table("limit", n="", expected="MiB", peak="MiB", fused="MiB", longest="", gap="")
fits, fails = 0, None
while on_gpu and (fails is None or fails - fits > 1024):
    n = (fits + fails) // 2 if fails else max(1024, 2 * fits)
    qkv = torch.randn(3, 1, 1, n, 128, device="cuda", dtype=torch.bfloat16)
    fused = mib(peak_memory(partial(flash_attention, *qkv)))
    try:
        peak, fits = mib(peak_memory(partial(attention, *qkv))), n
    except torch.OutOfMemoryError:
        peak, fails = None, n
    torch.cuda.empty_cache()
    row = [n, mib(eager_peak_bytes(n, 128, 2)), peak, fused, fits, fails and fails - fits]
    limit.add(**dict(zip(limit.columns, row, strict=True)))
if on_gpu:
    limit.show()
else:
    print("No GPU here, so there is nothing to measure: only its allocator keeps this count.")
