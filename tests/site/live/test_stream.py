"""The model is kernels.softmax.OnlineSoftmax; the piece answers typing, the mouse, the keyboard and the address."""

import math

import pytest
import torch

from kernels.softmax import OnlineSoftmax
from scripts.site.live import PieceError

MODEL = "stream.model.js"
SPECIAL = [
    [-math.inf] * 5,
    [-math.inf, 3.0, 3.0, -math.inf, 700.0, 1000.0],
    [0.0, -0.0, 0.0, 0.0],
    [88.0, 89.0, 104.0],
    [-3e38, 3e38],
    [1e-45, 1e-40],
    [2.0, math.nan, 1.0],
]


def rows() -> list[torch.Tensor]:
    """10,000 random rows, those of one length together, and rows that are special."""
    scale = 10 ** torch.empty(500, 1).uniform_(-2, 2.5)
    return [scale * torch.randn(500, length) for length in range(1, 21)] + [torch.tensor([row]) for row in SPECIAL]


def of_model(pieces, row: torch.Tensor, block: int) -> torch.Tensor:
    """Maximum, sum, and the output where all values are 1."""
    ones = [[1.0]] * row.shape[-1]
    states = pieces.calls(MODEL, "read", [[scores, ones, block, 99] for scores in row.tolist()])
    outputs = pieces.calls(MODEL, "output", [[state] for state in states])
    rows = [[state["max"], state["sum"], shares] for state, (shares,) in zip(states, outputs, strict=True)]
    return torch.tensor(rows, dtype=torch.float32)


def of_library(row: torch.Tensor, block: int) -> torch.Tensor:
    state = OnlineSoftmax.empty(len(row))
    for part in row.split(block, dim=-1):
        state = state.update(part)
    shares = torch.where(state.running_sum == 0, 0.0, torch.ones(len(row)) + 0 * state.running_sum)
    return torch.stack([*state, shares], dim=-1)


@pytest.mark.parametrize("block", [1, 2, 7])
def test_the_model_is_the_library(pieces, block):
    for row in rows():
        torch.testing.assert_close(
            of_model(pieces, row, block), of_library(row, block), rtol=1e-6, atol=0, equal_nan=True
        )


def test_a_model_that_forgets_to_rescale_is_not(pieces):
    ((_, right, _),) = of_library(torch.tensor([[1.0, 5.0]]), 1)
    (state,) = pieces.calls(MODEL, "read", [[[1.0, 5.0], [[1.0]] * 2, 1, 99, True]])
    assert state["sum"] != pytest.approx(float(right), rel=1e-6)


def test_merging_readers_in_any_order_gives_the_whole_row(pieces):
    for row in rows():
        left, right = row[:, : row.shape[1] // 2], row[:, row.shape[1] // 2 :]
        states = [
            pieces.calls(MODEL, "read", [[scores, [[1.0]] * len(scores), 3, 99] for scores in part.tolist()])
            for part in (left, right)
        ]
        merged = pieces.calls(MODEL, "merge", [list(pair) for pair in zip(*reversed(states), strict=True)])
        of_states = OnlineSoftmax.empty(len(row)).update(left).merge(OnlineSoftmax.empty(len(row)).update(right))
        expected = torch.stack(list(of_states), dim=-1)
        found = torch.tensor([[state["max"], state["sum"]] for state in merged], dtype=torch.float32)
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=0, equal_nan=True)


def test_no_block_has_scores_of_two_arrivals(pieces):
    """Five scores, read two at a time, and two that came later: no block has the fifth and the sixth."""
    row = [[1.0, 0.0, 2.0, 1.0, 0.0, 2.4, 2.6], [[1.0]] * 7, 2]
    states = pieces.calls(MODEL, "read", [[*row, blocks, False, 5] for blocks in range(6)])
    assert [state["seen"] for state in states] == [0, 2, 4, 5, 7, 7]


@pytest.mark.parametrize(
    "asked, named",
    [
        ({"readers": "0"}, "Readers"),
        ({"readers": "1e7"}, "Readers"),
        ({"block": "2.5"}, "Scores a block"),
        ({"front": "7"}, "Front"),
        ({"arrived": "6"}, "Arrived"),
    ],
)
def test_an_address_that_asks_for_too_much_is_told_so(pieces, asked, named):
    with pytest.raises(PieceError, match=named):
        pieces.still("stream", asked)


def test_the_reader_changes_the_row_and_reads_the_sum(open_piece):
    piece = open_piece("stream", step=0)
    cell = lambda column: piece.locator("tbody tr").first.locator("td").nth(column).inner_text()  # noqa: E731
    step = piece.get_by_role("button", name="Step", exact=True)
    for expected in ("1.368", "1.871", "3.006"):  # the chapter's six scores, worked by hand there
        step.press("Enter")
        assert cell(2) == expected
    assert step.get_attribute("aria-disabled") == "true"
    piece.get_by_label("Scores", exact=True).fill("1 2 5 3")
    step.click()
    assert cell(0) == "2"
    piece.get_by_label("Scores", exact=True).fill("1 two")
    assert "two" in piece.get_by_role("alert").inner_text()
    assert cell(0) == "2"  # what was there stays
    piece.get_by_label("Scores", exact=True).fill("1 2 5 3")
    piece.get_by_label("forget to rescale").check()
    step.click()
    step.click()
    assert piece.locator("tbody tr").nth(1).locator("th").inner_text() == "true"
    piece.get_by_label("Scores", exact=True).fill("1 0 2 1 0 2")
    for _ in range(3):
        step.click()
    told = piece.locator(".hb-live__told")
    assert "3.871" in told.inner_text() and "3.006" in told.inner_text()  # the maximum stays, the error too
    piece.get_by_label("Scores", exact=True).fill("-inf -inf 2")
    step.click()
    assert "masked" in told.inner_text()
    step.click()
    piece.get_by_label("Readers").press("ArrowRight")
    assert piece.locator("tbody tr").nth(2).locator("th").inner_text() == "merged"
    piece.get_by_role("button", name="Link to this").click()
    assert "stream.readers=2" in piece.page.url


class Arrivals:
    """A piece in the browser, and a button in it that brings the scores of one's choice."""

    def __init__(self, piece):
        self.piece = piece

    def row(self, line: int = 0) -> list[float]:
        """Maximum, sum and accumulator."""
        cells = self.piece.locator("tbody tr").nth(line).locator("td").all_inner_texts()
        return [float(cells[column]) for column in (0, 2, 3)]

    def bring(self, *scores: float) -> str:
        """What the piece says of a block of these."""
        drawn = [(10 * score + 20) / 60 for score in scores]
        self.piece.page.evaluate("(drawn) => { Math.random = () => drawn.shift(); }", drawn)
        self.piece.get_by_role("button", name="A random block arrives").click()
        return self.piece.locator(".hb-live__told").inner_text()


def test_a_block_that_arrives_leaves_the_values_of_words_that_were_read(open_piece):
    arrivals = Arrivals(open_piece("stream", step=3))
    assert arrivals.row() == [2, 3.006, 15.032]
    told = arrivals.bring(0.6, -1.5)
    assert "only adds 0.277" in told and arrivals.row() == [2, 3.283, 15.032]  # the new words bring 0
    told = arrivals.bring(3, 3)
    shrunk = [math.exp(-1) * 3.283 + 2, math.exp(-1) * 15.032]
    assert "worth 0.368" in told and arrivals.row() == pytest.approx([3, *shrunk], abs=2e-3)
    arrivals.piece.get_by_label("Scores", exact=True).fill("1 1 1 1")  # a row that is typed is halved anew
    assert arrivals.piece.locator("svg text.value").all_text_contents() == ["v = 10", "v = 0"]
    for _ in range(2):
        arrivals.piece.get_by_role("button", name="Step", exact=True).click()
    assert arrivals.row() == [1, 4, 20]


@pytest.mark.parametrize("readers, before, after", [(1, 3, 4), (2, 2, 2), (4, 1, 1)])
def test_a_block_that_arrives_leaves_the_blocks_that_were_read(open_piece, readers, before, after):
    arrivals = Arrivals(open_piece("stream", scores="1 0 2 1 0", readers=readers, step=99))
    assert f"{before} of {before}" in arrivals.piece.inner_text()
    kept = [arrivals.row(line) for line in range(readers - 1)]
    told = arrivals.bring(2.4, 2.6)
    assert f"{after} of {after}" in arrivals.piece.inner_text()
    if readers == 1:
        assert "from 2 to 2.6" in told and "the sum 2.006 becomes 1.101" in told
    assert [arrivals.row(line) for line in range(readers - 1)] == kept  # what arrives is the last one's
    arrivals.bring(2.8, 3)
    assert [arrivals.row(line) for line in range(readers - 1)] == kept
    row = arrivals.row(-1)
    arrivals.piece.get_by_role("button", name="Link to this").click()
    arrivals.piece.page.reload()
    arrivals.piece.locator("live-piece[ready]").wait_for()
    assert arrivals.row(-1) == row


def test_a_row_that_is_full_takes_no_block(open_piece):
    arrivals = Arrivals(open_piece("stream", block=4, step=99, scores=" ".join("102102" * 3 + "12")))
    arrivals.bring(-2, -2, -2, -2)
    full = arrivals.piece.get_by_role("button", name="The row is full")
    assert full.get_attribute("aria-disabled") == "true"
    scores, row = arrivals.piece.get_by_label("Scores", exact=True), arrivals.row()
    assert len(scores.input_value().split()) == 24 and scores.input_value().startswith("1 0 2 1 0 2 1")
    full.press("Enter")
    assert len(scores.input_value().split()) == 24 and arrivals.row() == row
    scores.fill("1 0 2")
    assert "from 2 to 3" in arrivals.bring(3, 3, 3, 3)
