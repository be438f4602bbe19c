# %% [markdown]
# # A cache in pages
#
# Two sequences share eight pages of 16 tokens, which lie in random order. Sequence 0 has a
# prompt of 30 tokens, sequence 1 one of 5; then each generates. A page is handed out when one
# is needed, and only the last page of a sequence is not full.

# %% tags=["pages"]
import os

import torch

# Without a GPU Triton interprets its kernels: it plays their programs on the CPU, in turn.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.table import Table
from kernels.serving.cache import KVCache

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
kv_heads, head_dim = 2, 64
free = torch.randperm(8).tolist()
table = torch.full((2, 4), -1)
cache = KVCache(table, kv_heads=kv_heads, head_dim=head_dim, format="fp16", page_size=16,
                pages=8, device=device)  # fmt: skip


def tokens(new, sequences=1):
    return torch.randn(2, sequences, kv_heads, new, head_dim, device=device, dtype=torch.half)


pages = Table("pages", step="", length_0="", pages_0="", length_1="", pages_1="", free="")


def note(step):
    for sequence in (0, 1):
        row = [cache.host_lengths[sequence], str(cache.host_pages[sequence])]
        yield from zip((f"length_{sequence}", f"pages_{sequence}"), row, strict=True)
    yield from {"step": step, "free": len(free)}.items()


cache.assign(0, [free.pop(), free.pop()])
cache.append(*tokens(30), sequences=[0])
cache.assign(1, [free.pop()])
cache.append(*tokens(5), sequences=[1])
pages.add(**dict(note("two prompts")))
for _ in range(2):
    cache.append(*tokens(1, 2))
pages.add(**dict(note("2 tokens each")))
try:
    cache.append(*tokens(1, 2))
except ValueError as error:
    print(f"Refused: {error}\n")
pages.add(**dict(note("a third: refused, nothing changed")))
cache.assign(0, [free.pop()])
cache.append(*tokens(1, 2))
pages.add(**dict(note("a page for it, and again")))
pages.show()

# %% [markdown]
# The same keys in four formats. A token is converted once, when it is appended, and `gather`
# says what attention will read. Error is the norm of the difference divided by that of the
# keys, from a normal distribution; bytes are counted from the tensors of the cache, block
# scales included.

# %% tags=["formats"]
formats = Table("formats", format="", a_token="B", smaller="times", error="%")
k, v = torch.randn(2, 1, 8, 64, 128, device=device)
for name in ("bf16", "fp16", "fp8", "nvfp4"):
    cache = KVCache(torch.arange(4)[None], kv_heads=8, head_dim=128, format=name,
                    page_size=16, device=device)  # fmt: skip
    cache.append(k, v)
    error = (cache.gather(0)[0] - k[0]).norm() / k.norm()
    size = cache.bytes_per_token
    smaller = 2 * 2 * 8 * 128 / size  # two bytes a number, of keys and of values
    formats.add(format=name, a_token=size, smaller=smaller, error=100 * error.item())
formats.show()
