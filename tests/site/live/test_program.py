"""The model is the kernel strided_read: its grid, addresses and mask; sectors are counted from where PyTorch puts x."""

import random
from itertools import chain

import pytest
import torch

from kernels.bench.strided_read import BLOCK, strided_read
from scripts.site.live import PieceError

MODEL = "program.model.js"
TYPES = {2: torch.float16, 4: torch.float32, 8: torch.complex64, 16: torch.complex128}


def draws(count: int = 10_000) -> list[list[int]]:
    """Rows, stride, program and load, at random; then the edges of the mask, the chapter's 2500 rows too."""
    tables = [(random.randint(1, 4000), random.randint(1, 32)) for _ in range(count)]
    tables += [(rows, 3) for rows in (1, 31, 32, 33, 1023, 1024, 1025, 2047, 2048, 2500)]
    programs = [random.randrange(stride * -(-rows // BLOCK)) for rows, stride in tables]
    return [[*table, program, random.randrange(32)] for table, program in zip(tables, programs, strict=True)]


def read_of(rows: int, stride: int, program: int, load: int | slice) -> list[int]:
    """The addresses that a load reads, or those lanes, by slices of a table whose numbers are their own addresses."""
    column, block = divmod(program, -(-rows // BLOCK))
    lanes = load if isinstance(load, slice) else slice(load * 32, (load + 1) * 32)
    table = range(column, rows * stride, stride)
    return [*table[block * BLOCK : (block + 1) * BLOCK][lanes]]


def addresses(load: list[dict]) -> list[int]:
    return [lane["address"] for lane in load if lane["reads"]]


def test_each_load_reads_what_the_slices_hold(pieces):
    random.seed(0)
    rows = draws()
    loads = pieces.calls(MODEL, "lanes", rows)
    assert [addresses(load) for load in loads] == [read_of(*row) for row in rows]
    masks = pieces.calls(MODEL, "program", [row[:3] for row in rows])
    whole = [len(read_of(*row[:3], load=slice(0, BLOCK))) for row in rows]
    assert [(mask["read"], mask["masked"]) for mask in masks] == [(read, BLOCK - read) for read in whole]


@pytest.mark.parametrize("bytes_each", TYPES)
def test_the_sectors_are_those_of_the_addresses_in_memory(pieces, bytes_each):
    """By PyTorch's word on where each number lies; whoever takes numbers for half as wide is wrong."""
    random.seed(bytes_each)
    loads = [load for load in pieces.calls(MODEL, "lanes", draws(2_500)) if addresses(load)]
    x = torch.empty(4000 * 32, dtype=TYPES[bytes_each])
    place = {address: x[address].data_ptr() - x.data_ptr() for address in {*chain(*map(addresses, loads))}}
    expected = [sorted({place[address] // 32 for address in addresses(load)}) for load in loads]
    assert all(each // 32 == (each + bytes_each - 1) // 32 for each in place.values())
    found = pieces.calls(MODEL, "sectors", [[load, bytes_each] for load in loads])
    assert [sorted(one["sector"] for one in load) for load in found] == expected
    costs = pieces.calls(MODEL, "cost", [[load, bytes_each] for load in loads])
    assert [cost["fetched"] for cost in costs] == [32 * len(sectors) for sectors in expected]
    assert [cost["wanted"] for cost in costs] == [bytes_each * len(addresses(load)) for load in loads]
    wrong = pieces.calls(MODEL, "sectors", [[load, bytes_each // 2] for load in loads[:100]])
    assert [sorted(one["sector"] for one in load) for load in wrong] != expected[:100]


def test_a_load_that_is_masked_off_fetches_nothing(pieces):
    (load,) = pieces.calls(MODEL, "lanes", [[2500, 1, 2, 15]])
    assert pieces.calls(MODEL, "cost", [[load, 4]]) == [{"wanted": 0, "fetched": 0, "used": 0}]


@pytest.mark.parametrize("rows, stride", [(2500, 1), (1025, 3), (1000, 2), (1, 5)])
def test_the_kernel_itself_reads_these_numbers_in_each_program(pieces, device, rows, stride):
    """Its sum of random whole numbers, program by program; reading the programs in another order is another answer."""
    x = torch.randint(1000, (rows * stride,)).to(torch.float32)
    programs = range(len(sums := strided_read(x.to(device), stride)))
    (grid,) = pieces.calls(MODEL, "program", [[rows, stride, 0]])
    assert grid["programs"] == len(programs)
    loads = pieces.calls(MODEL, "lanes", [[rows, stride, program, load] for program in programs for load in range(32)])
    found = [sum(float(x[a]) for load in loads[32 * p : 32 * p + 32] for a in addresses(load)) for p in programs]
    assert found == sums.tolist()
    assert len(found) == 1 or found[::-1] != sums.tolist()


@pytest.mark.parametrize("asked, named", [({"bytes": "3"}, "A lane takes"), ({"stride": "99"}, "Stride")])
def test_an_address_that_asks_for_too_much_is_told_so(pieces, asked, named):
    with pytest.raises(PieceError, match=named):
        pieces.still("program", asked)


def test_the_reader_finds_the_mask_and_the_price_of_a_stride(open_piece):
    piece = open_piece("program")
    told = piece.locator(".hb-live__told")
    assert "128 bytes and touch 4 sectors" in told.inner_text()
    stride = piece.get_by_role("slider", name="Stride")
    chosen = piece.locator("thead b")
    for expected in range(2, 9):
        stride.press("ArrowRight")
        assert chosen.inner_text() == str(expected)  # a stride of its own has its column beside the powers of two
    assert "12.5 %" in told.inner_text()
    piece.get_by_label("A lane takes").select_option("16")
    assert "50 %" in told.inner_text()
    load = piece.get_by_label("Which of its 32 loads")
    box = load.bounding_box()
    load.click(position={"x": box["width"] - 2, "y": box["height"] / 2})
    assert "nothing travels" in told.inner_text()
    piece.get_by_label("Rows").fill("2.5")
    assert "Rows: 2.5 is no whole number" in piece.get_by_role("alert").inner_text()
