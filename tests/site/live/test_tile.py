"""The model cuts a product as a multiplication by slices does, and counts what these slices fetch."""

import pytest
import torch

from kernels.bench.cost import attainable
from kernels.bench.hardware import H100

MODEL = "tile.model.js"
CUTS = [[size, edge] for size in range(1, 33) for edge in range(1, size + 1)]


def test_the_tiles_are_a_product_and_the_slices_what_it_fetches(pieces):
    costs = pieces.calls(MODEL, "cost", CUTS)
    for (size, _), tiles, cost in zip(CUTS, pieces.calls(MODEL, "tiles", CUTS), costs, strict=True):
        first, second = torch.randint(9, (2, size, size))
        product, numbers = torch.zeros(size, size, dtype=torch.int64), 0
        for tile in tiles:
            rows = first[tile["top"] : tile["top"] + tile["height"]]
            columns = second[:, tile["left"] : tile["left"] + tile["width"]]
            product[tile["top"] :, tile["left"] :][: len(rows), : columns.shape[1]] += rows @ columns
            numbers += rows.numel() + columns.numel()
        assert torch.equal(product, first @ second)
        assert cost["numbers"] == numbers
        assert cost["perByte"] == pytest.approx(2 * size**3 / (2 * numbers), rel=1e-12)


def test_a_dividing_edge_makes_half_of_itself_a_byte_as_the_roofline_of_tiles_has_it(pieces):
    cuts = [[size, edge] for size, edge in CUTS if size % edge == 0]
    peak, bandwidth = H100["bf16 peak"].value, H100["hbm bandwidth"].value
    for (size, edge), cost in zip(cuts, pieces.calls(MODEL, "cost", cuts), strict=True):
        assert attainable(cost["perByte"], peak, bandwidth) == pytest.approx(edge / 2 * bandwidth)
        assert cost["numbers"] != size**3 * 2 or edge == 1  # cell by cell, which is what a tile saves


def test_each_number_was_fetched_by_the_tiles_in_its_row_or_column(pieces):
    asked = [[size, edge, count] for size, edge in CUTS[:66] for count in range((-(-size // edge)) ** 2 + 1)]
    all_tiles = pieces.calls(MODEL, "tiles", [cut[:2] for cut in asked])
    for (size, _, count), tiles, found in zip(asked, all_tiles, pieces.calls(MODEL, "fetched", asked), strict=True):
        done = tiles[:count]
        rows = [sum(0 <= row - tile["top"] < tile["height"] for tile in done) for row in range(size)]
        columns = [sum(0 <= column - tile["left"] < tile["width"] for tile in done) for column in range(size)]
        assert (found["rows"], found["columns"]) == (rows, columns)
        assert found["numbers"] == size * (sum(rows) + sum(columns))


def test_the_reader_takes_larger_tiles_and_less_is_fetched(open_piece):
    piece = open_piece("tile")
    told = piece.locator(".hb-live__told")
    step = piece.get_by_role("button", name="Step", exact=True)
    assert "in the end it will be 216" in told.inner_text()
    for _ in range(8):
        step.click()
    assert "fetched 3 times, 216 fetches for 432 FLOP" in told.inner_text()
    piece.get_by_role("slider", name="Edge").press("End")
    assert "fetched 1 time, 72 fetches for 432 FLOP" in told.inner_text()
    piece.get_by_role("slider", name="Edge").press("Home")
    assert "in the end it will be 432" in told.inner_text()
    assert piece.locator("tbody tr").first.locator("td").all_inner_texts() == ["432", "216", "144", "144", "72"]
