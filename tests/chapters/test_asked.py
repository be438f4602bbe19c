# ruff: noqa: RUF001  (signs as a board has them)
"""Until ``a`` is pressed, a picture has nothing of what the room is asked for."""

import re

import pytest

from scripts.site.pages import sheets

# What the room finds, by board and step: as it is written, and how many strokes without words come with it at least.
FOUND = [
    ("balloon", 4, ["4096 ÷ 64"], 10),  # each is struck out, N over d, and its ring
    ("balloon", 6, ["ran out"], 2),
    ("balloon", 8, ["nobody"], 0),
    ("blocks_of_keys", 1, ["places"], 0),
    ("blocks_of_keys", 2, ["steps", "places"], 0),
    ("blocks_of_keys", 4, ["−∞", "e\\^", "to nobody"], 1),
    ("blocks_of_keys", 5, [r"\[4, 2\]", r"\[2, 2\]", r"\[6, 4\]"], 2),
    ("blocks_of_keys", 7, ["64 queries", "= 64"], 8),
    ("blocks_of_keys", 8, ["MiB", "8 rows"], 9),
    ("many_heads", 2, ["the same", "heads", "width", "a head"], 1),
    ("many_heads", 4, ["keeps", "0/0"], 0),
    ("many_heads", 6, ["word 1, 2", "steps", "Words"], 2),
    ("many_heads", 7, ["projections", "48", "58", "= 6", "^9$"], 0),
    ("many_heads", 8, ["squares"], 0),
    ("traffic", 5, [r"\d\.\d"], 10),
    ("traffic", 6, ["%"], 9),
    ("first_kernel", 2, ["^program 1"], 7),  # the loop is struck out, three boxes, three arrows
    ("first_kernel", 3, ["452", "572", "3072"], 9),
    ("first_kernel", 4, ["58 %", "^2$", "program 2"], 9),
    ("first_kernel", 5, ["^7 %", "0.135", r"4\.6"], 1),
    ("first_kernel", 6, ["128", "wait"], 5),
    ("first_kernel", 7, [r"0\.0000", "REJECTED"], 0),
    ("first_kernel", 8, ["^64 ms", "times as long", "how we read"], 0),
    ("first_kernel", 9, ["1/8", "HBM", r"537\.4"], 3),
    ("first_kernel", 10, ["^32 ms", "meetings"], 4),
    ("first_kernel", 11, ["N\\^", r"11\.1", "chapter 7"], 0),
    ("number_formats", 2, ["E2M1"], 0),
    ("number_formats", 7, [r"4\.5", "72"], 0),
    ("number_formats", 9, ["model"], 0),
    ("online_softmax", 2, ["MiB", "registers"], 9),
    ("three_matmuls", 4, ["^0.71$"], 0),
    ("three_matmuls", 6, ["= 10"], 0),
    ("decode", 1, ["kept"], 3),
    ("decode", 3, ["100 pasts"], 9),
    ("decode", 9, ["first word"], 0),
    ("hopper", 1, ["HBM"], 1),
    ("hopper", 2, [r"0\.0625", "660"], 2),
    ("hopper", 4, ["for the other one"], 0),
    ("hopper", 6, [r"S_\{1\}", r"exp2_\{1\}", "to spare"], 9),
    ("hopper", 7, ["1568", "pairs"], 9),
    ("hopper", 8, [], 9),  # what hatches the bar that steps back
    ("flash_attention", 4, ["never", "masked", "whole"], 9),
    ("flash_attention", 5, ["= 128", "541"], 1),
    ("flash_attention", 7, ["long way", "= 6"], 0),
    ("many_gpus", 6, ["fair"], 8),
    ("many_gpus", 8, ["late", "ends"], 1),
    ("talk", 3, ["40"], 3),
    ("talk", 6, ["^w$", "^r$", "160"], 4),
]


@pytest.mark.parametrize(("name", "step", "words", "strokes"), FOUND)
def test_what_the_room_finds_is_kept_back(name, step, words, strokes):
    new = [ink for ink in sheets.board(name).ink if ink.step == step]
    shown, kept = ([ink.text for ink in new if ink.answer is answer] for answer in (False, True))
    for each in words:
        assert [text for text in shown if re.search(each, text)] == []
        assert any(re.search(each, text) for text in kept)
    assert kept.count("") >= strokes
