# %% [markdown]
# # How much memory each form takes
#
# One head of 128 numbers in BF16, N queries and N keys; Q, K and V are counted nowhere. At
# their peak the three lines hold two squares, scores and shares, and the output; three kernels
# hold one square in FP32, which is as much; FlashAttention holds the output, and one FP32
# number a query. This is the prediction.

# %% tags=["predicted"]
import warnings
from functools import partial

import torch

from kernels.bench.cost import eager_peak_bytes, fused_peak_bytes, gib, mib
from kernels.bench.peers import SDPA
from kernels.bench.profiling.memory import peak_memory
from kernels.bench.table import Table
from kernels.first.three_kernels import three_kernel_attention
from kernels.flash.attention import flash_attention
from kernels.reference import attention

on_gpu = torch.cuda.is_available()
head_dim = 128
predicted = Table("predicted", n="", unfused="MiB", fused="MiB")
for n in [1024 * 2**doubled for doubled in range(9)]:
    unfused = mib(eager_peak_bytes(n, head_dim, element_bytes=2))
    fused = mib(fused_peak_bytes(n, head_dim, element_bytes=2))
    predicted.add(n=n, unfused=unfused, fused=fused)
predicted.show()

# %% [markdown]
# Measured: N doubles until the three lines run out of memory. What runs out at one N is not
# tried at the next. Against SDPA: how many times as much as the SDPA backend that takes least;
# below 1 is less. Forward only, then forward and backward together, as in training, where dQ,
# dK and dV count, and the gradient that arrives does not.


# %% tags=["measure"]
warnings.simplefilter("ignore")  # the backward pass says that its thread opens CUDA by itself


def training_step(form, q, k, v, dout):
    return torch.autograd.grad(form(q, k, v), (q, k, v), dout)


unfused = {"attention": attention, "three_kernel_attention": three_kernel_attention}
fused = {"flash_attention": flash_attention}
fused |= {name: SDPA[name] for name in ("sdpa_flash", "sdpa_cudnn", "sdpa_efficient")}
cases = {"forward": unfused | fused, "training": {"attention": attention} | fused}

columns = {"form": "", "passes": "", "n": "", "expected": "MiB", "peak": "MiB"}
columns |= {"out_of_memory": "", "against_sdpa": ""}
tables = {passes: Table(passes, **columns) for passes in cases}
for passes, forms in cases.items() if on_gpu else []:
    n, exhausted = 1024, set()
    while "attention" not in exhausted:
        shape, training = (1, 1, n, head_dim), passes == "training"
        dout = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        qkv = [torch.randn_like(dout, requires_grad=training) for _ in range(3)]
        peaks = {}
        for name, form in forms.items():
            call = partial(training_step, form, *qkv, dout) if training else partial(form, *qkv)
            if name in exhausted:
                continue
            try:
                peaks[name] = mib(peak_memory(call))
            except torch.OutOfMemoryError:
                peaks[name] = None
                exhausted.add(name)
        torch.cuda.empty_cache()
        least = min(peaks[name] for name in SDPA if peaks.get(name))
        for name, peak in peaks.items():
            count = eager_peak_bytes if name in unfused else fused_peak_bytes
            expected = None if training else mib(count(n, head_dim, element_bytes=2))
            row = [name, passes, n, expected, peak, peak is None, peak and peak / least]
            tables[passes].add(**dict(zip(columns, row, strict=True)))
        n *= 2
if on_gpu:
    print(f"{gib(torch.cuda.get_device_properties(0).total_memory):.1f} GiB on this GPU")
    tables["forward"].show()
    tables["training"].show()
else:
    print("No GPU here, so there is nothing to measure: only its allocator keeps this count.")
