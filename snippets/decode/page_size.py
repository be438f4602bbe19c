# %% [markdown]
# # What the size of a page does to a step of decode
#
# One new query a head, against caches whose pages have 16, 32, 64 or 128 tokens and lie in
# random order: 16 sequences of 8192 tokens, 32 heads on 8 of keys, heads of 128. As in
# `decode_speed` a step goes through 8 layers, each with a cache of its own, launched as one
# CUDA graph, and a time is that of one layer. In 30 rounds, all sizes in each, in an order
# drawn anew; more is by how much a size takes longer than pages of 128, low and high its
# interval.

# %% tags=["page_size"]
from functools import partial

import torch

from kernels.bench.rounds import ratio, time_in_rounds
from kernels.bench.table import Table
from kernels.bench.timing import as_cuda_graph
from kernels.serving.cache import KVCache
from kernels.serving.decode import decode_attention

on_gpu = torch.cuda.is_available()
batch, heads, kv_heads, n, head_dim, layers = 16, 32, 8, 8192, 128, 8
SIZES = (16, 32, 64, 128)
columns = {"median": "ms", "more": "%", "low": "%", "high": "%"}
page_size = Table("page_size", cache="", kernel="", tokens_a_page="", **columns)


def step(format, portable, tokens):
    """A layer of each cache, one after the other, as a graph."""
    pages = torch.randperm(batch * n // tokens).reshape(batch, -1)
    options = {"kv_heads": kv_heads, "head_dim": head_dim, "format": format, "device": "cuda"}
    caches = [KVCache(pages, page_size=tokens, **options) for _ in range(layers)]
    for cache in caches:
        cache.append(*torch.randn(2, batch, kv_heads, n, head_dim, device="cuda").bfloat16())
    calls = [partial(decode_attention, q, cache, portable=portable) for cache in caches]
    return as_cuda_graph(lambda: [call() for call in calls])


torch.manual_seed(0)
if on_gpu:
    q = torch.randn(batch, heads, 1, head_dim, device="cuda", dtype=torch.bfloat16)
for format in ("bf16", "fp8", "nvfp4") if on_gpu else ():
    for kernel, portable in (("ours", False), ("portable", True)):
        times = time_in_rounds({size: step(format, portable, size) for size in SIZES}, calls=2)
        for size, found in times.items():
            more = [round(100 * (x - 1), 1) for x in ratio(found, times[128])]
            middle = float(f"{sorted(found)[len(found) // 2] / layers:.4g}")
            row = [format, kernel, size, middle, *more]
            page_size.add(**dict(zip(page_size.columns, row, strict=True)))
        torch.cuda.empty_cache()
page_size.show() if on_gpu else print("No GPU here, so no times.")
