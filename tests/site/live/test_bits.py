"""The model is kernels.formats.value, and PyTorch's own types where they are wider, bit for bit."""

import json
import math

import pytest
import torch
from bs4 import BeautifulSoup

from kernels.formats.value import Kind, decode, encode, fields, neighbours
from scripts.site.live import Pieces, received, sent
from tests.kernels.formats.value_oracle import FORMATS as SMALL
from tests.kernels.formats.value_oracle import TORCH, boundaries, codes_of, each, random_bits, same_numbers

MODEL = "bits.model.js"
WIDE = {"FP32": torch.float32, "BF16": torch.bfloat16, "FP16": torch.float16}
KINDS = {
    "zero": Kind.ZERO,
    "subnormal": Kind.SUBNORMAL,
    "normal": Kind.NORMAL,
    "infinity": Kind.INFINITE,
    "not a number": Kind.NAN,
}
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e300, -1e300, 5e-324, 65519.99, 65520.0, 3.4e38, 3.5e38]


@pytest.fixture(scope="module")
def model(pieces):
    """What a function of the model gives in a format, for each of many inputs; some of the format may be another."""
    pieces.load(MODEL)

    def of(function: str, name: str, inputs: list, *more, **other) -> list:
        call = f"""(() => {{
            const {{ FORMATS, {function}: asked }} = modules["{MODEL}"];
            const format = {{ ...FORMATS.{name}, ...{json.dumps(other)} }};
            const inputs = read({json.dumps(sent(inputs))});
            return written(inputs.map((each) => asked(format, each, ...{json.dumps(more)})));
        }})()"""
        return received(pieces.engine.eval(call))

    return of


def hard(format) -> torch.Tensor:
    """10,000 random numbers; every number of the format, every tie and what lies just beside; and the ends."""
    random = random_bits(10_000).double()
    return torch.cat(
        [random, random.sign() * random.abs() ** 0.1, boundaries(format, torch.float64), torch.tensor(SPECIAL).double()]
    )


def bits_of(numbers: torch.Tensor) -> torch.Tensor:
    wide = torch.int32 if numbers.dtype == torch.float32 else torch.int16
    return numbers.view(wide).long() & (2 ** (8 * numbers.element_size()) - 1)


def hard_for(dtype: torch.dtype) -> torch.Tensor:
    """The same where the numbers of a type are too many: 2,700 random codes, their ties and neighbours."""
    codes = torch.randint(-(2**31), 2**31, (2700,), generator=torch.Generator().manual_seed(1))
    numbers = (codes.int() if dtype == torch.float32 else (codes >> 16).short()).view(dtype)
    up = torch.nextafter(numbers, torch.tensor(math.inf, dtype=dtype)).double()
    ties = ((numbers.double() + up) / 2)[numbers.isfinite()]
    infinity = torch.tensor(math.inf).double()
    near = [torch.nextafter(ties, infinity), torch.nextafter(ties, -infinity), numbers.double()]
    return torch.cat([ties, *near, torch.tensor(SPECIAL).double()])


@each(SMALL)
def test_every_code_stands_for_the_librarys_number(model, format):
    codes = codes_of(format)
    found = torch.tensor(model("decode", format.name, codes.tolist()))
    assert same_numbers(found, decode(codes, format))
    if format.name in TORCH:
        assert same_numbers(found, codes.view(TORCH[format.name]))
    own = [
        [one["sign"], one["exponent"], one["mantissa"], KINDS[one["kind"]]]
        for one in model("fields", format.name, codes.tolist())
    ]
    assert torch.tensor(own).T.equal(torch.stack(list(fields(codes, format))))


@each(SMALL)
def test_every_number_is_rounded_as_by_the_library(model, format):
    numbers = hard(format)
    assert torch.tensor(model("encode", format.name, numbers.tolist())).equal(encode(numbers, format).long())


@pytest.mark.parametrize("name", WIDE)
def test_wider_types_round_and_read_as_pytorchs(model, name):
    numbers = hard_for(WIDE[name])
    stored = numbers.to(WIDE[name])
    codes = torch.tensor(model("encode", name, numbers.tolist()))
    assert codes[~numbers.isnan()].equal(bits_of(stored)[~numbers.isnan()])
    read = torch.tensor(model("decode", name, bits_of(stored).tolist()), dtype=torch.float64)
    assert same_numbers(read, stored)


@each(SMALL)
def test_what_lies_beside_a_number_is_as_in_the_library(model, format):
    codes = codes_of(format)[decode(codes_of(format), format).isfinite()]
    around = neighbours(decode(codes, format), format)
    for way, expected in ((-1, around.below), (1, around.above)):
        found = model("beside", format.name, codes.tolist(), way)
        assert [code is None for code in found] == expected.isinf().tolist()
        values = model("decode", format.name, [code for code in found if code is not None])
        assert torch.tensor(values).equal(expected[expected.isfinite()])


@pytest.mark.parametrize("name", WIDE)
def test_what_lies_beside_a_wider_number_is_as_in_pytorch(model, name):
    numbers = hard_for(WIDE[name]).to(WIDE[name])
    numbers = numbers[numbers.isfinite()]
    for way in (-1, 1):
        beyond = torch.tensor(way * math.inf, dtype=WIDE[name])
        found = model("decode", name, model("beside", name, bits_of(numbers).tolist(), way))
        assert torch.tensor(found).double().equal(torch.nextafter(numbers, beyond).double())


@pytest.mark.parametrize(
    ("name", "wrong"), [("E4M3", {"largest": 0x7F}), ("E5M2", {"saturates": False}), ("E2M1", {"bias": 2})]
)
def test_a_model_with_a_wrong_format_is_rejected(model, name, wrong):
    format = next(each for each in SMALL if each.name == name)
    numbers = hard(format)
    assert not torch.tensor(model("encode", name, numbers.tolist(), **wrong)).equal(encode(numbers, format).long())


def test_a_model_that_rounds_ties_up_is_rejected(pieces, tmp_path):
    right = (pieces.folder / MODEL).read_text()
    (tmp_path / MODEL).write_text(right.replace("x - floor === 0.5 && floor % 2 === 1", "x - floor === 0.5"))
    ties = torch.tensor([0.5, 1.5, 2.5, 7.5])
    up, even = (of.calls(MODEL, "roundEven", [[tie] for tie in ties.tolist()]) for of in (Pieces(tmp_path), pieces))
    assert even == ties.round().tolist() != up


@pytest.mark.parametrize(
    ("number", "word"),
    [("inf", "NaN"), ("0", "smallest"), ("1e-50", "smallest"), ("1e39", "largest"), ("3", "at or below")],
)
def test_a_scale_beyond_the_ends_is_no_power_of_two_at_or_below(number, word, pieces):
    drawn = BeautifulSoup(pieces.still("bits", {"number": number, "format": "E8M0"}), "html.parser")
    assert word in drawn.select_one(".hb-live__told").text


def test_an_infinity_that_is_stored_is_off_by_nothing(pieces):
    drawn = BeautifulSoup(pieces.still("bits", {"number": "inf", "format": "FP16"}), "html.parser")
    assert drawn.select("tbody tr")[1].text.split()[-1].endswith("0")
    assert "NaN" not in drawn.text


def test_the_reader_types_a_number_and_flips_bits(open_piece):
    piece = open_piece("bits")
    stored = lambda: piece.locator("tbody tr").nth(1).locator("td").all_inner_texts()  # noqa: E731
    assert stored() == ["0.1015625", "0 0011 101", "+0.0015625"]  # worked by hand in the chapter
    piece.get_by_role("button", name="mantissa bit 3").click()
    assert stored()[:2] == ["0.09375", "0 0011 100"]
    piece.get_by_role("button", name="sign bit 1").press("Space")
    assert stored()[0] == "\N{MINUS SIGN}0.09375"
    piece.get_by_role("textbox").fill("5")
    piece.get_by_role("button", name="E2M1").press("Enter")
    assert stored() == ["4", "0 11 0", "\N{MINUS SIGN}1"]
    assert "tie" in piece.locator(".hb-live__told").inner_text()
    piece.get_by_role("textbox").fill("five")
    assert "five" in piece.get_by_role("alert").inner_text()
    assert stored()[0] == "4"
