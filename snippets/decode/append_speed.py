# %% [markdown]
# # How fast a cache is filled
#
# Keys and values of a long prompt arrive in BF16, 8 heads of 128 for each of 16 sequences, and
# are appended to a cache in each format, quantised on the way; pages hold 64 tokens, in random
# order. We time how long it takes to empty the cache, which only sets its lengths to 0, and to
# fill it.
# Moved is the bytes read and written divided by that time; copied is the same for `copy_` on a
# tensor as large as the keys and values. Ratio is moved divided by copied.

# %% tags=["append"]
from functools import partial

import torch

from kernels.bench.table import Table
from kernels.bench.timing import device_time
from kernels.serving.cache import KVCache

device = "cuda" if torch.cuda.is_available() else "cpu"
n = 8192 if device == "cuda" else 16
kv = torch.randn(2, 16, 8, n, 128, device=device).bfloat16()
copy_time = device_time(partial(torch.empty_like(kv).copy_, kv)).median


def fill(cache):
    cache.reset()
    cache.append(*kv)


columns = {"median": "ms", "p20": "ms", "p80": "ms", "moved": "TB/s", "copied": "TB/s"}
append_times = Table("append", cache="", tokens="", **columns, ratio="")
for format in ("bf16", "fp8", "nvfp4") if device == "cuda" else ():
    pages = torch.randperm(16 * n // 64).reshape(16, -1)
    cache = KVCache(pages, kv_heads=8, head_dim=128, format=format, device=device)
    fill_time = device_time(partial(fill, cache))
    fill_speed = (kv.nbytes + 16 * n * cache.bytes_per_token) / fill_time.median / 1e9
    copy_speed = 2 * kv.nbytes / copy_time / 1e9
    row = [
        format,
        16 * n,
        *(
            float(f"{x:.4g}")
            for x in (*fill_time, fill_speed, copy_speed, fill_speed / copy_speed)
        ),
    ]
    append_times.add(**dict(zip(append_times.columns, row, strict=True)))
append_times.show() if device == "cuda" else print("No GPU here, so no times.")
