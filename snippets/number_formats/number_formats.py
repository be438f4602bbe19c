# %% [markdown]
# # Every number of the small formats
#
# A floating-point number is a sign, an exponent and a mantissa: how many bits each of six
# formats gives to the last two, and what that buys. Normal is the smallest number with a
# leading 1, smallest the smallest above 0, count how many positive numbers there are.

# %% tags=["formats"]
import torch

from kernels.bench.table import Table
from kernels.formats.value import (
    E2M1,
    E4M3,
    E5M2,
    Format,
    encode,
    neighbours,
    representable_numbers,
)

fp32 = Format("FP32", 32, 8, 23, bias=127, max_code=0x7F7FFFFF, infinity=0x7F800000, nan=None)
bf16 = Format("BF16", 16, 8, 7, bias=127, max_code=0x7F7F, infinity=0x7F80, nan=None)
fp16 = Format("FP16", 16, 5, 10, bias=15, max_code=0x7BFF, infinity=0x7C00, nan=None)
six = [fp32, bf16, fp16, E5M2, E4M3, E2M1]
columns = ["exponent", "mantissa", "bias", "max", "normal", "smallest", "count"]
formats = Table("formats", format="", **dict.fromkeys(columns, ""))
for format in six:
    sizes = [format.exponent_bits, format.mantissa_bits, format.bias]
    reach = [f"{format.max:.6g}", format.smallest_normal, format.smallest, format.max_code]
    formats.add(**dict(zip(formats.columns, [format.name, *sizes, *reach], strict=True)))
formats.show()

# %% [markdown]
# One number in each of them, as the bits that are stored: sign, exponent, mantissa. Change it
# and run this again.

# %% tags=["bits"]
number = 0.1
x = torch.tensor(number, dtype=torch.float64)
wide = {fp32: x.float(), bf16: x.bfloat16(), fp16: x.half()}
stored = Table("bits", format="", bits="", value="", error="%")
for format in six:
    if format in wide:
        value, code = (
            wide[format],
            wide[format].view(torch.int32 if format == fp32 else torch.int16),
        )
    else:
        value, code = neighbours(x, format).rounded, encode(x, format)
    bits = f"{code.item() % 2**format.bits:0{format.bits}b}"
    bits = f"{bits[0]} {bits[1 : -format.mantissa_bits]} {bits[-format.mantissa_bits :]}"
    error = 100 * abs(value.item() - number) / abs(number)
    stored.add(format=format.name, bits=bits, value=value.item(), error=error)
stored.show()

# %% [markdown]
# More numbers, with what each small format offers just below and just above, and which of the
# two it takes: inf where there is nothing above, and the largest number is taken.

# %% tags=["neighbours"]
numbers = torch.tensor([0.3, 1.7, 5.0, 19.0, 500.0])
beside = Table("neighbours", number="", format="", below="", above="", taken="", error="%")
for small in (E5M2, E4M3, E2M1):
    for number, below, taken, above in zip(numbers, *neighbours(numbers, small), strict=True):
        error = 100 * abs(taken / number - 1).item()
        around = [below.item(), f"{above:g}", taken.item()]
        shown = [float(f"{number:.4g}"), small.name, *around, error]
        beside.add(**dict(zip(beside.columns, shown, strict=True)))
beside.show()

# %% [markdown]
# A number in the middle between two others is a tie, and goes to the one whose code is even.
# These are all the ties of E2M1 that are positive.

# %% tags=["ties"]
magnitudes = representable_numbers(E2M1)[:8]
ties = (magnitudes[:-1] + magnitudes[1:]) / 2
table = Table("ties", tie="", below="", above="", codes="", taken="")
near = zip(*neighbours(ties, E2M1), strict=True)
for code, (tie, around) in enumerate(zip(ties, near, strict=True)):
    below, taken, above = torch.stack(around).tolist()
    codes = f"{code:03b} or {code + 1:03b}"
    table.add(tie=tie.item(), below=below, above=above, codes=codes, taken=taken)
table.show()

# %% [markdown]
# And all numbers that have no minus in front: a row is an exponent field, a column a mantissa
# field. From one row to the next the step doubles, but for the first two. E2M1:


# %% tags=["e2m1"]
def chart(small: Format) -> None:
    mantissas = [f"{m:0{small.mantissa_bits}b}" for m in range(2**small.mantissa_bits)]
    table = Table(small.name, exponent="", **dict.fromkeys(mantissas, ""))
    rows = representable_numbers(small)[: 2 ** (small.bits - 1)].view(-1, len(mantissas))
    for exponent, row in enumerate(rows.tolist()):
        numbers = [value if abs(value) < torch.inf else str(value) for value in row]
        field = f"{exponent:0{small.exponent_bits}b}"
        table.add(exponent=field, **dict(zip(mantissas, numbers, strict=True)))
    table.show()


chart(E2M1)

# %% [markdown]
# E4M3, in which the last code is a NaN:

# %% tags=["e4m3"]
chart(E4M3)

# %% [markdown]
# E5M2, in which the last row is infinity and NaN, like the last exponent of FP16:

# %% tags=["e5m2"]
chart(E5M2)
