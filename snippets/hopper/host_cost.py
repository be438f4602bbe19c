# %% [markdown]
# # What a call costs the host
#
# A GPU does what it is told, and telling it takes a processor time: a call in Python checks its
# arguments, chooses a kernel and hands it over. On tensors as small as these the GPU is done
# before the next call arrives, so that the host alone sets the pace. Each call is timed twice:
# *eager*, as it is written, and as a CUDA *graph*, which was recorded once and is handed over
# whole. SDPA is PyTorch's `scaled_dot_product_attention`, by the backend that it chooses.
#
# - forward: BF16, 8 heads of 128 numbers, 256 tokens, no gradient;
# - both: the same with the gradients of query, key and value;
# - decode: 4 sequences of 1024 keys in pages, one query for each of 32 heads, 8 of keys; SDPA
#   reads the same keys side by side;
# - append: a token for each of these sequences;
# - step: append, then decode.

# %% tags=["calls"]
import warnings
from functools import partial
from random import sample, seed
from statistics import median, quantiles

import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

from kernels.bench.rounds import ratio
from kernels.bench.table import Table
from kernels.bench.timing import as_cuda_graph, host_time
from kernels.dispatch import attention, hopper_supports
from kernels.flash.attention import flash_attention
from kernels.hopper.attention import hopper_attention
from kernels.serving.cache import KVCache
from kernels.serving.decode import decode_attention

warnings.simplefilter("ignore")  # PyTorch sets itself up in the thread of a backward pass
on_gpu = torch.cuda.is_available()
options = {"device": "cuda" if on_gpu else "cpu", "dtype": torch.bfloat16}
torch.manual_seed(0)
seed(0)
qkv = [torch.randn(1, 8, 256, 128, **options) for _ in range(3)]
leaves = [x.clone().requires_grad_() for x in qkv]
prompt = [torch.randn(4, 8, 1024, 128, **options) for _ in "kv"]
token = [torch.randn(4, 8, 1, 128, **options) for _ in "kv"]
query = torch.randn(4, 32, 1, 128, **options)
sizes = {"kv_heads": 8, "head_dim": 128, "page_size": 128, "device": options["device"]}
cache = KVCache(torch.arange(40).view(4, 10), **sizes)
rungs = {"sdpa": sdpa, "flash_attention": flash_attention, "attention": attention}
if on_gpu and hopper_supports(*qkv):
    rungs["hopper_attention"] = hopper_attention


def gradients(rung):
    out = rung(*leaves)
    return torch.autograd.grad(out, leaves, out.detach())


def step():
    cache.append(*token)
    decode_attention(query, cache)


calls = {("forward", name): partial(rung, *qkv) for name, rung in rungs.items()}
calls |= {("both", name): partial(gradients, rung) for name, rung in rungs.items()}
calls |= {
    ("decode", "sdpa"): partial(sdpa, query, *prompt, enable_gqa=True),
    ("decode", "decode_attention"): partial(decode_attention, query, cache),
    ("append", "KVCache.append"): partial(cache.append, *token),
    ("step", "both of them"): step,
}
print(len(calls), "calls")

# %% [markdown]
# Host is how long a call takes until Python goes on, the mean of 100 one after the other, and
# done the same until the GPU has finished, too: of a graph that is the GPU's own time. Each
# form is measured once in each of 30 rounds, in an order drawn anew; the median stands between
# the 20th and the 80th percentile. Ratio is the time until done divided by that of SDPA's eager
# call in the same round, low and high the ends of its median's interval. The cache is filled
# anew before each measurement; a graph that appends is counted on the host before each replay.

# %% tags=["measure"]
columns = {"host": "µs", "p20": "µs", "p80": "µs", "done": "µs"}
host_cost = Table("host_cost", work="", form="", way="", **columns, ratio="", low="", high="")


def measured(call):
    cache.reset()
    cache.append(*prompt)
    return [1e3 * x for x in host_time(call)]


def counted(replay):
    cache.advance_host_lengths(1)
    replay()


forms = {}
for (work, name), call in calls.items() if on_gpu else ():
    cache.reset()
    replay = as_cuda_graph(call)
    forms[work, name, "eager"] = call
    forms[work, name, "graph"] = (
        partial(counted, replay) if work in ("append", "step") else replay
    )
found = {form: [] for form in forms}
for form in [form for _ in range(30) for form in sample(list(forms), len(forms))]:
    found[form].append(measured(forms[form]))
for (work, name, way), times in found.items():
    host, done = zip(*times, strict=True)
    peer = [x for _, x in found.get((work, "sdpa", "eager"), ())]
    against = ratio(done, peer) if peer else [None] * 3
    low, *_, high = quantiles(host, n=5)
    row = [x and float(f"{x:.4g}") for x in (median(host), low, high, median(done), *against)]
    host_cost.add(**dict(zip(host_cost.columns, [work, name, way, *row], strict=True)))
host_cost.show() if on_gpu else print("No GPU here: a host has nobody to tell.")
