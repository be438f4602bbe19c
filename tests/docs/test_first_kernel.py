"""Chapter 5's drawing: the row of scores of the second word."""

from tests.docs.pages import DRAWINGS, drawn
from tests.docs.three_words import S


def test_the_drawn_row_holds_the_scores_of_the_second_word():
    labels = drawn(DRAWINGS / "program_lanes.svg")
    assert " ".join(f"{score} place {place}" for place, score in enumerate([*S[1], "\N{MINUS SIGN}∞"])) in labels
