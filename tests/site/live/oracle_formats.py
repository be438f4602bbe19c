"""Number formats: the models beside ``kernels.formats`` and PyTorch's own types, bit for bit."""

import math

import torch

from kernels.formats.block import FP8, MXFP4, NVFP4, dequantize, quantize
from kernels.formats.value import Kind, decode, encode, fields, neighbours
from scripts import records
from tests.kernels.formats.value_oracle import FORMATS as SMALL
from tests.kernels.formats.value_oracle import boundaries, codes_of, random_bits
from tests.site.live.harness import OracleCheck, per_case

MANY = 2000
INF = math.inf
DOUBLE = dict(dtype=torch.float64)
KINDS = {
    Kind.ZERO: "zero",
    Kind.SUBNORMAL: "subnormal",
    Kind.NORMAL: "normal",
    Kind.INFINITE: "infinity",
    Kind.NAN: "not a number",
}
FORMATS = {format.name: format for format in SMALL}
WIDE = {"FP32": torch.float32, "BF16": torch.bfloat16, "FP16": torch.float16}
SPECIAL = [0.0, -0.0, INF, -INF, math.nan, 1e300, -1e300, 5e-324, 65519.99, 65520.0, 3.4e38, 3.5e38]


@per_case
def number_and_fields(name, code):
    """The number, its fields, and its neighbours."""
    format, code = FORMATS[name], torch.tensor([code], dtype=torch.uint8)
    value, below_and_above = decode(code, format), [None, None]
    sign, exponent, mantissa, kind = (int(field) for field in fields(code, format))
    if value.isfinite():
        around = neighbours(value, format)
        below_and_above = [float(x) if x.isfinite() else None for x in (around.below, around.above)]
    return [
        float(value),
        {"sign": sign, "exponent": exponent, "mantissa": mantissa, "kind": KINDS[Kind(kind)]},
        *below_and_above,
    ]


def numbers() -> list:
    """Random ones, every number of a format, every tie and what is just beside; and the ends."""
    random_numbers = random_bits(MANY).double()
    common = torch.cat(
        [random_numbers, random_numbers.sign() * random_numbers.abs() ** 0.1, torch.tensor(SPECIAL, **DOUBLE)]
    ).tolist()
    return [[name, x] for name, format in FORMATS.items() for x in common + boundaries(format, torch.float64).tolist()]


def codes_of_all(cases: list) -> list:
    numbers_by_format = {name: [x for format, x in cases if format == name] for name in FORMATS}
    codes = {
        name: iter(encode(torch.tensor(x, **DOUBLE), FORMATS[name]).int().tolist())
        for name, x in numbers_by_format.items()
    }
    return [next(codes[name]) for name, _ in cases]


def wide_numbers() -> list:
    """Random codes, their ties and what is just beside."""
    bits = torch.randint(-(2**31), 2**31, (MANY,), generator=torch.Generator().manual_seed(1))
    cases = []
    for name, dtype in WIDE.items():
        x = (bits.int() if dtype == torch.float32 else (bits >> 16).short()).view(dtype)
        ties = (x.double() + torch.nextafter(x, torch.tensor(INF, dtype=dtype)).double())[x.isfinite()] / 2
        beside_ties = [torch.nextafter(ties, torch.tensor(way * INF, **DOUBLE)) for way in (1, -1)]
        cases += [
            [name, number]
            for number in torch.cat([ties, *beside_ties, x.double(), torch.tensor(SPECIAL, **DOUBLE)]).tolist()
        ]
    return [case for case in cases if not math.isnan(case[1])]


@per_case
def code_and_neighbours(name, number):
    """The code, what it stands for, and the numbers below and above that."""
    dtype = WIDE[name]
    x = torch.tensor(number, **DOUBLE).to(dtype)
    code = int(x.view(torch.int32 if dtype == torch.float32 else torch.int16)) & (2 ** (8 * x.element_size()) - 1)
    ends = [float(torch.nextafter(x, torch.tensor(way * INF, dtype=dtype))) for way in (-1, 1)]
    return [code, float(x), *[None if x.isinf() and end == x else end for end in ends]]


SCHEMES = {scheme.name: scheme for scheme in (NVFP4, MXFP4, FP8)}
HARD = [
    [0.0] * 16, [0.0, -0.0] * 16, [INF, 1.0, -INF, 3e38] * 4, [math.nan, 1.0, -2.0, math.nan],
    [1e-40, -1e-45, 0.0, 1e-38], [3e38] + [1e-38] * 31, [18.75, 90.0, -3.75, 11.25], [1.0, 2.0, 3.0],
    [6.0, 7.0, 7.999, 8.0] * 8,
    [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0] * 2,
]  # fmt: skip


def blocks() -> list:
    """Random rows, some of them tiny or loud, and hard ones; NVFP4 with a scale of its own, too."""
    generator = torch.Generator().manual_seed(0)
    rows = []
    for i in range(MANY // 4):
        x = torch.randn((16, 16, 32, 5, 20)[i % 5], generator=generator) * 10 ** (
            6 * torch.rand((), generator=generator) - 3
        )
        x[0] *= 40 if i % 3 == 0 else 1
        rows.append(x.tolist())
    schemes = [("NVFP4", None), ("NVFP4", 0.5), ("MXFP4", None), ("FP8", None)]
    return [[name, row, tensor_scale] for row in [*rows, *HARD] for name, tensor_scale in schemes]


@per_case
def quantized_row(name, row, tensor_scale):
    """Bytes, scales, the tensor's scale, and what comes back."""
    block = quantize(torch.tensor([row]), SCHEMES[name], tensor_scale=tensor_scale)
    scales = [] if block.scales is None else block.scales[0].int().tolist()
    scale_of_tensor = 1.0 if block.tensor_scale is None else float(block.tensor_scale)
    return [block.codes[0].int().tolist(), scales, scale_of_tensor, dequantize(block)[0].tolist()]


def recorded_rows() -> list:
    rows = records.table("kv_rows", "rows")
    return [[scheme, [row[name] for row in rows], name] for name in ("key", "value") for scheme in SCHEMES]


@per_case
def recorded_row(scheme, _, name):
    return [one[scheme] for one in records.table("kv_rows", f"{name}_back")]


CHECKS = [
    OracleCheck("bits: read", number_and_fields,
        lambda: [[name, code] for name, format in FORMATS.items() for code in codes_of(format).tolist()],
        ("exponent: 2, mantissa: 1, bias: 1", "exponent: 2, mantissa: 1, bias: 2")),
    OracleCheck("bits: encoded", codes_of_all, numbers, ("x - floor === 0.5 && floor % 2 === 1", "x - floor === 0.5"),
        other_mistakes=(("mantissa: 3, bias: 7, largest: 0x7e", "mantissa: 3, bias: 7, largest: 0x7f"),)),
    OracleCheck("bits: stored", code_and_neighbours, wide_numbers, ("format.bits > 8 ? Math.fround(number) : number", "number")),
    OracleCheck("quantized_block: quantized", quantized_row, blocks, ("fround(x * inverse)", "x / (blockScale * tensor)"),
        other_mistakes=(("codes[2 * i] + 16 * (codes[2 * i + 1] ?? 0)", "16 * codes[2 * i] + (codes[2 * i + 1] ?? 0)"),)),
    OracleCheck("quantized_block: decoded", recorded_row, recorded_rows, ("- Math.floor(Math.log2(largest(scheme.element)))", "- 3"), rel_tol=1e-9),
]  # fmt: skip
