"""Chapter 5's drawing: three programs, and in the second the row of scores of the second word."""

from tests.docs.page_text import drawing_text
from tests.docs.three_words import K, Q, S

LABELS = drawing_text("program_lanes")


def test_each_program_has_the_query_of_its_number():
    rows = [f"program {number} {' '.join(map(str, query))} the" for number, query in enumerate(Q)]
    assert all(row in LABELS for row in rows)


def test_the_lanes_hold_the_second_query_the_third_key_and_copies_of_their_numbers():
    query, key = Q[1], K[2]
    products = [a * b for a, b in zip(query, key, strict=True)]
    for name, row in [("2nd query", query), ("3rd key", key), ("products", products)]:
        assert f"{name} {' '.join(map(str, row * 4))}" in LABELS
    assert f"added up {sum(products)}" in LABELS


def test_the_drawn_row_holds_the_scores_of_the_second_word():
    places = ["1st key", "2nd key", "3rd key", "no key"]
    row = zip([*S[1], "\N{MINUS SIGN}\N{INFINITY}"], places, strict=True)
    assert " ".join(f"{score} {place}" for score, place in row) in LABELS
