"""The model is kernels.formats.block, bit for bit: scales, codes, bytes, and what comes back."""

import math

import pytest
import torch
from bs4 import BeautifulSoup

from kernels.formats.block import FP8, MXFP4, NVFP4, dequantize, quantize
from scripts import records
from scripts.site.live import Pieces
from tests.site.conftest import awaits

MODEL = "block.model.js"
TOGETHER = 100  # rows of one largest number
SCHEMES = {scheme.name: scheme for scheme in (NVFP4, MXFP4, FP8)}
SPECIAL = [
    [0.0] * 16,
    [0.0, -0.0] * 16,
    [math.inf, 1.0, -math.inf, 3e38] * 4,
    [math.nan, 1.0, -2.0, math.nan],
    [1e-40, -1e-45, 0.0, 1e-38],
    [3e38] + [1e-38] * 31,
    [18.75, 90.0, -3.75, 11.25],  # ties of a scale of 15, which a reciprocal moves
    [1.0, 2.0, 3.0],  # an odd number of codes
    [6.0, 7.0, 7.999, 8.0] * 8,
    [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0] * 2,
]


def batches(many: int) -> list[torch.Tensor]:
    """Random rows, those of one length together, some of them tiny or loud, and rows that are special."""
    generator = torch.Generator().manual_seed(0)
    random = []
    for length, share in ((16, 0.7), (32, 0.2), (5, 0.05), (20, 0.05)):
        x = torch.randn(int(share * many), length, generator=generator)
        x *= 10 ** (6 * torch.rand(len(x), 1, generator=generator) - 3)
        x[::5, 0] *= 40
        random.append(alike_in_their_largest(x))
    return random + [torch.tensor([row]) for row in SPECIAL]


def alike_in_their_largest(rows: torch.Tensor) -> torch.Tensor:
    """``TOGETHER`` rows at a time get the size of their first: each is a tensor of its own, and all have one scale."""
    sizes = rows.abs().amax(1, keepdim=True)
    wanted = sizes[::TOGETHER].repeat_interleave(TOGETHER, 0)
    smaller = (rows * (wanted / sizes)).clamp(-wanted, wanted)
    return torch.where(rows.abs() == sizes, wanted * rows.sign(), smaller)


@pytest.fixture(scope="module")
def of_model(pieces):
    """Codes, scales, the tensor's scale and what comes back, as a model has them: the site's, or another."""

    def called(rows: torch.Tensor, name: str, given: float | None = None, of: Pieces = pieces) -> list[torch.Tensor]:
        of.load(MODEL)
        of.engine.eval(
            f"""modules.test = {{ whole(numbers) {{
                const {{ SCHEMES, quantize, pack }} = modules["{MODEL}"];
                const {{ tensor, blocks }} = quantize(SCHEMES.{name}, numbers, {given or "null"});
                const codes = pack(SCHEMES.{name}, blocks.flatMap(({{ codes }}) => codes));
                return [codes, blocks.map(({{ scale }}) => scale ?? 0), [tensor], blocks.flatMap(({{ back }}) => back)];
            }} }}; 0"""
        )
        of.loaded.add("test")
        found = of.calls("test", "whole", [[row] for row in rows.tolist()])
        return [torch.tensor(column, dtype=torch.float64) for column in zip(*found, strict=True)]

    return called


def of_library(rows: torch.Tensor, name: str, given: float | None = None) -> list[torch.Tensor]:
    """The same; a scale that there is not is 0, or for the tensor 1."""
    each = [rows] if given is not None or name == "MXFP4" else rows.split(TOGETHER)  # as the largest number has it
    quantized = [quantize(own, SCHEMES[name], tensor_scale=given) for own in each]
    columns = [
        (
            one.codes,
            torch.zeros(len(one.codes), 1) if one.scales is None else one.scales,
            torch.ones(len(one.codes), 1) if one.tensor_scale is None else one.tensor_scale.expand(len(one.codes), 1),
            dequantize(one),
        )
        for one in quantized
    ]
    return [torch.cat(column) for column in zip(*columns, strict=True)]


def same(found: list[torch.Tensor], expected: list[torch.Tensor]) -> bool:
    return all(bits(one).equal(bits(other)) for one, other in zip(found, expected, strict=True))


def bits(numbers: torch.Tensor) -> torch.Tensor:
    return numbers.float().masked_fill(numbers.isnan(), math.nan).view(torch.int32)


@pytest.mark.parametrize(("name", "given"), [("NVFP4", 0.5), ("MXFP4", None), ("NVFP4", None), ("FP8", None)])
def test_the_model_is_the_library(of_model, name, given):
    for rows in batches(10_000):
        assert same(of_model(rows, name, given), of_library(rows, name, given))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("codes[2 * i] + 16 * (codes[2 * i + 1] ?? 0)", "16 * codes[2 * i] + (codes[2 * i + 1] ?? 0)"),
        ("fround(x * inverse)", "x / (worth * tensor)"),
        ("- Math.floor(Math.log2(most(scheme.element)))", "- 3"),
    ],
    ids=["high half first", "a division instead of the reciprocal", "the next power of two"],
)
def test_a_wrong_model_is_rejected(of_model, pieces, tmp_path, right, wrong):
    for name in (MODEL, "bits.model.js"):
        text = (pieces.folder / name).read_text()
        assert name != MODEL or right in text
        (tmp_path / name).write_text(text.replace(right, wrong))
    wrong_one = Pieces(tmp_path)
    rows = batches(2000)[-len(SPECIAL) :]
    assert not all(same(of_model(row, name, of=wrong_one), of_library(row, name)) for row in rows for name in SCHEMES)


def test_the_first_state_is_the_board_s_block_and_ten_times_louder_the_recorded_outlier(pieces):
    def still(**asked):
        return BeautifulSoup(pieces.still("block", asked), "html.parser")

    codes = records.table("nvfp4_block", "codes")
    assert [each.text for each in still().select(".hb-live__bytes button b")] == [row["code"] for row in codes]
    loud = {row["scheme"]: row for row in records.table("nvfp4_block", "outlier") if row["largest"] == 45}
    for row in still(louder="10").select("tbody tr"):
        name, off, lost = row.th.text, *[cell.text for cell in row.select("td")[2:]]
        if name in loud:
            assert (float(off), int(lost)) == (pytest.approx(loud[name]["off"], abs=1e-4), loud[name]["lost"])


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"tensor": "1e-30"}, "NVFP4: the marks end below place 0: 4.5 is clipped to 2.688·10⁻²⁷."),
        ({"tensor": "1", "numbers": "3200 2e3"}, "NVFP4: the marks end below place 0: 3200 is clipped to 2688."),
        ({"scheme": "MXFP4", "numbers": "7 4"}, "MXFP4: the marks end below place 0: 7 is clipped to 6."),
        ({"scheme": "MXFP4", "numbers": "6.75 4"}, "MXFP4: nothing is lost."),
        ({"tensor": "", "numbers": "4.5 4"}, "NVFP4: nothing is lost."),
        ({"scheme": "FP8", "tensor": "1e-30"}, "FP8: nothing is lost."),
    ],
)
def test_a_number_beyond_the_last_mark_is_clipped(pieces, asked, told):
    found = BeautifulSoup(pieces.still("block", asked), "html.parser").select_one(".hb-live__told").text.strip()
    assert found.startswith(told)


@pytest.mark.skipif(awaits("kv_rows"), reason="kv_rows awaits its run on a GPU")
@pytest.mark.parametrize("name", ["key", "value"])
def test_a_recorded_row_comes_back_as_it_did_in_the_run(of_model, name):
    row = torch.tensor([[each[name] for each in records.table("kv_rows", "rows")]])
    for scheme in SCHEMES:
        back = torch.tensor([each[scheme] for each in records.table("kv_rows", f"{name}_back")])
        assert of_model(row, scheme)[-1].flatten().tolist() == back.tolist()


def test_the_reader_begins_with_a_row_that_the_page_offers(open_piece):
    piece = open_piece("block", key="1 -20 3 0.5", value="1 2 3 4")
    menu, field = piece.get_by_label("Starting values"), piece.get_by_role("textbox", name="Numbers")
    board = field.input_value()
    menu.select_option("K row")
    assert field.input_value() == "1 -20 3 0.5"
    assert piece.get_by_label("Tensor scale").input_value() == ""  # the board's was chosen for the board's block
    assert "Of the other 3 numbers that were not 0, 1 comes back as 0" in piece.locator(".hb-live__told").inner_text()
    piece.get_by_label("Place 1 is louder").press("ArrowRight")
    assert "-40" in piece.locator("tbody tr").first.inner_text().replace("\N{MINUS SIGN}", "-")
    menu.select_option("V row")
    field.fill("1 2 3 5")
    assert menu.locator("option:checked").inner_text() == "your own"
    menu.select_option("the block of the board")
    assert field.input_value() == board and piece.get_by_label("Tensor scale").input_value() == "0.5"


def test_the_reader_makes_a_number_loud(open_piece):
    piece = open_piece("block")
    cells = lambda: piece.locator("tbody tr").first.locator("td").all_inner_texts()  # noqa: E731
    assert cells()[0] == "3C"
    for _ in range(9):
        piece.get_by_label("Place 0 is louder").press("ArrowRight")
    assert cells() == ["57", "45", "0.9368", "9"]
    piece.get_by_role("button", name="place 5:").click()
    assert "Place 5: 3.75 ÷ 7.5" in piece.inner_text()
    piece.get_by_role("button", name="FP8").press("Enter")
    assert "nothing is lost" in piece.locator(".hb-live__told").inner_text()
    piece.get_by_role("textbox", name="Numbers").fill("1 two")
    assert "two" in piece.get_by_role("alert").inner_text()
