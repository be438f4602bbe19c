# %% [markdown]
# # What each format loses
#
# 256 tokens of a head of 128 numbers, four times: Gaussian; with four outlier channels, whose
# values lie around 20 or -20 instead of 0, as some channels of keys do; the same after the mean
# over the tokens was subtracted from each channel; and uniform. The numbers come from a CPU's
# generator on every machine.

# %% tags=["distributions"]
import torch

from kernels.bench.table import Table
from kernels.formats.block import (
    FP8,
    FP8_BLOCKS,
    MXFP4,
    MXFP8,
    NVFP4,
    Scheme,
    dequantize,
    quantize,
)
from kernels.formats.value import E2M1, E5M2

device = "cuda" if torch.cuda.is_available() else "cpu"
seed = torch.Generator().manual_seed(0)
gaussian = torch.randn(256, 128, generator=seed)
outliers = gaussian.clone()
outliers[:, 5::32] += torch.tensor([20.0, -20.0, 20.0, -20.0])
distributions = {
    "gaussian": gaussian,
    "outliers": outliers,
    "outliers, mean subtracted": outliers - outliers.mean(0),
    "uniform": 2 * torch.rand(256, 128, generator=seed) - 1,
}
for name, values in distributions.items():
    print(f"{name}: rms {values.square().mean().sqrt():.2f}, largest {values.abs().max():.2f}")

# %% [markdown]
# Error is the root mean square of what a value is off by, as a share of the root mean square of
# the values; SNR is the same in decibels, 20 dB for an error of a tenth. Of spread: the same
# error as a share of how far the values spread around the mean of their channel, which is what
# tells one token from another. Bits a value are counted from the tensors, scales included.


# %% tags=["schemes"]
def measured(values: torch.Tensor, scheme: Scheme) -> dict[str, float]:
    values = values.to(device)
    quantized = quantize(values, scheme)
    error = (dequantize(quantized) - values).double().norm()
    share, spread = error / values.double().norm(), error / (values - values.mean(0)).norm()
    numbers = {"error": 100 * share, "snr": -20 * share.log10(), "of_spread": 100 * spread}
    numbers = {name: float(f"{number.item():.3g}") for name, number in numbers.items()}
    return {"bits": float(f"{quantized.bits_per_value:.4g}"), **numbers}


columns = {"distribution": "", "scheme": "", "block": ""}
columns |= {"bits": "bit a value", "error": "%", "snr": "dB", "of_spread": "%"}
e5m2 = Scheme("FP8 E5M2", E5M2, None, None, has_tensor_scale=True)
table = Table("schemes", **columns)
for distribution, values in distributions.items():
    for scheme in (FP8, e5m2, FP8_BLOCKS, MXFP8, NVFP4, MXFP4):
        row = {"distribution": distribution, "scheme": scheme.name, "block": scheme.block_size}
        table.add(**row, **measured(values, scheme))
table.show()

# %% [markdown]
# The same rules with blocks of other sizes: only 16 is NVFP4, and only 32 is MX. Where no size
# of a block is given, one FP32 scale serves the whole tensor.

# %% tags=["blocks"]
e2m1 = Scheme("E2M1", E2M1, None, None, has_tensor_scale=True)
mxfp8_e5m2 = MXFP8._replace(name="MXFP8 E5M2", element_format=E5M2)
table = Table("blocks", **columns)
for distribution, values in distributions.items():
    for scheme in (e2m1, FP8, e5m2, NVFP4, MXFP4, MXFP8, mxfp8_e5m2, FP8_BLOCKS):
        for block in (8, 16, 32, 64, 128) if scheme.block_size else (None,):
            row = {"distribution": distribution, "scheme": scheme.name, "block": block}
            table.add(**row, **measured(values, scheme._replace(block_size=block)))
table.show()
