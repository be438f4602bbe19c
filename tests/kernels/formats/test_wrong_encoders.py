"""A wrong encoder is told from a right one by the table of numbers."""

import pytest
import torch

from kernels.formats.value import (
    E8M0,
    encode,
)
from tests.kernels.formats.value_oracle import (
    FLOATS,
    each_format,
    encodes_wrongly,
)

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")  # numpy, of NaN


# Wrong encoders, each of which the table of numbers must tell from the right one.


def steps(x, format):
    magnitude = x.double().abs().nan_to_num(posinf=1e300).clamp(max=format.max)
    exponent = magnitude.clamp(min=format.smallest_normal).log2().floor()
    return magnitude / 2 ** (exponent - format.mantissa_bits), exponent


def wrong(round):
    def encoder(x, format):
        count, exponent = steps(x, format)
        code = round(count) + (exponent - 1 + format.bias) * 2**format.mantissa_bits
        return (code.int() + (x.signbit().int() << format.bits - 1)).byte()

    return encoder


def no_subnormals(x, format):
    return encode(torch.where(x.abs() < format.smallest_normal, torch.zeros_like(x).copysign(x), x), format)


def rounded_to_bf16_first(x, format):
    return encode(x.bfloat16(), format)


def rounded_to_fp32_first(x, format):
    return encode(x.float(), format)


def minus_zero_lost(x, format):
    return encode(x + 0.0, format)


def wraps(x, format):
    codes = encode(x.clamp(-format.max, format.max), format)
    return codes + (x.abs() > format.max).byte()


WRONG = [
    ("ties away from zero", wrong(lambda count: (count + 0.5).floor())),
    ("ties towards zero", wrong(lambda count: (count - 0.5).ceil())),
    ("cut off", wrong(torch.floor)),
    ("no subnormal numbers", no_subnormals),
    ("rounded twice, by way of BF16", rounded_to_bf16_first),
    ("rounded twice, by way of FP32", rounded_to_fp32_first),
    ("-0 becomes 0", minus_zero_lost),
    ("does not saturate", wraps),
]


@each_format(FLOATS)
@pytest.mark.parametrize("encoder", [x[1] for x in WRONG], ids=[x[0] for x in WRONG])
def test_a_wrong_encoder_is_rejected(encoder, format):
    assert encodes_wrongly(encoder, format)


@each_format(FLOATS)
def test_they_differ_from_a_right_one_in_the_rounding_alone(format):
    assert not encodes_wrongly(wrong(torch.round), format)


def test_an_e8m0_scale_rounded_to_the_nearest_is_rejected():
    assert encodes_wrongly(lambda x, format: encode(x * 4 / 3, format), E8M0)
