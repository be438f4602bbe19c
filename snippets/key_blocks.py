# %% [markdown]
# # One key at a time, and a block of keys at a time
#
# Two programs that own one query each. First the work of one query, counted: how often its loop
# goes round, and how many places of its row it goes over to put its scores where they belong.

# %% tags=["counted"]
import torch

from kernels.key_blocks import BLOCK_K, key_blocks_attention
from kernels.measure import Table, time
from kernels.one_key import one_key_attention
from kernels.reference import attention, oracle

counted = Table("counted", n="", keys_a_step="", steps="", places="")
for n in (512, 8192):
    for keys in (1, BLOCK_K):
        counted.add(n=n, keys_a_step=keys, steps=n // keys, places=n // keys * n)
counted.show()

# %% [markdown]
# Is it the same answer? Both meet the three lines. Blocks of 32 do not divide the number of
# keys, so the last one is not full. On a laptop, smaller, in Triton's interpreter, if
# `TRITON_INTERPRET=1` is set.

# %% tags=["correct"]
torch.manual_seed(0)
on_gpu = torch.cuda.is_available()
shape = (4, 16, 1021, 128) if on_gpu else (1, 1, 61, 16)
q, k, v = torch.randn(3, *shape, device="cuda" if on_gpu else "cpu").half()

truth = oracle(q, k, v)  # the same computation in FP64
errors, worst = Table("errors", form="", largest="", mean=""), {}
for form in (attention, one_key_attention, key_blocks_attention):
    error = (form(q, k, v) - truth).abs()
    worst[form] = error.amax((-2, -1))  # of each head
    errors.add(form=form.__name__, largest=error.max().item(), mean=error.mean().item())
print(f"[batch, heads, sequence, head_dim] = {list(shape)} in FP16, errors against FP64:")
errors.show()
for form in (one_key_attention, key_blocks_attention):
    verdict = "within" if (worst[form] <= 2 * worst[attention]).all() else "OUTSIDE"
    print(f"{form.__name__}: in every head {verdict} twice the largest error of attention")

# %% [markdown]
# And how long each takes for these inputs: the median of many runs, and the 20th and 80th
# percentile around it.

# %% tags=["times"]
times = Table("times", form="", median="ms", p20="ms", p80="ms")
for form in worst if on_gpu else ():
    spent = time(lambda form=form: form(q, k, v))
    times.add(form=form.__name__, median=spent.median, p20=spent.low, p80=spent.high)
if on_gpu:
    times.show()
else:
    print("No GPU here: an interpreter's time says nothing about a kernel, so none is taken.")
