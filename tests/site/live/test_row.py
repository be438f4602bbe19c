"""The model is kernels.reference in FP64; the piece answers typing, the slider, the menu and the address."""

import math
import re

import pytest
import torch

from kernels.reference import attention, weights

MODEL = "row.model.js"
SPECIAL = [
    [[-math.inf] * 3],
    [[-math.inf, 3.0, 3.0]],
    [[0.0, -0.0, 0.0]],
    [[-1e300, 1e300, 1e300]],
    [[5e-324, 0.0, -5e-324]],
    [[math.nan, 1.0, 2.0]],
    [[709.0, 710.0, 800.0]],
]


def words() -> list[tuple[torch.Tensor, ...]]:
    """10,000 sentences of 1 to 5 words, those of one shape together: q, k and v."""
    torch.manual_seed(0)
    sizes = [(length, d) for length in range(1, 6) for d in range(1, 5)]
    return [tuple(10 ** torch.empty(3, 500, 1, 1).uniform_(-2, 1) * torch.randn(3, 500, *size)) for size in sizes]


def of_model(pieces, q, k, v, scale: float) -> torch.Tensor:
    rows = [[*tables, scale] for tables in zip(q.tolist(), k.tolist(), v.tolist(), strict=True)]
    return torch.tensor(pieces.calls(MODEL, "attention", rows), dtype=torch.float64)


def near(found, expected, **more):
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9, **more)


def test_the_model_is_the_library(pieces):
    for q, k, v in words():
        q, k, v = q.double(), k.double(), v.double()
        near(of_model(pieces, q, k, v, q.shape[-1] ** -0.5), attention(q, k, v))


def test_a_model_that_multiplies_by_the_root_or_forgets_it_is_not(pieces):
    q, k, v = (table.double() for table in words()[-1])
    for scale in (1.0, 2.0):
        with pytest.raises(AssertionError):
            near(of_model(pieces, q, k, v, scale), attention(q, k, v))


@pytest.mark.parametrize(("columns", "dim"), [(False, -1), (True, -2)])
def test_softmax_runs_along_rows_or_down_columns(pieces, columns, dim):
    for q, k, _ in words():
        scores = (q @ k.transpose(-2, -1)).double()
        found = pieces.calls(MODEL, "shares", [[table, columns] for table in scores.tolist()])
        near(torch.tensor(found, dtype=torch.float64), scores.softmax(dim))


def test_rows_and_columns_are_not_the_same(pieces):
    ((rows,), (columns,)) = (pieces.calls(MODEL, "shares", [[[[1, 0], [1, 1]], flag]]) for flag in (False, True))
    with pytest.raises(AssertionError):
        near(torch.tensor(rows), torch.tensor(columns))


def test_hidden_tied_and_huge_scores(pieces):
    for (row,) in SPECIAL:
        ((found,),) = pieces.calls(MODEL, "shares", [[[row], False]])
        expected = torch.tensor(row, dtype=torch.float64).softmax(-1)
        if set(row) == {-math.inf}:
            expected = torch.zeros(3, dtype=torch.float64)  # as kernels.reference.masked_softmax has it
        near(torch.tensor(found, dtype=torch.float64), expected, equal_nan=True)


def test_a_causal_word_sees_itself_and_what_came_before(pieces):
    for q, k, _ in words():
        q, k = q.double(), k.double()
        hidden = pieces.calls(MODEL, "causal", [[table] for table in (q @ k.transpose(-2, -1)).tolist()])
        found = pieces.calls(MODEL, "shares", [[table] for table in hidden])
        near(torch.tensor(found, dtype=torch.float64), weights(q, k, is_causal=True, scale=1.0))


def test_the_reader_moves_a_score_turns_softmax_and_takes_the_division_away(open_piece):
    piece = open_piece("row")
    shares = lambda: piece.get_by_role("row", name=re.compile("^share [0-9]")).locator("td").all_inner_texts()  # noqa: E731
    steps = piece.get_by_role("group", name="From the scores of word 1 to its output")
    assert steps.locator("strong").inner_text().split() == ["6.02", "3.98"]  # the chapter's first row
    assert "40.1 %" in shares()
    piece.get_by_label("divide by").press("Space")
    assert steps.locator("strong").inner_text().split() == ["6.33", "3.67"]  # the same, not divided
    piece.get_by_label("Softmax runs").select_option("down each column")
    assert shares() == ["42.2 %", "15.5 %", "21.2 %", "79 %"]
    piece.get_by_label("Softmax runs").select_option("along each row")
    slider = piece.get_by_label("q · k, key 2")
    for _ in range(2):
        slider.press("ArrowRight")
    assert shares() == ["33.3 %", "33.3 %", "33.3 %", "100 %"]
    box = slider.bounding_box()
    piece.page.mouse.click(box["x"] + box["width"] - 4, box["y"] + box["height"] / 2)
    assert float(shares()[1].split()[0]) > 99
    piece.get_by_label("Keys").fill("1 0; 0 one; 1 1")
    assert "“one” is no number" in piece.get_by_role("alert").inner_text()
    assert float(shares()[1].split()[0]) > 99  # what was there stays
    piece.get_by_label("Keys").fill("1 0; 0 1")
    assert "3 words ask" in piece.get_by_role("alert").inner_text()
    piece.get_by_label("Who asks").select_option("word 3")
    piece.get_by_role("button", name="Reset").press("Enter")
    assert piece.get_by_label("Keys").input_value() == "1 0; 0 1; 1 1"  # what was refused is gone
    assert piece.get_by_label("Who asks").input_value() == "1"
    assert piece.get_by_role("button", name="Reset").evaluate("button => button === document.activeElement")
