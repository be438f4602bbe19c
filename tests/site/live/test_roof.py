"""A kernel stands under the roof where ``attainable`` puts it; the examples are those that chapter 4's run computed."""

import random

import pytest

from kernels.bench import cost
from scripts import records

MODEL = "roof.model.js"


def rows() -> list[list]:
    """10,000 kernels on chips of any kind, some with a time."""
    drawn = random.Random(0)
    wide = lambda low, high: 10 ** drawn.uniform(low, high)  # noqa: E731
    return [
        [
            {"flops": wide(3, 18), "moved": wide(2, 14)},
            {"peak": wide(11, 16), "bandwidth": wide(10, 13), "memory": 1},
            drawn.choice([0, wide(-7, 2)]),
        ]
        for _ in range(10_000)
    ]


def test_a_kernel_stands_where_the_library_puts_it(pieces):
    swapped = 0
    for (work, chip, seconds), found in zip(rows(), pieces.calls(MODEL, "place", rows()), strict=True):
        near = lambda wanted: pytest.approx(wanted, rel=1e-12)  # noqa: E731
        intensity = work["flops"] / work["moved"]
        limit = cost.attainable(intensity, chip["peak"], chip["bandwidth"])
        assert (found["intensity"], found["limit"]) == (near(intensity), near(limit))
        assert found["least"] == near(max(found["arithmetic"], found["memory"]))
        assert (found["memory"] > found["arithmetic"]) == (intensity < found["ridge"])
        assert found["share"] == near(work["flops"] / seconds / limit if seconds else 0)
        swapped += found["limit"] == near(cost.attainable(1 / intensity, chip["peak"], chip["bandwidth"]))
    assert swapped < 1_000, "an intensity that is upside down meets the flat of the roof at times, and no more"


def test_at_the_ridge_both_limits_are_one(pieces):
    (found,) = pieces.calls(
        MODEL, "place", [[{"flops": 600, "moved": 2}, {"peak": 3e12, "bandwidth": 1e10, "memory": 1}, 0]]
    )
    assert found["intensity"] == found["ridge"] == 300 and found["arithmetic"] == found["memory"]


def test_the_examples_are_those_of_the_run(pieces):
    (found,) = pieces.calls(MODEL, "examples", [[]])
    table = {row["step"].replace("_", " "): row for row in records.table("roofline", "roofs")}
    assert found.keys() == table.keys()
    for name, work in found.items():
        assert (work["flops"] / 1e9, work["moved"] / 1e6) == pytest.approx((table[name]["work"], table[name]["moved"]))


def test_the_reader_puts_a_kernel_there(open_piece):
    piece = open_piece("roof")
    told = piece.locator(".hb-live__told")
    field = lambda name: piece.get_by_role("textbox", name=name)  # noqa: E731
    assert "124 FLOP a byte" in told.inner_text() and "at least 28.8 µs" in told.inner_text()
    field("Measured µs").fill("57.7")
    assert "reached 50 %" in told.inner_text()
    piece.get_by_role("combobox", name="Kernel").select_option("large matmul")
    assert "arithmetic is the limit" in told.inner_text() and "plain lanes" not in told.inner_text()
    piece.get_by_role("combobox", name="Kernel").select_option("softmax")
    assert "plain lanes" in told.inner_text()
    piece.get_by_role("combobox", name="Kernel").select_option("large matmul")
    for choice in ("your own", "large matmul"):  # a menu follows the state also back to what the reader once chose
        piece.get_by_role("combobox", name="Kernel").select_option(choice)
    assert "arithmetic is the limit" in told.inner_text()
    field("MB moved").fill("none")
    assert "none" in piece.get_by_role("alert").inner_text()
    field("MB moved").fill("4000")
    assert (
        piece.get_by_role("combobox", name="Kernel").input_value() == "own" and "275 FLOP a byte" in told.inner_text()
    )
    field("GFLOP").fill("0")
    for moved in ("5", "4000"):  # the other field is good, and this one still is not
        field("MB moved").fill(moved)
        assert "GFLOP: 0 is outside" in piece.get_by_role("alert").inner_text()
    assert field("GFLOP").input_value() == "0"
    field("GFLOP").fill("1100")
    assert piece.locator(".hb-live__wrong").inner_text() == "" and "275 FLOP a byte" in told.inner_text()
    for gpu, limit in {"H100": "memory", "H200": "arithmetic"}.items():
        piece.get_by_role("combobox", name="GPU").select_option(gpu)
        assert f"{limit} is the limit" in told.inner_text()
    piece.get_by_role("slider", name="Slide the MB").press("End")
    assert "memory is the limit" in told.inner_text()
    grip = piece.locator(".hb-live__grip")
    grip.scroll_into_view_if_needed()
    box = grip.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    piece.page.mouse.move(x, y)
    piece.page.mouse.down()
    piece.page.mouse.move(x + 340, y, steps=3)
    piece.page.mouse.up()
    assert "arithmetic is the limit" in told.inner_text()
    drawn = piece.locator(".hb-live__view svg")
    assert "outside the picture" not in drawn.text_content()
    field("GFLOP").fill("1e9")
    assert "outside the picture" in drawn.text_content()
