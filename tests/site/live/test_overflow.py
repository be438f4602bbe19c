"""The model is kernels.softmax in four types, bit for bit where the type has 16 bits; the piece answers the reader."""

import math

import pytest
import torch

from kernels.softmax import naive_softmax, safe_softmax

MODEL = "overflow.model.js"
TYPES = {"FP16": torch.float16, "BF16": torch.bfloat16, "FP32": torch.float32, "FP64": torch.float64}
ENDS = {"FP16": 11.0, "BF16": 88.5, "FP32": 88.7, "FP64": 709.7}  # where exp leaves the type
SPECIAL = [
    [-math.inf] * 4,
    [-math.inf, 3.0, 3.0, -math.inf],
    [math.nan, 1.0, 2.0, 3.0],
    [math.inf, 1.0, 2.0, 3.0],
    [100.0, 3.0, 2.0, 1.0],
    [-100.0, -200.0, -800.0, -17.0],
    [0.0, -0.0, 1e-8, -1e-45],
    [65504.0, 65519.0, 65520.0, -65520.0],
]


def rows(name: str) -> torch.Tensor:
    """10,000 rows of four scores about where the type ends, and rows that are special."""
    torch.manual_seed(0)
    scores = ENDS[name] * torch.randn(10_000, 4, dtype=torch.float64)
    scores[5000:] = ENDS[name] + torch.randn(5000, 4, dtype=torch.float64)
    return torch.cat([scores, torch.tensor(SPECIAL, dtype=torch.float64)])


def of_model(pieces, name: str, scores: torch.Tensor, safe: bool) -> torch.Tensor:
    found = pieces.calls(MODEL, "softmaxIn", [[name, row, safe] for row in scores.tolist()])
    return torch.tensor([row["shares"] for row in found], dtype=torch.float64)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(("safe", "library"), [(False, naive_softmax), (True, safe_softmax)])
def test_the_model_is_the_library(pieces, name, safe, library):
    scores = rows(name)
    expected = library(scores.to(TYPES[name]))
    found = of_model(pieces, name, scores, safe).to(TYPES[name])
    exact = name in ("FP16", "BF16")
    least = torch.finfo(TYPES[name]).tiny
    torch.testing.assert_close(
        found, expected, rtol=0 if exact else 1e-6, atol=0 if exact else 1e-6 * least, equal_nan=True
    )


@pytest.mark.parametrize("name", ["FP16", "BF16"])
def test_rounding_is_pytorchs_at_every_number_and_every_tie(pieces, name):
    codes = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(TYPES[name]).double()
    codes = codes[codes.isfinite()].sort().values
    between = torch.cat([codes, (codes[1:] + codes[:-1]) / 2, torch.tensor([1e5, 1e39, -1e39, 65520.0, 65519.9])])
    found = pieces.calls(MODEL, "rounded", [[name, value] for value in between.tolist()])
    torch.testing.assert_close(torch.tensor(found).double(), between.to(TYPES[name]).double(), rtol=0, atol=0)


@pytest.mark.parametrize("name", ["FP16", "BF16"])
def test_a_model_that_rounds_elsewhere_is_not(pieces, name):
    """The wrong model keeps FP32 to the end and rounds the shares alone."""
    scores = rows(name)[:1000].to(TYPES[name]).double()
    found = of_model(pieces, "FP32", scores, True).to(TYPES[name])
    assert not torch.equal(found, safe_softmax(scores.to(TYPES[name])))


def test_the_reader_sets_a_score_to_100_and_widens_the_type(open_piece):
    piece = open_piece("overflow")
    shares = lambda form: piece.get_by_role("row", name=f"{form} share").locator("td").all_inner_texts()[:3]  # noqa: E731
    assert shares("naive") == ["0 %"] * 3
    assert shares("safe") == ["66.6 %", "24.5 %", "9 %"]
    piece.get_by_role("button", name="Set score 1 to 100").click()
    assert shares("naive") == ["NaN", "0 %", "0 %"]
    piece.get_by_label("Type").select_option("FP64")
    assert shares("naive")[0] == "100 %"
    slider = piece.get_by_label("Score 1")
    slider.press("Home")
    slider.press("ArrowRight")
    assert piece.get_by_label("Scores", exact=True).input_value() == "-19.5 10 9"
    assert shares("naive")[1:] == ["73.1 %", "26.9 %"]
    piece.get_by_label("Scores", exact=True).fill("1 2 3 4 5")
    assert "1 to 4 are wanted" in piece.get_by_role("alert").inner_text()
    piece.get_by_label("Scores", exact=True).fill("-inf -inf")
    assert "minus the maximum" in piece.locator(".hb-live__told").inner_text()  # the safe form fails before it divides
