"""The model is kernels.reference.weights on what the snippet recorded; the piece answers the reader."""

import re

import pytest
import torch

from kernels.reference import weights
from scripts import records

MODEL = "words.model.js"
NAMES = ["the_1", "cat", "sat", "on", "the_2", "mat"]
ASKS = torch.tensor([[2, 0, 1, 0], [1, 2, 0, 0], [2, 0, 1, 1], [0, 1, 3, 0], [2, 0, 1, 0], [0, 1, 0, 2]]).double()
OFFERS = torch.tensor([[0, 0, 0, 1], [2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 2], [0, 0, 0, 1], [1, 0, 2, 0]]).double()


def looks(pieces, *, times: float = 1.0, causal: bool = False) -> dict:
    return pieces.calls(MODEL, "looks", [[times, causal]])[0]


def recorded(name: str, **only) -> torch.Tensor:
    rows = [row for row in records.table("sentence", name) if only.items() <= row.items()]
    return torch.tensor([[row[word] for word in NAMES] for row in rows], dtype=torch.float64)


def test_scores_and_shares_are_those_recorded(pieces):
    found = looks(pieces)
    assert torch.equal(torch.tensor(found["scores"]), recorded("scores").int())
    shares = torch.tensor(found["shares"], dtype=torch.float64)
    assert torch.equal((100 * shares).round(decimals=1), recorded("shares"))
    for times in (0.0, 0.5, 1.0, 2.0, 4.0):
        shares = torch.tensor(looks(pieces, times=times)["shares"], dtype=torch.float64)
        torch.testing.assert_close(100 * shares, recorded("sharpness", times=times), rtol=1e-6, atol=0)


@pytest.mark.parametrize("causal", [False, True])
def test_shares_are_the_library(pieces, causal):
    times = 4 * torch.rand(10_000, 1, 1, dtype=torch.float64)
    found = pieces.calls(MODEL, "looks", [[factor, causal] for factor in times.flatten().tolist()])
    shares = torch.tensor([each["shares"] for each in found], dtype=torch.float64)
    expected = weights(times * ASKS, OFFERS.expand(10_000, -1, -1), is_causal=causal)
    torch.testing.assert_close(shares, expected, rtol=1e-6, atol=0)


def test_a_sharper_or_an_uncovered_sentence_is_not_the_recorded_one(pieces):
    for wrong in (looks(pieces, times=2.0), looks(pieces, causal=True)):
        assert not torch.allclose(100 * torch.tensor(wrong["shares"]).double(), recorded("shares"), atol=0.1)


def test_the_reader_chooses_a_word_and_hides_what_comes_later(open_piece):
    piece = open_piece("words")
    drawn = lambda: piece.get_by_role("img").get_attribute("aria-label")  # noqa: E731
    assert "cat 31 %" in drawn() and "mat 31 %" in drawn()
    piece.get_by_role("button", name="on").click()
    assert "from on" in drawn() and piece.get_by_role("button", name="on").get_attribute("aria-pressed") == "true"
    piece.get_by_role("button", name="the 2").press("Enter")
    assert "cat 38 %" in drawn() and "mat 38 %" in drawn()
    piece.get_by_label("causal").press("Space")
    assert "cat 61 %" in drawn() and "mat 0 %" in drawn()
    piece.get_by_role("button", name="the 1").click()
    assert "the 1 100 %" in drawn()
    piece.get_by_role("button", name="mat").click()
    cells = lambda: piece.get_by_role("row", name=re.compile("^on 0 0 1 2")).locator("td").all_inner_texts()[4:]  # noqa: E731
    assert cells() == ["4", "2", "42 %"]  # the score, divided by the root of 4, and the share
    piece.get_by_role("slider", name="Scores multiplied by").press("Home")
    assert cells() == ["4", "0", "17 %"] and "alike" in piece.locator(".hb-live__told").inner_text()
