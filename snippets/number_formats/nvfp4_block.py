# %% [markdown]
# # One block of NVFP4, byte by byte
#
# Sixteen numbers become sixteen codes of four bits and one scale of eight. The scale of the
# tensor is given here, so that the numbers come out even. First the scale of the block: the
# largest number over 6, over the scale of the tensor, rounded to E4M3.

# %% tags=["scale"]
import os

import torch

from kernels.bench.table import Table
from kernels.formats.block import FP8, NVFP4, dequantize, quantize
from kernels.formats.block_triton import quantize_blocks
from kernels.formats.value import E2M1, E4M3, decode, representable_numbers, unpack_e2m1

on_gpu = torch.cuda.is_available()
numbers = [4.5, -2.25, 0.0, 0.9375, 1.3125, 3.75, 0.1875, -0.5625]
numbers += [1.0, -0.1, 2.0, 0.3, -4.4, 3.0, -1.5, 0.75]
x = torch.tensor(numbers, device="cuda" if on_gpu else "cpu")
tensor_scale = 0.5
block = quantize(x, NVFP4, tensor_scale=tensor_scale)

amax, stored = x.abs().max().item(), block.scales.item()
bits = f"{stored >> 7} {stored >> 3 & 15:04b} {stored & 7:03b}"
worth = decode(block.scales, E4M3).item()
unit = worth * tensor_scale
scale = Table("scale", amax="", wanted="", bits="", stored="", worth="", unit="")
wanted = amax / E2M1.max / tensor_scale
scale.add(amax=amax, wanted=wanted, bits=bits, stored=f"{stored:02X}", worth=worth, unit=unit)
scale.show()

# %% [markdown]
# Then the codes: each number over what the code 1 is worth now, rounded to one of the fifteen
# numbers of E2M1, and two codes to a byte, the first in the low half.

# %% tags=["codes"]
codes, back = unpack_e2m1(block.codes).tolist(), dequantize(block).tolist()
columns = ["place", "number", "quotient", "bits", "code", "byte", "back", "off"]
table = Table("codes", **dict.fromkeys(columns, ""))
for place, (number, code, value) in enumerate(zip(numbers, codes, back, strict=True)):
    fields = f"{code >> 3} {code >> 1 & 3:02b} {code & 1}"
    off = round(value - number, 4)
    row = [place, f"{number:g}", round(number / unit, 4), fields, f"{code:X}", place // 2]
    table.add(**dict(zip(columns, [*row, value, off], strict=True)))
table.show()

# %% [markdown]
# What lies in memory: eight bytes of codes and one of scale. The kernel in Triton, on a GPU or
# in Triton's interpreter if `TRITON_INTERPRET=1` is set, must write the same.

# %% tags=["bytes"]
print("codes", bytes(block.codes.tolist()).hex(" ").upper(), "  scale", f"{stored:02X}")
if on_gpu or os.environ.get("TRITON_INTERPRET") == "1":
    ours = quantize_blocks(x, NVFP4, tensor_scale=tensor_scale)
    same = ours.codes.equal(block.codes) and ours.scales.equal(block.scales)
    print("the kernel writes", "the same bytes" if same else "OTHER BYTES")
print(f"{block.bytes} bytes with the scale of the tensor, which is stored once for all blocks")

# %% [markdown]
# Then one number is made ten times as large. The scale of the block follows it, and the other
# fifteen numbers are rounded in steps ten times as wide. Beside it FP8, whose exponents reach
# so far that one scale for the whole tensor is enough. Off is the root mean square of what the
# other fifteen are off by, lost is how many of them became 0.

# %% tags=["outlier"]
loud = x.clone()
loud[0] *= 10
table = Table("outlier", scheme="", largest="", off="", lost="")
for scheme in (NVFP4, FP8):
    for given in (x, loud):
        whole = tensor_scale if scheme is NVFP4 else None
        back = dequantize(quantize(given, scheme, tensor_scale=whole))
        off = (back - given)[1:].square().mean().sqrt().item()
        lost = int((back == 0).sum() - (given == 0).sum())
        table.add(scheme=scheme.name, largest=given[0].item(), off=off, lost=lost)
        if given is loud:
            print(scheme.name, *(f"{value:.3g}" for value in back))
table.show()

# %% [markdown]
# And many blocks, of a million Gaussian numbers, with the scale of the tensor from the largest
# of them: how many land on each number of E2M1, whatever their sign, and by how much all are
# off, root mean square over root mean square.

# %% tags=["gaussian"]
many = torch.randn(2**20, generator=torch.Generator().manual_seed(0))
quantized = quantize(many, NVFP4)
magnitudes = unpack_e2m1(quantized.codes) & 7
table = Table("used", magnitude="", share="%")
for magnitude, count in zip(
    representable_numbers(E2M1)[:8], magnitudes.bincount(minlength=8), strict=True
):
    table.add(magnitude=magnitude.item(), share=100 * count.item() / many.numel())
table.show()
off = Table("gaussian", bits_a_value="", error="%")
error = 100 * ((dequantize(quantized) - many).norm() / many.norm()).item()
off.add(bits_a_value=quantized.bits_per_value, error=error)
off.show()
