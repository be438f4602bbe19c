# %% [markdown]
# # How large a KV cache is
#
# Four sequences, 8 heads of keys and values with 128 numbers each, one layer. Every size is
# counted from the tensors of a real cache, block scales included; its page table and lengths
# count in the last column.

# %% tags=["formats"]
import torch

from kernels.bench.cost import gib
from kernels.bench.hardware import H100
from kernels.bench.table import Table
from kernels.serving.cache import KVCache

device = "cuda" if torch.cuda.is_available() else "cpu"
kv_heads, head_dim = 8, 128
page_table = torch.randperm(16).view(4, 4)
caches = {
    name: KVCache(page_table, kv_heads=kv_heads, head_dim=head_dim, format=name, device=device)
    for name in ("bf16", "fp16", "fp8", "nvfp4")
}

columns = {"format": "", "scales": "bits/value", "all": "bits/value", "token": "B/layer"}
formats = Table("formats", **columns, smaller="times", cache="B")
for name, cache in caches.items():
    values = cache.pages * cache.page_size * kv_heads * 2 * head_dim
    scales = [x for x in (cache.key_block_scales, cache.value_block_scales) if x is not None]
    scale_bits = sum(x.numel() * x.element_size() * 8 for x in scales) / values
    formats.add(
        format=name,
        scales=scale_bits,
        all=cache.bytes_per_token * 8 / (2 * kv_heads * head_dim),
        token=cache.bytes_per_token,
        smaller=caches["bf16"].bytes_per_token / cache.bytes_per_token,
        cache=cache.bytes,
    )
formats.show()

# %% [markdown]
# From here on it is arithmetic: the bytes of a token and layer, as counted above, times 32
# layers and the length of one sequence. To generate one token, all of it is read. At the
# bandwidth that NVIDIA gives for an H100 that takes at least the time in the last column, and
# the weights of the model come on top.

# %% tags=["model"]
layers, bandwidth = 32, H100["hbm bandwidth"].value
model = Table("model", tokens="", format="", cache="GiB", least_read_time="ms")
for tokens in (4096, 32 * 1024, 128 * 1024):
    for name, cache in caches.items():
        size = cache.bytes_per_token * layers * tokens
        least = size / bandwidth * 1e3
        model.add(tokens=tokens, format=name, cache=gib(size), least_read_time=least)
model.show()

# %% [markdown]
# What pages cost: the last page of a sequence is not full. A page is in BF16, keys and values
# of 8 heads of 128. The mean is over all lengths from 1 to 4096; the table needs one number a
# page, here for a sequence of 128k tokens.

# %% tags=["last_page"]
lengths = torch.arange(1, 4097)
columns = {"page_size": "tokens", "page": "KiB/layer", "mean_waste": "tokens"}
last_page = Table("last_page", **columns, worst_waste="tokens", share="%", page_table="KiB")
for page_size in (16, 32, 64, 128, 256):
    pages = 128 * 1024 // page_size
    table = torch.arange(pages).view(1, pages)
    cache = KVCache(table, kv_heads=1, head_dim=16, format="nvfp4", page_size=page_size)
    waste = (-lengths) % page_size
    last_page.add(
        page_size=page_size,
        page=page_size * caches["bf16"].bytes_per_token / 1024,
        mean_waste=waste.float().mean().item(),
        worst_waste=waste.max().item(),
        share=100 * waste.sum().item() / (lengths + waste).sum().item(),
        page_table=cache.page_table.numel() * cache.page_table.element_size() / 1024,
    )
last_page.show()
