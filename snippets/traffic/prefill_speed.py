# %% [markdown]
# # How fast each form is, forward and backward
#
# 16384 tokens of 2048 numbers each, in BF16: as N doubles the batch is halved, and as a head
# grows there are fewer of them, so that the FLOPs are the same for every size of head. Least is
# what any form must move, here for heads of 128. A multiply-add counts as two, causal as half.

# %% tags=["work"]
import warnings
from itertools import product

import torch

from kernels.bench.cost import attention_flops, backward_bytes, backward_flops, mb, qkvo_bytes
from kernels.bench.peers import SDPA
from kernels.bench.table import Table
from kernels.bench.timing import time_attention
from kernels.first.key_blocks import key_blocks_attention
from kernels.first.one_key import one_key_attention
from kernels.first.three_kernels import three_kernel_attention
from kernels.flash.attention import flash_attention
from kernels.reference import attention

tokens, width, lengths = 16384, 2048, [512, 1024, 2048, 4096, 8192, 16384]
columns = {
    "forward": "TFLOP",
    "backward": "TFLOP",
    "forward_least": "MB",
    "backward_least": "MB",
}
work = Table("work", n="", causal="", **columns)
for n, causal in product(lengths, (False, True)):
    size = {"n": n, "head_dim": 128, "heads": width // 128, "batch": tokens // n}
    flops = [count(**size, causal=causal) / 1e12 for count in (attention_flops, backward_flops)]
    least = [mb(count(**size, element_bytes=2)) for count in (qkvo_bytes, backward_bytes)]
    work.add(**dict(zip(work.columns, [n, causal, *flops, *least], strict=True)))
work.show()

# %% [markdown]
# The forms: every rung of the ladder, and PyTorch's `scaled_dot_product_attention`, called SDPA
# here, by each of its backends. Left out is what a backend refuses; what would fill more than a
# third of the memory with squares of scores; and a rung that would take more than 200 ms, were
# it four times as slow as at half of N, where twice is usual. At N = 512 every rung is there.
# Forward runs without autograd.
#
# p20 and p80 are the times below which 20 and 80 of 100 calls stay; they are equal where a call
# takes so long that it is timed once. Speed is the work above divided by the time, whatever a
# form computes: those that keep the square spare one of the five matmuls of the backward pass,
# and causal they compute all of it. Ratio is the speed against that of the fastest SDPA backend
# in the same setting: 1 is as fast, 0.5 takes twice as long.

# %% tags=["measure"]
warnings.simplefilter("ignore")  # a backend that refuses says why
forward_only = [one_key_attention, key_blocks_attention, three_kernel_attention]
forms = {form.__name__: form for form in [attention, *forward_only, flash_attention]} | SDPA
held = {"attention": 6, "three_kernel_attention": 4, "sdpa_math": 12}  # bytes a score, at most

columns = dict.fromkeys(["form", "direction", "head_dim", "n", "causal"], "")
columns |= {"median": "ms", "p20": "ms", "p80": "ms", "speed": "TFLOP/s", "ratio": ""}
tables, times, refused = {}, {}, set()
room = torch.cuda.is_available() and torch.cuda.get_device_properties(0).total_memory / 3
settings = product((False, True), (64, 128, 256), (False, True), lengths)
for backward, head_dim, causal, n in settings if room else []:
    heads, batch = width // head_dim, tokens // n
    direction = "backward" if backward else "forward"
    # Query, key and value, and for the backward pass the gradient that arrives.
    inputs = torch.randn(3 + backward, batch, heads, n, head_dim, device="cuda").bfloat16()
    before, times = times, {}
    for name, form in forms.items():
        slow = name not in SDPA and (name not in before or 4 * before[name].median > 200)
        squares = (1 + backward) * held.get(name, 0) * heads * batch * n * n
        if (slow and n > 512) or squares > room or (backward and form in forward_only):
            continue
        try:
            times[name] = time_attention(form, *inputs, is_causal=causal, milliseconds=40)
        except RuntimeError as error:  # a backend may refuse
            assert name in SDPA and not isinstance(error, torch.OutOfMemoryError), name
            refused.add((name, direction, head_dim))

    title = f"{direction}_{head_dim}"
    table = tables.setdefault(title, Table(title, **columns))
    fastest = min(times[name].median for name in SDPA if name in times)
    flops = (backward_flops if backward else attention_flops)(n, head_dim, heads, batch, causal)
    for name, spent in times.items():
        numbers = [*spent, flops / spent.median / 1e9, fastest / spent.median]
        row = [name, direction, head_dim, n, causal, *(float(f"{x:.4g}") for x in numbers)]
        table.add(**dict(zip(columns, row, strict=True)))
print(f"refused: {sorted(refused) or 'nothing'}" if tables else "No GPU here, so no times.")

# %% [markdown]
# Heads of 64, forward and then backward.

# %% tags=["heads_of_64"]
for title in ("forward_64", "backward_64") if tables else ():
    tables[title].show()

# %% [markdown]
# Heads of 128, forward and then backward.

# %% tags=["heads_of_128"]
for title in ("forward_128", "backward_128") if tables else ():
    tables[title].show()

# %% [markdown]
# Heads of 256, forward and then backward. The backward pass of FlashAttention is at its worst
# here: two accumulators of 256 columns fill the registers, so that its blocks are small and a
# program has an SM to itself. The three lines, whose square goes through large matmuls, pass it
# where that square fits into memory.

# %% tags=["heads_of_256"]
for title in ("forward_256", "backward_256") if tables else ():
    tables[title].show()
