# %% [markdown]
# # FlashAttention, correct before fast
#
# The output and the three gradients, for a length that no tile divides, in FP16. The truth is
# FP64. In no head may the largest error be above twice that of the three lines. Then the check
# is checked: a kernel that forgets the last 16 keys must not pass.
#
# On a GPU the kernels run compiled; on a laptop, smaller, in Triton's interpreter.

# %% tags=["correct"]
import os
import warnings
from functools import partial

import torch
from torch.nn.functional import scaled_dot_product_attention

# Without a GPU Triton interprets its kernels: it plays their programs on the CPU, in turn.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.cost import eager_peak_bytes, fused_peak_bytes, mib
from kernels.bench.profiling.memory import peak_memory
from kernels.bench.table import Table
from kernels.bench.timing import time_attention
from kernels.flash.attention import flash_attention
from kernels.reference import attention, oracle

warnings.simplefilter("ignore")  # a backward pass may say that its thread opens CUDA by itself
torch.manual_seed(0)
on_gpu = torch.cuda.is_available()
factory_kwargs = {"device": "cuda" if on_gpu else "cpu", "dtype": torch.float16}
shape = (2, 8, 1021, 128) if on_gpu else (1, 2, 61, 16)
q, k, v, dout = (torch.randn(shape, **factory_kwargs, requires_grad=True) for _ in range(4))


def worst(x, truth):
    """The largest error in each head."""
    return (x - truth).abs().amax((-2, -1))


errors = Table("errors", causal="", tensor="", three_lines="", flash="", verdict="")
for causal in (False, True):
    found = {}
    for form in (oracle, attention, flash_attention):
        out = form(q, k, v, is_causal=causal)
        found[form] = out, *torch.autograd.grad(out, (q, k, v), dout.to(out.dtype))
    for name, truth, *results in zip(("out", "dq", "dk", "dv"), *found.values(), strict=True):
        lines, flash = (worst(x, truth) for x in results)
        verdict = "within the budget" if (flash <= 2 * lines).all() else "OUTSIDE"
        row = [causal, name, lines.max().item(), flash.max().item(), verdict]
        errors.add(**dict(zip(errors.columns, row, strict=True)))
print(f"[batch, heads, sequence, head_dim] = {list(shape)}, largest errors against FP64:")
errors.show()

truth, lines = oracle(q, k, v), attention(q, k, v)
forgetful = flash_attention(q, k[:, :, :-16], v[:, :, :-16])
passes = (worst(forgetful, truth) <= 2 * worst(lines, truth)).all()
print(f"without the last 16 keys: {'within the budget' if passes else 'REJECTED'}")

# %% [markdown]
# What the forward pass holds beside Q, K and V, predicted and, on a GPU, measured; there both
# passes are timed, too. SDPA is PyTorch's own, by the backend that it chooses.

# %% tags=["memory_and_time"]
batch, heads, n, head_dim = shape = (1, 16, 4096, 128)
forms = {attention: eager_peak_bytes, flash_attention: fused_peak_bytes}
forms[scaled_dot_product_attention] = fused_peak_bytes
columns = {"predicted": "MiB", "peak": "MiB", "forward": "ms", "backward": "ms"}
costs = Table("costs", form="", **columns)
q, k, v, dout = (torch.randn(shape, **factory_kwargs) if on_gpu else None for _ in range(4))
for form, count in forms.items():
    cells = [form.__name__, mib(count(n, head_dim, 2, heads, batch)), None, None, None]
    if on_gpu:
        cells[2] = mib(peak_memory(partial(form, q, k, v)))
        cells[3:] = [time_attention(form, q, k, v, grad).median for grad in (None, dout)]
    costs.add(**dict(zip(costs.columns, cells, strict=True)))
print(f"[batch, heads, sequence, head_dim] = {list(shape)} in FP16:")
costs.show()
