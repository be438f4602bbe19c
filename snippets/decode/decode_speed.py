# %% [markdown]
# # How fast a step of decode is
#
# One new query a head, against a cache in BF16, FP8 and NVFP4: heads of 128, Gaussian numbers.
# A step goes through 8 layers, each with a cache of its own, launched as one CUDA graph; a time
# is that of one layer. So a layer finds nothing of its cache in L2, as in a model; unlike
# there, no other kernel comes between. First, to compare with: how fast a sum reads.

# %% tags=["sum"]
from functools import partial

import torch

from kernels.bench.peers import SDPA
from kernels.bench.table import Table
from kernels.bench.timing import device_time
from kernels.reference import oracle
from kernels.serving.cache import KVCache
from kernels.serving.decode import decode_attention

device = "cuda" if torch.cuda.is_available() else "cpu"
numbers = torch.randn(2**29 if device == "cuda" else 2**20, device=device)
spent = device_time(numbers.sum)
bandwidth = numbers.nbytes / spent.median / 1e9
summed = Table("sum", median="ms", p20="ms", p80="ms", read="TB/s")
summed.add(median=spent.median, p20=spent.low, p80=spent.high, read=bandwidth)
summed.show()
del numbers

# %% [markdown]
# Batch is how many sequences there are, and n how many tokens of each are cached; heads are
# those of queries and, after the stroke, those of keys and values.
#
# cuDNN and flash are PyTorch's SDPA by that backend, on keys and values in BF16 that lie side
# by side; our caches have pages of 128 tokens in random order. Portable is the kernel of
# `kernels/serving/decode.py`; where it is not asked for, a Hopper GPU runs that of
# `kernels/serving/decode_hopper.py`, whose kernels each start while the one before ends. Tensor
# scales are 1, which suits such numbers.
#
# Read is what of keys, values and block scales a step must read, divided by the time; of sum is
# that against the bandwidth above, and may pass 1; ratio is cuDNN's time divided by this one.
# Error is that of the first sequence's output, against FP64 attention over the numbers before
# they were rounded to the cache's format. p20 and p80 are the times below which 20 and 80 of
# 100 stay.

# %% tags=["decode"]
columns = dict.fromkeys(["batch", "heads", "n", "form", "cache"], "")
columns |= {"median": "ms", "read": "TB/s", "of_sum": "", "ratio": "", "error": "%"}
decode = Table("decode", **columns, p20="ms", p80="ms")


def side_by_side(q, layers):
    """Each form, by name: how many bytes a layer is, and a call for each layer."""
    for name in ("cudnn", "flash"):
        attention = partial(SDPA[f"sdpa_{name}"], q, enable_gqa=True)
        yield name, "bf16", layers[0].nbytes, [partial(attention, *kv) for kv in layers]


def paged(q, layers):
    _, _, batch, kv_heads, n, head_dim = layers.shape
    pages = torch.randperm(batch * n // 128).reshape(batch, -1)
    for format in ("bf16", "fp8", "nvfp4"):
        options = dict(kv_heads=kv_heads, head_dim=head_dim, format=format, page_size=128)
        caches = [KVCache(pages, **options, device=device) for _ in layers]
        for cache, kv in zip(caches, layers, strict=True):
            cache.append(*kv)
        for name, portable in (("portable", True), ("ours", False)):
            calls = [partial(decode_attention, q, x, portable=portable) for x in caches]
            yield name, format, batch * n * cache.bytes_per_token, calls


settings = [(16, 32, 8, 8192), (1, 32, 8, 131072), (64, 64, 8, 4096), (16, 32, 32, 8192)]
for batch, heads, kv_heads, n in settings if device == "cuda" else []:
    q = torch.randn(batch, heads, 1, 128, device=device).bfloat16()
    layers = torch.randn(8, 2, batch, kv_heads, n, 128, device=device, dtype=torch.bfloat16)
    truth = oracle(q[:1], *layers[0, :, :1], enable_gqa=True)
    peer = None
    for forms in (side_by_side, paged):
        for form, format, count, calls in forms(q, layers):
            out = calls[0]()  # which compiles it
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for call in calls:
                    call()
            ms, p20, p80 = (x / len(calls) for x in device_time(graph.replay, milliseconds=200))
            peer = peer or ms  # cuDNN comes first
            read = count / ms / 1e9
            error = 100 * (out[:1].double() - truth).norm() / truth.norm()
            row = [ms, read, read / bandwidth, peer / ms, error.item(), p20, p80]
            row = [float(f"{x:.4g}") for x in row]
            row = [batch, f"{heads}/{kv_heads}", n, form, format, *row]
            decode.add(**dict(zip(decode.columns, row, strict=True)))
            del graph, calls
    del q, layers, truth
decode.show() if device == "cuda" else print("No GPU here, so no times.")
