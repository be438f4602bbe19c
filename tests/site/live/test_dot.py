"""The model is PyTorch's dot product, norm and cosine similarity in FP64; the piece answers typing and dragging."""

import math

import pytest
import torch

MODEL = "dot.model.js"
SPECIAL = [
    ([1.0, 2.0], [1.0, 2.0]),
    ([1.0, 2.0], [-3.0, -6.0]),
    ([1.0, 1e-9], [1.0, 0.0]),
    ([1e-150, 0.0], [1.0, 1.0]),
    ([100.0] * 6, [-100.0] * 6),
]


def pairs() -> list[torch.Tensor]:
    """10,000 pairs of lists of 1 to 5 numbers, those of one length together."""
    torch.manual_seed(0)
    return [10 * torch.randn(2, 2000, length, dtype=torch.float64) for length in range(1, 6)]


def of_model(pieces, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    found = pieces.calls(MODEL, "measured", [list(pair) for pair in zip(q.tolist(), k.tolist(), strict=True)])
    rows = [[each["sum"], *each["lengths"], math.cos(math.radians(each["angle"])), each["along"]] for each in found]
    return torch.tensor(rows, dtype=torch.float64)


def of_library(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    lengths = torch.linalg.norm(q, dim=-1), torch.linalg.norm(k, dim=-1)
    products = torch.linalg.vecdot(q, k)
    return torch.stack([products, *lengths, products / lengths[0] / lengths[1], products / lengths[0]], dim=-1)


def test_the_model_is_the_library(pieces):
    for q, k in pairs():
        torch.testing.assert_close(of_model(pieces, q, k), of_library(q, k), rtol=1e-6, atol=1e-9)
    for special in SPECIAL:
        q, k = (torch.tensor([numbers], dtype=torch.float64) for numbers in special)
        torch.testing.assert_close(of_model(pieces, q, k), of_library(q, k), rtol=1e-6, atol=1e-9)


def test_nearly_parallel_arrows_keep_their_angle(pieces):
    """The arc cosine of the quotient would say 0."""
    ((found),) = pieces.calls(MODEL, "angle", [[[1.0, 1e-9], [1.0, 0.0]]])
    assert math.radians(found) == pytest.approx(1e-9, rel=1e-6)
    assert math.acos(1 / math.hypot(1, 1e-9)) == 0


def test_a_turned_arrow_keeps_its_length_and_has_that_angle(pieces):
    drawn = torch.Generator().manual_seed(2)
    arrows = torch.randn(10_000, 2, 2, generator=drawn, dtype=torch.float64)
    angles = 360 * torch.rand(10_000, generator=drawn, dtype=torch.float64) - 180
    rows = [[q, k, to] for (q, k), to in zip(arrows.tolist(), angles.tolist(), strict=True)]
    ends = pieces.calls(MODEL, "turned", rows)
    found = torch.view_as_complex(torch.tensor(ends, dtype=torch.float64))
    q, k = torch.view_as_complex(arrows).unbind(1)
    torch.testing.assert_close(found.abs(), k.abs(), rtol=1e-6, atol=0)
    wanted = [q * torch.polar(k.abs() / q.abs(), way * angles.deg2rad()) for way in (1, -1)]
    torch.testing.assert_close(found, wanted[0], rtol=1e-6, atol=0)
    assert not torch.isclose(found, wanted[1], rtol=1e-6).any(), "turned the other way"
    back = pieces.calls(MODEL, "turn", [[row[0], end] for row, end in zip(rows, ends, strict=True)])
    torch.testing.assert_close(torch.tensor(back, dtype=torch.float64), angles, rtol=1e-6, atol=1e-9)


def test_a_list_of_zeros_has_no_angle(pieces):
    (found,) = pieces.calls(MODEL, "measured", [[[0.0, 0.0], [1.0, 2.0]]])
    assert found["sum"] == 0 and math.isnan(found["angle"])


def test_a_model_that_multiplies_the_sums_is_not(pieces):
    q, k = pairs()[1]
    wrong = of_library(q, k)
    wrong[:, 0] = q.sum(-1) * k.sum(-1)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(of_model(pieces, q, k), wrong, rtol=1e-6, atol=1e-9)


def test_the_reader_changes_a_number_and_drags_an_arrow(open_piece):
    piece = open_piece("dot", q="2 1", k="3 -4")
    total = piece.locator("strong")
    assert total.inner_text() == "2"  # as in the primer
    piece.get_by_label("k, place 1").press("ArrowRight")
    assert total.inner_text() == "2.5"
    piece.get_by_role("button", name="Flip every sign of k").click()
    assert total.inner_text() == "\N{MINUS SIGN}2.5"
    piece.locator("svg").scroll_into_view_if_needed()
    mouse, box = piece.page.mouse, piece.locator("circle").nth(1).bounding_box()
    unit = piece.locator("svg").bounding_box()["width"] / 480 * 30
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    mouse.down()
    mouse.move(box["x"] + box["width"] / 2 + 4.25 * unit, box["y"] + box["height"] / 2 + 2 * unit, steps=4)
    mouse.up()
    assert piece.get_by_label("k", exact=True).input_value() == "1 2"
    assert total.inner_text() == "4"
    angle = piece.get_by_role("slider", name="Angle")
    angle.press("End")
    assert total.inner_text() == "\N{MINUS SIGN}5"  # 2, 1 the other way round
    for _ in range(36):
        angle.press("ArrowLeft")
    assert total.inner_text() == "5"  # as q, and nothing is larger
    piece.get_by_label("k", exact=True).fill("1 2")
    piece.get_by_label("k", exact=True).fill("1 2 3")
    assert "they must match" in piece.get_by_role("alert").inner_text()
    assert total.inner_text() == "4"  # what was there stays
