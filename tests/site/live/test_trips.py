# ruff: noqa: RUF001  (signs as the piece shows them)
"""The trips of a form add up to what ``kernels.bench.cost`` counts for its kernels; the reader steps through them."""

import random
from functools import cache

import pytest

from kernels.bench import cost
from scripts.site.live import PieceError

MODEL = "trips.model.js"


@cache
def shapes() -> list[dict]:
    drawn = random.Random(0)
    sizes = {"n": 2**20, "dim": 512, "bytes": 8, "heads": 128, "batch": 256}
    return [{name: drawn.randint(1, most) for name, most in sizes.items()} for _ in range(10_000)]


def textbook(*setting) -> list[cost.Traffic]:
    """The scale is folded into the matmul: its kernel is not there."""
    return [each for each in cost.eager_traffic(*setting) if each.kernel != "scale"]


FORMS = {"typed": cost.eager_traffic, "textbook": textbook, "fused": cost.fused_traffic}


def by_kernel(trips: list[dict]) -> dict[str, list[int]]:
    """kernel -> bytes read, bytes written"""
    found = {trip["kernel"]: [0, 0] for trip in trips}
    for trip in trips:
        found[trip["kernel"]][not trip["up"]] += trip["bytes"]
    return found


def near(found: float, wanted: int) -> bool:
    return abs(found - wanted) <= 1e-12 * wanted


def agree(trips: list[dict], traffic: list[cost.Traffic]) -> bool:
    found = by_kernel(trips)
    return found.keys() == {each.kernel for each in traffic} and all(
        near(found[each.kernel][0], each.read) and near(found[each.kernel][1], each.written) for each in traffic
    )


@pytest.mark.parametrize("form, library", FORMS.items())
def test_the_trips_of_a_kernel_are_what_the_library_counts(pieces, form, library):
    found = pieces.calls(MODEL, "trips", [[form, shape] for shape in shapes()])
    for shape, trips in zip(shapes(), found, strict=True):
        assert agree(trips, library(*shape.values()))
        assert sum(trip["square"] for trip in trips) == {"typed": 6, "textbook": 4, "fused": 0}[form]


def test_a_trip_that_is_forgotten_or_turned_round_is_noticed(pieces):
    ((*trips,),) = pieces.calls(MODEL, "trips", [["typed", shapes()[0]]])
    wanted = cost.eager_traffic(*shapes()[0].values())
    assert agree(trips, wanted)
    assert not agree(trips[:-1], wanted)
    assert not agree([{**trips[0], "up": False}, *trips[1:]], wanted)


def test_in_theory_the_square_moves_n_over_d_times_as_much(pieces):
    rows = pieces.calls(MODEL, "trips", [["textbook", shape] for shape in shapes()])
    of_squares = pieces.calls(MODEL, "moved", [[trips, 99, True] for trips in rows])
    of_tables = pieces.calls(MODEL, "moved", [[trips, 99, False] for trips in rows])
    for shape, square, small in zip(shapes(), of_squares, of_tables, strict=True):
        assert near(square / small, shape["n"] / shape["dim"])


@pytest.mark.parametrize(
    "asked, named", [({"words": "1e9"}, "Words N"), ({"words": "100.5"}, "Words N"), ({"dim": "0"}, "d: ")]
)
def test_an_address_that_asks_for_too_much_is_told_so(pieces, asked, named):
    with pytest.raises(PieceError, match=named):
        pieces.still("trips", asked)


def test_the_reader_steps_and_changes_the_form(open_piece):
    piece = open_piece("trips", step=0)
    step = piece.get_by_role("button", name="Step", exact=True)
    cell = lambda row, column: piece.locator("tbody tr").nth(row).locator("td").nth(column).inner_text()  # noqa: E731
    for trips in ("0", "1", "2"):
        step.press("Enter")
        assert cell(0, 0) == trips
    assert cell(1, 0) == "268 MB" and cell(3, 1) == "97 ×"
    piece.get_by_role("combobox", name="Form").select_option("one fused kernel")
    step.click()
    step.click()
    assert cell(0, 0) == "0" and cell(3, 0) == "1 ×" and step.get_attribute("aria-disabled") == "true"
    piece.get_by_role("combobox", name="Form").select_option("the textbook’s three kernels")
    piece.get_by_role("slider", name="Words N").press("ArrowRight")
    assert "N/d = 128" in piece.inner_text() and cell(3, 1) == "129 ×"
    piece.get_by_role("combobox", name="Form").select_option("the three lines, as typed")
    piece.get_by_role("combobox", name="d", exact=True).select_option("256")
    piece.get_by_role("slider", name="Words N").press("End")
    assert float(cell(3, 1).removesuffix(" ×").replace(",", "")) > 1000  # at each d of the chapter's sixth question
