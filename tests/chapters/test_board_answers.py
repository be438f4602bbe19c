"""Until ``a`` is pressed, a picture has nothing of what the room is asked for, whatever was measured."""

import re
from contextlib import nullcontext

import pytest

from scripts.records import ROOT
from scripts.site.pages import sheets
from tests.chapters.expected import EXPECTED
from tests.chapters.perturbed_records import perturbed_records

BOARDS = [path.parent.name for path in sorted(ROOT.glob("scripts/chapters/*/board.py"))]
ANSWERS = [
    pytest.param(name, answer, id=f"{name}-{answer['step']}")
    for name, expected in EXPECTED.items()
    for answer in expected.get("answers", ())
]


@pytest.mark.parametrize("name", BOARDS)
def test_a_chapter_lists_what_its_board_keeps_back(name):
    keeps_back = any(ink.answer_number for ink in sheets.draw_board(name).ink)
    listed = EXPECTED.get(name, {}).get("answers")
    assert listed or not keeps_back, f"list answers of this board in tests/chapters/{name}/expected.toml"


@pytest.mark.parametrize(("name", "answer"), ANSWERS)
@pytest.mark.parametrize("run", [nullcontext, perturbed_records], ids=["today", "another run"])
def test_an_answer_is_not_shown_with_its_question(name, answer, run):
    with run():
        new = [ink for ink in sheets.draw_board(name).ink if ink.step == answer["step"]]
    shown, withheld = ([ink.text for ink in new if bool(ink.answer_number) is is_answer] for is_answer in (False, True))
    place = f"tests/chapters/{name}/expected.toml, step {answer['step']}"
    for pattern in answer.get("words", ()):
        early = [text for text in shown if re.search(pattern, text)]
        assert not early, f"{place}: {pattern!r} is shown with the question, in {early}"
        found = any(re.search(pattern, text) for text in withheld)
        assert found, f"{place}: {pattern!r} is in no answer; they are {withheld}. A measured number goes as \\d+"
    assert withheld.count("") >= answer["strokes"], f"{place}: {withheld.count('')} strokes"
