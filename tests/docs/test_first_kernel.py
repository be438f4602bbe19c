"""Chapter 5's drawings: the row of scores of the second word, and the sectors that eight lanes touch."""

from tests.docs.pages import DRAWINGS, drawn
from tests.docs.three_words import S


def test_the_drawn_row_holds_the_scores_of_the_second_word():
    labels = drawn(DRAWINGS / "program_lanes.svg")
    assert " ".join(f"{score} place {place}" for place, score in enumerate([*S[1], "\N{MINUS SIGN}∞"])) in labels


def test_the_drawn_sectors_are_counted():
    labels = drawn(DRAWINGS / "sectors.svg")
    said = {1: "{} sector fetched, {} bytes; all {} are used", 8: "{} sectors fetched, {} bytes; {} are used"}
    for stride, words in said.items():
        sectors = {lane * stride * 4 // 32 for lane in range(8)}
        assert words.format(len(sectors), 32 * len(sectors), 8 * 4) in labels
