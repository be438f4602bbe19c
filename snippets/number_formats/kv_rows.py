# %% [markdown]
# # A key and a value in three formats
#
# 32 neighbouring channels of one token's key and value, in BF16: Gaussian numbers, and in the
# key one loud channel, which lies around 20 instead of 0, as some channels of keys do. No model
# was run: the numbers come from a CPU's generator, the same on every machine.

# %% tags=["rows"]
import torch

from kernels.bench.table import Table
from kernels.formats.block import FP8, MXFP4, NVFP4, dequantize, quantize

device = "cuda" if torch.cuda.is_available() else "cpu"
seed = torch.Generator().manual_seed(0)
pair = torch.randn(2, 32, generator=seed)
pair[0, 5] += 20
key, value = pair.bfloat16().to(device)

rows = Table("rows", element="", key="", value="")
for element, (of_key, of_value) in enumerate(zip(key.tolist(), value.tolist(), strict=True)):
    rows.add(element=element, key=of_key, value=of_value)
rows.show()

# %% [markdown]
# Each row by itself in three formats: what its numbers come back as. NVFP4 has two blocks of 16
# and MXFP4 one of 32; in FP8 all share one scale.

# %% tags=["back"]
schemes = (NVFP4, MXFP4, FP8)
for name, row in (("key", key), ("value", value)):
    table = Table(f"{name}_back", element="", number="", **{each.name: "" for each in schemes})
    back = [dequantize(quantize(row, scheme)).tolist() for scheme in schemes]
    for element, (number, *numbers) in enumerate(zip(row.tolist(), *back, strict=True)):
        names = [each.name for each in schemes]
        table.add(element=element, number=number, **dict(zip(names, numbers, strict=True)))
    table.show()

# %% [markdown]
# How far the numbers but the largest are off, root mean square, and how many of them came back
# as 0: of the whole row, and of its second half, which in the key has no loud channel.

# %% tags=["lost"]
lost = Table("lost", row="", elements="", scheme="", off="", lost="")
for name, row in (("key", key.float()), ("value", value.float())):
    element = torch.arange(len(row), device=device)
    others = element != row.abs().argmax()
    for elements, chosen in (("all", others), ("16 to 31", others & (element >= 16))):
        for scheme in schemes:
            back = dequantize(quantize(row, scheme))
            off = (back - row)[chosen].square().mean().sqrt().item()
            zeros = int(((back == 0) & (row != 0))[chosen].sum())
            lost.add(row=name, elements=elements, scheme=scheme.name, off=off, lost=zeros)
lost.show()
