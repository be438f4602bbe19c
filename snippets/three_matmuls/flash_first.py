# %% [markdown]
# # The same answer, without the square
#
# `flash_attention` never writes the square of scores to memory. Is it still attention? Here it
# meets the three lines. On a GPU it runs as compiled Triton; on a laptop, smaller, in Triton's
# interpreter.

# %% tags=["imports"]
import os

import torch

# Without a GPU Triton interprets its kernels: it plays their programs on the CPU, in turn.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.table import Table
from kernels.bench.timing import device_time
from kernels.flash.attention import flash_attention
from kernels.reference import attention, oracle

# %% tags=["compare"]
torch.manual_seed(0)
on_gpu = torch.cuda.is_available()
shape = (2, 16, 4096, 64) if on_gpu else (1, 2, 100, 64)
q, k, v = torch.randn(3, *shape, device="cuda" if on_gpu else "cpu").half()

truth = oracle(q, k, v)  # the same computation in FP64
errors = Table("errors", form="", largest="", mean="")
worst = {}  # of each head
for form in (attention, flash_attention):
    error = (form(q, k, v) - truth).abs()
    worst[form] = error.amax((-2, -1))
    errors.add(form=form.__name__, largest=error.max().item(), mean=error.mean().item())

print(f"[batch, heads, sequence, head_dim] = {list(shape)} in FP16, errors against FP64:")
errors.show()
verdict = "within" if (worst[flash_attention] <= 1.5 * worst[attention]).all() else "OUTSIDE"
print(f"verdict: in every head {verdict} 1.5 times the largest error of attention")

# %% [markdown]
# And how long each takes, on this machine: the median of many runs, and the 20th and 80th
# percentile around it.

# %% tags=["times"]
if on_gpu:
    times = Table("times", form="", median="ms", p20="ms", p80="ms")
    for name, result in {
        "attention": device_time(lambda: attention(q, k, v)),
        "flash_attention": device_time(lambda: flash_attention(q, k, v)),
    }.items():
        times.add(form=name, median=result.median, p20=result.low, p80=result.high)
    times.show()
else:
    print("No GPU here: an interpreter's time says nothing about a kernel, so none is taken.")
