"""What a cache's format does to attention stays within bounds of its own."""

import pytest
import torch

from kernels.formats.block import quantize
from kernels.reference import oracle
from kernels.serving.decode import decode_attention
from tests.kernels.serving.harness import SCHEMES, new_cache
from tests.kernels.serving.wrong import split_kv_attention

# Rows that are masked may hold anything; what becomes of them may overflow, and is stored nowhere.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


# What the format of a cache does to attention.


def gaussian(k, v):
    return k, v


def outlier_channels(k, v):
    """Three dimensions of the keys and one of the values are 8 times as large."""
    k, v = k.clone(), v.clone()
    k[..., PLACES] *= 8
    v[..., 5] *= 8
    return k, v


def constant_channels(k, v):
    """Three dimensions in which all keys are alike, but for what tells them apart."""
    k = k.clone()
    k[..., PLACES] += 30
    return k, v


def mean_subtracted(k, v):
    k, v = constant_channels(k, v)
    return k - k.mean(-2, keepdim=True), v


PLACES = [3, 17, 40]  # each in a block of its own


# From, to.  E4M3 is off by 2.6 % of Gaussian numbers and NVFP4 by 9.5 %, root mean square: so are the values, and as
# much again comes from the keys, by way of the scores: 3.7 % and 13.4 %.
BOUNDS = {
    ("fp8", gaussian): (0.03, 0.05),
    ("nvfp4", gaussian): (0.11, 0.19),
    ("fp8", outlier_channels): (0.05, 0.16),
    ("nvfp4", outlier_channels): (0.12, 0.33),
    ("fp8", constant_channels): (0.1, 0.2),
    ("nvfp4", constant_channels): (0.4, 0.8),
    ("fp8", mean_subtracted): (0.03, 0.05),
    ("nvfp4", mean_subtracted): (0.11, 0.19),
}


def error_of_format(format, data, device, *, attention=decode_attention, **factors):
    """|error| / |output|, root mean squares of all rows: decode over a cache, beside FP64 over what went into it.

    factors: what its scales are multiplied by once it is filled
    """
    q, k, v = torch.randn(1, 16, 1, 64).half(), *torch.randn(2, 1, 1, 256, 64)
    q, k, v = (x.to(device) for x in (q, *data(k, v)))
    key_scale, value_scale = (quantize(x, SCHEMES[format]).tensor_scale.item() for x in (k, v))
    options = {"key_scale": key_scale, "value_scale": value_scale, "head_dim": 64, "page_size": 64}
    cache = new_cache(device, format, [256], rows=[(k[0], v[0])], **options)
    for name, factor in factors.items():
        setattr(cache, name, factor * getattr(cache, name))
    exact = oracle(q.double(), k.double(), v.double(), enable_gqa=True)
    return ((attention(q, cache).double() - exact).norm() / exact.norm()).item()


@pytest.mark.parametrize("format, data", BOUNDS)
def test_the_error_of_a_format(format, data, decoder, device):
    low, high = BOUNDS[format, data]
    assert low < error_of_format(format, data, device, attention=decoder.attention) < high


@pytest.mark.parametrize("data", [gaussian, outlier_channels, mean_subtracted])
@pytest.mark.parametrize("format", ["fp8", "nvfp4"])
@pytest.mark.parametrize("factor", [0.5, 1.5])
@pytest.mark.parametrize("name", ["key_scale", "value_scale"])
def test_a_wrong_scale_is_out_of_bounds(name, factor, format, data, device):
    assert (
        error_of_format(format, data, device, attention=split_kv_attention, **{name: factor}) > BOUNDS[format, data][1]
    )


@pytest.mark.parametrize("format", ["fp8", "nvfp4"])
def test_keys_without_their_mean_lose_less_and_mean_the_same(format, device):
    q, k, v = torch.randn(1, 4, 1, 64).double(), *torch.randn(2, 1, 4, 256, 64)
    outputs = [oracle(q, *data(k.double(), v.double())) for data in (constant_channels, mean_subtracted)]
    torch.testing.assert_close(*outputs, rtol=0, atol=1e-10)
    error_with_mean, error_without_mean = (
        error_of_format(format, data, device, attention=split_kv_attention)
        for data in (constant_channels, mean_subtracted)
    )
    assert error_without_mean < error_with_mean / 2.5
