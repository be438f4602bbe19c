# %% [markdown]
# # The same answer, without the square
#
# `flash_attention` never writes the square of scores to memory. Is it still attention? Here it meets the three lines.
# On a GPU it runs as compiled Triton; on a laptop, smaller, in Triton's interpreter:
# `TRITON_INTERPRET=1 python -m snippets.flash_first`

# %% tags=["compare"]
import torch

from kernels.flash import flash_attention
from kernels.measure import Table, time
from kernels.reference import attention, oracle

torch.manual_seed(0)
on_gpu = torch.cuda.is_available()
shape = (2, 16, 4096, 64) if on_gpu else (1, 2, 100, 64)
q, k, v = torch.randn(3, *shape, device="cuda" if on_gpu else "cpu").half()

truth = oracle(q, k, v)
fused = (flash_attention(q, k, v) - truth).abs()
three_lines = (attention(q, k, v) - truth).abs()

print(f"shape                 batch {shape[0]}, heads {shape[1]}, words {shape[2]}, head_dim {shape[3]}, FP16")
print(f"error, flash          largest {fused.max():.1e}, mean {fused.mean():.1e}")
print(f"error, three lines    largest {three_lines.max():.1e}, mean {three_lines.mean():.1e}")
print("verdict              ", "within budget" if fused.max() <= 2 * three_lines.max() else "WRONG", end=": ")
print("at most twice the error of the three lines, both against FP64")

# %% [markdown]
# And how long each takes, on this machine: the middle of many runs, and the 20th and 80th percentile around it.

# %% tags=["times"]
if on_gpu:
    times = Table("times", form="", low="ms", median="ms", high="ms")
    for name, function in {"three lines": attention, "flash": flash_attention}.items():
        median, low, high = time(lambda function=function: function(q, k, v))
        times.add(form=name, low=low, median=median, high=high)
    times.show()
else:
    print("No GPU here: an interpreter's time says nothing about a kernel, so none is taken.")
