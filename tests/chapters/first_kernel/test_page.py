"""Chapter 5's drawing: in the first program, threads that multiply, and the row of scores of the first word."""

from tests.docs.page_text import drawing_text
from tests.docs.three_words import K, Q, S

LABELS = drawing_text("program-threads")


def test_the_threads_hold_the_first_query_the_third_key_and_copies_of_their_numbers():
    query, key = Q[0], K[2]
    products = [a * b for a, b in zip(query, key, strict=True)]
    for name, row in [("query 0", query), ("\N{MULTIPLICATION SIGN} key 2", key), ("= product", products)]:
        assert f"{name} {' '.join(map(str, row * 4))}" in LABELS
    assert f"tl.sum {sum(products)}" in LABELS


def test_the_drawn_row_holds_the_scores_of_the_first_word():
    places = ["key 0", "key 1", "key 2", "no key"]
    row = zip([*S[0], "\N{MINUS SIGN}\N{INFINITY}"], places, strict=True)
    assert " ".join(f"{score} {place}" for score, place in row) in LABELS
