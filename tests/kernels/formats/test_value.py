"""Every code and every 16-bit number converts bit for bit as elsewhere, and every rounding goes to the right side.

Elsewhere is ``ml_dtypes``, torch's own FP8 casts, and a search for the nearest number in a table.  Where the first two
answer otherwise than ``encode`` does, ``DIFFERENCES`` says so, and nothing else may differ.
"""

import math

import ml_dtypes
import numpy as np
import pytest
import torch

from kernels.formats.value import (
    E2M1,
    E4M3,
    E5M2,
    E8M0,
    Kind,
    decode,
    encode,
    fields,
    neighbours,
    pack_e2m1,
    representable_numbers,
    unpack_e2m1,
)
from tests.kernels.formats.test_value_triton import apply_on_device, encoder_of
from tests.kernels.formats.value_oracle import (
    FLOATS,
    FORMATS,
    ML_DTYPES,
    TORCH_DTYPES,
    boundaries,
    cases,
    codes_of,
    each_format,
    encodes_wrongly,
    every_16_bit_number,
    ml_encode,
    ml_values,
    random_bits,
    same_numbers,
)

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")  # numpy, of NaN


@each_format(FORMATS)
def test_every_code_is_decoded_as_elsewhere(format, device):
    numbers = decode(codes_of(format, device), format)
    assert numbers.dtype == torch.float32 and numbers.device.type == device.type
    assert same_numbers(numbers, ml_values(format))
    assert same_numbers(representable_numbers(format, device=device), numbers)
    if format.name in TORCH_DTYPES:
        assert same_numbers(numbers, codes_of(format).view(TORCH_DTYPES[format.name]).float())


@each_format(FORMATS)
def test_the_fields_add_up_to_the_code_and_to_the_value(format, device):
    sign, exponent, mantissa, kind = (x.cpu() for x in fields(codes_of(format, device), format))
    width = format.exponent_bits + format.mantissa_bits
    assert (sign << width | exponent << format.mantissa_bits | mantissa).equal(codes_of(format).int())
    numbers = ml_values(format)
    fraction = mantissa.double() / 2**format.mantissa_bits
    normal = (1 + fraction) * 2.0 ** (exponent - format.bias).double()
    subnormal = fraction * 2.0 ** (1 - format.bias)
    magnitude = torch.where(kind == Kind.NORMAL, normal, subnormal)
    magnitude[kind == Kind.INFINITE] = torch.inf
    magnitude[kind == Kind.NAN] = torch.nan
    assert same_numbers(torch.where(sign == 1, -magnitude, magnitude), numbers)
    assert (kind == Kind.ZERO).equal(numbers == 0)
    assert (kind == Kind.SUBNORMAL).equal((numbers != 0) & (numbers.abs() < format.smallest_normal))


# zeros, subnormal, normal, infinite, NaN


@pytest.mark.parametrize(
    "format, largest, smallest_normal, smallest",
    [(E4M3, 448, 2**-6, 2**-9), (E5M2, 57344, 2**-14, 2**-16), (E2M1, 6, 1, 0.5), (E8M0, 2.0**127, 2**-127, 2**-127)],
    ids=["E4M3", "E5M2", "E2M1", "E8M0"],
)
def test_the_ends_of_each_format(format, largest, smallest_normal, smallest):
    assert (format.max, format.smallest_normal, format.smallest) == (largest, smallest_normal, smallest)
    numbers = ml_values(format)
    assert numbers[numbers > 0].min() == smallest and numbers[numbers.isfinite()].max() == largest
    assert ml_dtypes.finfo(ML_DTYPES[format.name]).bits == format.bits
    signs = 0 if format == E8M0 else 1
    assert format.bits == signs + format.exponent_bits + format.mantissa_bits


def test_e2m1_by_hand(device):
    """Sixteen codes; 1.5 is 0|01|1: exponent 1, which is the bias, and one half."""
    magnitudes = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert representable_numbers(E2M1, device=device).tolist() == [*magnitudes, *(-x for x in magnitudes)]
    assert [int(x) for x in fields(torch.tensor(0b0011, dtype=torch.uint8), E2M1)] == [0, 1, 1, Kind.NORMAL]
    ties = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 7.0], device=device)
    assert decode(encode(ties, E2M1), E2M1).tolist() == [0, 1, 1, 2, 2, 4, 4, 6]


def test_e4m3_by_hand(device):
    """0|1001|101 is (1 + 5/8) · 2² = 6.5; 17 lies halfway between 16 and 18, and 16 is even."""
    sign, exponent, mantissa, kind = fields(torch.tensor([0b01001101], dtype=torch.uint8), E4M3)
    assert (int(sign), int(exponent), int(mantissa), int(kind)) == (0, 9, 5, Kind.NORMAL)
    x = torch.tensor([6.5, 17.0, 19.0, 1000.0, -0.001], device=device)
    assert encode(x, E4M3).tolist() == [0b01001101, 0b01011000, 0b01011010, 0x7E, 0x81]
    assert decode(encode(x, E4M3), E4M3).tolist() == [6.5, 16.0, 20.0, 448.0, -(2**-9)]


@each_format(FORMATS)
def test_every_rounding_goes_to_the_nearest_code_and_ties_to_the_even_one(format, device):
    assert [case for case in cases(format) if encodes_wrongly(encode, format, case, device)] == []


@each_format(FLOATS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_every_16_bit_number_is_encoded_as_elsewhere(format, dtype, device):
    x = every_16_bit_number(dtype)
    x = x[~x.isnan()]
    codes = encode(x.to(device), format).cpu()
    clamped = x.float().clamp(-format.max, format.max)  # beyond, the tools differ: see below
    assert codes.equal(ml_encode(clamped, format))
    if format.name in TORCH_DTYPES:
        assert codes.equal(clamped.to(TORCH_DTYPES[format.name]).view(torch.uint8))


@each_format(FLOATS)
def test_every_boundary_is_encoded_as_elsewhere(format, device):
    x = boundaries(format, torch.float32).clamp(-format.max, format.max)
    codes = encode(x.to(device), format).cpu()
    assert codes.equal(ml_encode(x, format))
    if format.name in TORCH_DTYPES:
        assert codes.equal(x.to(TORCH_DTYPES[format.name]).view(torch.uint8))


def test_e8m0_agrees_with_the_tools_on_powers_of_two(device):
    """Between them the tools round to the nearest, half upwards; the scale of MX is rounded down."""
    x = ml_values(E8M0)[:255].float()
    assert encode(x.to(device), E8M0).cpu().equal(torch.arange(255).byte())
    assert ml_encode(x, E8M0).equal(torch.arange(255).byte())
    assert x.to(torch.float8_e8m0fnu).view(torch.uint8).equal(torch.arange(255).byte())


NAN = math.nan


# format, number, encode's code, ml_dtypes', torch's: where versions or signs of NaN differ, each that may be
DIFFERENCES = [
    (E4M3, NAN, 0x7F, 0x7F, {0x7F}),
    (E4M3, -NAN, 0x7F, 0xFF, {0x7F, 0xFF}),
    (E4M3, 464.0, 0x7E, 0x7E, {0x7E}),  # a tie, and 480 is no number
    (E4M3, 465.0, 0x7E, 0x7F, {0x7F, 0x7E}),  # torch 2.11 says NaN, 2.13 saturates
    (E4M3, math.inf, 0x7E, 0x7F, {0x7F, 0x7E}),
    (E4M3, -math.inf, 0xFE, 0xFF, {0xFF, 0xFE}),
    (E5M2, NAN, 0x7F, 0x7E, {0x7F}),
    (E5M2, -NAN, 0x7F, 0xFE, {0x7F, 0xFF}),
    (E5M2, 61440.0, 0x7B, 0x7C, {0x7C}),
    (E5M2, math.inf, 0x7B, 0x7C, {0x7C}),
    (E5M2, -math.inf, 0xFB, 0xFC, {0xFC}),
    (E2M1, NAN, 0x7, 0x8, None),  # PTX's satfinite says +6 too; ml_dtypes -0
    (E2M1, -NAN, 0x7, 0x0, None),
    (E2M1, math.inf, 0x7, 0x7, None),
    (E2M1, -math.inf, 0xF, 0xF, None),
    (E8M0, NAN, 0xFF, 0xFF, {0xFF}),
    (E8M0, math.inf, 0xFF, 0xFF, {0xFF}),
    (E8M0, -math.inf, 0xFF, 0xFF, {0xFF}),
    (E8M0, 3.0, 0x80, 0x81, {0x81}),  # they round to nearest, and this tie to 4
    (E8M0, 3e38, 0xFE, 0xFF, {0xFF}),
    (E8M0, 0.0, 0x00, 0xFF, {0x00}),
    (E8M0, -0.0, 0x00, 0xFF, {0x00}),
    (E8M0, -1.0, 0x7F, 0xFF, {0x7F}),
]


@pytest.mark.parametrize(
    "format, number, ours, of_ml_dtypes, of_torch",
    DIFFERENCES,
    ids=lambda x: x.name if isinstance(x, tuple) else str(x) if isinstance(x, float) else "",
)
def test_where_the_tools_differ(format, number, ours, of_ml_dtypes, of_torch, device):
    x = torch.tensor([number])
    assert x.signbit().item() == (math.copysign(1, number) < 0)
    assert encode(x.to(device), format).tolist() == [ours]
    assert apply_on_device(device, encoder_of(format), x).tolist() == [ours]
    assert ml_encode(x, format).tolist() == [of_ml_dtypes]
    if of_torch is not None:
        assert x.to(TORCH_DTYPES[format.name]).view(torch.uint8).item() in of_torch


@each_format(FORMATS)
def test_every_nan_goes_to_one_code(format, device):
    x = torch.cat(
        [
            every_16_bit_number(dtype)[every_16_bit_number(dtype).isnan()].float()
            for dtype in (torch.bfloat16, torch.float16)
        ]
    )
    assert len(x) == 2 * 127 + 2 * 1023
    code = E2M1.max_code if format == E2M1 else format.nan
    assert encode(x.to(device), format).eq(code).all()
    assert apply_on_device(device, encoder_of(format), x).eq(code).all()


# Properties.

# Neighbours.


@each_format(FORMATS)
def test_neighbours_are_the_numbers_on_either_side(format, device):
    x = torch.cat([boundaries(format, torch.float64), random_bits(500).double()])
    x = x[~x.isnan()]
    numbers = ml_values(format)
    numbers = numbers[numbers.isfinite()]
    below, rounded, above = (number.cpu() for number in neighbours(x.to(device), format))
    assert below.equal(torch.where(numbers < x[:, None], numbers, -torch.inf).amax(-1).float())
    assert above.equal(torch.where(numbers > x[:, None], numbers, torch.inf).amin(-1).float())
    assert same_numbers(rounded, decode(encode(x, format), format))
    assert not any((number.signbit() & (number == 0)).any() for number in (below, above)), "-0 is no number of its own"
    if format != E8M0:
        finite = x.isfinite()
        assert ((below == rounded) | (above == rounded) | (x == rounded))[finite].all()


@each_format([E4M3, E5M2, E2M1])
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_zero_beside_a_number_is_positive_whichever_one_unique_keeps(zero, format, monkeypatch):
    unique = torch.Tensor.unique
    monkeypatch.setattr(torch.Tensor, "unique", lambda x: unique(x).where(unique(x) != 0, zero))
    x = torch.tensor([format.smallest, -format.smallest])
    between = neighbours(x, format).below[0], neighbours(x, format).above[1]
    assert all(number == 0 and not number.signbit() for number in between)


def test_neighbours_by_hand(device):
    x = torch.tensor([1.3, 1.0, 0.0, 448.0, -500.0, torch.nan], device=device)
    below, rounded, above = (number.tolist() for number in neighbours(x, E4M3))
    assert below[:5] == [1.25, 0.9375, -(2**-9), 416.0, -torch.inf]
    assert rounded[:5] == [1.25, 1.0, 0.0, 448.0, -448.0]
    assert above[:5] == [1.375, 1.125, 2**-9, torch.inf, -448.0]
    assert all(math.isnan(numbers[5]) for numbers in (below, rounded, above))
    assert neighbours(torch.tensor(2.2), E2M1).above.shape == ()


# Packing, shapes, errors.


def test_two_codes_to_a_byte_the_first_in_the_low_nibble(device):
    codes = torch.tensor([[0x1, 0x2, 0xF, 0x0], [0x8, 0x7, 0x3, 0xA]], dtype=torch.uint8, device=device)
    assert pack_e2m1(codes).tolist() == [[0x21, 0x0F], [0x78, 0xA3]]
    every_byte = torch.arange(256, dtype=torch.uint8, device=device)
    assert pack_e2m1(unpack_e2m1(every_byte)).equal(every_byte)
    assert unpack_e2m1(pack_e2m1(codes)).equal(codes)
    numbers = np.array([0.5, -6.0, 3.0, -0.0], dtype=np.float32)
    packed = pack_e2m1(torch.from_numpy(numbers.astype(ML_DTYPES["E2M1"]).view(np.uint8)).to(device))
    assert packed.tolist() == [0xF1, 0x85]
    assert pack_e2m1(codes[:, :0]).shape == (2, 0) and unpack_e2m1(codes[:0]).shape == (0, 8)


@each_format(FORMATS)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (2, 3, 5)])
def test_shapes_stay(format, shape, device):
    x = torch.randn(shape, device=device).abs()
    codes = encode(x, format)
    assert codes.shape == decode(codes, format).shape == fields(codes, format).kind.shape == x.shape
    assert all(number.shape == x.shape for number in neighbours(x, format))


@each_format(FORMATS)
def test_strides_and_gradients_change_nothing(format, device):
    x = torch.randn(6, 10, device=device)
    expected = encode(x, format)
    assert encode(x.t().contiguous().t(), format).equal(expected)
    assert encode(x[::2, 1::3], format).equal(expected[::2, 1::3])
    assert encode(x.requires_grad_(), format).equal(expected)
    assert decode(expected[::2, 1::3], format).equal(decode(expected, format)[::2, 1::3])
    assert neighbours(x.t(), format).above.equal(neighbours(x, format).above.t())


BYTES = torch.zeros(4, dtype=torch.uint8)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: encode([1.0], E4M3), TypeError, "values is list, a tensor is wanted"),
        (lambda: encode(torch.zeros(2, dtype=torch.int32), E4M3), TypeError, r"values is torch\.int32, float64"),
        (lambda: encode(torch.zeros(2).to(torch.float8_e5m2), E4M3), TypeError, r"values is torch\.float8_e5m2"),
        (lambda: encode(torch.zeros(2), "E4M3"), TypeError, "format is str"),
        (lambda: neighbours(BYTES, E4M3), TypeError, r"x is torch\.uint8, float64"),
        (lambda: decode(3, E4M3), TypeError, "codes is int, a tensor is wanted"),
        (lambda: decode(BYTES.int(), E4M3), TypeError, r"codes is torch\.int32, torch\.uint8 is wanted"),
        (lambda: representable_numbers("E4M3"), TypeError, "format is str"),
        (lambda: decode(BYTES, torch.float8_e5m2), TypeError, "format is dtype"),
        (lambda: decode(BYTES + 16, E2M1), ValueError, "codes has 16, E2M1 has 4 bits: 0 to 15 is wanted"),
        (lambda: fields(BYTES + 200, E2M1), ValueError, "codes has 200"),
        (lambda: pack_e2m1(BYTES + 16), ValueError, "codes has 16"),
        (lambda: pack_e2m1(BYTES[:3]), ValueError, r"codes has shape \[3\], an even last size is wanted"),
        (lambda: pack_e2m1(BYTES[0]), ValueError, r"codes has shape \[\]"),
        (lambda: pack_e2m1(BYTES.float()), TypeError, r"codes is torch\.float32"),
        (lambda: unpack_e2m1(BYTES[0]), ValueError, "packed has 0 dimensions"),
        (lambda: unpack_e2m1(BYTES.short()), TypeError, r"packed is torch\.int16"),
        (lambda: unpack_e2m1(None), TypeError, "packed is NoneType"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
