# %% [markdown]
# # Which attention did PyTorch choose?
#
# `scaled_dot_product_attention` has several implementations, its backends. Here each is asked
# for by name, `with sdpa_kernel(...)` around the call, and the profiler says how many kernels
# it launched, and the name of the last: that is how to tell which one ran. Default is the call
# with nothing around it. A CPU launches no kernels: there it only says which backends it has.

# %% tags=["setup"]
import warnings
from functools import partial
from itertools import pairwise

import torch
from torch.nn.functional import scaled_dot_product_attention

from kernels.bench.peers import SDPA
from kernels.bench.profiling.launches import launches
from kernels.bench.table import Table
from kernels.bench.timing import as_cuda_graph, device_time

warnings.simplefilter("ignore")  # nothing that a backend says in passing
on_gpu = torch.cuda.is_available()
backends = SDPA | {"default": scaled_dot_product_attention}


def refusal(call, backend):
    # Why this backend refuses, as PyTorch puts it, or nothing if it does not.
    with warnings.catch_warnings(record=True, action="always") as warned:
        try:
            call()
        except RuntimeError as error:
            for heading, reason in pairwise(str(warning.message) for warning in warned):
                if backend[5:] in heading.lower() and "not used because" in heading:
                    return reason.split(" (Triggered")[0]
            return str(error).splitlines()[0]


# %% [markdown]
# Batch 2, 16 heads of 128, 1024 queries and keys, in BF16 on a GPU.

# %% tags=["asked"]
asked = Table("asked", backend="", runs="", launched="", last="")
factory_kwargs = {"device": "cuda", "dtype": torch.bfloat16} if on_gpu else {}
q, k, v = torch.randn(3, 2, 16, 1024, 128, **factory_kwargs)
for name, attention in backends.items():
    call = partial(attention, q, k, v)
    runs = not refusal(call, name)
    names = launches(call) if on_gpu and runs else []
    last = names[-1].split("<")[0].split("(")[0].removeprefix("void ") if names else None
    asked.add(backend=name, runs=runs, launched=len(names) or None, last=last)
asked.show()

# %% [markdown]
# That was a plain case. In others, who refuses, and why? Of several reasons a backend names the
# first.

# %% tags=["refused"]
causal = {"is_causal": True}
masked = {"attn_mask": torch.rand(1024, 1024, device=q.device) < 0.5}
cases = {
    "plain": (q, k, v, {}),
    "causal": (q, k, v, causal),
    "FP32": (q.float(), k.float(), v.float(), {}),
    "d = 512": (*torch.randn(3, 2, 16, 1024, 512, **factory_kwargs), {}),
    "a mask": (q, k, v, masked),
    "a mask, and is_causal": (q, k, v, masked | causal),
    "4 heads of K and V": (q, k[:, ::4], v[:, ::4], {"enable_gqa": True}),
    "512 queries, causal": (q[:, :, :512], k, v, causal),
    "1 query": (q[:, :, :1], k, v, {}),
}
refused, calls = Table("refused", case="", backend="", reason=""), {}
for case, (*qkv, options) in cases.items() if on_gpu else ():
    for name, attention in backends.items():
        call = partial(attention, *qkv, **options)
        if reason := refusal(call, name):
            refused.add(case=case, backend=name, reason=reason.split(". ")[0])
        else:
            calls.setdefault(case, {})[name] = call
refused.show() if on_gpu else print("No GPU here, so its backends cannot be asked.")

# %% [markdown]
# Whom PyTorch chose: the backend that launches the same kernels as the default. And how long
# each takes on the GPU, replayed as a CUDA graph: called from Python, calls this short would
# only show how long Python takes, and `with sdpa_kernel(...)` takes a while.

# %% tags=["chosen"]
chosen = Table("chosen", case="", chosen="", **dict.fromkeys(backends, "ms"))
for case, able in calls.items():
    names = {name: launches(call) for name, call in able.items()}
    alike = [name for name in able if name in SDPA and names[name] == names.get("default")]
    times = {
        name: device_time(as_cuda_graph(call), milliseconds=40).median
        for name, call in able.items()
    }
    chosen.add(case=case, chosen=" or ".join(alike), **dict.fromkeys(backends) | times)
chosen.show() if on_gpu else print("Nor does PyTorch have anything to choose.")
