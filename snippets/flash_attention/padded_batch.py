# %% [markdown]
# # A padded batch
#
# Sentences of different lengths in one batch: each is padded to the longest, and `key_lengths`
# says where it ends. Three things have to hold. Each sentence gets what it would get alone.
# Padding reaches nothing, even if it holds NaN. And what's padding isn't read, so it costs no
# time.
#
# On a GPU the kernels run compiled; on a laptop, smaller, in Triton's interpreter.

# %% tags=["padded"]
import os
import warnings
from functools import partial

import torch

# Without a GPU Triton interprets its kernels: it plays their programs on the CPU, in turn.
os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.table import Table
from kernels.bench.timing import device_time
from kernels.flash.attention import flash_attention

warnings.simplefilter("ignore")  # in the interpreter NaN warns on its way into a mask
torch.manual_seed(0)
on_gpu = torch.cuda.is_available()
factory_kwargs = {"device": "cuda" if on_gpu else "cpu", "dtype": torch.float16}
lengths = (4096, 2500, 1021, 64) if on_gpu else (61, 40, 17, 1)
shape = (len(lengths), 16, lengths[0], 128) if on_gpu else (len(lengths), 2, lengths[0], 16)
q, k, v = torch.randn(3, *shape, **factory_kwargs)
key_lengths = torch.tensor(lengths, device=factory_kwargs["device"])
for sentence, length in enumerate(lengths):
    k[sentence, :, length:] = v[sentence, :, length:] = torch.nan
together = flash_attention(q, k, v, key_lengths=key_lengths)

sentences = Table("sentences", length="keys", apart="", finite="")
for sentence, length in enumerate(lengths):
    own = slice(sentence, sentence + 1)
    alone = flash_attention(q[own], k[own, :, :length], v[own, :, :length])
    apart = (together[own] - alone).abs().max().item()
    sentences.add(length=length, apart=apart, finite=bool(together[own].isfinite().all()))
print(f"[batch, heads, sequence, head_dim] = {list(shape)} in FP16, padding full of NaN:")
sentences.show()

# %% tags=["time"]
speed = Table("speed", batch="", keys="", median="ms", p20="ms", p80="ms")
k, v = k.nan_to_num(), v.nan_to_num()
calls = {"every key": (None, len(lengths) * lengths[0]), "padded": (key_lengths, sum(lengths))}
for name, (given, keys) in calls.items() if on_gpu else ():
    spent = device_time(partial(flash_attention, q, k, v, key_lengths=given))
    row = [name, keys, *spent]
    speed.add(**dict(zip(speed.columns, row, strict=True)))
if on_gpu:
    speed.show()
else:
    print("No GPU here: an interpreter's time says nothing about a kernel, so none is taken.")
